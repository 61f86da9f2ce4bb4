//! The keys and releases of the engines that encrypt nothing.

use rand::{CryptoRng, RngCore};

use super::super::{BallotError, Keys};
use crate::election::Election;
use crate::framing::{KeyId, MadeFor};
use crate::votes::Label;

/// Purpose of the digest that names a set of keys.
pub(super) const KEY_NAME: &str = "shield 2026 clear key name v1";

/// A key that locks nothing: student, teachers and server hold the same random bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClearKey(pub(super) [u8; 32]);

impl ClearKey {
    /// Random keys, which differ from all others in name.
    pub(super) fn generate<R: RngCore + CryptoRng>(rng: &mut R) -> Keys<Self, Self, Self> {
        let mut bytes = [0; 32];
        rng.fill_bytes(&mut bytes);
        Keys { secret: Self(bytes), public: Self(bytes), evaluation: Self(bytes) }
    }

    /// The name of the set of keys that this one belongs to.
    pub fn id(&self) -> KeyId {
        KeyId::of_public_key(KEY_NAME, &self.0)
    }
}

/// The labels of one batch, for anyone to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClearRelease {
    pub(super) labels: Vec<Label>,
    pub(super) made_for: MadeFor,
}

impl ClearRelease {
    /// The labels, if the release was made for this batch and these keys.
    pub(super) fn labels_for(
        &self,
        made_for: MadeFor,
        samples: usize,
    ) -> Result<Vec<Label>, BallotError> {
        self.made_for.check_release(made_for, self.labels.len() == samples)?;
        Ok(self.labels.clone())
    }
}

/// A digest of the election and the batches.
pub(super) fn binding(purpose: &str, election: &Election, samples_per_batch: usize) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key(purpose);
    hasher.update(&election.fingerprint());
    hasher.update(&(samples_per_batch as u64).to_le_bytes());
    *hasher.finalize().as_bytes()
}
