//! Drawing shares of noise: differences of two draws from a table of integer weights.
//!
//! Both laws of shared noise are laws of a difference X - X' of two independent variables of one
//! law on whole numbers ([`super::polya`]: negative binomial, [`super::skellam`]: Poisson). A table
//! holds the weights of a stretch of whole numbers; where the stretch starts cancels in the
//! difference. A draw inverts the table with as many random bits as its weights have: no floating
//! point is involved in a draw. Short tables, those of shares among more than a few teachers, are
//! read from end to end, so that neither the time nor the memory that a draw touches depends on it.

use std::fmt;

use rand::{CryptoRng, RngCore};

use super::bits::WeightedBits;

/// log2 of what is left out at the ends of a table, at most.
pub(super) const LEFT: f64 = -75.0;

/// Entries up to which a table is read from end to end.
const SHORT: usize = 512;

/// Draws shares of one noise.
#[derive(Clone)]
pub struct Shares {
    /// Entry k: the weight of the first k + 1 numbers of the stretch.
    pub(super) cumulative: Vec<u128>,
    /// Where a share is of bits, and no table is needed.
    pub(super) bits: Option<WeightedBits>,
}

impl fmt::Debug for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shares").field("entries", &self.len()).finish_non_exhaustive()
    }
}

impl Shares {
    /// The table of these weights, as whole numbers that sum to less than 2^127.
    pub(super) fn from_weights(weights: Vec<f64>) -> Self {
        let sum: f64 = weights.iter().sum();
        let unit = libm::exp2(126.0 - sum.log2().ceil());
        let mut total = 0;
        let cumulative = weights
            .into_iter()
            .map(|weight| {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "the sum of all is below 2^127"
                )]
                let weight = (weight * unit) as u128;
                total += weight;
                total
            })
            .collect();
        Self { cumulative, bits: None }
    }

    /// Entries of the table.
    pub(super) fn len(&self) -> usize {
        self.cumulative.len()
    }

    /// One share of the noise of one count.
    pub fn share<R: RngCore + CryptoRng>(&self, rng: &mut R) -> i64 {
        match &self.bits {
            Some(bits) => bits.share(rng),
            None => self.draw(rng) - self.draw(rng),
        }
    }

    fn draw<R: RngCore + CryptoRng>(&self, rng: &mut R) -> i64 {
        let total = *self.cumulative.last().expect("a table has an entry at least");
        let mask = u128::MAX >> total.leading_zeros();
        loop {
            let (high, low) = (u128::from(rng.next_u64()), u128::from(rng.next_u64()));
            let uniform = (high << 64 | low) & mask;
            if uniform < total {
                let number = if self.len() <= SHORT {
                    let below =
                        self.cumulative.iter().map(|&weight| usize::from(weight <= uniform));
                    below.sum()
                } else {
                    self.cumulative.partition_point(|&weight| weight <= uniform)
                };
                return i64::try_from(number).expect("tables are short");
            }
        }
    }
}
