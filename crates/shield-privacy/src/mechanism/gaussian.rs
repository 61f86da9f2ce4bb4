//! Gaussian noise composed exactly, and PATE's confident argmax.
//!
//! Counts with Gaussian noise of deviation sigma, of which one vote moves two by one, are as hard
//! to tell apart as N(0, 1) and N(mu, 1) with mu = sqrt(2)/sigma. Such pairs compose to another
//! one, with mu^2 added up, also adaptively (Dong, Roth and Su, 2022), and
//!
//! ```text
//! delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu).
//! ```
//!
//! **Confident-GNMax** (Papernot et al., 2018) first asks whether the largest count with noise of
//! deviation sigma_1 reaches a threshold, and answers with GNMax only if so. One vote moves the
//! largest count by at most one, so a query costs mu^2 = 1/sigma_1^2 + 2/sigma_2^2 at most.

use crate::Usage;
use crate::noisy_argmax::{Noise, NoisyArgmax};
use crate::price::Proven;
use shield_core::distribution::OutputDistribution;
use shield_core::histogram::Histogram;
use shield_core::parameters::Epsilon;

/// GNMax that answers only where the leader seems to have enough votes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConfidentGnmax {
    /// How many votes the leader must have, with noise.
    pub threshold: f64,
    /// The deviation of the noise of that question.
    pub check: Noise,
    /// The deviation of the noise of the answer.
    pub answer: Noise,
}

impl ConfidentGnmax {
    /// mu^2 of one query.
    pub(super) fn square(&self) -> f64 {
        let (check, answer) = (self.check.get(), self.answer.get());
        1.0 / (check * check) + 2.0 / (answer * answer)
    }

    /// log of the probabilities that it answers and that it does not.
    fn answers(&self, histogram: &Histogram) -> (f64, f64) {
        let top = f64::from(histogram.counts().iter().copied().max().unwrap_or(0));
        let short = (self.threshold - top) / self.check.get();
        (phi(-short).ln(), phi(short).ln())
    }

    /// The share of samples that it answers, which takes no law of the answers.
    pub(super) fn answered(&self, histograms: &[Histogram]) -> f64 {
        let answered = histograms.iter().map(|histogram| self.answers(histogram).0.exp());
        answered.sum::<f64>() / histograms.len().max(1) as f64
    }

    /// The output law: no label where the leader seems to have too few votes.
    pub(super) fn law(&self, histogram: &Histogram) -> OutputDistribution {
        let (log_yes, log_no) = self.answers(histogram);
        let answer = NoisyArgmax::Gaussian(self.answer).law(histogram);
        OutputDistribution::from_logs(answer.log_classes().iter().map(|log| log + log_yes), log_no)
    }
}

/// The distribution function of the standard normal law.
fn phi(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}

/// delta of N(0, 1) against N(mu, 1).
fn delta(mu: f64, epsilon: f64) -> f64 {
    let below = phi(-0.5 * mu - epsilon / mu);
    // Where the second term is too small for a float it only would make delta smaller.
    let second = if below > 0.0 { (epsilon + below.ln()).exp() } else { 0.0 };
    phi(0.5 * mu - epsilon / mu) - second
}

/// The exact price of queries that each have this mu^2, rounded up.
pub(super) fn exact(square: f64, usage: Usage) -> Proven {
    let mu = (usage.queries.count() as f64 * square).sqrt();
    let fits = |epsilon: f64| delta(mu, epsilon) <= usage.delta.get() * (1.0 - 1e-9);
    if fits(0.0) {
        return Proven::free(usage.delta);
    }
    let (mut low, mut high) = (0.0, 1.0);
    while !fits(high) {
        (low, high) = (high, 2.0 * high);
        if high > 1e12 {
            return Proven::infinite(usage.delta);
        }
    }
    while high - low > 1e-10 * high {
        let middle = f64::midpoint(low, high);
        if fits(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Proven::new(Epsilon::new(high).unwrap_or(Epsilon::INFINITE), usage.delta)
}

/// The largest mu^2 of a query whose exact epsilon is within a budget.
pub(super) fn square_within(budget: Epsilon, usage: Usage) -> Option<f64> {
    let fits = |square: f64| exact(square, usage) <= budget;
    let (mut low, mut high) = (1e-14, 1e4);
    if !fits(low) {
        return None;
    }
    while high / low > 1.0 + 1e-7 {
        let middle = (low * high).sqrt();
        if fits(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(low)
}

/// The log-moment of one query: alpha(l) = mu^2 l (l+1) / 2.
pub(super) fn log_moment(square: f64, order: f64) -> f64 {
    0.5 * square * order * (order + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss_distribution::LossDistribution;
    use crate::moments::{LawPair, Outcome};
    use shield_core::parameters::{Delta, Queries};

    #[test]
    fn exact_as_a_fine_grid_of_the_two_laws_says() {
        // N(0, 1) and N(mu, 1) cut into cells: coarser, so no larger, and close where cells are
        // fine.
        let mu = 0.3;
        let cells = (-800..800).map(|i| {
            let cell = |centre: f64| {
                let x = f64::from(i) / 100.0 - centre;
                (phi(x + 0.01) - phi(x)).max(1e-300).ln()
            };
            Outcome { log_p: cell(mu), log_q: cell(0.0), copies: 1.0 }
        });
        let pair = LawPair::new(cells);
        for queries in [1, 10, 100] {
            let usage = Usage { queries: Queries::new(queries).unwrap(), delta: Delta::default() };
            let grid = LossDistribution::of(&pair, 1e-3).epsilon(queries, Delta::default()).get();
            let found = exact(mu * mu, usage).get();
            assert!((found / grid - 1.0).abs() < 0.01, "{queries}: {found} {grid}");
            let moments = Proven::by_moments(usage, 0.0, |order| log_moment(mu * mu, order));
            assert!(found < moments.get());
        }
    }

    #[test]
    fn a_confident_argmax_answers_where_the_lead_is_clear() {
        let noise = |amount| Noise::new(amount).unwrap();
        let confident = ConfidentGnmax { threshold: 60.0, check: noise(10.0), answer: noise(5.0) };
        let law = |counts: [u32; 3]| confident.law(&Histogram::new(counts.to_vec()).unwrap());
        assert!(law([90, 5, 5]).failure() < 0.01 && law([34, 33, 33]).failure() > 0.99);
        let tied = law([60, 40, 0]);
        assert!((tied.failure() - 0.5).abs() < 1e-12);
        assert!((tied.probabilities().sum::<f64>() - 0.5).abs() < 1e-9);
    }
}
