//! How many digits, how many bootstrappings, and how sure a label is.

use shield::Election;
use shield::polya::SharedNoise;

use super::digits::{BASE, STEP};
use super::tournament::DOUBLINGS;
use crate::bootstrapped::error::BootstrappedError;
use crate::bootstrapped::parameters::{
    RING, bootstrap_variance, encryption_variance, lookup_failure, packing_variance,
};
use crate::bootstrapped::sanitise::Washing;

/// Bits that are kept of each word of a ballot: counts of a thousand teachers must not see the rest.
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
    washing: Washing,
}

impl ArgmaxPlan {
    /// The plan for an election's teachers, classes and samples.
    pub fn new(election: &Election, noise: &SharedNoise) -> Result<Self, BootstrappedError> {
        let classes = election.classes().count();
        let teachers = election.teachers();
        // Noise beyond the reach wraps around: a wrong label, with a probability that is part of the sum below.
        let beyond = libm::exp2(-65.0);
        let reach = noise.law(teachers).bound(beyond / classes as f64);
        let wide = BootstrappedError::TooWide { teachers, noise: noise.scale().get() };
        let values = i64::from(teachers) + 2 * reach + 1;
        let digits = (1..=MAX_DIGITS).find(|&digits| values <= 1 << (4 * digits)).ok_or(wide)?;
        let names = (1..=8).find(|&names| classes <= 1 << (4 * names)).expect("few classes");
        let code_base = classes.min(BASE);
        let released = (RING / classes).min(election.samples()) * names;
        let own = bootstrap_variance();
        let washing = Washing::new(code_base, own, released)
            .expect("sixteen codes leave room for a flood: a test runs them");

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
        let extractions = classes * (2 * digits - 1);
        let signs = matches * digits;
        let choices = (matches - 1) * 2 * kept + 2 * names;
        let codes = names;

        let vote = f64::from(teachers) * (encryption_variance() + packing_variance(BALLOT_BITS));
        let enlarged = libm::exp2(8.0 * (digits as f64 - 1.0));
        let margin = STEP / 2.0;
        // On steps of 1/512 a fresh digit is enlarged 16 times; doubling adds less than it takes from that.
        let shown = 256.0 * own;
        let failure = extractions as f64
            * lookup_failure(vote * enlarged + 2.0 * own, margin - 1.0 / 1024.0)
            + signs as f64 * lookup_failure(2.0 * shown, margin)
            + matches as f64 * lookup_failure(libm::exp2(2.0 * digits as f64) / 3.0 * own, margin)
            + (choices + refreshed + codes) as f64 * lookup_failure(shown + own, margin)
            + names as f64 * washing.failure()
            + beyond;
        let failure_bits = -failure.log2();
        if failure_bits < crate::bootstrapped::plan::FAILURE_BITS {
            return Err(BootstrappedError::TooWide { teachers, noise: noise.scale().get() });
        }
        let lookups =
            extractions + signs + matches + choices + refreshed + codes + names * washing.cycles();
        Ok(Self { digits, names, code_base, reach, lookups, failure_bits, washing })
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

    /// How large noise may be, in votes: larger noise has a probability of less than 2^-65 a sample.
    pub fn reach(&self) -> i64 {
        self.reach
    }

    /// Bootstrappings of a sample, sanitising included.
    pub fn bootstrappings(&self) -> usize {
        self.lookups
    }

    /// Those of them that sanitise.
    pub fn sanitising_bootstrappings(&self) -> usize {
        self.names * self.washing.cycles()
    }

    /// -log2 of the probability that a sample's label is not the noisy argmax.
    pub fn failure_bits(&self) -> f64 {
        self.failure_bits
    }

    pub(crate) fn washing(&self) -> &Washing {
        &self.washing
    }
}
