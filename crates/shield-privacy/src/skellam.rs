//! SPEED's noisy argmax with Skellam noise in shares: what it costs, for all votes.
//!
//! # One query
//!
//! The noisy counts are counts plus independent Skellam noise of deviation S
//! ([`shield_core::shared_noise::skellam`]). One vote that moves from class a to class b takes one
//! from a count and adds one to another; the other counts and their noise do not change. So the
//! pair of laws to tell apart is that of two independent coordinates, each shifted by one, and
//! since the law is the same on both sides of 0, both have the same privacy-loss distribution, in
//! both directions: that of Z against Z + 1. A vote that becomes an abstention, or the reverse,
//! changes one coordinate only, which reveals less: the other can be simulated. What is released is
//! computed from the noisy counts, so it costs no more than they do. None of this depends on the
//! votes.
//!
//! # All queries
//!
//! Every query has noise of its own, so Q queries are 2Q-fold composition of the one pair Z, Z + 1,
//! adaptively or not. Tight composition convolves its loss distribution
//! ([`super::loss_distribution`]); moments add up.
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
//! ([`shield_core::shared_noise::skellam`]).
//!
//! # Precision
//!
//! Noise beyond a point that it passes with a chance below 1e-24 counts to delta in full, as does
//! what the draws' precision may cost ([`SharedNoise::imprecision`]).

use super::moments::{LawPair, Outcome};
use shield_core::shared_noise::skellam::law_with;
use shield_core::shared_noise::{NoiseFamily, NoiseLaw, SharedNoise};

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

/// Counts with noise of whole numbers, of which one participant shifts some.
#[derive(Clone, Debug)]
pub(crate) struct Shifts {
    pub(crate) sensitivity: Sensitivity,
    /// The law that was promised: of as many shares as suffice.
    pub(crate) promised: NoiseLaw,
}

impl Shifts {
    pub(crate) fn new(noise: &SharedNoise, sensitivity: Sensitivity) -> Self {
        let promised = match noise.family() {
            // As far as a shift can move it, so that no probability is taken for 0.
            NoiseFamily::Skellam => law_with(noise.scale().get().powi(2), sensitivity.bound()),
            _ => noise.law(noise.shares()),
        };
        Self { sensitivity, promised }
    }

    /// The laws of Z and Z + shift, as far as the first goes before it lies beyond.
    fn outcomes(&self, shift: i64) -> impl Iterator<Item = Outcome> {
        let edge = self.promised.bound(BEYOND);
        let log = |z: i64| self.promised.probability(z).ln();
        let outcome = move |z| Outcome { log_p: log(z), log_q: log(z - shift), copies: 1.0 };
        (-edge..=edge).map(outcome)
    }

    /// The pair Z, Z + 1, with what lies beyond as an infinite loss either way.
    pub(crate) fn pair(&self) -> LawPair {
        let beyond = BEYOND.ln();
        let ends = [(beyond, f64::NEG_INFINITY), (f64::NEG_INFINITY, beyond)];
        let ends = ends.map(|(log_p, log_q)| Outcome { log_p, log_q, copies: 1.0 });
        LawPair::new(self.outcomes(1).chain(ends))
    }

    /// The log-moment of Z against Z + shift over what does not lie beyond, rounded up.
    ///
    /// A [`LawPair`] takes both laws to sum to one. What the second lacks here is its part above
    /// the edge, which may add as much again, times the order and one.
    pub(crate) fn shift_moment(&self, shift: u32, order: f64) -> f64 {
        let shift = i64::from(shift);
        let missing = self.promised.at_least(self.promised.bound(BEYOND) - shift + 1);
        let moment = LawPair::new(self.outcomes(shift)).log_moment(order);
        moment + (order + 1.0) * missing + 4.0 * (order + 2.0) * BEYOND
    }

    /// The log-moment of one query, over all votes.
    pub(crate) fn log_moment(&self, order: f64) -> f64 {
        let bound = self.sensitivity.bound();
        let steepest = (1..=bound)
            .map(|shift| self.shift_moment(shift, order) / f64::from(shift))
            .fold(0.0, f64::max);
        2.0 * f64::from(bound) * steepest
    }

    /// What one query takes of delta for noise beyond.
    pub(crate) fn beyond(&self) -> f64 {
        8.0 * f64::from(self.sensitivity.bound()) * BEYOND
    }
}
