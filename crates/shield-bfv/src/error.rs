//! What can go wrong in the engine.

use shield_core::engine::{BallotBoxError, BallotError};
use shield_core::framing::DecodeError;
use thiserror::Error;

use crate::plan::PlanError;
use crate::quorum::HeldByTrustees;

/// What can go wrong in the engine.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BfvError {
    /// No parameter set can run the election.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Something is wrong with the votes, or with a key, ballot or release.
    #[error(transparent)]
    Ballot(#[from] BallotError),
    /// Nobody has the key that was to be made or used.
    #[error(transparent)]
    Trustees(#[from] HeldByTrustees),
    /// Bytes that are not what they should be.
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

impl From<BallotBoxError> for BfvError {
    fn from(error: BallotBoxError) -> Self {
        Self::Ballot(error.into())
    }
}
