//! The engine without encryption in election files, and aggregations that fail or wait on demand:
//! for tests of everything around an engine. A feature that no program asks for; and where it was
//! built in for another crate's tests, a process still refuses the engine until one of its tests
//! has called [`engine_line`].

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use shield_core::Election;
use thiserror::Error;

use super::EngineError;

/// Random bytes at the end of a ballot in the clear: a nonce, and what stands for the checksum of
/// encrypted votes. No two ballots are the same, as with encryption.
pub(super) const RANDOM: usize = 96;

/// Samples in a batch: few, so that small elections have several.
pub(super) const SAMPLES_PER_BATCH: usize = 4;

/// Whether an election file may name this engine.
static CHOOSABLE: AtomicBool = AtomicBool::new(cfg!(test));

/// The line of an election file that chooses this engine. From here on this process accepts it.
pub fn engine_line() -> &'static str {
    CHOOSABLE.store(true, Ordering::Relaxed);
    "engine = \"clear\""
}

pub(super) fn can_be_chosen() -> bool {
    CHOOSABLE.load(Ordering::Relaxed)
}

/// Failures that are still to come, by election and batch.
type Faults = HashMap<([u8; 32], usize), u32>;

static FAULTS: Mutex<Option<Faults>> = Mutex::new(None);

/// Lets the aggregation of a batch fail so many times. The election is told by its fingerprint.
pub fn inject(election: &Election, batch: usize, times: u32) {
    let mut faults = FAULTS.lock().unwrap_or_else(PoisonError::into_inner);
    faults.get_or_insert_default().insert((election.fingerprint(), batch), times);
}

/// An election's fingerprint and a batch.
type Batch = ([u8; 32], usize);

/// Batches whose aggregation waits.
static HELD: Mutex<Option<HashSet<Batch>>> = Mutex::new(None);

/// Told whenever a batch is let go.
static LET_GO: Condvar = Condvar::new();

/// A batch whose aggregation waits until this is dropped.
#[derive(Debug)]
pub struct Held([u8; 32], usize);

/// Lets the aggregation of a batch wait, so that what is shown meanwhile can be looked at.
#[must_use]
pub fn hold(election: &Election, batch: usize) -> Held {
    let held = Held(election.fingerprint(), batch);
    let mut all = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    all.get_or_insert_default().insert((held.0, held.1));
    held
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut all = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        all.get_or_insert_default().remove(&(self.0, self.1));
        LET_GO.notify_all();
    }
}

/// A failure that was asked for.
#[derive(Debug, Error)]
#[error("batch {0} was to fail")]
pub struct Injected(usize);

/// Waits while the batch is held, and fails if its aggregation is to.
pub(super) fn before_aggregation(election: &Election, batch: usize) -> Result<(), EngineError> {
    let place = (election.fingerprint(), batch);
    let all = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    let is_held =
        |all: &mut Option<HashSet<_>>| all.as_ref().is_some_and(|all| all.contains(&place));
    drop(LET_GO.wait_while(all, is_held).unwrap_or_else(PoisonError::into_inner));
    let mut faults = FAULTS.lock().unwrap_or_else(PoisonError::into_inner);
    match faults.as_mut().and_then(|faults| faults.get_mut(&place)) {
        Some(left @ 1..) => {
            *left -= 1;
            Err(EngineError::new(Injected(batch)))
        }
        _ => Ok(()),
    }
}
