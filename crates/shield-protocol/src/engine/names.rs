//! The names that users type: engines, mechanisms, and whom a privacy cost protects.

use std::fmt;
use std::str::FromStr;

use shield_core::shared_noise::NoiseFamily;

/// An engine, by the name that users type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineName {
    /// Many samples in a ciphertext: the fastest for more than a few samples.
    #[default]
    Bfv,
    /// One vote in a ciphertext: a single sample in milliseconds.
    Tfhe,
    /// No encryption: the reference that `label` can compare with, never for an election.
    Clear,
}

/// A mechanism that runs encrypted, by the name that users type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MechanismName {
    /// SHIELD's rounds of draws.
    #[default]
    Shield,
    /// SPEED's argmax, with noise that the teachers add in shares.
    NoisyArgmax,
}

/// Whose participation a privacy cost is stated for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protects {
    /// A teacher with all voters behind it.
    #[default]
    Teacher,
    /// One voter behind a teacher.
    Voter,
}

/// Gives the values of an enum their names.
macro_rules! names {
    ($name:ident, $kind:literal, $($value:ident = $text:literal),+) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$value => $text),+ })
            }
        }

        impl FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let known = [$($text),+].join(", ");
                match text {
                    $($text => Ok(Self::$value),)+
                    _ => Err(format!("`{text}` is not {}; it must be one of {known}", $kind)),
                }
            }
        }
    };
}

impl EngineName {
    /// The law of the noise in shares that suits the engine: the one wherever none is named.
    pub fn noise_law(self) -> NoiseFamily {
        match self {
            Self::Bfv => NoiseFamily::Skellam,
            Self::Tfhe | Self::Clear => NoiseFamily::Laplace,
        }
    }
}

names!(EngineName, "an engine", Bfv = "bfv", Tfhe = "tfhe", Clear = "clear");
names!(MechanismName, "a mechanism", Shield = "shield", NoisyArgmax = "noisy-argmax");
names!(Protects, "whom the privacy cost protects", Teacher = "teacher", Voter = "voter");
