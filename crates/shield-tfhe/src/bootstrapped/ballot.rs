//! The ballot: one teacher's votes on one batch.

use std::fmt;

use shield::backend::{Ballot, Presence};
use shield::framing::KeyId;

use super::error::BootstrappedError;
use super::keys::{Packed, SecretKey};
use super::parameters::RING;

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

impl BootstrappedRelease {
    /// Refuses the release of other keys, of another batch, or of another number of ciphertexts.
    pub(crate) fn check(
        &self,
        key: &SecretKey,
        batch: usize,
        ciphertexts: usize,
    ) -> Result<(), BootstrappedError> {
        let foreign = |of| Err(BootstrappedError::Foreign { what: "release", of });
        if self.key != key.id() {
            foreign("set of keys")
        } else if self.batch != batch {
            foreign("batch")
        } else if self.words.len() != ciphertexts * (RING + 1) {
            foreign("election")
        } else {
            Ok(())
        }
    }
}

impl fmt::Debug for BootstrappedRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BootstrappedRelease")
            .field("batch", &self.batch)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}
