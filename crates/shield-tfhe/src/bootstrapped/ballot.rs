//! The ballot: one teacher's votes on one batch.

use std::fmt;

use shield::backend::{Ballot, Presence};

use super::keys::{KeyId, Packed};

/// One teacher's votes on one batch, encrypted: one mask, and a word a digit of each vote.
#[derive(Clone)]
pub struct BootstrappedBallot {
    pub(crate) packed: Packed,
    pub(crate) presence: Presence,
    pub(crate) batch: usize,
    pub(crate) key: KeyId,
}

impl Ballot for BootstrappedBallot {
    fn presence(&self) -> &Presence {
        &self.presence
    }
}

impl fmt::Debug for BootstrappedBallot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BootstrappedBallot")
            .field("batch", &self.batch)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

/// What the student gets for one batch: a washed ciphertext a digit of each label.
#[derive(Clone, PartialEq, Eq)]
pub struct BootstrappedRelease {
    /// N + 1 words of 16 bits for each.
    pub(crate) words: Vec<u16>,
    pub(crate) batch: usize,
    pub(crate) key: KeyId,
}

impl fmt::Debug for BootstrappedRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BootstrappedRelease")
            .field("batch", &self.batch)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}
