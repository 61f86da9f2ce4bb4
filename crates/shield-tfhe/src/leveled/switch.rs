//! Key switching: a polynomial times an encrypted one. The server's tool to expand compact ballots
//! ([`super::compact`]).

use rand::{CryptoRng, RngCore, SeedableRng};
use rand_chacha::ChaCha20Rng;

use super::ring::{DEGREE, Factor, Fourier, Gadget, Glwe, Ring, even, glwe};
use super::sampling;

/// How a switching key cuts: fine, because what it adds to a row comes back multiplied by the
/// secret.
pub(crate) const GADGET: Gadget = Gadget { levels: 11, base_log: 4 };

/// Encryptions of w 2^64 / B^l for each level l, where w is a function of the secret.
#[derive(Clone)]
pub(crate) struct SwitchKey {
    /// What the masks are expanded from.
    pub(crate) seed: [u8; 32],
    /// The bodies, level by level.
    pub(crate) bodies: Vec<Vec<u64>>,
    rows: Vec<[Fourier; 2]>,
}

impl SwitchKey {
    pub(crate) fn generate<R: RngCore + CryptoRng>(
        ring: &mut Ring,
        secret: &[u64],
        w: &[u64],
        rng: &mut R,
    ) -> Self {
        let mut seed = [0; 32];
        rng.fill_bytes(&mut seed);
        let mut masks = ChaCha20Rng::from_seed(seed);
        let secret = ring.transform_small(secret);
        let bodies = (1..=GADGET.levels).map(|level| {
            let mask = sampling::uniform(&mut masks);
            let mut body = Factor::new(ring, &mask).times(ring, &secret);
            let errors = sampling::errors(rng);
            for ((word, error), w) in body.iter_mut().zip(errors.iter()).zip(w) {
                let message = w.wrapping_mul(GADGET.weight(level));
                *word = word.wrapping_add(*error).wrapping_add(message);
            }
            body
        });
        let bodies = bodies.collect();
        Self::from_parts(ring, seed, bodies)
    }

    pub(crate) fn from_parts(ring: &mut Ring, seed: [u8; 32], bodies: Vec<Vec<u64>>) -> Self {
        let mut masks = ChaCha20Rng::from_seed(seed);
        let rows = bodies.iter().map(|body| {
            [ring.transform_torus(&sampling::uniform(&mut masks)), ring.transform_torus(body)]
        });
        let rows = rows.collect();
        Self { seed, bodies, rows }
    }

    /// A ciphertext whose phase is `poly` times w.
    pub(crate) fn times(&self, ring: &mut Ring, poly: &[u64]) -> Glwe {
        let mut state: Vec<u64> = poly.iter().map(|&word| rounded(word)).collect();
        let mut digits = vec![0; DEGREE];
        let mut sums = [Fourier::zero(), Fourier::zero()];
        for row in self.rows.iter().rev() {
            for (digit, state) in digits.iter_mut().zip(&mut state) {
                *digit = next_digit(state);
            }
            let digits = ring.transform_small(&digits);
            for (sum, row) in sums.iter_mut().zip(row) {
                sum.add_product(&digits, row);
            }
        }
        let mut words = vec![0; 2 * DEGREE];
        for (sum, out) in sums.iter().zip(words.chunks_exact_mut(DEGREE)) {
            ring.add_back(sum, out);
        }
        glwe(words)
    }
}

/// The upper bits of a coefficient, rounded: as many as the digits hold.
fn rounded(word: u64) -> u64 {
    even(word, GADGET.left_out()) >> GADGET.left_out()
}

/// The lowest digit, from -B/2 to B/2: which of the two a half becomes, the bit above decides.
fn next_digit(state: &mut u64) -> u64 {
    let (half, mask) = (1_u64 << (GADGET.base_log - 1), (1_u64 << GADGET.base_log) - 1);
    let low = *state & mask;
    *state >>= GADGET.base_log;
    let carry = u64::from(low + (*state & 1) > half);
    *state += carry;
    low.wrapping_sub(carry << GADGET.base_log)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_small_and_add_up() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        for _ in 0..10_000 {
            let word = rng.next_u64();
            let mut state = rounded(word);
            let mut sum = 0_u64;
            for level in (1..=GADGET.levels).rev() {
                let digit = next_digit(&mut state);
                assert!(digit.cast_signed().abs() <= 8);
                sum = sum.wrapping_add(digit.wrapping_mul(GADGET.weight(level)));
            }
            assert!(word.wrapping_sub(sum).cast_signed().abs() <= 1 << 19);
        }
    }
}
