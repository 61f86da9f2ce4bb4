//! The laws that the sum of shares can have.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use super::bits::WeightedBits;

/// Which law the sum of the shares has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum NoiseFamily {
    /// Discrete Laplace noise, of some scale: [`super::polya`].
    Laplace,
    /// Skellam noise, of some standard deviation: [`super::skellam`]. The law wherever none is
    /// named: its tails are shorter, and what counts of several voters cost is proven for it.
    #[default]
    Skellam,
    /// Weighted fair bits, which also say how much noise there is. Priced, but drawn by no engine.
    Bits(WeightedBits),
}

impl NoiseFamily {
    /// The name, as in `--noise-law`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Laplace => "laplace",
            Self::Skellam => "skellam",
            Self::Bits(_) => "bits",
        }
    }
}

impl fmt::Display for NoiseFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for NoiseFamily {
    /// As its name.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
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
