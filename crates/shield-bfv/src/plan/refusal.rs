//! Elections that cannot be planned: why, and the nearest that can.

use shield_core::{Polynomial, Term};
use thiserror::Error;

use super::Plan;
use crate::unanimity::Order;

/// Why no parameter set can run an election, and the nearest election that one can.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A round draws more votes than the engine can compare.
    #[error(
        "a round of degree {degree} is beyond the engine, which compares up to {} votes; nearest \
         polynomial that works: {nearest}",
        Order::MAX
    )]
    Degree {
        /// The degree asked for.
        degree: u32,
        /// The polynomial with that degree brought down.
        nearest: Polynomial,
    },
    /// More rounds than can be counted.
    #[error(
        "{rounds} rounds are beyond the engine, which counts up to {largest}; use smaller \
         coefficients"
    )]
    Rounds {
        /// How many were asked for.
        rounds: usize,
        /// How many work.
        largest: usize,
    },
    /// The circuit is too deep or too wide for every ring that is known to be secure.
    #[error(
        "{rounds} rounds need more noise budget than any of the engine's rings has at 128 bits of \
         security; nearest setting that works: {nearest}"
    )]
    Noise {
        /// How many rounds were asked for.
        rounds: usize,
        /// What to use instead.
        nearest: String,
    },
}

/// The polynomial with every degree above the largest brought down to it.
pub(super) fn lowered(polynomial: &Polynomial) -> Polynomial {
    let (high, low): (Vec<Term>, Vec<Term>) =
        polynomial.terms().iter().partition(|term| term.degree >= Order::MAX);
    let rounds = high.iter().fold(0_u32, |sum, term| sum.saturating_add(term.rounds));
    let top = Term { degree: Order::MAX, rounds };
    Polynomial::new(std::iter::once(top).chain(low)).unwrap_or_default()
}

/// A setting close to the one that failed and that works.
pub(super) fn nearest(rounds: usize, plan: impl Fn(usize) -> Option<Plan>) -> String {
    let (mut works_with, mut fails_with) = (0, rounds);
    while fails_with - works_with > 1 {
        let middle = works_with.midpoint(fails_with);
        if plan(middle).is_some() {
            works_with = middle;
        } else {
            fails_with = middle;
        }
    }
    if works_with == 0 {
        "fewer classes, or rounds of lower degree".to_owned()
    } else {
        format!("{works_with} rounds")
    }
}
