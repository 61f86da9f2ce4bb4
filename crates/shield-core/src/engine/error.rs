//! What can be wrong with votes, ballots, keys and releases: the same for every engine.

use std::error::Error;
use std::fmt;
use std::ops::Range;

use thiserror::Error;

use super::BallotBoxError;
use crate::framing::{DecodeError, Kind, MadeFor};
use crate::parameters::Class;

/// What is wrong with votes, or with a key, ballot or release that was handed to an engine.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BallotError {
    /// There is no such batch.
    #[error("there is no batch {batch}; the election has {batches}, counted from 0")]
    Batch {
        /// The batch asked for.
        batch: usize,
        /// How many there are.
        batches: usize,
    },
    /// The number of votes is not the number of samples in the batch.
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
    /// A key or a release that does not belong here.
    #[error("the {what} belongs to another {of}; use the one that was made for this {of}")]
    Foreign {
        /// What does not belong.
        what: Kind,
        /// Where it does not belong.
        of: Scope,
    },
    /// A ballot that does not belong to the election, the keys or the batch.
    #[error(
        "the ballot of teacher {teacher} was made for another {of}; ask the teacher to vote again"
    )]
    ForeignBallot {
        /// Whose ballot it is.
        teacher: u32,
        /// Where it does not belong.
        of: Scope,
    },
    /// Ballots carry proofs, which are bound to the teacher's name.
    #[error("ballots of this election carry proofs that name a teacher; say which teacher's it is")]
    Unnamed,
    /// A ballot without a valid proof.
    #[error(
        "the ballot of teacher {teacher} does not prove that it is well formed and that whoever \
         made it for this teacher knows the votes; leave it out, and ask the teacher to vote again"
    )]
    Unproven {
        /// Whose ballot it should be.
        teacher: u32,
    },
    /// A ballot could not be had.
    #[error(transparent)]
    Box(#[from] BallotBoxError),
}

/// What a key, a ballot or a release belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A set of keys.
    Keys,
    /// A batch.
    Batch,
    /// An election, with an engine and its plan.
    Election,
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Keys => "set of keys",
            Self::Batch => "batch",
            Self::Election => "election",
        })
    }
}

impl MadeFor {
    /// What is different here, if anything.
    fn differs_from(self, expected: Self) -> Option<Scope> {
        if self.key != expected.key {
            Some(Scope::Keys)
        } else if self.batch != expected.batch {
            Some(Scope::Batch)
        } else {
            None
        }
    }

    /// Refuses what was made for something else. Whether it `fits` the election, the engine knows.
    pub fn check(self, what: Kind, expected: Self, fits: bool) -> Result<(), BallotError> {
        match self.differs_from(expected).or((!fits).then_some(Scope::Election)) {
            None => Ok(()),
            Some(of) => Err(BallotError::Foreign { what, of }),
        }
    }

    /// Refuses a release that was made for something else. Whether it `fits` the election, the
    /// engine knows.
    pub fn check_release(self, expected: Self, fits: bool) -> Result<(), BallotError> {
        self.check(Kind::Release, expected, fits)
    }

    /// Refuses the ballot of a teacher that was made for something else. Whether it `fits` the
    /// election, the engine knows.
    pub fn check_ballot(self, teacher: u32, expected: Self, fits: bool) -> Result<(), BallotError> {
        match self.differs_from(expected).or((!fits).then_some(Scope::Election)) {
            None => Ok(()),
            Some(of) => Err(BallotError::ForeignBallot { teacher, of }),
        }
    }
}

/// Refuses a key that does not fit the election.
pub fn check_key_fits(what: Kind, fits: bool) -> Result<(), BallotError> {
    if fits { Ok(()) } else { Err(BallotError::Foreign { what, of: Scope::Election }) }
}

/// An audit that cannot be read.
#[derive(Debug, Error)]
pub enum AuditError {
    /// It is not this batch's audit for these keys.
    #[error(transparent)]
    Bytes(#[from] DecodeError),
    /// The engine failed.
    #[error(transparent)]
    Engine(Box<dyn Error + Send + Sync>),
}

/// A shard that cannot be made, or shards that make no release.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ShardError {
    /// Not bytes of a shard.
    #[error("this is no shard of this batch, election and key, or it is damaged; compute it again")]
    Damaged,
    /// A range that is none.
    #[error(
        "a shard from teacher {} to before {} cannot be; the election has teachers 0 to before \
         {teachers}",
        range.start, range.end
    )]
    Teachers {
        /// What was asked for.
        range: Range<u32>,
        /// How many teachers there are.
        teachers: u32,
    },
    /// Shards that do not follow each other.
    #[error(
        "a shard that ends before teacher {end} is followed by one from teacher {start}; give \
         neighbours in order"
    )]
    Gap {
        /// Where the one ends.
        end: u32,
        /// Where the other begins.
        start: u32,
    },
    /// Not all teachers are in.
    #[error(
        "the shards are of teachers {} to before {}, and the election has {teachers}; add the \
         others",
        range.start, range.end
    )]
    Incomplete {
        /// The teachers of the shards.
        range: Range<u32>,
        /// How many teachers there are.
        teachers: u32,
    },
    /// The engine failed.
    #[error(transparent)]
    Engine(Box<dyn Error + Send + Sync>),
}

impl ShardError {
    /// The engine's own error.
    pub fn engine(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Engine(Box::new(error))
    }
}
