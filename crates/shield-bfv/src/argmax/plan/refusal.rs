//! Elections that the batched argmax cannot be planned for, and what to take instead.

use thiserror::Error;

use super::MAX_CLASSES;
use crate::argmax::mlwe::SMALLEST_SHARE;
use crate::argmax::sign::MAX_RANGE;

/// Why an election cannot be planned, and what to take instead.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ArgmaxPlanError {
    /// Too many classes.
    #[error(
        "{classes} classes are beyond the batched argmax, which compares up to {MAX_CLASSES}; \
         take --mechanism shield"
    )]
    Classes {
        /// How many were asked for.
        classes: usize,
    },
    /// Nobody could ever win.
    #[error("a threshold of {threshold} is above the {votes} votes that there are; take less")]
    Threshold {
        /// The threshold.
        threshold: u32,
        /// The votes.
        votes: u64,
    },
    /// Counts and noise are too wide to compare.
    #[error(
        "differences of up to {votes} votes with noise of {noise} are beyond the range of \
         {MAX_RANGE}; take less noise, fewer dropouts or smaller counts"
    )]
    Range {
        /// The largest difference without noise.
        votes: u64,
        /// The noise.
        noise: f64,
    },
    /// Noise whose shares hide no tiny ballot, whatever its amount.
    #[error(
        "tiny ballots are hidden by their noise, and only shares of Skellam noise are known to do \
         so; take --noise-law skellam, or --ballots checked"
    )]
    TinyLaw,
    /// Noise whose shares are too small to hide a tiny ballot.
    #[error(
        "tiny ballots are hidden by their noise, and a teacher's share has a deviation of \
         {share:.2} where {least} are needed; take a --noise of {noise:.2} or more, or \
         --ballots checked", least = SMALLEST_SHARE
    )]
    TinyShare {
        /// The deviation of a share.
        share: f64,
        /// The noise whose shares are large enough.
        noise: f64,
    },
    /// No ring has room for the circuit.
    #[error(
        "a comparison of differences up to {range} needs more noise budget than any ring of at \
         most 32,768 coefficients has at 128 bits of security; take less noise or fewer ballots"
    )]
    Noise {
        /// The range that is needed.
        range: usize,
    },
}
