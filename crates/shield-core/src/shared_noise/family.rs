//! The laws that the sum of shares can have.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// Which law the sum of the shares has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseFamily {
    /// Discrete Laplace noise, of some scale: [`super::polya`].
    Laplace,
    /// Skellam noise, of some standard deviation: [`super::skellam`]. The law wherever none is
    /// named: its tails are shorter, and what counts of several voters cost is proven for it.
    #[default]
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
