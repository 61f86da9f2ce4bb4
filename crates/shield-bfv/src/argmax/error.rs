//! What can go wrong in the batched argmax.

use shield_core::engine::noisy_argmax::TooFewShares;
use shield_core::engine::{BallotBoxError, BallotError};
use thiserror::Error;

use super::plan::ArgmaxPlanError;
use crate::quorum::HeldByTrustees;
use shield_core::framing::DecodeError;

/// What can go wrong in the batched argmax.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ArgmaxError {
    /// No parameter set can run the election.
    #[error(transparent)]
    Plan(#[from] ArgmaxPlanError),
    /// Something is wrong with the votes, or with a key, ballot or release.
    #[error(transparent)]
    Ballot(#[from] BallotError),
    /// Too many teachers are missing.
    #[error(transparent)]
    Shares(#[from] TooFewShares),
    /// The noise was shared out among another number of teachers.
    #[error(
        "the noise is shared out among {noise} teachers, and the election has {election}; share \
         it out among as many as the election has"
    )]
    Teachers {
        /// Among how many the noise is shared.
        noise: u32,
        /// How many the election has.
        election: u32,
    },
    /// A histogram that is not one count for each class, within the bound.
    #[error(
        "sample {sample} of the batch: {found}; send {classes} counts that sum to at most {bound}"
    )]
    Counts {
        /// The sample, from 0, within the batch.
        sample: usize,
        /// What is wrong with it.
        found: String,
        /// How many classes there are.
        classes: usize,
        /// The largest sum of counts.
        bound: u32,
    },
    /// Nobody has the key that was to be made or used.
    #[error(transparent)]
    Trustees(#[from] HeldByTrustees),
    /// Tiny ballots whose secrets the student has not summed up yet.
    #[error(
        "the student must unlock batch {batch} first: with tiny ballots the server asks for the \
         sum of the secrets of those who sent one"
    )]
    Locked {
        /// The batch.
        batch: usize,
    },
    /// What the student summed up are the secrets of other ballots.
    #[error(
        "the student unlocked other ballots of batch {batch} than these; aggregate those that it \
         was asked about"
    )]
    OtherBallots {
        /// The batch.
        batch: usize,
    },
    /// The same sealed seed twice: a copy of a ballot.
    #[error(
        "teachers {first} and {second} sealed the same seed, so one ballot is a copy of the \
         other's; leave one out, or ask both to vote again"
    )]
    Copied {
        /// The one before.
        first: u32,
        /// The one after.
        second: u32,
    },
    /// Bytes that are not what they should be.
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

impl From<BallotBoxError> for ArgmaxError {
    fn from(error: BallotBoxError) -> Self {
        Self::Ballot(error.into())
    }
}
