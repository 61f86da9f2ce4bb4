//! What can go wrong in the engine.

use shield::Class;
use shield::backend::BallotBoxError;
use shield::framing::DecodeError;
use thiserror::Error;

use super::plan::PlanError;

/// What can go wrong in the engine.
#[derive(Debug, Error)]
pub enum LeveledError {
    /// No parameter set can run the election.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// There is no such batch.
    #[error("there is no batch {batch}; the election has {batches}, counted from 0")]
    Batch {
        /// The batch asked for.
        batch: usize,
        /// How many there are.
        batches: usize,
    },
    /// Another number of votes than samples in the batch.
    #[error("the batch has {samples} samples, the ballot {votes} votes; vote or abstain on each")]
    VoteCount {
        /// How many votes there are.
        votes: usize,
        /// How many samples the batch has.
        samples: usize,
    },
    /// A vote for something else.
    #[error("sample {sample} of the batch: {class} is not one of the {classes} classes")]
    NotAClass {
        /// The sample, from 0, within the batch.
        sample: usize,
        /// The vote.
        class: Class,
        /// How many classes there are.
        classes: usize,
    },
    /// Keys, ballots or releases that do not belong together.
    #[error("the {what} belongs to another {of}; use the one that was made for this {of}")]
    Foreign {
        /// What does not belong.
        what: &'static str,
        /// Where it should belong.
        of: &'static str,
    },
    /// A ballot that does not belong to the election, the key or the batch.
    #[error(
        "the ballot of teacher {teacher} was made for another {of}; ask the teacher to vote again"
    )]
    ForeignBallot {
        /// Whose ballot it is.
        teacher: u32,
        /// What it was made for.
        of: &'static str,
    },
    /// A release that decrypts to something that is no label.
    #[error(
        "the release decrypts to no class: some teacher's ballot is no vote, or the server's key is not the student's; \
         ask the server for the release again, with the evaluation key of these keys"
    )]
    NotALabel,
    /// A ballot could not be had.
    #[error(transparent)]
    Ballot(#[from] BallotBoxError),
    /// Bytes that are not what they should be.
    #[error(transparent)]
    Decode(#[from] DecodeError),
}
