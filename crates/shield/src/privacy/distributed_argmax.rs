//! SPEED's noisy argmax, with noise that the teachers add in shares: its output law and its
//! accounting.
//!
//! The noise is discrete Laplace noise of scale b, or more where fewer teachers are missing than
//! were allowed for (see [`crate::shared_noise::polya`]). The noisy counts are (2/b)-private, up to
//! the precision of the draws, so LNMax's accounting holds as it stands: alpha(l) <= min(2 gamma^2
//! l (l+1), 2 gamma l) with gamma = 1/b follows from 2 gamma-privacy alone, and so does Theorem 3
//! of Papernot et al. (2017), given q. What LNMax's formulas for the continuous law cannot be used
//! for is q itself, at least the probability that the output is not the leader, and the law of the
//! output: counts can tie now. Here
//!
//! - q is at most the sum over the others of P(Z' - Z >= d), d being the leader's lead, with the
//!   exact law of the difference of two noises; for b large it tends to LNMax's (2 + d/b)/4
//!   e^(-d/b);
//! - the output law sums over the integers, and ties go to the lowest class.
//!
//! Both are those of all teachers taking part. The data-independent figure holds for any number of
//! them from n - D on.

use rayon::prelude::*;

use super::Usage;
use super::conversion::Conversion;
use super::moments::ROUND_UP;
use super::noisy_argmax::laplace_bound;
use crate::distribution::OutputDistribution;
use crate::histogram::Histogram;
use crate::parameters::{Delta, Epsilon};
use crate::shared_noise::NoiseFamily;
use crate::shared_noise::{NoiseLaw, SharedNoise};

/// The argmax of counts with noise in shares.
#[derive(Clone, Debug)]
pub struct DistributedArgmax {
    /// The privacy of one query.
    epsilon: f64,
    /// What one query takes of delta.
    delta: f64,
    noise: NoiseLaw,
    difference: NoiseLaw,
}

impl DistributedArgmax {
    /// With some noise on each of so many classes. Skellam noise has no pure epsilon, so its cost
    /// is infinite here: [`super::skellam`] accounts for it.
    pub fn new(noise: &SharedNoise, classes: usize) -> Self {
        let imprecision = noise.imprecision(classes);
        let pure = match noise.family() {
            NoiseFamily::Laplace => 2.0 / noise.scale().get(),
            NoiseFamily::Skellam => f64::INFINITY,
        };
        Self {
            epsilon: pure + imprecision.epsilon,
            delta: imprecision.delta,
            noise: noise.law(noise.teachers()),
            difference: noise.difference_law(noise.teachers()),
        }
    }

    /// What one query takes of delta beside the composition.
    pub fn lost_delta(&self) -> f64 {
        self.delta
    }

    /// The data-independent log-moment of one query.
    pub fn log_moment(&self, order: f64) -> f64 {
        (0.5 * self.epsilon * self.epsilon * order * (order + 1.0)).min(self.epsilon * order)
    }

    /// The data-dependent log-moment of one query: never above the data-independent one.
    pub fn log_moment_of(&self, histogram: &Histogram, order: f64) -> f64 {
        laplace_bound(self.epsilon, self.error_bound(histogram), order).min(self.log_moment(order))
    }

    /// At least the probability that the output is not the leader.
    fn error_bound(&self, histogram: &Histogram) -> f64 {
        let counts = histogram.counts();
        let Some(leader) = histogram.leaders().next() else {
            return 1.0;
        };
        let top = counts[leader.index()];
        let others = counts.iter().enumerate().filter(|&(class, _)| class != leader.index());
        let sum: f64 =
            others.map(|(_, &count)| self.difference.at_least(i64::from(top - count))).sum();
        (sum * ROUND_UP).min(1.0)
    }

    /// The output law.
    pub fn law(&self, histogram: &Histogram) -> OutputDistribution {
        law_of(&self.noise, histogram)
    }

    /// The delta that is left for the conversion; `None` if there is none.
    fn rest(&self, usage: Usage) -> Option<Delta> {
        Delta::new(usage.delta.get() - usage.queries.count() as f64 * self.delta).ok()
    }

    /// The data-independent cost.
    pub fn data_independent(&self, usage: Usage, conversion: Conversion) -> Epsilon {
        let count = usage.queries.count() as f64;
        let Some(delta) = self.rest(usage) else {
            return Epsilon::INFINITE;
        };
        conversion.minimise(delta, |order| count * self.log_moment(order)).rounded_up()
    }

    /// The data-independent cost, composed tightly.
    pub fn exact(&self, usage: Usage) -> Epsilon {
        self.rest(usage).map_or(Epsilon::INFINITE, |delta| {
            super::exact_of_pure(self.epsilon, Usage { delta, ..usage })
        })
    }

    /// The data-dependent cost: log-moments averaged over the samples. Must not be published.
    pub fn data_dependent(
        &self,
        histograms: &[Histogram],
        usage: Usage,
        conversion: Conversion,
    ) -> Epsilon {
        let Some(delta) = self.rest(usage) else {
            return Epsilon::INFINITE;
        };
        let scale = usage.queries.count() as f64 / histograms.len().max(1) as f64 * ROUND_UP;
        let errors: Vec<f64> =
            histograms.par_iter().map(|histogram| self.error_bound(histogram)).collect();
        let sum = |order: f64| {
            let free = self.log_moment(order);
            let one = |&q: &f64| laplace_bound(self.epsilon, q, order).min(free);
            errors.iter().map(one).sum::<f64>()
        };
        conversion.minimise(delta, |order| scale * sum(order)).rounded_up()
    }
}

/// The output law: class k wins at x if its noisy count is x, all before it are below and all
/// behind it not above.
pub(super) fn law_of(noise: &NoiseLaw, histogram: &Histogram) -> OutputDistribution {
    let counts: Vec<i64> = histogram.counts().iter().map(|&count| i64::from(count)).collect();
    let top = counts.iter().copied().max().unwrap_or(0);
    let reach = noise.reach();
    let mut law = vec![0.0; counts.len()];
    let mut behind = vec![1.0; counts.len() + 1];
    for x in top - reach..=top + reach {
        for (class, &count) in counts.iter().enumerate().rev() {
            let not_above = 1.0 - noise.at_least(x - count + 1);
            behind[class] = behind[class + 1] * not_above;
        }
        let mut before = 1.0;
        for (class, &count) in counts.iter().enumerate() {
            law[class] += before * noise.probability(x - count) * behind[class + 1];
            before *= 1.0 - noise.at_least(x - count);
        }
    }
    let total: f64 = law.iter().sum();
    OutputDistribution::from_probabilities(law.iter().map(|p| p / total))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::noisy_argmax::{Noise, NoisyArgmax};

    fn histogram(counts: &[u32]) -> Histogram {
        Histogram::new(counts.to_vec()).unwrap()
    }

    fn argmax(scale: f64, teachers: u32, dropouts: u32) -> DistributedArgmax {
        let noise = SharedNoise::new(Noise::new(scale).unwrap(), teachers, dropouts).unwrap();
        DistributedArgmax::new(&noise, 3)
    }

    #[test]
    fn the_law_by_brute_force() {
        let argmax = argmax(1.5, 9, 3);
        let counts = [3_i64, 4, 2];
        let mut expected = [0.0; 3];
        let range = -60..=60_i64;
        for x in range.clone() {
            for y in range.clone() {
                for z in range.clone() {
                    let noisy = [counts[0] + x, counts[1] + y, counts[2] + z];
                    let top = *noisy.iter().max().unwrap();
                    let winner = noisy.iter().position(|&n| n == top).unwrap();
                    expected[winner] +=
                        [x, y, z].map(|z| argmax.noise.probability(z)).iter().product::<f64>();
                }
            }
        }
        let law = argmax.law(&histogram(&[3, 4, 2]));
        for (found, expected) in law.probabilities().zip(expected) {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
    }

    #[test]
    fn the_accounting_bounds_the_true_moments() {
        for argmax in [argmax(20.0, 100, 0), argmax(20.0, 100, 30), argmax(3.0, 100, 0)] {
            for (counts, moved) in [([90, 8, 2], [89, 9, 2]), ([40, 35, 25], [39, 35, 26])] {
                let (p, q) = (argmax.law(&histogram(&counts)), argmax.law(&histogram(&moved)));
                for (p, q) in [(&p, &q), (&q, &p)] {
                    let largest =
                        p.probabilities().zip(q.probabilities()).map(|(p, q)| (p / q).ln());
                    assert!(largest.fold(0.0, f64::max) <= argmax.epsilon + 1e-9);
                }
                for order in [1.0, 4.0, 12.0] {
                    let pairs = p.probabilities().zip(q.probabilities());
                    let moment: f64 = pairs.map(|(p, q)| p * (p / q).powf(order)).sum();
                    let bound = argmax.log_moment_of(&histogram(&counts), order);
                    assert!(moment.ln() <= bound + 1e-12, "{order}: {} {bound}", moment.ln());
                    assert!(bound <= argmax.log_moment(order));
                }
                let error = 1.0 - p.probabilities().next().unwrap();
                assert!(error <= argmax.error_bound(&histogram(&counts)));
            }
        }
    }

    #[test]
    fn as_lnmax_where_the_scale_is_large() {
        let continuous = NoisyArgmax::Laplace(Noise::new(40.0).unwrap());
        let discrete = argmax(40.0, 250, 0);
        let usage = Usage::default();
        let (a, b) = (
            continuous.data_independent(usage, Conversion::Renyi).get(),
            discrete.data_independent(usage, Conversion::Renyi).get(),
        );
        assert!(b >= a && b / a - 1.0 < 1e-6, "{a} {b}");
        let votes = histogram(&[150, 60, 40]);
        let laws = continuous.law(&votes);
        for (p, q) in laws.probabilities().zip(discrete.law(&votes).probabilities()) {
            assert!((p - q).abs() < 0.01, "{p} {q}");
        }
        // Ties count against the discrete law, so its bound on errors is the larger one, but not by
        // much.
        let lead = 90.0 / 40.0_f64;
        let continuous = (2.0 + lead) / (4.0 * lead.exp());
        let tail = discrete.difference.at_least(90);
        assert!(tail > continuous && tail / continuous < 1.03, "{tail} {continuous}");
    }

    #[test]
    fn skellam_noise_is_not_accounted_for_as_laplace_noise() {
        let amount = Noise::new(40.0).unwrap();
        let noise = SharedNoise::of(NoiseFamily::Skellam, amount, 100, 0).unwrap();
        let argmax = DistributedArgmax::new(&noise, 3);
        let usage = Usage::default();
        assert_eq!(argmax.data_independent(usage, Conversion::Renyi), Epsilon::INFINITE);
        let votes = [histogram(&[90, 5, 5])];
        assert_eq!(argmax.data_dependent(&votes, usage, Conversion::Renyi), Epsilon::INFINITE);
    }

    #[test]
    fn more_noise_than_promised_does_not_cheapen_the_promise() {
        let usage = Usage::default();
        let none = argmax(40.0, 250, 0);
        let some = argmax(40.0, 250, 50);
        let cost =
            |argmax: &DistributedArgmax| argmax.data_independent(usage, Conversion::Renyi).get();
        assert!((cost(&none) / cost(&some) - 1.0).abs() < 1e-6);
        let votes = histogram(&[150, 60, 40]);
        let best = |argmax: &DistributedArgmax| argmax.law(&votes).probabilities().next().unwrap();
        assert!(best(&some) < best(&none));
    }
}
