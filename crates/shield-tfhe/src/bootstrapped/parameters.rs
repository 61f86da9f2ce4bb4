//! The parameter set of everything that bootstraps, and the variance of every kind of noise in it.
//!
//! The set is the crate's for 2 + 2 bits, 128 bits of security and Gaussian noise (`tfhe` 1.4 and
//! later: `PARAM_MESSAGE_2_CARRY_2_KS_PBS_GAUSSIAN_2M128`): a ring of degree N = 2048 over the
//! torus of 64 bits, and n = 866 for the key under which tables are looked up. Its message space is
//! not used: every table here cuts the torus to its own needs.
//!
//! A number x of the torus stands as the integer x 2^64. All variances are those of the torus, so 1
//! is a full turn.
//!
//! | noise | variance |
//! |---|---|
//! | encryption under the public key | N s^2, with s the deviation of the ring's noise |
//! | the sum of m of them | m N s^2 + m^2 N s^2 / 4 |
//! | rounding the words of an encryption to b bits | (N/2 + 1)/12 4^-b |
//! | key switching, rounding to 2N parts, bootstrapping | the crate's own formulas, `core_crypto::commons::noise_formulas` |
//!
//! The rounding to 2N parts is the crate's `centered` one: it takes the expected error off the
//! body, so that a bit of the key contributes the variance 1/4 of a fair coin instead of its mean
//! square 1/2. A test compares all of it with what is measured.

use tfhe::core_crypto::commons::noise_formulas::centered_mean_shifted_modulus_switch::centered_binary_shifted_modulus_switch_additive_variance;
use tfhe::core_crypto::commons::noise_formulas::lwe_keyswitch::keyswitch_additive_variance_132_bits_security_gaussian;
use tfhe::core_crypto::commons::noise_formulas::lwe_programmable_bootstrap::pbs_variance_132_bits_security_gaussian_fft_mul;
use tfhe::core_crypto::prelude::{
    CiphertextModulus, CiphertextModulusLog, DecompositionBaseLog, DecompositionLevelCount,
    Gaussian, GlweDimension, LweDimension, PolynomialSize,
};

/// Bits that are kept of each word of a release.
pub(crate) const RELEASE_BITS: u32 = 16;

/// N: the degree of the ring, and how many bits the student's key has.
pub(crate) const RING: usize = crate::transform::DEGREE;
/// n: how many bits the key has under which tables are looked up.
pub(crate) const SMALL: usize = 866;
/// Deviation of the noise under the ring's key.
const RING_DEVIATION: f64 = 2.845_267_479_601_915e-15;
/// Deviation of the noise under the small key.
const SMALL_DEVIATION: f64 = 2.046_151_696_979_124e-6;

/// 2^64: what a word counts to.
const WORDS: f64 = 18_446_744_073_709_551_616.0;

pub(crate) const GLWE_DIMENSION: GlweDimension = GlweDimension(1);
pub(crate) const POLYNOMIAL: PolynomialSize = PolynomialSize(RING);
pub(crate) const SMALL_DIMENSION: LweDimension = LweDimension(SMALL);
pub(crate) const BOOTSTRAP_BASE: DecompositionBaseLog = DecompositionBaseLog(23);
pub(crate) const BOOTSTRAP_LEVELS: DecompositionLevelCount = DecompositionLevelCount(1);
pub(crate) const SWITCH_BASE: DecompositionBaseLog = DecompositionBaseLog(3);
pub(crate) const SWITCH_LEVELS: DecompositionLevelCount = DecompositionLevelCount(5);
/// log2 of 2N, the number of parts that the torus is rounded to.
pub(crate) const PARTS: CiphertextModulusLog = CiphertextModulusLog(12);

/// Words of 64 bits: no modulus to reduce by.
pub(crate) fn native() -> CiphertextModulus<u64> {
    CiphertextModulus::new_native()
}

/// Noise under the ring's key.
pub(crate) fn ring_noise() -> Gaussian<f64> {
    Gaussian { std: RING_DEVIATION, mean: 0.0 }
}

/// Noise under the small key.
pub(crate) fn small_noise() -> Gaussian<f64> {
    Gaussian { std: SMALL_DEVIATION, mean: 0.0 }
}

/// Variance of a fresh encryption under the public key.
pub(crate) fn encryption_variance() -> f64 {
    RING as f64 * RING_DEVIATION * RING_DEVIATION
}

/// Variance of the sum of that many fresh encryptions under one public key.
///
/// They are not independent: an encryption's noise is the key's error times a mixer of bits, and
/// the mean 1/2 of every bit takes half the key's error along, always the same half.
pub(crate) fn sum_variance(encryptions: u32) -> f64 {
    let count = f64::from(encryptions);
    count * encryption_variance() + count * count * encryption_variance() / 4.0
}

/// Variance that rounding every word of an encryption to `bits` bits adds.
pub(crate) fn packing_variance(bits: u32) -> f64 {
    (RING as f64 / 2.0 + 1.0) / 12.0 * libm::exp2(-2.0 * f64::from(bits))
}

/// Variance of one bootstrapping's result.
pub(crate) fn bootstrap_variance() -> f64 {
    const MANTISSA: f64 = 53.0;
    let variance = pbs_variance_132_bits_security_gaussian_fft_mul(
        SMALL_DIMENSION,
        GLWE_DIMENSION,
        POLYNOMIAL,
        BOOTSTRAP_BASE,
        BOOTSTRAP_LEVELS,
        MANTISSA,
        WORDS,
    );
    variance.0
}

/// Variance of key switching.
fn switch_variance() -> f64 {
    let variance = keyswitch_additive_variance_132_bits_security_gaussian(
        LweDimension(RING),
        SMALL_DIMENSION,
        SWITCH_BASE,
        SWITCH_LEVELS,
        WORDS,
        WORDS,
    );
    variance.0
}

/// Variance of rounding to 2N parts.
fn rounding_variance() -> f64 {
    let parts = (2 * RING) as f64;
    centered_binary_shifted_modulus_switch_additive_variance(SMALL_DIMENSION, WORDS, parts).0
}

/// Variance that a table's lookup adds to its input before it reads.
pub(crate) fn lookup_variance() -> f64 {
    switch_variance() + rounding_variance()
}

/// Probability that a lookup reads a wrong entry, for an input of some variance, if no noise below
/// `margin` does harm.
pub(crate) fn lookup_failure(input_variance: f64, margin: f64) -> f64 {
    let deviation = (input_variance + lookup_variance()).sqrt();
    libm::erfc(margin / (deviation * std::f64::consts::SQRT_2))
}

/// A number of the torus as an integer, rounded.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in 0..2^64")]
pub(crate) fn torus(x: f64) -> u64 {
    // Parts of 2^-53 are exact in a float; nothing here needs more.
    let turns = x - x.floor();
    ((turns * libm::exp2(53.0)).round() as u64) << 11
}

/// An integer as a number of the torus, in [-1/2, 1/2).
#[cfg(test)]
pub(crate) fn turns(x: u64) -> f64 {
    x.cast_signed() as f64 * libm::exp2(-64.0)
}
