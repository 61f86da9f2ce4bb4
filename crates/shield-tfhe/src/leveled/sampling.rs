//! Random polynomials. Everything is exact integer arithmetic on a cryptographic generator's bits,
//! without branches on what is drawn.

use rand::{CryptoRng, RngCore};
use zeroize::Zeroizing;

use super::ring::DEGREE;

/// Bits of the bound on an error: the law is the crate's `TUniform(17)`, which its parameter sets
/// of 128 bits use for N = 2048 and q = 2^64.
const ERROR_BITS: u32 = 17;

/// Variance of an error: `(2^(2b+1) + 1) / 6`.
pub(crate) const ERROR_VARIANCE: f64 = ((1_u64 << (2 * ERROR_BITS + 1)) + 1) as f64 / 6.0;

/// An error: uniform in -2^17..=2^17, the two ends half as likely as the rest.
fn error<R: RngCore + CryptoRng>(rng: &mut R) -> u64 {
    let bits = u64::from(rng.next_u32() >> (30 - ERROR_BITS));
    ((bits >> 1) + (bits & 1)).wrapping_sub(1 << ERROR_BITS)
}

/// A polynomial of errors.
pub(crate) fn errors<R: RngCore + CryptoRng>(rng: &mut R) -> Zeroizing<Vec<u64>> {
    Zeroizing::new((0..DEGREE).map(|_| error(rng)).collect())
}

/// A uniform polynomial.
pub(crate) fn uniform<R: RngCore>(rng: &mut R) -> Vec<u64> {
    (0..DEGREE).map(|_| rng.next_u64()).collect()
}

/// A polynomial with coefficients -1, 0, 1 (1/4, 1/2, 1/4), as integers modulo 2^64: secrets, and
/// the randomness of an encryption. Centred, unlike the bits that the `tfhe` crate takes: noise
/// must have mean zero ([`super::flooding`]). It has as many ones as a secret of bits, and more
/// entropy.
pub(crate) fn ternary<R: RngCore + CryptoRng>(rng: &mut R) -> Zeroizing<Vec<u64>> {
    let mut out = Zeroizing::new(Vec::with_capacity(DEGREE));
    for _ in 0..DEGREE / 32 {
        let word = rng.next_u64();
        out.extend((0..32).map(|i| (word >> (2 * i) & 1).wrapping_sub(word >> (2 * i + 1) & 1)));
    }
    out
}

/// A uniform integer below `bound`, which is above 2^61: at most two tries in expectation.
pub(crate) fn below<R: RngCore + CryptoRng>(bound: u64, rng: &mut R) -> u64 {
    let mask = u64::MAX >> bound.leading_zeros();
    loop {
        let candidate = rng.next_u64() & mask;
        if candidate < bound {
            return candidate;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    fn moments(sample: &[u64]) -> (f64, f64) {
        let signed = sample.iter().map(|&x| x.cast_signed() as f64);
        let count = sample.len() as f64;
        (signed.clone().sum::<f64>() / count, signed.map(|x| x * x).sum::<f64>() / count)
    }

    #[test]
    fn laws_have_their_mean_and_variance() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let mut many = |draw: &mut dyn FnMut(&mut ChaCha20Rng) -> Zeroizing<Vec<u64>>| {
            (0..50).flat_map(|_| draw(&mut rng).to_vec()).collect::<Vec<u64>>()
        };
        let errors = many(&mut |rng| errors(rng));
        let (mean, square) = moments(&errors);
        // Five deviations of about 100,000 draws.
        assert!(mean.abs() < 5.0 * ERROR_VARIANCE.sqrt() / 320.0, "{mean}");
        assert!((square / ERROR_VARIANCE - 1.0).abs() < 5.0 * 0.9 / 320.0, "{square}");
        assert!(errors.iter().all(|x| x.cast_signed().abs() <= 1 << ERROR_BITS));
        let (mean, square) = moments(&many(&mut |rng| ternary(rng)));
        assert!(mean.abs() < 5.0 * 0.71 / 320.0 && (square - 0.5).abs() < 5.0 * 0.5 / 320.0);
    }
}
