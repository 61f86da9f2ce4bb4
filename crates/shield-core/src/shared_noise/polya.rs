//! Laplace noise that nobody knows: every teacher adds a share, and the shares sum up to it.
//!
//! # The law
//!
//! The discrete Laplace law of scale b is P(z) = (1-a)/(1+a) a^|z| with a = e^(-1/b) (Ghosh,
//! Roughgarden and Sundararajan, 2009: the geometric mechanism). It is the law of G - G', with G
//! and G' geometric, P(g) = (1-a) a^g. A geometric variable is a negative binomial one, NB(1, a),
//! and negative binomial variables add up: NB(r, a) + NB(s, a) has the law NB(r+s, a), because the
//! generating function of NB(r, a) is ((1-a)/(1-az))^r. So if each of m teachers draws a **Polya
//! share** X - X', with X and X' from NB(1/m, a), the sum of the m shares is discrete Laplace noise
//! of scale b (Goryczka and Xiong, 2015).
//!
//! # Dropouts
//!
//! Of n teachers up to D may be missing, so shares are sized for m = n - D. **If v >= m teachers
//! take part, the sum of their shares is discrete Laplace noise plus independent noise.** Proof:
//! split off any m of them. Their shares sum to the discrete Laplace law; those of the other v - m
//! are independent of these and of all votes. [] What is computed from counts with that sum is a
//! function of the counts with discrete Laplace noise and of data-independent noise:
//! post-processing, so no less private. With fewer than m teachers there is less noise than was
//! promised, and the server must not answer. A teacher knows its own share: c teachers who pool
//! what they know are like c who are missing, so D must cover those, too.
//!
//! # Discrete and continuous Laplace noise
//!
//! Moving a count by one changes the probability of each noisy count by a factor of at most
//! e^(1/b), for the discrete law as for the continuous one of the same scale. One vote moves two
//! counts by one, so the noisy counts, and all that follows from them, are (2/b)-differentially
//! private: exactly LNMax's guarantee. What differs is where counts tie or come close: see
//! `shield_privacy::shared_argmax`.
//!
//! # Precision
//!
//! Shares are integers, drawn by inverting a table of integer weights with as many random bits as
//! the table has: no floating point is involved in a draw. The weights come from the exact ratios
//! P(k+1)/P(k) = a (1/m + k)/(k+1), with a rounded up (more noise, not less), multiplied up in
//! floats: the weight of k is off by a factor of at most 1 + 2^-51 k + 2^-40. The table ends where
//! less than 2^-75 is left. [`SharedNoise::imprecision`](super::SharedNoise::imprecision) turns
//! both into what they may cost in privacy, and the accounting adds it.

use super::law::NoiseLaw;
use super::shares::LEFT;

/// a = e^(-1/b), rounded up.
fn ratio(scale: f64) -> f64 {
    (-1.0 / scale).exp().next_up().next_up()
}

/// Weights of NB(1/m, a), from 0 on.
pub(super) fn weights(scale: f64, shares: u32) -> Vec<f64> {
    let (a, m) = (ratio(scale), f64::from(shares));
    let mut weights = vec![1.0];
    let mut sum = 1.0;
    let mut last = 1.0;
    // Ratios are below a, so what is left behind k is at most P(k) a/(1-a).
    while last * a / (1.0 - a) > sum * libm::exp2(LEFT) {
        let k = weights.len() as f64 - 1.0;
        last *= a * (1.0 + m * k) / (m * (k + 1.0));
        weights.push(last);
        sum += last;
    }
    weights
}

/// The law of r times the noise of some scale.
///
/// From the generating function C ((1-az)(1-a/z))^-r: its logarithmic derivative gives `(1+a^2)
/// k P(k) = a (k+1-r) P(k+1) + a (k-1+r) P(k-1)`, of which the wanted solution is the one that
/// falls; computed downwards from far out it grows over every other (Miller's algorithm).
pub(super) fn law(scale: f64, r: f64) -> NoiseLaw {
    let a = ratio(scale);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive")]
    let reach = furthest(scale, r) as usize;
    NoiseLaw::downwards(reach, |k, here, above| {
        ((1.0 + a * a) * k * here - a * (k + 1.0 - r) * above) / (a * (k - 1.0 + r))
    })
}

/// Where tables end. Twenty deviations for a bell, eighty scales for its tails: less than 1e-30
/// is left.
pub(super) fn furthest(scale: f64, r: f64) -> f64 {
    (scale.max(1.0) * (80.0 + 20.0 * (2.0 * r).sqrt())).ceil()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Noise;
    use crate::shared_noise::{SharedNoise, Shares};

    fn noise(scale: f64, teachers: u32, dropouts: u32) -> SharedNoise {
        SharedNoise::new(Noise::new(scale).unwrap(), teachers, dropouts).unwrap()
    }

    fn laplace(b: f64) -> impl Fn(i64) -> f64 {
        let a = (-1.0 / b).exp();
        move |z| (1.0 - a) / (1.0 + a) * a.powf(z.unsigned_abs() as f64)
    }

    #[test]
    fn the_law_of_whole_numbers_of_geometric_variables() {
        // r = 1 is the discrete Laplace law; r = 2 its convolution with itself.
        for scale in [0.3, 2.0, 40.0, 700.0] {
            let one = noise(scale, 9, 0).law(9);
            let expected = laplace(scale);
            let near = |z: i64| one.probability(z) / expected(z) - 1.0;
            assert!([0, 1, 2, 5, 20].iter().all(|&z| near(z).abs() < 1e-10), "{scale}");
        }
        let (one, two) = (noise(2.0, 9, 0).law(9), noise(2.0, 9, 0).difference_law(9));
        for z in [0, 1, 7, 30] {
            let sum: f64 = (-200..=200).map(|i| one.probability(i) * one.probability(z - i)).sum();
            assert!((two.probability(z) / sum - 1.0).abs() < 1e-9, "{z}");
            let tail: f64 = (z..400).map(|i| two.probability(i)).sum();
            assert!((two.at_least(z) / tail - 1.0).abs() < 1e-9);
            assert!((two.at_least(-z) + two.at_least(z + 1) - 1.0).abs() < 1e-12);
        }
        let bound = one.bound(1e-6);
        assert!(2.0 * one.at_least(bound) <= 1e-6 && 2.0 * one.at_least(bound - 1) > 1e-6);
    }

    #[test]
    fn weights_are_the_negative_binomial_law() {
        let noise = noise(3.0, 4, 0);
        let polya = Shares::new(&noise);
        let total = *polya.cumulative.last().unwrap() as f64;
        let (a, r) = (ratio(3.0), 0.25);
        for k in [0_usize, 1, 2, 10, 60] {
            let below = if k == 0 { 0 } else { polya.cumulative[k - 1] };
            let found = (polya.cumulative[k] - below) as f64 / total;
            let log = libm::lgamma(k as f64 + r) - libm::lgamma(r) - libm::lgamma(k as f64 + 1.0);
            let expected = (log + k as f64 * a.ln() + r * (1.0 - a).ln()).exp();
            assert!((found / expected - 1.0).abs() < 1e-11, "{k}: {found} {expected}");
        }
        let cost = noise.imprecision(10);
        assert!(cost.epsilon < 1e-9 && cost.delta < 1e-18, "{cost:?}");
    }

    #[test]
    fn nobody_left_is_refused() {
        let scale = Noise::new(1.0).unwrap();
        assert!(SharedNoise::new(scale, 5, 5).is_err());
        assert!(SharedNoise::new(scale, 5, 9).is_err());
        assert!(SharedNoise::new(Noise::new(10_001.0).unwrap(), 5, 0).is_err());
        assert_eq!(SharedNoise::new(scale, 5, 2).unwrap().shares(), 3);
    }
}
