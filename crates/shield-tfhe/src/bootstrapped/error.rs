//! What can go wrong in the engines that bootstrap.

use shield::backend::noisy_argmax::TooFewShares;
use shield::backend::{BallotBoxError, BallotError};
use shield::framing::DecodeError;
use thiserror::Error;

/// What can go wrong in the engines that bootstrap.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BootstrappedError {
    /// The parameters cannot run the election with little enough probability of a wrong label.
    #[error(
        "a label would be wrong with probability 2^-{bits:.0}, more than 2^-64: {rounds} rounds \
         are too many; take a shorter polynomial"
    )]
    TooManyRounds {
        /// How many rounds were asked for.
        rounds: usize,
        /// -log2 of the probability.
        bits: f64,
    },
    /// One sample's counts do not fit into a ciphertext.
    #[error("{classes} classes; the noisy argmax takes at most {largest}")]
    TooManyClasses {
        /// How many there are.
        classes: usize,
        /// How many are possible.
        largest: usize,
    },
    /// Ballots add up to too much noise.
    #[error(
        "a label would be wrong with probability 2^-{bits:.0}, more than 2^-64: take fewer \
         teachers or classes"
    )]
    TooUnsure {
        /// -log2 of the probability.
        bits: f64,
    },
    /// Counts and noise do not fit into the digits that are compared.
    #[error(
        "{teachers} teachers with noise of scale {noise} count further than 65,535; take less \
         noise or fewer teachers"
    )]
    TooWide {
        /// How many teachers there are.
        teachers: u32,
        /// The scale of the noise.
        noise: f64,
    },
    /// The noise was shared out among another number of teachers.
    #[error(
        "the noise is shared among {shares} teachers and the election has {teachers}; share it \
         among the teachers of the election"
    )]
    OtherTeachers {
        /// How many teachers share the noise.
        shares: u32,
        /// How many the election has.
        teachers: u32,
    },
    /// Something is wrong with the votes, or with a key, ballot or release.
    #[error(transparent)]
    Ballot(#[from] BallotError),
    /// More teachers are missing than the noise was shared out for.
    #[error(transparent)]
    Shares(#[from] TooFewShares),
    /// A release that decrypts to something that is no label.
    #[error(
        "sample {sample} of the batch decrypts to no class; ask the server for the release again"
    )]
    NotALabel {
        /// The sample, from 0, within the batch.
        sample: usize,
    },
    /// Bytes that are not what they should be.
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

impl From<BallotBoxError> for BootstrappedError {
    fn from(error: BallotBoxError) -> Self {
        Self::Ballot(error.into())
    }
}
