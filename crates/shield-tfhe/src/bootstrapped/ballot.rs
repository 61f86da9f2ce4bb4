//! The ballot: one teacher's votes on one batch.

use std::fmt;

use shield::backend::{Ballot, BallotError, Presence};
use shield::framing::MadeFor;

use super::keys::{Packed, SecretKey};
use super::parameters::RING;

/// One teacher's votes on one batch, encrypted: one mask, and a word per digit of each vote.
#[derive(Clone)]
pub struct BootstrappedBallot {
    pub(crate) packed: Packed,
    pub(crate) presence: Presence,
    pub(crate) made_for: MadeFor,
}

impl Ballot for BootstrappedBallot {
    fn presence(&self) -> &Presence {
        &self.presence
    }

    fn made_for(&self) -> MadeFor {
        self.made_for
    }
}

impl fmt::Debug for BootstrappedBallot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BootstrappedBallot")
            .field("batch", &self.made_for.batch)
            .field("key", &self.made_for.key)
            .finish_non_exhaustive()
    }
}

/// What the student gets for one batch: a flooded ciphertext per digit of each label.
#[derive(Clone, PartialEq, Eq)]
pub struct BootstrappedRelease {
    /// N + 1 words of 16 bits for each.
    pub(crate) words: Vec<u16>,
    pub(crate) made_for: MadeFor,
}

impl BootstrappedRelease {
    /// Refuses the release of other keys, of another batch, or of another number of ciphertexts.
    pub(crate) fn check(
        &self,
        key: &SecretKey,
        batch: usize,
        ciphertexts: usize,
    ) -> Result<(), BallotError> {
        let fits = self.words.len() == ciphertexts * (RING + 1);
        self.made_for.check_release(MadeFor { batch, key: key.id() }, fits)
    }
}

impl fmt::Debug for BootstrappedRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BootstrappedRelease")
            .field("batch", &self.made_for.batch)
            .field("key", &self.made_for.key)
            .finish_non_exhaustive()
    }
}
