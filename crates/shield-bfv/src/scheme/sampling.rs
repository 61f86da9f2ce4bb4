//! Random polynomials: uniform, ternary secrets, centred binomial errors.

use rand::{CryptoRng, RngCore, SeedableRng};
use rand_chacha::ChaCha20Rng;
use zeroize::Zeroizing;

use crate::ring::{Context, PLAINTEXT, Poly, Values};

/// Coins on each side of the centred binomial errors, which are never larger.
pub(crate) const COINS: u32 = 21;

/// Variance of an error: half of [`COINS`], so a standard deviation of 3.24, at least the 3.19 of
/// the homomorphic encryption standard.
pub(crate) const ERROR_VARIANCE: f64 = COINS as f64 / 2.0;

/// The largest absolute value of an error.
pub(crate) const LARGEST_ERROR: i64 = COINS as i64;

/// A uniform polynomial at level `limbs`: any representation, any unit.
pub(crate) fn uniform<R: RngCore + CryptoRng>(
    context: &Context,
    limbs: usize,
    rng: &mut R,
) -> Poly<Values> {
    let mut poly = Poly::zero(context.degree(), limbs);
    for (limb, ntt) in poly.iter_mut().zip(context.q()) {
        let p = ntt.modulus().value();
        let mask = p.next_power_of_two() - 1;
        for x in limb {
            // Primes lie just below a power of two: a draw is refused about never.
            *x = loop {
                let candidate = rng.next_u64() & mask;
                if candidate < p {
                    break candidate;
                }
            };
        }
    }
    poly
}

/// The uniform polynomials, at full level, that a public seed stands for.
pub(crate) fn expand(
    context: &Context,
    seed: &[u8; 32],
    count: usize,
) -> impl Iterator<Item = Poly<Values>> {
    expand_at(context, context.limbs(), seed, count)
}

/// The uniform polynomials at level `limbs` that a public seed stands for.
pub(crate) fn expand_at(
    context: &Context,
    limbs: usize,
    seed: &[u8; 32],
    count: usize,
) -> impl Iterator<Item = Poly<Values>> {
    let mut rng = ChaCha20Rng::from_seed(*seed);
    (0..count).map(move |_| uniform(context, limbs, &mut rng))
}

/// Coefficients -1, 0 and 1, equally likely: secrets.
pub(crate) fn ternary<R: RngCore + CryptoRng>(degree: usize, rng: &mut R) -> Zeroizing<Vec<i64>> {
    let mut word = Zeroizing::new(0_u64);
    let mut left = 0;
    let mut trit = || loop {
        if left == 0 {
            *word = rng.next_u64();
            left = 32;
        }
        let pair = (*word & 3).cast_signed();
        *word >>= 2;
        left -= 1;
        if pair < 3 {
            return pair - 1;
        }
    };
    Zeroizing::new((0..degree).map(|_| trit()).collect())
}

/// Centred binomial coefficients: errors.
pub(crate) fn errors<R: RngCore + CryptoRng>(degree: usize, rng: &mut R) -> Zeroizing<Vec<i64>> {
    const SIDE: u64 = (1 << COINS) - 1;
    let error = || {
        let word = rng.next_u64();
        let heads = (word & SIDE).count_ones();
        i64::from(heads) - i64::from((word >> COINS & SIDE).count_ones())
    };
    let mut error = error;
    Zeroizing::new((0..degree).map(|_| error()).collect())
}

/// Uniform plaintext slots. 2^32 - 1 is 65,535 times the plaintext modulus: one word in 2^32 is
/// refused.
pub(crate) fn plaintext_slots<R: RngCore + CryptoRng>(slots: &mut [u64], rng: &mut R) {
    for slot in slots {
        *slot = loop {
            let word = u64::from(rng.next_u32());
            if word < u64::from(u32::MAX) {
                break word % PLAINTEXT;
            }
        };
    }
}

/// A uniform number below `bound`, without any bias: words of the last, incomplete round are drawn
/// again.
pub(crate) fn below(bound: u64, rng: &mut impl RngCore) -> u64 {
    let whole = u64::MAX - u64::MAX % bound;
    loop {
        let word = rng.next_u64();
        if word < whole {
            return word % bound;
        }
    }
}
