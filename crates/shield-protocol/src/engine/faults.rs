//! The engine without encryption, with failures on demand: for tests of everything around an
//! engine. A feature that no program asks for; and where it was built in for another crate's tests,
//! a process still refuses it until one of its tests has called [`engine_line`].

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use rand::CryptoRng;
use shield::backend::{BallotBoxError, ClearBackend, Presence};
use shield::framing::{DecodeError, KeyId, Kind};
use shield::votes::Vote;
use shield::{Election, Seed};
use thiserror::Error;

use super::{Aggregating, BallotBytes, EncodedKeys, Engine, EngineError, Revealing, Voting};

/// Random bytes at the end of a ballot, a nonce's and those that stand for a checksum: no two are
/// the same, as with encryption.
const RANDOM: usize = 64;

/// Samples in a batch: few, so that small elections have several.
const SAMPLES_PER_BATCH: usize = 4;

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

fn wait(election: [u8; 32], batch: usize) {
    let all = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    let is_held = |all: &mut Option<HashSet<_>>| {
        all.as_ref().is_some_and(|all| all.contains(&(election, batch)))
    };
    drop(LET_GO.wait_while(all, is_held).unwrap_or_else(PoisonError::into_inner));
}

/// A failure that was asked for.
#[derive(Debug, Error)]
#[error("batch {0} was to fail")]
pub struct Injected(usize);

fn strike(election: [u8; 32], batch: usize) -> Result<(), Injected> {
    let mut faults = FAULTS.lock().unwrap_or_else(PoisonError::into_inner);
    match faults.as_mut().and_then(|faults| faults.get_mut(&(election, batch))) {
        Some(left @ 1..) => {
            *left -= 1;
            Err(Injected(batch))
        }
        _ => Ok(()),
    }
}

/// Votes that anyone can read, in batches of a few samples.
pub(super) struct FaultyEngine {
    clear: Arc<ClearBackend>,
    election: [u8; 32],
}

impl FaultyEngine {
    pub(super) fn new(election: Election) -> Self {
        let fingerprint = election.fingerprint();
        let clear = ClearBackend::with_batches_of(election, SAMPLES_PER_BATCH);
        Self { clear: Arc::new(clear), election: fingerprint }
    }
}

impl Engine for FaultyEngine {
    fn batches(&self) -> usize {
        Engine::batches(&*self.clear)
    }

    fn batch(&self, batch: usize) -> Range<usize> {
        Engine::batch(&*self.clear, batch)
    }

    fn max_bytes(&self, kind: Kind) -> usize {
        let random = if kind == Kind::Ballot { RANDOM } else { 0 };
        Engine::max_bytes(&*self.clear, kind) + random
    }

    fn make_keys(&self, rng: &mut dyn CryptoRng) -> Result<EncodedKeys, EngineError> {
        self.clear.make_keys(rng)
    }

    fn check_public_key(&self, bytes: &[u8]) -> Result<KeyId, DecodeError> {
        self.clear.check_public_key(bytes)
    }

    fn check_evaluation_key(&self, bytes: &[u8]) -> Result<KeyId, DecodeError> {
        self.clear.check_evaluation_key(bytes)
    }

    fn check_ballot(
        &self,
        bytes: &[u8],
        batch: usize,
        key: KeyId,
    ) -> Result<Presence, DecodeError> {
        self.clear.check_ballot(sent(bytes), batch, key)
    }

    fn check_release(&self, bytes: &[u8], batch: usize, key: KeyId) -> Result<(), DecodeError> {
        self.clear.check_release(bytes, batch, key)
    }

    fn distance(&self) -> f64 {
        Engine::distance(&*self.clear)
    }

    fn voting(self: Arc<Self>, public_key: &[u8]) -> Result<Box<dyn Voting>, DecodeError> {
        Ok(Box::new(RandomVoting(Arc::clone(&self.clear).voting(public_key)?)))
    }

    fn aggregating(
        self: Arc<Self>,
        evaluation_key: &[u8],
    ) -> Result<Box<dyn Aggregating>, DecodeError> {
        let clear = Arc::clone(&self.clear).aggregating(evaluation_key)?;
        Ok(Box::new(FaultyAggregating { clear, election: self.election }))
    }

    fn revealing(self: Arc<Self>, secret_key: &[u8]) -> Result<Box<dyn Revealing>, DecodeError> {
        Arc::clone(&self.clear).revealing(secret_key)
    }
}

/// What comes before the random bytes of a ballot.
fn sent(ballot: &[u8]) -> &[u8] {
    ballot.split_last_chunk::<RANDOM>().map_or(&[], |(sent, _)| sent)
}

/// Adds what makes the votes of a ballot differ from every other's, as encryption would.
struct RandomVoting(Box<dyn Voting>);

impl Voting for RandomVoting {
    fn key(&self) -> KeyId {
        self.0.key()
    }

    fn encrypt(
        &self,
        batch: usize,
        votes: &[Vote],
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u8>, EngineError> {
        let mut ballot = self.0.encrypt(batch, votes, rng)?;
        let mut random = [0; RANDOM];
        rng.fill_bytes(&mut random);
        ballot.extend(random);
        Ok(ballot)
    }
}

/// Ballots without their random bytes.
struct Sent<'a>(&'a dyn BallotBytes);

impl BallotBytes for Sent<'_> {
    fn presence(&self, teacher: u32) -> Result<Presence, BallotBoxError> {
        self.0.presence(teacher)
    }

    fn bytes(&self, teacher: u32) -> Result<Vec<u8>, BallotBoxError> {
        self.0.bytes(teacher).map(|ballot| sent(&ballot).to_vec())
    }
}

struct FaultyAggregating {
    clear: Box<dyn Aggregating>,
    election: [u8; 32],
}

impl Aggregating for FaultyAggregating {
    fn key(&self) -> KeyId {
        self.clear.key()
    }

    fn aggregate(
        &self,
        batch: usize,
        ballots: &dyn BallotBytes,
        seed: &Seed,
    ) -> Result<Vec<u8>, EngineError> {
        wait(self.election, batch);
        strike(self.election, batch).map_err(EngineError::new)?;
        self.clear.aggregate(batch, &Sent(ballots), seed)
    }

    fn shard(
        &self,
        batch: usize,
        ballots: &dyn BallotBytes,
        seed: &Seed,
        teachers: Range<u32>,
    ) -> Result<Vec<u8>, EngineError> {
        self.clear.shard(batch, ballots, seed, teachers)
    }

    fn merge_shards(&self, batch: usize, shards: &[&[u8]]) -> Result<Vec<u8>, EngineError> {
        self.clear.merge_shards(batch, shards)
    }

    fn release_shards(
        &self,
        batch: usize,
        ballots: &dyn BallotBytes,
        seed: &Seed,
        whole: &[u8],
    ) -> Result<Vec<u8>, EngineError> {
        self.clear.release_shards(batch, ballots, seed, whole)
    }
}
