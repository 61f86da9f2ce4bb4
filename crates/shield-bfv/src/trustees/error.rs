//! What can be wrong with what trustees send.

use shield_core::framing::DecodeError;
use thiserror::Error;

use crate::quorum::{MOST_OPENINGS, Trustees};

/// What can be wrong with what trustees send. Trustees are counted from 0.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TrusteeError {
    /// The engine is set up for a key that the student makes.
    #[error("this election has no trustees; list them in its election file")]
    NoTrustees,
    /// Somebody's message is missing, or there is one too many.
    #[error("{found} {what} where there must be {expected}; wait for those that are missing")]
    Count {
        /// What is counted.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there must be.
        expected: usize,
    },
    /// There is no such trustee.
    #[error("there is no trustee {trustee}; the election has {count}, counted from 0")]
    Nobody {
        /// The number given.
        trustee: usize,
        /// How many there are.
        count: usize,
    },
    /// Bytes that are not what they should be.
    #[error("trustee {trustee}: {source}")]
    Message {
        /// Whose they are.
        trustee: usize,
        /// What is wrong with them.
        source: DecodeError,
    },
    /// A message that bears another trustee's number.
    #[error("the message of trustee {trustee} says that it is from trustee {found}")]
    Number {
        /// Whose message it was to be.
        trustee: usize,
        /// What it says.
        found: usize,
    },
    /// A first share that is not what was committed to.
    #[error(
        "the key share of trustee {trustee} is not what it committed to; make keys without this \
         trustee"
    )]
    Commitment {
        /// Whose share it is.
        trustee: usize,
    },
    /// What a trustee sent is not what its seed gives.
    #[error(
        "the {what} of trustee {trustee} in key set {set} is not what its opened seed gives; make \
         keys without this trustee"
    )]
    Seed {
        /// Which of its messages.
        what: &'static str,
        /// Whose it is.
        trustee: usize,
        /// The set of keys.
        set: usize,
    },
    /// A first share goes by this trustee's name that it did not make.
    #[error(
        "the key share that goes by the name of this trustee is not its own; send nothing more, \
         and tell the other trustees"
    )]
    NotMine,
    /// A deal that is no sharing of the dealer's secret.
    #[error("the deal of trustee {dealer} does not share out its secret; make keys without it")]
    Deal {
        /// Who dealt.
        dealer: usize,
    },
    /// A dealt share that is not the one that the public deal stands for.
    #[error(
        "the share from trustee {dealer} is not the one of its deal; show it to the other trustees"
    )]
    DealtShare {
        /// Who dealt.
        dealer: usize,
    },
    /// Fewer than all open, so secrets must be shared out first; or all do, and there is no deal.
    #[error("{trustees} trustees open: {remedy}")]
    Sharing {
        /// How many of them open.
        trustees: Trustees,
        /// What to do.
        remedy: &'static str,
    },
    /// A set that cannot open.
    #[error(
        "a set of {found} trustees cannot open; name {threshold} different trustees, this one \
         among them"
    )]
    Set {
        /// How many were named.
        found: usize,
        /// How many it takes.
        threshold: usize,
    },
    /// No secret is shared with a trustee of the set.
    #[error("there is no secret shared with trustee {with}; agree on one first")]
    PairSecret {
        /// The other trustee.
        with: usize,
    },
    /// The release is not one of this batch and key.
    #[error("the release: {0}")]
    Release(#[from] DecodeError),
    /// An opening of something else.
    #[error(
        "the opening of trustee {trustee} is for another release, set of trustees or purpose; ask \
         for it again"
    )]
    OtherOpening {
        /// Whose opening it is.
        trustee: usize,
    },
    /// Another release of a batch that was opened already.
    #[error(
        "another release of batch {batch} was opened already; a batch is opened once, so do not \
         open this one"
    )]
    SecondRelease {
        /// The batch.
        batch: usize,
    },
    /// One set of trustees too many.
    #[error(
        "the release of batch {batch} was opened with {MOST_OPENINGS} sets of trustees already; \
         opening it once more would show more than its labels"
    )]
    TooOften {
        /// The batch.
        batch: usize,
    },
    /// Too few openings to check them.
    #[error("{found} openings cannot be checked against each other; get at least {needed}")]
    TooFew {
        /// How many there are.
        found: usize,
        /// How many it takes.
        needed: usize,
    },
    /// Openings that contradict each other, too few to say whose is wrong.
    #[error(
        "the openings contradict each other, and {found} are too few to say whose is wrong; get \
         those of more trustees"
    )]
    Contradiction {
        /// How many there are.
        found: usize,
    },
    /// A list of openings that is none.
    #[error("the list of what was opened is damaged; restore it before anything is opened")]
    Openings,
}
