//! The exponential mechanism and permute-and-flip: baselines that need no noise.
//!
//! Both prefer classes by e^(eta n_k). Moving one vote changes two counts by one.
//!
//! - **Exponential mechanism** (McSherry and Talwar, 2007): p_k ~ e^(eta n_k). A move multiplies
//!   the loser's weight by e^-eta, the gainer's by e^eta, and all by one common factor, so all
//!   privacy losses of a query lie in a range of 2 eta. Hence it is (eta^2/2)-zCDP (Cesar and
//!   Rogers, 2021), and composes more tightly than its 2 eta-privacy says.
//! - **Permute-and-flip** (McKenna and Sheldon, 2020): classes in random order, each accepted with
//!   probability e^(eta (n_k - max)). The same law as the argmax of counts with exponential noise
//!   of rate eta (Ding et al., 2021). It is 2 eta-private, but its losses have no smaller range:
//!   with two classes that tie, one vote has a loss of nearly 2 eta either way.
//!
//! # Tight composition of a bounded range
//!
//! Losses in an interval [t - R, t] around 0 are dominated by the two losses t - R and t alone:
//! under Q the ratio has mean 1, and among all laws on an interval with a given mean the one on its
//! ends is the largest in convex order. An adversary may pick t for every query anew, knowing all
//! earlier answers. With W_0(y) = (1 - e^-y)_+ and
//!
//! ```text
//! W_j(y) = max over t of p_t W_(j-1)(y + t) + (1 - p_t) W_(j-1)(y + t - R)
//! ```
//!
//! Q queries are (epsilon, W_Q(-epsilon))-private. On a grid of step h every interval lies in one
//! whose ends are grid points and whose range is R + h; below the grid W is at most its lowest
//! value (it grows with y), above it at most 1: so the grid only adds.

use crate::Usage;
use crate::price::Proven;
use shield_core::distribution::OutputDistribution;
use shield_core::histogram::Histogram;
use shield_core::parameters::{Epsilon, ParameterError};

/// eta: how much one vote weighs in the exponent.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Rate(f64);

impl Rate {
    const MAX: f64 = 100.0;

    /// That weight: positive, at most 100.
    pub fn new(eta: f64) -> Result<Self, ParameterError> {
        if eta > 0.0 && eta <= Self::MAX {
            Ok(Self(eta))
        } else {
            Err(ParameterError {
                parameter: "the rate",
                value: eta.to_string(),
                allowed: "it must be a positive number, at most 100",
            })
        }
    }

    /// The weight.
    pub fn get(self) -> f64 {
        self.0
    }
}

/// The law of the exponential mechanism.
pub(super) fn exponential_law(rate: Rate, histogram: &Histogram) -> OutputDistribution {
    let counts = histogram.counts();
    let top = counts.iter().copied().max().unwrap_or(0);
    let logs: Vec<f64> = counts.iter().map(|&count| -rate.0 * f64::from(top - count)).collect();
    let total = logs.iter().map(|log| log.exp()).sum::<f64>().ln();
    OutputDistribution::from_logs(logs.into_iter().map(|log| log - total), f64::NEG_INFINITY)
}

/// The law of permute-and-flip, as the argmax of counts with exponential noise: with u = e^(-eta x)
/// for the noise x of class k, it wins with probability
///
/// ```text
/// integral over u from 0 to e^(-eta lead) of product over j != k of (1 - u e^(eta (n_j - n_k)))
/// ```
///
/// where lead is what it lacks to the leader. All factors lie between 0 and 1, so nothing cancels.
pub(super) fn permute_and_flip_law(rate: Rate, histogram: &Histogram) -> OutputDistribution {
    let counts = histogram.counts();
    let top = f64::from(counts.iter().copied().max().unwrap_or(0));
    // Relative to the leader, with u scaled to 0..1, the weight of class j is e^(eta (n_j - top)).
    let weights: Vec<f64> =
        counts.iter().map(|&count| (rate.0 * (f64::from(count) - top)).exp()).collect();
    let pieces = u32::try_from(counts.len() / 8 + 1).unwrap_or(1);
    let mut integrals = vec![0.0; counts.len()];
    for piece in 0..pieces {
        for &(node, weight) in &crate::noisy_argmax::GAUSS {
            for side in [-node, node] {
                let width = 1.0 / f64::from(pieces);
                let v = (f64::from(piece) + f64::midpoint(1.0, side)) * width;
                let factors: Vec<f64> = weights.iter().map(|w| -(v * w) + 1.0).collect();
                let all: f64 = factors.iter().product();
                for (integral, own) in integrals.iter_mut().zip(&factors) {
                    *integral += weight * width / 2.0 * all / own;
                }
            }
        }
    }
    let unnormalised: Vec<f64> = weights.iter().zip(&integrals).map(|(w, i)| w * i).collect();
    let total: f64 = unnormalised.iter().sum();
    let logs = counts
        .iter()
        .zip(&integrals)
        .map(|(&count, integral)| rate.0 * (f64::from(count) - top) + integral.ln() - total.ln());
    OutputDistribution::from_logs(logs, f64::NEG_INFINITY)
}

/// The log-moment of one query of the exponential mechanism, over all votes.
pub(super) fn log_moment(rate: Rate, order: f64) -> f64 {
    (0.5 * rate.0 * rate.0 * order * (order + 1.0)).min(2.0 * rate.0 * order)
}

/// The steps that a composition may take.
const WORK: f64 = 4e8;

/// The least epsilon, up to the grid, of queries whose losses have a range of at most `range`,
/// chosen adaptively. Never below the true one; nothing where it would take too long.
pub(super) fn bounded_range(range: f64, usage: Usage, at_most: Proven) -> Option<Proven> {
    if !at_most.get().is_finite() {
        return None;
    }
    let queries = usage.queries.count();
    // Above the highest point W is taken as 1; it is within e^-14 of it there.
    let (lowest, highest) = (-(at_most.get() + 2.0 * range), 14.0);
    let cells = WORK * range / ((highest - lowest) * queries as f64);
    let steps = cells.sqrt().min(128.0).floor();
    if steps < 12.0 {
        return None;
    }
    let step = range / steps;
    let wide = steps as usize + 1;
    let points = ((highest - lowest) / step).ceil() as usize + 1;
    let place = |i: usize| lowest + step * i as f64;
    let odds: Vec<f64> = (0..=wide)
        .map(|t| {
            let whole = step * wide as f64;
            (whole.exp() - (step * t as f64).exp()) / whole.exp_m1()
        })
        .collect();
    // Padded on both sides by one range, so that no step leaves the table.
    let mut table = vec![1.0; points + 2 * wide];
    for i in 0..points {
        table[wide + i] = (-(-place(i)).exp_m1()).max(0.0);
    }
    let mut next = table.clone();
    for _ in 0..queries {
        let low = table[wide];
        table[..wide].fill(low);
        for i in 0..points {
            let mut best: f64 = 0.0;
            let window = &table[i..=i + 2 * wide];
            for (t, p) in odds.iter().enumerate() {
                best = best.max(p * window[wide + t] + (1.0 - p) * window[t]);
            }
            next[wide + i] = best;
        }
        std::mem::swap(&mut table, &mut next);
        table[points + wide..].fill(1.0);
    }
    // From the largest epsilon down, as long as delta is kept.
    let kept = (0..points).take_while(|&i| table[wide + i] * (1.0 + 1e-9) <= usage.delta.get());
    let last = kept.last()?;
    let epsilon = Epsilon::new((-place(last)).max(0.0) * (1.0 + 1e-12)).ok()?;
    (at_most > epsilon).then(|| Proven::new(epsilon, usage.delta))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moments::LawPair;
    use crate::price::FromVotes;
    use crate::queries::pair_of_laws;
    use shield_core::parameters::{Delta, Queries};

    fn histogram(counts: &[u32]) -> Histogram {
        Histogram::new(counts.to_vec()).unwrap()
    }

    fn rate(eta: f64) -> Rate {
        Rate::new(eta).unwrap()
    }

    /// Every order of the classes, coin by coin.
    fn permute_and_flip(eta: f64, counts: &[u32], left: &[usize], chance: f64, law: &mut [f64]) {
        let top = f64::from(*counts.iter().max().unwrap());
        for &class in left {
            let first = chance / left.len() as f64;
            let accepted = (eta * (f64::from(counts[class]) - top)).exp();
            law[class] += first * accepted;
            let rest: Vec<usize> = left.iter().copied().filter(|&other| other != class).collect();
            if accepted < 1.0 {
                permute_and_flip(eta, counts, &rest, first * (1.0 - accepted), law);
            }
        }
    }

    #[test]
    fn permute_and_flip_by_brute_force() {
        for counts in [&[5, 3, 3, 0][..], &[2, 2], &[9, 1, 0], &[4, 4, 4, 3, 1]] {
            for eta in [0.05, 0.4, 2.0] {
                let mut expected = vec![0.0; counts.len()];
                let all: Vec<usize> = (0..counts.len()).collect();
                permute_and_flip(eta, counts, &all, 1.0, &mut expected);
                let law = permute_and_flip_law(rate(eta), &histogram(counts));
                for (found, expected) in law.probabilities().zip(&expected) {
                    assert!((found - expected).abs() < 1e-12, "{counts:?} {eta}");
                }
            }
        }
    }

    #[test]
    fn many_classes_are_integrated_well() {
        // 40 classes that tie are equally likely; the integrand has degree 39.
        let law = permute_and_flip_law(rate(1.0), &histogram(&[7; 40]));
        assert!(law.probabilities().all(|p| (p - 1.0 / 40.0).abs() < 1e-10));
    }

    #[test]
    fn the_exponential_law_by_its_definition() {
        let law = exponential_law(rate(0.3), &histogram(&[4, 1, 0]));
        let weights = [1.2f64, 0.3, 0.0].map(f64::exp);
        for (found, weight) in law.probabilities().zip(weights) {
            assert!((found - weight / weights.iter().sum::<f64>()).abs() < 1e-14);
        }
    }

    fn pair(law: impl Fn(&[u32]) -> OutputDistribution, counts: &[u32], moved: &[u32]) -> LawPair {
        pair_of_laws(&law(counts), &law(moved))
    }

    #[test]
    fn no_histogram_costs_more_than_what_is_proven() {
        let usage = Usage { queries: Queries::new(20).unwrap(), delta: Delta::default() };
        let eta = rate(0.2);
        let moments = Proven::by_moments(usage, 0.0, |order| log_moment(eta, order));
        let tight = bounded_range(2.0 * eta.get(), usage, moments).unwrap();
        assert!(tight < moments, "{tight} {moments}");
        let mut worst: f64 = 0.0;
        // All histograms of 9 votes for 3 classes, and all moves.
        for a in 1..=9u32 {
            for b in 0..=9 - a {
                let counts = [a, b, 9 - a - b];
                for moved in [[a - 1, b + 1, counts[2]], [a - 1, b, counts[2] + 1]] {
                    let law = |counts: &[u32]| exponential_law(eta, &histogram(counts));
                    let laws = pair(law, &counts, &moved);
                    for order in [1.0, 5.0, 20.0] {
                        let bound = log_moment(eta, order);
                        assert!(laws.log_moment(order) <= bound * (1.0 + 1e-8));
                    }
                    worst = worst.max(FromVotes::tight(&laws, usage).get());
                }
            }
        }
        assert!(worst <= tight.get(), "{worst} {tight}");
        // With more votes every interval of range 2 eta occurs. The worst one, asked 20 times,
        // costs 3.7798 by the binomial law of how often each of its two losses occurs.
        assert!(tight.get() > 3.7798 && tight.get() < 1.02 * 3.7798, "{tight}");
    }

    #[test]
    fn permute_and_flip_is_private_and_no_more() {
        let eta = rate(0.2);
        let law = |counts: &[u32]| permute_and_flip_law(eta, &histogram(counts));
        let mut worst: f64 = 0.0;
        for (counts, moved) in [([5, 4], [4, 5]), ([5, 5], [4, 6]), ([9, 0], [8, 1])] {
            for o in pair(law, &counts, &moved).outcomes() {
                worst = worst.max((o.log_p - o.log_q).abs());
            }
        }
        assert!(worst <= 0.4 + 1e-12 && worst > 0.3, "{worst}");
    }

    #[test]
    fn a_range_of_one_query_is_what_the_worst_interval_says() {
        // One query: the best t for the adversary, by brute force.
        let usage = Usage { queries: Queries::new(1).unwrap(), delta: Delta::new(0.05).unwrap() };
        let range: f64 = 0.8;
        let delta = |epsilon: f64| {
            (0..=4000).map(|i| range * f64::from(i) / 4000.0).fold(0.0, |worst: f64, t| {
                let p = (range.exp() - t.exp()) / range.exp_m1();
                worst.max(p * (1.0 - (epsilon - t).exp()).max(0.0))
            })
        };
        let pure = Proven::new(Epsilon::new(range).unwrap(), usage.delta);
        let found = bounded_range(range, usage, pure).unwrap().get();
        assert!(delta(found) <= 0.05 && delta(found - 0.03) > 0.05, "{found}");
    }
}
