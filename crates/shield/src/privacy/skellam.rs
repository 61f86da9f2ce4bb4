//! SPEED's noisy argmax with Skellam noise in shares: what it costs, for all votes.
//!
//! # One query
//!
//! The noisy counts are counts plus independent Skellam noise of deviation S
//! ([`crate::shared_noise::skellam`]). One vote that moves from class a to class b takes one from a
//! count and adds one to another; the other counts and their noise do not change. So the pair of
//! laws to tell apart is that of two independent coordinates, each shifted by one, and since the
//! law is the same on both sides of 0, both have the same privacy-loss distribution, in both
//! directions: that of Z against Z + 1. A vote that becomes an abstention, or the reverse, changes
//! one coordinate only, which reveals less: the other can be simulated. What is released is
//! computed from the noisy counts, so it costs no more than they do. None of this depends on the
//! votes.
//!
//! # All queries
//!
//! Every query has noise of its own, so Q queries are 2Q-fold composition of the one pair Z, Z + 1,
//! adaptively or not. [`SkellamArgmax::tight`] convolves its loss distribution
//! ([`super::loss_distribution`]); [`SkellamArgmax::by_moments`] adds up its moments.
//!
//! # Histograms
//!
//! A member that may send counts whose sum is at most B can, by changing all of them, take up to B
//! from some counts and add up to B to others: shifts d_1, d_2, ... with sum at most B on either
//! side. With alpha_d the log-moment of Z against Z + d, those of independent coordinates add up,
//! and
//!
//! ```text
//! sum over i of alpha_(d_i) <= sum over i of d_i max over d <= B of alpha_d / d
//!                           <= B max over d <= B of alpha_d / d
//! ```
//!
//! so a query costs at most twice that, and each alpha_d is computed from the law itself: no
//! property of the law is assumed. (The largest is that of d = B where moments grow faster than
//! shifts, as they do for a Gaussian.) One voter behind a member moves single votes, and is
//! protected as above: [`Sensitivity::Vote`] is the accounting for voters, [`Sensitivity::Counts`]
//! that for members.
//!
//! # Against whom
//!
//! Nobody knows the noise: not the server, which adds shares up encrypted, not the student, who
//! sees the winner. Colluding teachers know their own shares, and D covers them
//! ([`crate::shared_noise::skellam`]).
//!
//! # Precision
//!
//! Noise beyond a point that it passes with a chance below 1e-24 counts to delta in full, as does
//! what the draws' precision may cost ([`SharedNoise::imprecision`]).

use super::conversion::Conversion;
use super::distributed_argmax::law_of;
use super::moments::{LawPair, Outcome};
use super::{Usage, exact_of_pair};
use crate::distribution::OutputDistribution;
use crate::histogram::Histogram;
use crate::parameters::Noise;
use crate::parameters::{Delta, Epsilon, ParameterError, Queries};
use crate::shared_noise::NoiseFamily;
use crate::shared_noise::skellam::law_with;
use crate::shared_noise::{Imprecision, NoiseLaw, SharedNoise};

/// How likely noise passes the point from which on it counts to delta.
const BEYOND: f64 = 1e-24;

/// What of a sample's counts one participant can change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sensitivity {
    /// One vote: two counts, by one each.
    #[default]
    Vote,
    /// Counts that sum to at most this.
    Counts(u32),
}

impl Sensitivity {
    /// The largest count that a ballot may add to a class.
    pub fn bound(self) -> u32 {
        match self {
            Self::Vote => 1,
            Self::Counts(bound) => bound.max(1),
        }
    }
}

/// The argmax of counts with Skellam noise in shares.
#[derive(Clone, Debug)]
pub struct SkellamArgmax {
    sensitivity: Sensitivity,
    imprecision: Imprecision,
    /// The law that was promised: of as many shares as suffice.
    promised: NoiseLaw,
    /// The law with all shares.
    everyone: NoiseLaw,
}

impl SkellamArgmax {
    /// The accounting of Skellam noise on each of so many classes.
    pub fn new(
        noise: &SharedNoise,
        classes: usize,
        sensitivity: Sensitivity,
    ) -> Result<Self, ParameterError> {
        if noise.family() != NoiseFamily::Skellam {
            return Err(ParameterError {
                parameter: "the law of the noise",
                value: noise.family().to_string(),
                allowed: "this accounting is for skellam noise",
            });
        }
        Ok(Self {
            sensitivity,
            imprecision: noise.imprecision(classes),
            // As far as a shift can move it, so that no probability is taken for 0.
            promised: law_with(noise.scale().get().powi(2), sensitivity.bound()),
            everyone: noise.law(noise.teachers()),
        })
    }

    /// The laws of Z and Z + shift, as far as the first goes before it lies beyond.
    fn outcomes(&self, shift: i64) -> impl Iterator<Item = Outcome> {
        let edge = self.promised.bound(BEYOND);
        let log = |z: i64| self.promised.probability(z).ln();
        let outcome = move |z| Outcome { log_p: log(z), log_q: log(z - shift), copies: 1.0 };
        (-edge..=edge).map(outcome)
    }

    /// The pair Z, Z + 1, with what lies beyond as an infinite loss either way.
    fn pair(&self) -> LawPair {
        let beyond = BEYOND.ln();
        let ends = [(beyond, f64::NEG_INFINITY), (f64::NEG_INFINITY, beyond)];
        let ends = ends.map(|(log_p, log_q)| Outcome { log_p, log_q, copies: 1.0 });
        LawPair::new(self.outcomes(1).chain(ends))
    }

    /// The log-moment of Z against Z + shift over what does not lie beyond, rounded up.
    ///
    /// A [`LawPair`] takes both laws to sum to one. What the second lacks here is its part above
    /// the edge, which may add as much again, times the order and one.
    fn shift_moment(&self, shift: u32, order: f64) -> f64 {
        let shift = i64::from(shift);
        let missing = self.promised.at_least(self.promised.bound(BEYOND) - shift + 1);
        let moment = LawPair::new(self.outcomes(shift)).log_moment(order);
        moment + (order + 1.0) * missing + 4.0 * (order + 2.0) * BEYOND
    }

    /// The data-independent log-moment of one query.
    pub fn log_moment(&self, order: f64) -> f64 {
        let bound = self.sensitivity.bound();
        let steepest = (1..=bound)
            .map(|shift| self.shift_moment(shift, order) / f64::from(shift))
            .fold(0.0, f64::max);
        2.0 * f64::from(bound) * steepest + self.imprecision.epsilon * order
    }

    /// What one query takes of delta beside the composition.
    pub fn lost_delta(&self) -> f64 {
        self.imprecision.delta + 8.0 * f64::from(self.sensitivity.bound()) * BEYOND
    }

    /// The delta that is left for the composition; `None` if there is none.
    fn rest(&self, usage: Usage) -> Option<Delta> {
        let lost = self.lost_delta() * usage.queries.count() as f64;
        Delta::new(usage.delta.get() - lost).ok()
    }

    /// The data-independent cost by moments.
    pub fn by_moments(&self, usage: Usage, conversion: Conversion) -> Epsilon {
        let count = usage.queries.count() as f64;
        let Some(delta) = self.rest(usage) else {
            return Epsilon::INFINITE;
        };
        conversion.minimise(delta, |order| count * self.log_moment(order)).rounded_up()
    }

    /// The data-independent cost, composed tightly where one vote is protected; by moments where a
    /// whole histogram is, because no single pair of laws dominates all its changes.
    pub fn tight(&self, usage: Usage) -> Epsilon {
        let (Some(delta), Sensitivity::Vote) = (self.rest(usage), self.sensitivity) else {
            return self.by_moments(usage, Conversion::Renyi);
        };
        let count = usage.queries.count();
        let Ok(queries) = Queries::new(count.saturating_mul(2)) else {
            return Epsilon::INFINITE;
        };
        let epsilon = exact_of_pair(&self.pair(), Usage { queries, delta });
        let total = epsilon.get() + count as f64 * self.imprecision.epsilon;
        Epsilon::new(total).unwrap_or(Epsilon::INFINITE)
    }

    /// The output law with everyone's shares.
    pub fn law(&self, histogram: &Histogram) -> OutputDistribution {
        law_of(&self.everyone, histogram)
    }
}

/// The least Skellam noise whose tight cost is within a budget; `None` if even the most is not.
pub fn deviation_within(
    budget: Epsilon,
    usage: Usage,
    teachers: u32,
    dropouts: u32,
    classes: usize,
    sensitivity: Sensitivity,
) -> Option<SharedNoise> {
    let fits = |deviation: f64| {
        let amount = Noise::new(deviation).ok()?;
        let noise = SharedNoise::of(NoiseFamily::Skellam, amount, teachers, dropouts).ok()?;
        let cost = SkellamArgmax::new(&noise, classes, sensitivity).ok()?.tight(usage);
        (cost <= budget).then_some(noise)
    };
    // By doubling until enough is found, then by halves.
    let mut too_little = 0.0;
    let mut enough = loop {
        let next = if too_little > 0.0 { 2.0 * too_little } else { 0.25 };
        if let Some(noise) = fits(next) {
            break noise;
        }
        if next > SharedNoise::MAX_SCALE {
            return None;
        }
        too_little = next;
    };
    while enough.scale().get() - too_little > 1e-3 * enough.scale().get() {
        let next = f64::midpoint(too_little, enough.scale().get());
        match fits(next) {
            Some(noise) => enough = noise,
            None => too_little = next,
        }
    }
    Some(enough)
}

#[cfg(test)]
mod tests;
