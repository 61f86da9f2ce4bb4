//! Circuit privacy: what the student gets follows from the label alone.
//!
//! The student owns the secret key, so from a released ciphertext it reads not only the label's
//! bits but the whole phase of each coefficient, `2^63 b + e`. The error e depends on the votes and
//! on the draws. (The paper releases it as it is.) Three things hide it:
//!
//! - only the coefficients of the label are released, with a fresh encryption of zero added;
//! - to each, the difference of two uniform integers below W = 2^62 - 2^55 is added. The label's
//!   bits are one per coefficient and not one number, so the flooding may be as wide as a quarter
//!   of the modulus, whatever the number of classes;
//! - then all is rounded to 20 bits per coefficient, which also shrinks the download.
//!
//! # Theorem
//!
//! Let the errors e of the d released coefficients have mean zero and variance at most V each,
//! given the keys, the votes and the draws. Then, given its key and the label, the student cannot
//! tell the release from one made of the label alone, with flooding noise f instead of e + f and a
//! uniform mask: statistical distance at most `(d^2 V + d sqrt V) / W^2` for the phases, plus the
//! advantage against one ring-LWE instance with d hints (below).
//!
//! # Proof
//!
//! *Masks.* The mask has `a u + e1` of a fresh encryption of zero added to it, with u and e1 in
//! nothing else but the released phases, where they stand in `e u + e2 - e1 s`: d **hints** of
//! deviation 2^22 under a flooding of width 2^62. Ring-LWE whose secret and error are known up to
//! such hints is as hard as ring-LWE for Gaussian secrets and errors of hardly less width (Kim,
//! Lee, Seo and Song, 2023, "Hint-MLWE"); u is ternary, so here it is an assumption. (Without it,
//! drown the hints first, as errors of which nothing is known: a distance of d 2^22 / W more, 2^-38
//! for four bits.) So the mask may be taken for uniform, and independent of the errors.
//!
//! *Phases.* Let p(x) be the probability of x in Z^d under f, a product of triangles: in one
//! coordinate the first difference of p has sum of absolute values 2/W and the second one 4/W^2 (it
//! is 1, -2, 1 times W^-2 at three points). So every second difference of p, in one coordinate
//! twice or in two, has 4/W^2. Go from x to x - e in n = |e_1| + ... + |e_d| unit steps. Each step
//! changes p by a first difference at the point where it is taken; that is the first difference at
//! x, up to one second difference for each earlier step (and one more if the step is downwards).
//! Hence `p(x - e) - p(x)` is minus the sum of `e_i` times the first difference of p in coordinate
//! i at x, up to n (n + 1) / 2 second differences. Take the mean over e: the first sum vanishes
//! because e has mean zero. What is left has sum of absolute values at most E[n (n + 1) / 2] 4 /
//! W^2, and the statistical distance is half of it, E[n^2 + n] / W^2. By Cauchy and Schwarz E[n^2]
//! <= d sum of E[e_i^2] <= d^2 V, and E\[n\] <= d sqrt V.
//!
//! *Bodies.* Once the phases are `2^63 b + f`, the released coefficients of the body follow from
//! the mask and the secret. Rounding is done to the result and can reveal nothing more. []
//!
//! **The mean is what makes this cheap.** Hiding a *known* error of that size takes flooding 2^40
//! times as wide; an error of mean zero takes only 2^20 times. 64 bits have room for the second and
//! none for the first. Mean zero holds in the model of [`super::noise`]: every term of e is a digit
//! or a rounding residue times something, or a fresh error; all are centred. It is why secrets and
//! encryption randomness are ternary and not bits, and why the input of a product is rounded with
//! halves to the even side (`ring::even`). The student must not see a ballot (its key would read it
//! anyway): the rows' errors are part of what has mean zero.
//!
//! **A student who is also a teacher**, or works with one, knows the errors of that ballot's rows.
//! Digits times them still have mean zero; but the class of that ballot, B / 2 times a row, has an
//! error of about 2^29 that is known to it, and so shows whether the label came from this very
//! ballot: at a statistical distance of d 2^29 / W, about 2^-31 for ten classes. That, too, adds to
//! delta.
//!
//! # Right labels
//!
//! A bit is read wrongly only if `|e + f + rounding|` reaches 2^62. Flooding stays below W = 2^62 -
//! 2^55, rounding below `(1 + h) 2^43 < 2^53.1`; so only if |e| exceeds `2^55 - 2^53.1`, which is
//! [`Plan::failure_log2`](super::Plan::failure_log2).

use rand::{CryptoRng, RngCore};

use super::parameters::{MOST_ONES, RELEASE_BITS};
use super::sampling;

/// Statistical distance, in bits, that a plan must reach for a sample.
pub const STATISTICAL_BITS: u32 = shield_core::engine::STATISTICAL_BITS;

/// The two uniform integers are below this.
pub(crate) const WIDTH: u64 = (1 << 62) - (1 << 55);

/// log2 of the statistical distance of the theorem.
pub(crate) fn distance_log2(variance: f64, coefficients: usize) -> f64 {
    let d = coefficients as f64;
    (d * d * variance + d * variance.sqrt()).log2() - 2.0 * (WIDTH as f64).log2()
}

/// What flooding and rounding leave for the error of a coefficient.
pub(crate) fn room() -> f64 {
    let rounding = (1.0 + MOST_ONES as f64) * 2_f64.powi(63 - RELEASE_BITS.cast_signed());
    2_f64.powi(55) - rounding
}

/// The difference of two uniform integers.
pub(crate) fn flood<R: RngCore + CryptoRng>(rng: &mut R) -> u64 {
    sampling::below(WIDTH, rng).wrapping_sub(sampling::below(WIDTH, rng))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    #[test]
    fn flooding_is_a_triangle_of_that_width() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let noise: Vec<f64> =
            (0..100_000).map(|_| flood(&mut rng).cast_signed() as f64 / WIDTH as f64).collect();
        let mean = noise.iter().sum::<f64>() / 1e5;
        let variance = noise.iter().map(|x| x * x).sum::<f64>() / 1e5;
        assert!(noise.iter().all(|x| x.abs() < 1.0));
        // Variance 1/6, fourth moment 1/15: five deviations of 100,000 draws.
        assert!(mean.abs() < 5.0 * (1.0 / 6e5_f64).sqrt(), "{mean}");
        assert!((variance - 1.0 / 6.0).abs() < 5.0 * (0.0389 / 1e5_f64).sqrt(), "{variance}");
        let tail = noise.iter().filter(|x| x.abs() > 0.9).count();
        assert!((800..1_200).contains(&tail), "{tail} of 1,000 expected");
    }

    #[test]
    fn the_distance_is_what_small_triangles_show() {
        // The theorem with d = 1 and a small W, by adding everything up: e = -3 or 3.
        let width = 64_i64;
        let triangle = |x: i64| (width - x.abs()).max(0) as f64 / (width * width) as f64;
        let distance: f64 = (-100..100)
            .map(|x| (0.5 * (triangle(x - 3) + triangle(x + 3)) - triangle(x)).abs() / 2.0)
            .sum();
        let bound = (9.0 + 3.0) / (width * width) as f64;
        assert!(distance <= bound && distance > bound / 3.0, "{distance} of {bound}");
        // Without mean zero it would be first order, far above.
        let shifted: f64 = (-100..100).map(|x| (triangle(x - 3) - triangle(x)).abs() / 2.0).sum();
        assert!(shifted > 10.0 * bound, "{shifted}");
    }
}
