//! The plan: from an election to a gadget, a noise bound, flooding and sizes.
//!
//! The ring is always the same: N = 2048, q = 2^64, ternary secret, errors `TUniform(17)`, which
//! the parameter sets of the `tfhe` crate take for 128 bits. What the plan chooses is how finely
//! GGSW ciphertexts cut: more levels mean less noise, larger ballots and longer products. It takes
//! the fewest levels whose noise the flooding hides: see [`super::flooding`].

use shield_core::Election;
use shield_core::framing::{framed_bytes, presence_bytes};
use thiserror::Error;

use super::flooding;
use super::noise::{self, Stages};
use super::parameters::TRUNCATED_BITS;
use super::ring::{DEGREE, Gadget};

/// Bytes of the public key: a seed, and a polynomial.
pub(crate) const PUBLIC_PAYLOAD: usize = 32 + 8 * DEGREE;

/// Bytes of a ballot's coefficient.
pub(crate) const BALLOT_WORD: usize = (64 - TRUNCATED_BITS as usize) / 8;

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

/// Everything that the engine decides for an election before any key is made.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    gadget: Gadget,
    bits: usize,
    may_fail: bool,
    stages: Stages,
    products: usize,
    samples: usize,
}

impl Plan {
    /// The plan for an election.
    pub fn new(election: &Election) -> Result<Self, PlanError> {
        let classes = election.classes().count();
        if classes > MAX_CLASSES {
            return Err(PlanError::Classes { classes, largest: MAX_CLASSES });
        }
        let bits = classes.next_power_of_two().ilog2().max(1) as usize;
        let setting = election.setting();
        let degrees = || setting.polynomial.rounds().filter(|&degree| degree > 1);
        let may_fail = !election.always_labels();
        let draws = degrees().map(|degree| degree as usize).sum();
        let products = degrees().map(|degree| 2 * bits * (degree as usize - 1)).sum();
        let samples = election.samples();
        let plan = |gadget| {
            let stages = noise::stages(gadget, bits, draws);
            Self { gadget, bits, may_fail, stages, products, samples }
        };
        (1..=MAX_LEVELS)
            .filter_map(|levels| {
                // The base that leaves the least noise.
                let bases = (1..=48 / levels).map(|base_log| plan(Gadget { levels, base_log }));
                bases.min_by(|a, b| a.stages.released.total_cmp(&b.stages.released))
            })
            .find(|plan| {
                plan.statistical_bits() >= f64::from(flooding::STATISTICAL_BITS)
                    && plan.failure_log2() <= FAILURE_LOG2
            })
            .ok_or(PlanError::Noise { draws })
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
    pub fn noise_bits(&self) -> [(&'static str, f64); 4] {
        let Stages { row, product, class, released } = self.stages;
        [
            ("row", row),
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
        self.public_key_bytes()
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

    /// Two coefficients of a release share five bytes.
    pub(crate) fn release_payload(&self) -> usize {
        (DEGREE + self.released()).div_ceil(2) * 5
    }

    /// Coefficients that a teacher sends for a vote.
    pub(crate) fn words(&self) -> usize {
        self.bits * self.gadget.words()
    }

    #[cfg(test)]
    pub(crate) fn stages(&self) -> Stages {
        self.stages
    }
}
