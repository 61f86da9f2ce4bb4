//! Sizes and bounds that several parts of the engine take for granted.

use super::ring::DEGREE;

/// Most coefficients of a secret that are not zero. Half of them are, give or take 2.25 standard
/// deviations: one secret in a hundred has more and is drawn again, which costs a fiftieth of a bit
/// of security. Likewise [`MOST_ERROR`].
pub(crate) const MOST_ONES: usize = DEGREE / 2 + DEGREE / 40;

/// Most that the squares of the public key's errors add up to, relative to what they do in the
/// mean.
pub(crate) const MOST_ERROR: f64 = 1.05;

/// Bits of a ballot's coefficient that are rounded away.
pub(crate) const TRUNCATED_BITS: u32 = 16;

/// Bits of a released coefficient.
pub(crate) const RELEASE_BITS: u32 = 20;

/// The nearest multiple of 2^16.
pub(crate) fn truncated(word: u64) -> u64 {
    word.wrapping_add(1 << (TRUNCATED_BITS - 1)) & (u64::MAX << TRUNCATED_BITS)
}
