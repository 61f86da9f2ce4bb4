//! Skellam noise that nobody knows: every teacher adds a share, and the shares sum up to it.
//!
//! # The law
//!
//! The Skellam law of variance v is that of X - X', with X and X' independent Poisson variables of
//! mean v/2 (Skellam, 1946): P(z) = e^-v I_|z|(v), with I the modified Bessel function. Poisson
//! variables add up: the sum of Poisson variables of means a and b has the law of mean a + b,
//! because the generating function of mean a is e^(a (z - 1)). So if each of m teachers draws a
//! share Y - Y', with Y and Y' Poisson of mean v/2m, the sum of the m shares is Skellam noise of
//! variance v. The noise of a standard deviation S has v = S^2.
//!
//! It is to the discrete Gaussian law what a sum is to its limit: nearly as cheap in privacy
//! (Agarwal, Kairouz and Liu, 2021), and, unlike the discrete Gaussian law, closed under addition.
//! What it costs: `shield_privacy::skellam`.
//!
//! # Dropouts and colluding teachers
//!
//! As for Laplace noise ([`crate::shared_noise::polya`]): shares are sized for m = n - D, the sum
//! of v >= m shares is the noise of m of them plus independent noise, so by post-processing no less
//! private. A teacher knows its own share, and c teachers who pool what they know can subtract
//! theirs: what is left is the sum of the others' shares, at least m of them if at most D are
//! missing or colluding, taken together. So D must cover both.
//!
//! # Precision
//!
//! Shares are integers from a table of integer weights ([`super::shares`]). The weights follow from
//! the exact ratios P(k+1)/P(k) = lambda/(k+1), multiplied up in floats from the most likely number
//! outwards, with lambda = v/2m rounded up (more noise, not less): the weight at distance d from
//! there is off by a factor of at most 1 + 2^-51 d + 2^-40. The table ends where less than 2^-75 is
//! left on both sides together. [`SharedNoise::imprecision`](super::SharedNoise::imprecision) turns
//! both into what they may cost in privacy, and the accounting adds it.

use super::law::NoiseLaw;
use super::shares::LEFT;

/// lambda = v/2m, rounded up.
fn mean_of_share(deviation: f64, shares: u32) -> f64 {
    (deviation * deviation / (2.0 * f64::from(shares))).next_up().next_up()
}

/// Weights of a Poisson variable of mean lambda, from some number on: the most likely has one.
pub(super) fn weights(deviation: f64, shares: u32) -> Vec<f64> {
    let lambda = mean_of_share(deviation, shares);
    let mode = lambda.floor();
    let left = libm::exp2(LEFT - 1.0);
    // Below the mode, ratios k/lambda fall: what is left below k is at most w (k/lambda)/(1 -
    // k/lambda), and never more than w times the k numbers that are left.
    let mut below = Vec::new();
    let (mut weight, mut k) = (1.0, mode);
    while k > 0.0 && weight * k.min(lambda / (lambda - k).max(1e-300)) > left {
        weight *= k / lambda;
        below.push(weight);
        k -= 1.0;
    }
    let mut weights: Vec<f64> = below.into_iter().rev().collect();
    weights.push(1.0);
    // Above it, ratios lambda/(k+1) fall: what is left above k is at most w (k+1)/(k+1 - lambda).
    let (mut weight, mut k) = (1.0, mode);
    while weight * (k + 1.0) / (k + 1.0 - lambda).max(1e-300) > left {
        weight *= lambda / (k + 1.0);
        weights.push(weight);
        k += 1.0;
    }
    weights
}

/// The law of Skellam noise of some variance.
///
/// From I_(k-1)(v) = I_(k+1)(v) + (2k/v) I_k(v), of which the wanted solution is the one that falls
/// with k; computed downwards from far out it grows over every other (Miller's algorithm).
pub(super) fn law(variance: f64) -> NoiseLaw {
    law_with(variance, 0)
}

/// The same law, with a table that reaches further by so many numbers.
pub fn law_with(variance: f64, further: u32) -> NoiseLaw {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive")]
    let reach = furthest(variance) as usize + further as usize;
    NoiseLaw::downwards(reach, |k, here, above| above + 2.0 * k / variance * here)
}

/// Where tables of the law end: by Bernstein's inequality, P(|Z| > z) <= 2 exp(-z^2/(2v + 2z/3)),
/// less than 1e-30 is left.
pub(super) fn furthest(variance: f64) -> f64 {
    (12.5 * variance.sqrt() + 60.0).ceil()
}

#[cfg(test)]
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "small whole numbers in floats"
)]
mod tests {
    use super::*;
    use crate::parameters::Noise;
    use crate::shared_noise::{NoiseFamily, SharedNoise};
    use statrs::distribution::{Discrete, Poisson};

    fn noise(deviation: f64, teachers: u32, dropouts: u32) -> SharedNoise {
        let amount = Noise::new(deviation).unwrap();
        SharedNoise::of(NoiseFamily::Skellam, amount, teachers, dropouts).unwrap()
    }

    /// P(z) of the Skellam law by its definition: a sum over pairs of Poisson variables.
    fn by_definition(variance: f64, z: i64) -> f64 {
        let poisson = Poisson::new(variance / 2.0).unwrap();
        (0..2_000_u64).map(|k| poisson.pmf(k + z.unsigned_abs()) * poisson.pmf(k)).sum()
    }

    #[test]
    fn the_law_is_that_of_a_difference_of_poisson_variables() {
        for deviation in [0.1, 1.0, 4.5, 28.0] {
            let law = noise(deviation, 9, 0).law(9);
            for z in [0, 1, 2, 7, 30, 80] {
                let expected = by_definition(deviation * deviation, z);
                let found = law.probability(z);
                assert!((found - expected).abs() <= 1e-9 * expected + 1e-25, "{deviation} {z}");
                assert!((law.probability(-z) - found).abs() < 1e-300);
            }
            let variance: f64 =
                (-law.reach()..=law.reach()).map(|z| (z * z) as f64 * law.probability(z)).sum();
            assert!((variance / (deviation * deviation) - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn weights_are_the_poisson_law() {
        for (deviation, teachers) in [(3.0, 4), (0.1, 2_000), (40.0, 250), (900.0, 1)] {
            let noise = noise(deviation, teachers, 0);
            let weights = weights(noise.scale().get(), noise.shares());
            let lambda = mean_of_share(noise.scale().get(), noise.shares());
            let mode = weights.iter().position(|&w| (w - 1.0).abs() < 1e-300).unwrap();
            let first = lambda.floor() as usize - mode;
            let poisson = Poisson::new(lambda).unwrap();
            let total: f64 = weights.iter().sum();
            let step = (weights.len() / 40).max(1);
            for (i, weight) in weights.iter().enumerate().step_by(step) {
                let expected = poisson.pmf((first + i) as u64);
                if expected > 1e-15 {
                    assert!((weight / total / expected - 1.0).abs() < 1e-7, "{deviation} {i}");
                }
            }
            let cost = noise.imprecision(10);
            assert!(cost.epsilon < 1e-6 && cost.delta < 1e-16, "{cost:?}");
        }
    }

    #[test]
    fn what_the_table_leaves_out_is_negligible() {
        for lambda in [1e-9, 0.3, 1.0, 7.7, 400.0, 1e6] {
            let teachers = 1;
            let noise = noise((2.0_f64 * lambda).sqrt().clamp(0.01, 9_000.0), teachers, 0);
            let weights = weights(noise.scale().get(), noise.shares());
            let total: f64 = weights.iter().sum();
            let mean = mean_of_share(noise.scale().get(), noise.shares());
            // The next weight on each side, times a generous count of those that follow.
            let mode = weights.iter().position(|&w| (w - 1.0).abs() < 1e-300).unwrap();
            let last = mean.floor() + (weights.len() - 1 - mode) as f64;
            let next = weights.last().unwrap() * mean / (last + 1.0);
            let ratio = mean / (last + 2.0);
            assert!(next / (1.0 - ratio) < total * libm::exp2(-75.0), "{lambda}");
        }
    }
}
