//! What takes seconds and much memory: batches, audits, rehearsals. Each waits until there is room
//! for it, and the one that the process has died of twice is not computed a third time.

use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use shield_protocol::PlannedElection;
use thiserror::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::problem::Problem;
use crate::store::Store;

/// What the server needs besides what it computes, in MiB.
const OWN: u64 = 192;

/// How often the process may die of something.
const DEATHS: u64 = 2;

/// Why something is not computed.
#[derive(Debug, Error)]
pub(crate) enum TooHeavy {
    /// It takes more memory than there is.
    #[error(
        "a batch of this election takes up to {needed} MiB of memory, and this server computes \
         with {there}; take fewer rounds or samples, or give the server more (--memory)"
    )]
    Memory {
        /// How much, in MiB.
        needed: u32,
        /// How much there is, in MiB.
        there: u32,
    },
    /// The process has died of it before.
    #[error(
        "the server has died {DEATHS} times while it computed {0}, perhaps for lack of memory; \
         find out why, then ask for it again"
    )]
    Deadly(String),
    /// The mark that it was begun cannot be written.
    #[error("{}: {source}", path.display())]
    Mark {
        /// The mark.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// The memory there is to compute with, and what is being computed.
pub(crate) struct Heavy {
    room: Arc<Semaphore>,
    /// In MiB.
    there: u32,
    begun: Arc<Mutex<HashSet<PathBuf>>>,
}

/// Something that is being computed, until it is dropped.
#[derive(Debug)]
pub(crate) struct Begun {
    mark: PathBuf,
    all: Arc<Mutex<HashSet<PathBuf>>>,
    _room: OwnedSemaphorePermit,
}

impl Heavy {
    /// Room for what a server may compute that has so many bytes.
    pub(crate) fn new(memory: u64) -> Self {
        let there = (memory >> 20).saturating_sub(OWN).min(1 << 28);
        let there = u32::try_from(there).unwrap_or(u32::MAX);
        let room = Arc::new(Semaphore::new(there as usize));
        Self { room, there, begun: Arc::default() }
    }

    /// How much an election takes, in MiB, if that is not too much.
    pub(crate) fn needed(&self, file: &PlannedElection) -> Result<u32, TooHeavy> {
        let needed = file.engine().memory_bytes().div_ceil(1 << 20);
        let needed = u32::try_from(needed).unwrap_or(u32::MAX);
        if needed <= self.there {
            return Ok(needed);
        }
        Err(TooHeavy::Memory { needed, there: self.there })
    }

    /// Whether keys of elections that wait may stay in memory beside this one.
    pub(crate) fn is_ample_for(&self, file: &PlannedElection) -> bool {
        self.needed(file).is_ok_and(|needed| needed <= self.there / 4)
    }

    /// Waits until there is room to compute something of an election, and marks in its folder that
    /// it was begun. A mark that is there already is from a process that died of it.
    pub(crate) async fn begin(
        &self,
        store: &Store,
        file: &PlannedElection,
        what: &str,
    ) -> Result<Begun, TooHeavy> {
        let needed = self.needed(file)?;
        // The semaphore is never closed.
        let room = Arc::clone(&self.room).acquire_many_owned(needed).await;
        let room = room.map_err(|_| TooHeavy::Memory { needed, there: self.there })?;
        let mark = store.own_folder(file.name()).join("begun").join(what.replace(' ', "-"));
        let deaths = fs::metadata(&mark).map_or(0, |mark| mark.len());
        if deaths >= DEATHS {
            // Whoever asks again has found out why.
            let _ = fs::remove_file(&mark);
            return Err(TooHeavy::Deadly(what.to_owned()));
        }
        let add = || {
            fs::create_dir_all(mark.parent().unwrap_or(&mark))?;
            OpenOptions::new().append(true).create(true).open(&mark)?.write_all(b"+")
        };
        add().map_err(|source| TooHeavy::Mark { path: mark.clone(), source })?;
        let all = Arc::clone(&self.begun);
        all.lock().unwrap_or_else(PoisonError::into_inner).insert(mark.clone());
        Ok(Begun { mark, all, _room: room })
    }

    /// Takes the marks away: what is under way is broken off by whoever stops the server.
    pub(crate) fn forgive(&self) {
        for mark in self.begun.lock().unwrap_or_else(PoisonError::into_inner).drain() {
            let _ = fs::remove_file(mark);
        }
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.mark);
        let _ = fs::remove_file(&self.mark);
    }
}

impl From<TooHeavy> for Problem {
    fn from(error: TooHeavy) -> Self {
        match error {
            TooHeavy::Memory { .. } => Self::unusable(error),
            TooHeavy::Deadly(_) => Self::conflict("deadly", error),
            TooHeavy::Mark { .. } => Self::internal(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use shield_protocol::ElectionFile;

    use super::*;
    use crate::tests::text;

    /// What is tested: two batches of an election, with this much memory in MiB.
    async fn with(memory: u64) -> (tempfile::TempDir, Store, PlannedElection, Heavy) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("data"), None).await.unwrap();
        let file = ElectionFile::parse(&text("ward", 3, 4, 2)).unwrap().plan();
        (folder, store, file, Heavy::new(memory << 20))
    }

    #[tokio::test]
    async fn what_the_process_died_of_twice_is_refused_once() {
        let (_folder, store, file, heavy) = with(1 << 20).await;
        let begin = || heavy.begin(&store, &file, "batch 0");
        // What ends, whatever came of it, may be begun again and again.
        for _ in 0..4 {
            drop(begin().await.unwrap());
        }
        for _ in 0..2 {
            std::mem::forget(begin().await.unwrap());
        }
        drop(heavy.begin(&store, &file, "batch 1").await.unwrap());
        let refused = begin().await.unwrap_err().to_string();
        assert!(refused.contains("died 2 times while it computed batch 0"), "{refused}");
        // Somebody who stops the server has not made it die.
        std::mem::forget(begin().await.unwrap());
        heavy.forgive();
        std::mem::forget(begin().await.unwrap());
        drop(begin().await.unwrap());
    }

    #[tokio::test]
    async fn what_does_not_fit_waits_and_what_never_will_is_refused() {
        let (_folder, store, file, ample) = with(1 << 20).await;
        let needed = u64::from(ample.needed(&file).unwrap());
        let heavy = Heavy::new((OWN + needed) << 20);
        let first = heavy.begin(&store, &file, "batch 0").await.unwrap();
        let mut second = Box::pin(heavy.begin(&store, &file, "batch 1"));
        let waiting = tokio::select! {
            biased;
            _ = &mut second => false,
            () = tokio::task::yield_now() => true,
        };
        assert!(waiting, "both at once do not fit");
        drop(first);
        second.await.unwrap();
        let refused = Heavy::new((OWN + needed - 1) << 20).needed(&file).unwrap_err();
        assert!(refused.to_string().contains("--memory"), "{refused}");
    }
}
