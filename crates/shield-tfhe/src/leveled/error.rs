//! What can go wrong in the engine.

use shield_core::engine::{BallotBoxError, BallotError};
use thiserror::Error;

use super::plan::PlanError;

/// What can go wrong in the engine.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LeveledError {
    /// No parameter set can run the election.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Something is wrong with the votes, or with a key, ballot or release.
    #[error(transparent)]
    Ballot(#[from] BallotError),
    /// A release that decrypts to something that is not a label.
    #[error(
        "the release decrypts to no class: some teacher's ballot is not a vote, or the server's \
         key is not the student's; ask the server for the release again, with the evaluation key \
         of these keys"
    )]
    NotALabel,
}

impl From<BallotBoxError> for LeveledError {
    fn from(error: BallotBoxError) -> Self {
        Self::Ballot(error.into())
    }
}
