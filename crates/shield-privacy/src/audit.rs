//! An empirical audit: what an attacker certainly tells apart, with confidence.
//!
//! Two worlds differ in one teacher's votes. The attacker sees what a mechanism releases, gives it
//! a score, and claims the first world if the score is high. For an (epsilon, delta)-private
//! mechanism P(claim in the first world) <= e^epsilon P(claim in the second) + delta, so the two
//! rates of claims bound epsilon from below. Rates are estimated: the interval of Clopper and
//! Pearson holds for every sample size, so the bound fails with at most the stated probability. The
//! threshold of the claim is chosen on one half of the runs and judged on the other.
//!
//! The audit proves nothing about a mechanism that passes. It finds out one that breaks its
//! promise: noise left out, draws used twice, a view that shows too much.

pub mod engine;

use shield_core::parameters::{Delta, Epsilon};

/// The two worlds of an audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum World {
    /// The votes as they are.
    Votes,
    /// The votes with one teacher's replaced.
    Neighbour,
}

/// How an audit is run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Runs in each world; half of them choose the attack, half judge it.
    pub runs: u32,
    /// The delta of the promise that is audited.
    pub delta: Delta,
    /// The probability that the bound is wrong although the promise is kept.
    pub failure: f64,
}

/// What an audit found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finding {
    /// Epsilon is at least this, but for the probability of failure.
    pub epsilon: Epsilon,
    /// Claims of the first world, when it was the first.
    pub right: u32,
    /// Claims of the first world, when it was the second.
    pub wrong: u32,
    /// Runs that were judged, in each world.
    pub runs: u32,
}

impl Plan {
    /// Audits a mechanism: `score` runs it once in a world and scores what came out, high for
    /// [`World::Votes`].
    pub fn audit(&self, mut score: impl FnMut(World) -> f64) -> Finding {
        let half = (self.runs / 2).max(1);
        let mut scores = |world| {
            let mut scores: Vec<f64> = (0..half).map(|_| score(world)).collect();
            scores.sort_unstable_by(f64::total_cmp);
            scores
        };
        let (votes, neighbour) = (scores(World::Votes), scores(World::Neighbour));
        let claims = |scores: &[f64], threshold: f64| {
            (scores.len() - scores.partition_point(|&score| score < threshold)) as u32
        };
        let mut thresholds: Vec<f64> = votes.iter().chain(&neighbour).copied().collect();
        thresholds.sort_unstable_by(f64::total_cmp);
        thresholds.dedup();
        // A few hundred thresholds are as good as all of them.
        let few = thresholds.len().div_ceil(300).max(1);
        let judged = |threshold: f64| {
            self.bound(claims(&votes, threshold), claims(&neighbour, threshold), half)
        };
        let best =
            thresholds.iter().rev().step_by(few).map(|&threshold| (threshold, judged(threshold)));
        let (threshold, _) =
            best.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((f64::INFINITY, 0.0));
        let right = claims(&scores(World::Votes), threshold);
        let wrong = claims(&scores(World::Neighbour), threshold);
        Finding {
            epsilon: Epsilon::new(self.bound(right, wrong, half)).unwrap_or(Epsilon::ZERO),
            right,
            wrong,
            runs: half,
        }
    }

    /// The least epsilon that fits the claims.
    fn bound(&self, right: u32, wrong: u32, runs: u32) -> f64 {
        let often = at_least(right, runs, self.failure / 2.0) - self.delta.get();
        let rarely = 1.0 - at_least(runs - wrong, runs, self.failure / 2.0);
        if often > rarely { (often / rarely).ln().max(0.0) } else { 0.0 }
    }
}

/// Clopper and Pearson's lower end: the least rate under which so many successes or more have a
/// probability of at least `failure`.
pub fn at_least(successes: u32, runs: u32, failure: f64) -> f64 {
    if successes == 0 {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, f64::from(successes) / f64::from(runs));
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if tail(successes, runs, middle) < failure {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// P[X >= successes] for a binomial variable, below its mean: terms fall from the first on.
fn tail(successes: u32, runs: u32, rate: f64) -> f64 {
    let (k, n) = (f64::from(successes), f64::from(runs));
    if rate <= 0.0 {
        return 0.0;
    }
    let log_choose = libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0);
    let rest = if successes == runs { 0.0 } else { (n - k) * (-rate).ln_1p() };
    let mut term = (log_choose + k * rate.ln() + rest).exp();
    let mut sum = 0.0;
    for i in successes..=runs {
        sum += term;
        if term < 1e-17 * sum {
            break;
        }
        term *= f64::from(runs - i) / f64::from(i + 1) * rate / (1.0 - rate);
    }
    sum
}

#[cfg(test)]
mod tests;
