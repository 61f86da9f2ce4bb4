//! What a teacher computes: a secret, the public polynomials, and its ballot.
//!
//! All of it takes the same time and touches the same memory whatever the votes, the noise and the
//! secret are: sums of products of residues, and reductions by a constant. Memory is the secret,
//! one row of public polynomials and the numbers of a sample at a time.

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use shield_core::framing::MadeFor;
use zeroize::{Zeroize, Zeroizing};

use crate::argmax::mlwe::{Grid, Points};
use crate::ring::PLAINTEXT;
use crate::scheme::plaintext_slots;

const T: u64 = PLAINTEXT;

/// Purposes: the public polynomials of a batch, a secret from its seed, and the coins that seal it.
const PUBLIC: &str = "shield 2026 tiny ballots public polynomials v1";
const SECRET: &str = "shield 2026 tiny ballots secret v1";
const COINS: &str = "shield 2026 tiny ballots coins v1";

/// What a ballot belongs to: the election with everything its teachers were shown, the keys and
/// the batch, as one digest.
#[derive(Clone, Copy)]
pub(super) struct Context([u8; 32]);

impl Context {
    pub(super) fn new(binding: &[u8; 32], made_for: MadeFor) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key(PUBLIC);
        hasher.update(binding);
        hasher.update(made_for.key.as_bytes());
        hasher.update(&(made_for.batch as u64).to_le_bytes());
        Self(*hasher.finalize().as_bytes())
    }

    /// The values of the r public polynomials at the d points, for one polynomial of a ballot.
    pub(super) fn row(&self, number: usize, out: &mut [u64]) {
        let mut rng = ChaCha20Rng::from_seed(self.0);
        rng.set_stream(number as u64);
        plaintext_slots(out, &mut rng);
    }

    /// Coins that are random if 32 fresh bytes are, and that differ wherever anything differs that
    /// a ballot hides or belongs to: so a generator that repeats itself gives the same ballot
    /// twice, never two ballots under one secret.
    pub(super) fn coins(&self, fresh: &[u8; 32], numbers: &[i64]) -> Zeroizing<[u8; 32]> {
        let mut hasher = blake3::Hasher::new_derive_key(COINS);
        hasher.update(&self.0);
        hasher.update(fresh);
        for number in numbers {
            hasher.update(&number.to_le_bytes());
        }
        let coins = Zeroizing::new(*hasher.finalize().as_bytes());
        hasher.zeroize();
        coins
    }
}

/// The values of the r polynomials of a secret at the d points, uniform modulo t.
pub(super) fn secret(context: Context, grid: Grid, seed: &[u8; 32]) -> Zeroizing<Vec<u64>> {
    let mut hasher = blake3::Hasher::new_derive_key(SECRET);
    hasher.update(&context.0);
    hasher.update(seed);
    let mut key = *hasher.finalize().as_bytes();
    hasher.zeroize();
    let mut values = Zeroizing::new(vec![0; grid.module().dimension()]);
    plaintext_slots(&mut values, &mut ChaCha20Rng::from_seed(key));
    key.zeroize();
    values
}

/// The residues of a ballot: those of the numbers, each plus its coefficient of the sum of public
/// polynomials times the secret.
pub(super) fn hide(
    context: Context,
    grid: Grid,
    points: &Points,
    secret: &[u64],
    numbers: &[i64],
) -> Vec<u32> {
    let (degree, held) = (points.degree(), grid.classes() * grid.packed());
    let mut row = vec![0; secret.len()];
    let mut values = Zeroizing::new(vec![0; degree]);
    let mut residues = Vec::with_capacity(numbers.len());
    for (polynomial, numbers) in numbers.chunks(held).enumerate() {
        context.row(polynomial, &mut row);
        values.fill(0);
        for (a, s) in row.chunks_exact(degree).zip(secret.chunks_exact(degree)) {
            values.iter_mut().zip(a.iter().zip(s)).for_each(|(sum, (a, s))| *sum += a * s);
        }
        values.iter_mut().for_each(|sum| *sum %= T);
        for (coefficient, &number) in numbers.iter().enumerate() {
            let mask = points.coefficient(&values, coefficient);
            residues.push(((mask + residue(number)) % T) as u32);
        }
    }
    residues
}

/// A number modulo t, without a branch: noise and votes are far below 2^40.
fn residue(number: i64) -> u64 {
    const LIFT: i64 = (T << 40).cast_signed();
    (number + LIFT).cast_unsigned() % T
}
