//! How many digits, how many bootstrappings, and how sure a label is.

use shield::Election;
use shield::shared_noise::SharedNoise;

use super::digits::{BASE, STEP};
use super::tournament::DOUBLINGS;
use crate::bootstrapped::error::BootstrappedError;
use crate::bootstrapped::flooding::Flooding;
use crate::bootstrapped::parameters::{
    RING, bootstrap_variance, lookup_failure, packing_variance, sum_variance,
};

/// Bits that are kept of each word of a ballot: counts of a thousand teachers must not see the
/// rest.
pub(crate) const BALLOT_BITS: u32 = 40;
/// The most digits of a count: their signs must fit into one lookup.
const MAX_DIGITS: usize = 4;

/// The plan of a noisy argmax.
#[derive(Clone, Debug)]
pub struct ArgmaxPlan {
    digits: usize,
    names: usize,
    code_base: usize,
    reach: i64,
    lookups: usize,
    failure_bits: f64,
    flooding: Flooding,
}

/// Bootstrappings of a sample, by what they do.
struct Lookups {
    /// Find the digits of a count.
    extractions: usize,
    /// Compare two digits.
    signs: usize,
    /// Decide a match.
    matches: usize,
    /// Choose a digit of the winner.
    choices: usize,
    /// Store a digit anew.
    refreshed: usize,
    /// Turn a digit of the class into its code.
    codes: usize,
}

impl Lookups {
    /// For counts of that many digits and classes whose names have that many.
    fn new(classes: usize, digits: usize, names: usize) -> Self {
        // Digits of both kinds, level by level of the tournament.
        let kept = digits + names;
        let (mut left, mut doubled) = (classes, 0);
        let (mut refreshed, mut matches) = (0, 0);
        while left > 1 {
            if doubled == DOUBLINGS {
                refreshed += left * kept;
                doubled = 0;
            }
            matches += left / 2;
            left = left.div_ceil(2);
            doubled += 1;
        }
        Self {
            extractions: classes * (2 * digits - 1),
            signs: matches * digits,
            matches,
            choices: (matches - 1) * 2 * kept + 2 * names,
            refreshed,
            codes: names,
        }
    }

    fn count(&self) -> usize {
        let Self { extractions, signs, matches, choices, refreshed, codes } = self;
        extractions + signs + matches + choices + refreshed + codes
    }

    /// A bound on the probability that one of them reads a wrong entry, with ballots of that many
    /// teachers.
    fn failure(&self, teachers: u32, digits: usize) -> f64 {
        let own = bootstrap_variance();
        let vote = sum_variance(teachers) + f64::from(teachers) * packing_variance(BALLOT_BITS);
        let enlarged = libm::exp2(8.0 * (digits as f64 - 1.0));
        let margin = STEP / 2.0;
        // On steps of 1/512 a fresh digit is enlarged 16 times; doubling adds less than it takes
        // from that.
        let shown = 256.0 * own;
        self.extractions as f64 * lookup_failure(vote * enlarged + 2.0 * own, margin - 1.0 / 1024.0)
            + self.signs as f64 * lookup_failure(2.0 * shown, margin)
            + self.matches as f64
                * lookup_failure(libm::exp2(2.0 * digits as f64) / 3.0 * own, margin)
            + (self.choices + self.refreshed + self.codes) as f64
                * lookup_failure(shown + own, margin)
    }
}

impl ArgmaxPlan {
    /// The plan for an election's teachers, classes and samples.
    pub fn new(election: &Election, noise: &SharedNoise) -> Result<Self, BootstrappedError> {
        let classes = election.classes().count();
        if classes > RING {
            return Err(BootstrappedError::TooManyClasses { classes, largest: RING });
        }
        let teachers = election.teachers();
        // Noise beyond the reach wraps around: a wrong label, with a probability that is part of
        // the sum below.
        let beyond = libm::exp2(-65.0);
        let reach = noise.law(teachers).bound(beyond / classes as f64);
        let wide = BootstrappedError::TooWide { teachers, noise: noise.scale().get() };
        let values = i64::from(teachers) + 2 * reach + 1;
        let digits = (1..=MAX_DIGITS).find(|&digits| values <= 1 << (4 * digits)).ok_or(wide)?;
        let names = (1..=8).find(|&names| classes <= 1 << (4 * names)).expect("few classes");
        let code_base = classes.min(BASE);
        let released = (RING / classes).min(election.samples()) * names;
        let flooding = Flooding::new(code_base, bootstrap_variance(), released)
            .expect("sixteen codes leave room for a flood: a test runs them");
        let lookups = Lookups::new(classes, digits, names);
        let failure =
            lookups.failure(teachers, digits) + names as f64 * flooding.failure() + beyond;
        let failure_bits = -failure.log2();
        if failure_bits < crate::bootstrapped::plan::FAILURE_BITS {
            return Err(BootstrappedError::TooUnsure { bits: failure_bits });
        }
        let lookups = lookups.count() + names * flooding.cycles();
        Ok(Self { digits, names, code_base, reach, lookups, failure_bits, flooding })
    }

    /// Digits, of four bits, of a count with its noise.
    pub fn digits(&self) -> usize {
        self.digits
    }

    /// Digits of a class.
    pub(crate) fn names(&self) -> usize {
        self.names
    }

    /// How many values a released digit of a class has.
    pub(crate) fn code_base(&self) -> usize {
        self.code_base
    }

    /// How large noise may be, in votes: larger noise has a probability of less than 2^-65 a
    /// sample.
    pub fn reach(&self) -> i64 {
        self.reach
    }

    /// Bootstrappings of a sample, flooding included.
    pub fn bootstrappings(&self) -> usize {
        self.lookups
    }

    /// Those of them that belong to the flooding.
    pub fn flooding_bootstrappings(&self) -> usize {
        self.names * self.flooding.cycles()
    }

    /// -log2 of the probability that a sample's label is not the noisy argmax.
    pub fn failure_bits(&self) -> f64 {
        self.failure_bits
    }

    pub(crate) fn flooding(&self) -> &Flooding {
        &self.flooding
    }
}
