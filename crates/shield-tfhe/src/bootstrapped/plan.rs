//! What is decided before any key is made: digits, bootstrappings, margins, and how sure a label
//! is.
//!
//! A class is written in digits to a base beta, as few as the noise allows. [`Plan::new`] adds up,
//! over all lookups of a sample, the probability that the noise is larger than the lookup's margin
//! (the margins are derived in `circuit` and `flooding`), and takes the fewest digits for which
//! that is at most 2^-64.

use shield::{Election, Polynomial};

use super::error::BootstrappedError;
use super::flooding::Flooding;
use super::parameters::{
    RING, bootstrap_variance, encryption_variance, lookup_failure, packing_variance,
};

/// How the rounds become lookups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Circuit {
    /// Every pair of draws is compared on its own; one more lookup per round joins the answers.
    Plain,
    /// Every comparison carries the outcome of those before it.
    #[default]
    Folded,
}

impl std::fmt::Display for Circuit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Plain => "plain",
            Self::Folded => "folded",
        })
    }
}

/// -log2 of the probability that a sample's label is wrong, at least.
pub const FAILURE_BITS: f64 = 64.0;
/// Bits that are kept of each word of a ballot.
pub(crate) const BALLOT_BITS: u32 = 32;
/// How many flags the plain circuit joins in one lookup, and the parts of a turn that a flag counts
/// for.
pub(crate) const JOINED: usize = 7;
pub(crate) const FLAG: f64 = 1.0 / 16.0;

/// The plan of an election.
#[derive(Clone, Debug)]
pub struct Plan {
    circuit: Circuit,
    base: usize,
    digits: usize,
    samples_per_batch: usize,
    lookups: usize,
    failure_bits: f64,
    flooding: Flooding,
}

impl Plan {
    /// The plan with the fewest digits.
    pub fn new(election: &Election, circuit: Circuit) -> Result<Self, BootstrappedError> {
        let classes = election.classes().count();
        let mut last = None;
        for digits in 1..=usize::BITS as usize {
            let base = base(classes, digits);
            let plan = Self::with_base(election, circuit, base, digits);
            if let Some(plan) = plan {
                if plan.failure_bits >= FAILURE_BITS {
                    return Ok(plan);
                }
                last = Some(plan.failure_bits);
            }
            if base == 2 {
                break;
            }
        }
        let rounds = election.setting().polynomial.round_count();
        Err(BootstrappedError::TooManyRounds { rounds, bits: last.unwrap_or(0.0) })
    }

    fn with_base(
        election: &Election,
        circuit: Circuit,
        base: usize,
        digits: usize,
    ) -> Option<Self> {
        let polynomial = &election.setting().polynomial;
        let samples_per_batch = RING / digits;
        let released = samples_per_batch.min(election.samples()) * digits;
        let rounds = played(polynomial);
        let own = bootstrap_variance();
        let vote = encryption_variance() + packing_variance(BALLOT_BITS);
        let out = own * rounds as f64 + vote * 4.0 * (rounds * rounds) as f64;
        let flooding = Flooding::new(base, out, released)?;
        let tests: usize = decisive(polynomial).map(|p| (p as usize - 1) * digits).sum();
        let failed_rounds = decisive(polynomial).filter(|&p| p > 1).count();
        let flags = own * failed_rounds as f64;
        let beta = base as f64;
        let (lookups, failure) = match circuit {
            Circuit::Folded => {
                let margin = 1.0 / (8.0 * beta);
                let halves = half_turn(base) as f64;
                let test = lookup_failure(8.0 * vote + flags.max(own), margin);
                let select = lookup_failure(2.0 * vote + halves * halves * own, margin);
                let selects = failed_rounds * digits;
                (tests + selects, tests as f64 * test + selects as f64 * select)
            }
            Circuit::Plain => {
                let margin = 1.0 / (4.0 * beta);
                let joins: usize = decisive(polynomial)
                    .filter(|&p| p > 1)
                    .map(|p| joins((p as usize - 1) * digits + 1))
                    .sum();
                let test = lookup_failure(8.0 * vote, margin);
                let join = lookup_failure(own * JOINED as f64 + flags, FLAG / 2.0);
                let half = 0.5 / FLAG;
                let select = lookup_failure(4.0 * vote + half * half * own.max(flags), margin);
                let selects = rounds * digits;
                let failure = tests as f64 * test + joins as f64 * join + selects as f64 * select;
                (tests + joins + selects, failure)
            }
        };
        let failure = failure + digits as f64 * flooding.failure();
        Some(Self {
            circuit,
            base,
            digits,
            samples_per_batch,
            lookups: lookups + digits * flooding.cycles(),
            failure_bits: -failure.max(f64::MIN_POSITIVE).log2(),
            flooding,
        })
    }

    /// How the rounds become lookups.
    pub fn circuit(&self) -> Circuit {
        self.circuit
    }

    /// beta: how many values a digit has.
    pub fn base(&self) -> usize {
        self.base
    }

    /// How many digits a class is written in: numbers to encrypt a vote, ciphertexts to release a
    /// label.
    pub fn digits(&self) -> usize {
        self.digits
    }

    /// How many samples share a ballot's mask, at most.
    pub fn samples_per_batch(&self) -> usize {
        self.samples_per_batch
    }

    /// Bootstrappings of a sample all of whose rounds draw something, flooding included.
    pub fn bootstrappings(&self) -> usize {
        self.lookups
    }

    /// Those of them that belong to the flooding.
    pub fn flooding_bootstrappings(&self) -> usize {
        self.digits * self.flooding.cycles()
    }

    /// -log2 of the probability that a sample's label is wrong.
    pub fn failure_bits(&self) -> f64 {
        self.failure_bits
    }

    pub(crate) fn flooding(&self) -> &Flooding {
        &self.flooding
    }
}

/// The smallest base in which that many digits write all classes.
fn base(classes: usize, digits: usize) -> usize {
    let enough = |&base: &usize| {
        (0..digits)
            .try_fold(1_usize, |codes, _| codes.checked_mul(base))
            .is_none_or(|c| c >= classes)
    };
    (2..classes).find(enough).unwrap_or(classes.max(2))
}

/// Degrees of the rounds that can decide: those from a first round of one draw on cannot.
fn decisive(polynomial: &Polynomial) -> impl Iterator<Item = u32> + '_ {
    let singles = polynomial.rounds().filter(|&degree| degree == 1).count();
    polynomial.rounds().take(polynomial.round_count() - singles.saturating_sub(1))
}

fn played(polynomial: &Polynomial) -> usize {
    decisive(polynomial).count()
}

/// Lookups that join that many flags into one.
pub(crate) fn joins(flags: usize) -> usize {
    match flags {
        0 | 1 => 0,
        2..=JOINED => 1,
        _ => {
            let (full, rest) = (flags / JOINED, flags % JOINED);
            full + joins(rest.max(1)).min(1) + joins(full + usize::from(rest > 0))
        }
    }
}

/// How many of the folded circuit's flags make half a turn: the largest power of two in 2 beta.
pub(crate) fn half_turn(base: usize) -> i64 {
    1 << (2 * base).trailing_zeros()
}
