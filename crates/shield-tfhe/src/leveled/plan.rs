//! The plan: from an election to a gadget, a noise bound, flooding and sizes.
//!
//! The ring is always the same: N = 2048, q = 2^64, ternary secret, errors `TUniform(17)`, which
//! the parameter sets of the `tfhe` crate take for 128 bits. What the plan chooses is how finely
//! GGSW ciphertexts cut: more levels mean less noise, larger ballots and longer products. It takes
//! the fewest levels whose noise the flooding hides: see [`super::flooding`].

use serde::Serialize;
use shield::Election;
use shield::framing::{framed_bytes, presence_bytes};
use thiserror::Error;

use super::flooding;
use super::noise::{self, Stages};
use super::parameters::{COMPACT_LEVELS, TRUNCATED_BITS, separation_steps};
use super::ring::{DEGREE, Gadget};
use super::switch;

/// Bytes of the public key: a seed, and a polynomial.
pub(crate) const PUBLIC_PAYLOAD: usize = 32 + 8 * DEGREE;

/// Bytes of a ballot's coefficient.
pub(crate) const BALLOT_WORD: usize = (64 - TRUNCATED_BITS as usize) / 8;

/// Bytes of a switching key: a seed, and the bodies of all levels.
const SWITCH_PAYLOAD: usize = 32 + switch::GADGET.levels * 8 * DEGREE;

/// Most classes: ten bits, as for the BFV engine.
const MAX_CLASSES: usize = 1_024;

/// Most levels that are tried.
const MAX_LEVELS: usize = 12;

/// log2 of the failure probability that a plan must reach.
const FAILURE_LOG2: f64 = -64.0;

/// Why no parameter set can run an election.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Too many classes.
    #[error("{classes} classes; the engine takes at most {largest}")]
    Classes {
        /// How many there are.
        classes: usize,
        /// How many are possible.
        largest: usize,
    },
    /// Too many draws.
    #[error(
        "the rounds draw {draws} votes per sample, and the noise of so many can no longer be \
         hidden; take a polynomial with fewer or lower terms, or --backend bfv"
    )]
    Noise {
        /// How many votes a sample draws.
        draws: usize,
    },
}

/// What a teacher sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Upload {
    /// GGSW ciphertexts, as the server needs them: large, and fast.
    #[default]
    Plain,
    /// One GLWE ciphertext, which the server expands: see [`super::compact`].
    Compact,
}

/// Everything that the engine decides for an election before any key is made.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    upload: Upload,
    gadget: Gadget,
    bits: usize,
    may_fail: bool,
    stages: Stages,
    products: usize,
    samples: usize,
}

impl Plan {
    /// The plan for an election.
    pub fn new(election: &Election, upload: Upload) -> Result<Self, PlanError> {
        let classes = election.classes().count();
        if classes > MAX_CLASSES {
            return Err(PlanError::Classes { classes, largest: MAX_CLASSES });
        }
        let bits = classes.next_power_of_two().ilog2().max(1) as usize;
        let setting = election.setting();
        let degrees = || setting.polynomial.rounds().filter(|&degree| degree > 1);
        // Without dummies an urn may be empty, and then even a single draw fails.
        let may_fail = setting.polynomial.can_fail() || setting.offset.dummies() == 0;
        let draws = degrees().map(|degree| degree as usize).sum();
        let products = degrees().map(|degree| 2 * bits * (degree as usize - 1)).sum();
        let samples = election.samples();
        let plan = |gadget| {
            let rows = match upload {
                Upload::Plain => noise::plain_rows(),
                Upload::Compact => noise::compact_rows(bits, gadget),
            };
            let stages = noise::stages(gadget, rows, bits, draws);
            Self { upload, gadget, bits, may_fail, stages, products, samples }
        };
        let levels = match upload {
            Upload::Plain => 1..=MAX_LEVELS,
            Upload::Compact => COMPACT_LEVELS..=COMPACT_LEVELS,
        };
        levels
            .filter_map(|levels| {
                // The base that leaves the least noise.
                let bases = (1..=48 / levels).map(|base_log| plan(Gadget { levels, base_log }));
                bases.min_by(|a, b| a.stages.released.total_cmp(&b.stages.released))
            })
            .find(|plan| {
                plan.statistical_bits() >= f64::from(plan.required_statistical_bits())
                    && plan.failure_log2() <= FAILURE_LOG2
            })
            .ok_or(PlanError::Noise { draws })
    }

    /// What a teacher sends.
    pub fn upload(&self) -> Upload {
        self.upload
    }

    /// The statistical distance that the plan had to reach, in bits.
    pub fn required_statistical_bits(&self) -> u32 {
        match self.upload {
            Upload::Plain => flooding::STATISTICAL_BITS,
            Upload::Compact => flooding::COMPACT_STATISTICAL_BITS,
        }
    }

    /// Coefficients of the ring.
    pub fn ring_degree(&self) -> usize {
        DEGREE
    }

    /// Bits of the ciphertext modulus.
    pub fn log_q(&self) -> u32 {
        64
    }

    /// Security, as the `tfhe` crate states it for this ring and these errors.
    pub fn security_bits(&self) -> u32 {
        128
    }

    /// Digits that a GGSW ciphertext cuts a coefficient into.
    pub fn levels(&self) -> usize {
        self.gadget.levels
    }

    /// Bits of a digit.
    pub fn base_log(&self) -> usize {
        self.gadget.base_log
    }

    /// Bits of a class: GGSW ciphertexts per vote.
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// Coefficients that are released per sample: the bits of a class, and one that says "no label"
    /// where that can be.
    pub fn released(&self) -> usize {
        self.bits + usize::from(self.may_fail)
    }

    /// Samples of the election, each a batch of its own.
    pub fn batches(&self) -> usize {
        self.samples
    }

    /// External products per sample, at most: dummies and repeated draws save some.
    pub fn products(&self) -> usize {
        self.products
    }

    /// log2 of the standard deviation of the noise after each stage, of 64 bits.
    pub fn noise_bits(&self) -> [(&'static str, f64); 5] {
        let Stages { rows, product, class, released } = self.stages;
        [
            ("row of the body", rows.body),
            ("row of the mask", rows.mask),
            ("one product", product),
            ("class", class),
            ("release, before flooding", released),
        ]
        .map(|(stage, variance)| (stage, variance.log2() / 2.0))
    }

    /// Bits by which the noise stays below what would spoil a label, at a failure probability of
    /// 2^-64.
    pub fn noise_margin_bits(&self) -> f64 {
        let (d, sigma) = (self.released() as f64, self.stages.released.sqrt());
        let tail = (2.0 * ((2.0 * d).ln() - FAILURE_LOG2 * std::f64::consts::LN_2)).sqrt();
        (flooding::room() / (tail * sigma)).log2()
    }

    /// log2 of a bound on the probability that a label is wrong: the tail of a Gaussian, over all
    /// released coefficients.
    pub fn failure_log2(&self) -> f64 {
        let exponent = flooding::room().powi(2) / (2.0 * self.stages.released);
        (2.0 * self.released() as f64).log2() - exponent / std::f64::consts::LN_2
    }

    /// Bits of each of the two uniform integers that flood a coefficient.
    pub fn flooding_bits(&self) -> u32 {
        flooding::WIDTH.ilog2() + 1
    }

    /// Statistical distance between a release and its simulation from the label, in bits.
    pub fn statistical_bits(&self) -> f64 {
        -flooding::distance_log2(self.stages.released, self.released())
    }

    /// Bytes of one teacher's ballot for one sample.
    pub fn ballot_bytes(&self) -> usize {
        framed_bytes(presence_bytes(1) + self.vote_payload())
    }

    /// Bytes of the public key.
    pub fn public_key_bytes(&self) -> usize {
        framed_bytes(PUBLIC_PAYLOAD)
    }

    /// Bytes of the evaluation key.
    pub fn evaluation_key_bytes(&self) -> usize {
        framed_bytes(self.evaluation_payload())
    }

    /// Bytes that the student downloads for one sample.
    pub fn result_bytes(&self) -> usize {
        framed_bytes(self.release_payload())
    }

    pub(crate) fn gadget(&self) -> Gadget {
        self.gadget
    }

    /// Bytes of a vote.
    pub(crate) fn vote_payload(&self) -> usize {
        self.words() * BALLOT_WORD
    }

    /// The public key, and where ballots are compact the keys of the separation and of s^2.
    pub(crate) fn evaluation_payload(&self) -> usize {
        PUBLIC_PAYLOAD + self.separation_steps().map_or(0, |steps| (steps + 1) * SWITCH_PAYLOAD)
    }

    /// Two coefficients of a release share five bytes.
    pub(crate) fn release_payload(&self) -> usize {
        (DEGREE + self.released()).div_ceil(2) * 5
    }

    /// Coefficients that a teacher sends for a vote.
    pub(crate) fn words(&self) -> usize {
        match self.upload {
            Upload::Plain => self.bits * self.gadget.words(),
            Upload::Compact => 2 * DEGREE,
        }
    }

    /// Steps of a compact ballot's separation; none of a plain one's.
    pub(crate) fn separation_steps(&self) -> Option<usize> {
        match self.upload {
            Upload::Plain => None,
            Upload::Compact => Some(separation_steps(self.bits, self.gadget)),
        }
    }

    #[cfg(test)]
    pub(crate) fn stages(&self) -> Stages {
        self.stages
    }
}
