//! What can go wrong in the engines that bootstrap.

use shield::Class;
use shield::backend::BallotBoxError;
use shield::backend::noisy_argmax::TooFewShares;
use shield::framing::DecodeError;
use thiserror::Error;

/// What can go wrong in the engines that bootstrap.
#[derive(Debug, Error)]
pub enum BootstrappedError {
    /// The parameters cannot run the election with little enough probability of a wrong label.
    #[error(
        "a label would be wrong with probability 2^-{bits:.0}, more than 2^-64: {rounds} rounds are too many; take a shorter polynomial"
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
        "a label would be wrong with probability 2^-{bits:.0}, more than 2^-64: take fewer teachers or classes"
    )]
    TooUnsure {
        /// -log2 of the probability.
        bits: f64,
    },
    /// Counts and noise do not fit into the digits that are compared.
    #[error(
        "{teachers} teachers with noise of scale {noise} count further than 65,535; take less noise or fewer teachers"
    )]
    TooWide {
        /// How many teachers there are.
        teachers: u32,
        /// The scale of the noise.
        noise: f64,
    },
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
    /// A ballot could not be had.
    #[error(transparent)]
    Ballot(#[from] BallotBoxError),
    /// Bytes that are not what they should be.
    #[error(transparent)]
    Decode(#[from] DecodeError),
}
