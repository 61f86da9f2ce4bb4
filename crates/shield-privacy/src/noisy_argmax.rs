//! PATE's noisy argmax, for a fair comparison on the same votes: its output law and its own
//! accounting.
//!
//! - **LNMax** (Papernot et al., 2017): Laplace noise of scale b on every count, gamma = 1/b. One
//!   vote changes two counts by one, so it is 2 gamma-private and alpha(l) <= min(2 gamma^2 l
//!   (l+1), 2 gamma l). Where the argmax is likely, their Theorem 3 is better: with q at least the
//!   probability of another output, and q < (e^{2 gamma} - 1)/(e^{4 gamma} - 1), alpha(l) <=
//!   ln((1-q) ((1-q)/(1 - e^{2 gamma} q))^l + q e^{2 gamma l}), with q <= sum over the others of (2
//!   + gamma d)/(4 e^{gamma d}), d being the leader's lead.
//! - **GNMax** (Papernot et al., 2018): Gaussian noise of deviation sigma; alpha(l) <= l
//!   (l+1)/sigma^2. Their Theorem 6, with the orders of their Proposition 10, is the data-dependent
//!   bound; q <= sum of erfc(d/(2 sigma))/2.

use rayon::prelude::*;

use super::Usage;
use super::conversion::Conversion;
use super::price::FromVotes;
use shield_core::distribution::OutputDistribution;
use shield_core::histogram::Histogram;
use shield_core::parameters::Class;
pub use shield_core::parameters::Noise;

/// A noisy argmax.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoisyArgmax {
    /// Laplace noise of this scale.
    Laplace(Noise),
    /// Gaussian noise of this standard deviation.
    Gaussian(Noise),
}

/// Classes with the same number of votes.
struct Group {
    count: f64,
    classes: usize,
}

impl NoisyArgmax {
    /// The data-independent log-moment of one query.
    pub(crate) fn log_moment(self, order: f64) -> f64 {
        match self {
            Self::Laplace(scale) => pure_log_moment(2.0 / scale.get(), order),
            Self::Gaussian(sigma) => order * (order + 1.0) / (sigma.get() * sigma.get()),
        }
    }

    /// The data-dependent log-moment of one query whose output is not the leader with a probability
    /// of at most q: never above the data-independent one.
    fn log_moment_of(self, q: f64, order: f64) -> f64 {
        let bound = match self {
            Self::Laplace(scale) => laplace_bound(2.0 / scale.get(), q, order),
            Self::Gaussian(sigma) => gaussian_bound(sigma.get(), q, order),
        };
        bound.min(self.log_moment(order))
    }

    /// At least the probability that the output is not the leader.
    fn error_bound(self, histogram: &Histogram) -> f64 {
        error_bound(histogram, |lead| {
            let lead = f64::from(lead);
            match self {
                Self::Laplace(scale) => {
                    let lead = lead / scale.get();
                    (2.0 + lead) / (4.0 * lead.exp())
                }
                Self::Gaussian(sigma) => 0.5 * libm::erfc(lead / (2.0 * sigma.get())),
            }
        })
        .min(1.0)
    }

    /// The output law, by quadrature: class k wins at x if its noisy count is x and all others are
    /// below.
    pub fn law(self, histogram: &Histogram) -> OutputDistribution {
        // Classes with equal counts have equal chances: of many classes, most have few votes.
        let mut counts: Vec<u32> = histogram.counts().to_vec();
        counts.sort_unstable();
        let groups: Vec<Group> = counts
            .chunk_by(|a, b| a == b)
            .map(|same| Group { count: f64::from(same[0]), classes: same.len() })
            .collect();
        let top = groups.last().map_or(0.0, |group| group.count);
        let (scale, reach) = match self {
            Self::Laplace(scale) => (scale.get(), 40.0),
            Self::Gaussian(sigma) => (sigma.get(), 9.0),
        };
        // Laplace densities have a corner at each count; between corners everything is smooth.
        let near = |group: &&Group| top - group.count < reach * scale;
        let mut corners: Vec<f64> = groups.iter().filter(near).map(|group| group.count).collect();
        corners.extend([top - reach * scale, top + reach * scale]);
        corners.sort_by(f64::total_cmp);
        let mut law = vec![0.0; groups.len()];
        for pair in corners.windows(2).filter(|pair| pair[1] > pair[0]) {
            let pieces = ((pair[1] - pair[0]) / scale).ceil();
            let width = (pair[1] - pair[0]) / pieces;
            for piece in 0..pieces as u32 {
                let middle = pair[0] + (f64::from(piece) + 0.5) * width;
                for &(node, weight) in &GAUSS {
                    for side in [-node, node] {
                        let x = middle + side * width / 2.0;
                        self.add_point(&groups, x, weight * width / 2.0, &mut law);
                    }
                }
            }
        }
        let total: f64 =
            law.iter().zip(&groups).map(|(chance, group)| chance * group.classes as f64).sum();
        let chance = |count: u32| {
            let count = f64::from(count);
            law[groups.partition_point(|group| group.count < count)] / total
        };
        OutputDistribution::from_probabilities(histogram.counts().iter().map(|&c| chance(c)))
    }

    /// Adds what a point of the quadrature gives to one class of each group.
    fn add_point(self, groups: &[Group], x: f64, weight: f64, law: &mut [f64]) {
        let power = |group: &Group| {
            let own = self.cumulative(x - group.count);
            own.powi(i32::try_from(group.classes).unwrap_or(i32::MAX))
        };
        let below: f64 = groups.iter().map(power).product();
        for (probability, group) in law.iter_mut().zip(groups) {
            let own = self.cumulative(x - group.count);
            if own > 0.0 {
                *probability += weight * self.density(x - group.count) * (below / own);
            }
        }
    }

    /// The density of the noise.
    pub(crate) fn density(self, x: f64) -> f64 {
        match self {
            Self::Laplace(scale) => (-(x / scale.get()).abs()).exp() / (2.0 * scale.get()),
            Self::Gaussian(sigma) => {
                let z = x / sigma.get();
                (-0.5 * z * z).exp() / (sigma.get() * (2.0 * std::f64::consts::PI).sqrt())
            }
        }
    }

    /// The chance that the noise is at most x.
    pub(crate) fn cumulative(self, x: f64) -> f64 {
        match self {
            Self::Laplace(scale) if x < 0.0 => 0.5 * (x / scale.get()).exp(),
            Self::Laplace(scale) => 1.0 - 0.5 * (-x / scale.get()).exp(),
            Self::Gaussian(sigma) => {
                0.5 * libm::erfc(-x / (sigma.get() * std::f64::consts::SQRT_2))
            }
        }
    }

    /// The data-dependent cost: log-moments averaged over the samples.
    pub(crate) fn data_dependent(
        self,
        histograms: &[Histogram],
        usage: Usage,
        conversion: Conversion,
    ) -> FromVotes {
        let errors: Vec<f64> =
            histograms.par_iter().map(|histogram| self.error_bound(histogram)).collect();
        FromVotes::averaged(&errors, usage, conversion, |&q, order| self.log_moment_of(q, order))
    }
}

/// At least the probability that the output is not the leader: the sum of the chances that another
/// class makes up for the leader's lead. 1 where nobody leads.
pub(crate) fn error_bound(histogram: &Histogram, makes_up: impl Fn(u32) -> f64) -> f64 {
    let counts = histogram.counts();
    let Some(leader) = histogram.leaders().next().map(Class::index) else {
        return 1.0;
    };
    let others = counts.iter().enumerate().filter(|&(class, _)| class != leader);
    others.map(|(_, &count)| makes_up(counts[leader] - count)).sum()
}

/// The log-moment of one query of any mechanism that is `epsilon`-private.
pub(crate) fn pure_log_moment(epsilon: f64, order: f64) -> f64 {
    (0.5 * epsilon * epsilon * order * (order + 1.0)).min(epsilon * order)
}

/// Theorem 3 of the 2017 paper, for a mechanism that is `epsilon`-private.
pub(crate) fn laplace_bound(epsilon: f64, q: f64, order: f64) -> f64 {
    if epsilon.is_infinite() || q >= epsilon.exp_m1() / (2.0 * epsilon).exp_m1() {
        return f64::INFINITY;
    }
    let rest = (1.0 - q) * ((1.0 - q) / (1.0 - epsilon.exp() * q)).powf(order);
    (rest + q * (epsilon * order).exp()).ln().max(0.0)
}

/// Theorem 6 of the 2018 paper with the orders of its Proposition 10.
fn gaussian_bound(sigma: f64, q: f64, order: f64) -> f64 {
    if q <= 0.0 {
        return 0.0;
    }
    let lambda = order + 1.0;
    let variance = sigma * sigma;
    let mu2 = sigma * (-q.ln()).sqrt();
    let mu1 = mu2 + 1.0;
    let (epsilon1, epsilon2) = (mu1 / variance, mu2 / variance);
    if mu2 <= 1.0 || lambda > mu1 {
        return f64::INFINITY;
    }
    let limit =
        (mu2 - 1.0) * epsilon2 - mu2 * ((mu1 / (mu1 - 1.0)).ln() + (mu2 / (mu2 - 1.0)).ln());
    if q.ln() > limit {
        return f64::INFINITY;
    }
    let a = (1.0 - q) / (1.0 - ((q.ln() + epsilon2) * (mu2 - 1.0) / mu2).exp());
    let b = epsilon1 - q.ln() / (mu1 - 1.0);
    ((1.0 - q) * a.powf(order) + (q.ln() + b * order).exp()).ln().max(0.0)
}

/// Positive nodes and weights of the 8-point Gauss-Legendre rule.
pub(crate) const GAUSS: [(f64, f64); 4] = [
    (0.183_434_642_495_649_8, 0.362_683_783_378_362),
    (0.525_532_409_916_329, 0.313_706_645_877_887_3),
    (0.796_666_477_413_626_7, 0.222_381_034_453_374_5),
    (0.960_289_856_497_536_3, 0.101_228_536_290_376_3),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::price::Proven;
    use shield_core::parameters::Delta;

    fn histogram(counts: &[u32]) -> Histogram {
        Histogram::new(counts.to_vec()).unwrap()
    }

    #[test]
    fn two_classes_by_the_known_law() {
        // The difference of two Gaussians is Gaussian; that of two Laplace variables has a known
        // tail.
        let (sigma, scale, lead) = (20.0, 10.0, 14.0);
        let votes = histogram(&[32, 18]);
        let gaussian = NoisyArgmax::Gaussian(Noise::new(sigma).unwrap()).law(&votes);
        let expected = 1.0 - 0.5 * libm::erfc(lead / (2.0 * sigma));
        assert!((gaussian.probabilities().next().unwrap() - expected).abs() < 1e-9);
        let laplace = NoisyArgmax::Laplace(Noise::new(scale).unwrap()).law(&votes);
        let z = lead / scale;
        let expected = 1.0 - (2.0 + z) / (4.0 * z.exp());
        assert!((laplace.probabilities().next().unwrap() - expected).abs() < 1e-9);
    }

    #[test]
    fn many_classes_without_votes_share_what_is_left_evenly() {
        let mut counts = vec![0; 40];
        counts[3] = 30;
        counts[7] = 12;
        let noise = Noise::new(9.0).unwrap();
        for noisy in [NoisyArgmax::Laplace(noise), NoisyArgmax::Gaussian(noise)] {
            let law: Vec<f64> = noisy.law(&histogram(&counts)).probabilities().collect();
            assert!((law.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            // The chance of the leader, by a sum over thin slices.
            let slice = |step: i32| {
                let x = -300.0 + f64::from(step) * 0.01;
                let others = noisy.cumulative(x).powi(38) * noisy.cumulative(x - 12.0);
                noisy.density(x - 30.0) * others * 0.01
            };
            let leader: f64 = (0..80_000).map(slice).sum();
            assert!((law[3] - leader).abs() < 1e-6, "{} {leader}", law[3]);
            assert!(law[7] > law[0] && (law[0] - law[39]).abs() < 1e-15);
        }
    }

    #[test]
    fn the_accountings_bound_the_true_moments() {
        for mechanism in [
            NoisyArgmax::Laplace(Noise::new(20.0).unwrap()),
            NoisyArgmax::Gaussian(Noise::new(20.0).unwrap()),
        ] {
            for (counts, moved) in [([90, 8, 2], [89, 9, 2]), ([40, 35, 25], [39, 35, 26])] {
                let (p, q) =
                    (mechanism.law(&histogram(&counts)), mechanism.law(&histogram(&moved)));
                for order in [1.0, 4.0, 12.0] {
                    let moment: f64 = p
                        .probabilities()
                        .zip(q.probabilities())
                        .map(|(p, q)| p * (p / q).powf(order))
                        .sum();
                    let q = mechanism.error_bound(&histogram(&counts));
                    let bound = mechanism.log_moment_of(q, order);
                    assert!(moment.ln() <= bound, "{mechanism:?} {order}: {} {bound}", moment.ln());
                    assert!(bound <= mechanism.log_moment(order));
                }
            }
        }
    }

    #[test]
    fn a_clear_lead_is_cheap() {
        let usage = Usage::default();
        for mechanism in [
            NoisyArgmax::Laplace(Noise::new(20.0).unwrap()),
            NoisyArgmax::Gaussian(Noise::new(40.0).unwrap()),
        ] {
            let log_moment = |order| mechanism.log_moment(order);
            let independent = Proven::by_moments(usage, 0.0, log_moment);
            let clear =
                mechanism.data_dependent(&[histogram(&[240, 6, 4])], usage, Conversion::Renyi);
            let tied =
                mechanism.data_dependent(&[histogram(&[83, 83, 84])], usage, Conversion::Renyi);
            let most = independent.get() * (1.0 + 1e-8);
            assert!(clear < tied && tied.get() <= most, "{clear} {tied} {independent}");
            assert!(clear.get() < 0.5 * independent.get());
        }
    }

    #[test]
    fn figures_by_hand() {
        // Pure 2/b-privacy of one query, where moments can say no more.
        let laplace = NoisyArgmax::Laplace(Noise::new(20.0).unwrap());
        assert!((laplace.log_moment(1e6) - 1e5).abs() < 1e-6);
        // alpha(l) = l(l+1)/sigma^2: the tail bound gives Q/s^2 + 2 sqrt(Q ln(1/delta))/s.
        let gaussian = NoisyArgmax::Gaussian(Noise::new(4000.0).unwrap());
        let moment = |order| 100.0 * gaussian.log_moment(order);
        let found = Conversion::TailBound.minimise(Delta::default(), moment).epsilon;
        let expected = 100.0 / 16e6 + 2.0 * (100.0 * 1e5f64.ln()).sqrt() / 4000.0;
        assert!((found / expected - 1.0).abs() < 1e-3, "{found} {expected}");
    }

    #[test]
    fn bad_noise_is_refused() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Noise::new(bad).is_err());
        }
    }
}
