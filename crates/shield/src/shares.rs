//! Drawing shares of noise: differences of two draws from a table of integer weights.
//!
//! Both laws of shared noise are laws of a difference X - X' of two independent variables of one
//! law on whole numbers ([`crate::polya`]: negative binomial, [`crate::skellam`]: Poisson). A table
//! holds the weights of a stretch of whole numbers; where the stretch starts cancels in the
//! difference. A draw inverts the table with as many random bits as its weights have: no floating
//! point is involved in a draw.

use std::fmt;
use std::str::FromStr;

use rand::{CryptoRng, RngCore};
use serde::Serialize;

use crate::polya::SharedNoise;
use crate::{polya, skellam};

/// Which law the sum of the shares has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseFamily {
    /// Discrete Laplace noise, of some scale: [`crate::polya`].
    #[default]
    Laplace,
    /// Skellam noise, of some standard deviation: [`crate::skellam`].
    Skellam,
}

impl NoiseFamily {
    /// The name, as in `--noise-law`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Laplace => "laplace",
            Self::Skellam => "skellam",
        }
    }
}

impl fmt::Display for NoiseFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for NoiseFamily {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Laplace, Self::Skellam]
            .into_iter()
            .find(|family| family.name() == text)
            .ok_or_else(|| format!("`{text}` is not a law of noise; it must be skellam or laplace"))
    }
}

/// log2 of what is left out at the ends of a table, at most.
pub(crate) const LEFT: f64 = -75.0;

/// Draws shares of one noise.
#[derive(Clone)]
pub struct Shares {
    /// Entry k: the weight of the first k + 1 numbers of the stretch.
    pub(crate) cumulative: Vec<u128>,
}

impl fmt::Debug for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shares").field("entries", &self.len()).finish_non_exhaustive()
    }
}

impl Shares {
    /// The table of a noise: of whichever law it has.
    pub fn new(noise: &SharedNoise) -> Self {
        Self::from_weights(match noise.family() {
            NoiseFamily::Laplace => polya::weights(noise),
            NoiseFamily::Skellam => skellam::weights(noise),
        })
    }

    /// The table of these weights, as whole numbers that sum to less than 2^127.
    fn from_weights(weights: Vec<f64>) -> Self {
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
        Self { cumulative }
    }

    /// Entries of the table.
    pub(crate) fn len(&self) -> usize {
        self.cumulative.len()
    }

    /// One share of the noise of one count.
    pub fn share<R: RngCore + CryptoRng>(&self, rng: &mut R) -> i64 {
        self.draw(rng) - self.draw(rng)
    }

    fn draw<R: RngCore + CryptoRng>(&self, rng: &mut R) -> i64 {
        let total = *self.cumulative.last().expect("a table has an entry at least");
        let mask = u128::MAX >> total.leading_zeros();
        loop {
            let (high, low) = (u128::from(rng.next_u64()), u128::from(rng.next_u64()));
            let uniform = (high << 64 | low) & mask;
            if uniform < total {
                let number = self.cumulative.partition_point(|&weight| weight <= uniform);
                return i64::try_from(number).expect("tables are short");
            }
        }
    }
}
