//! The one place that turns an election into its engine.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use shield::Election;
use shield::shared_noise::NoiseFamily;
use shield::shared_noise::SharedNoise;
use shield_bfv::argmax::{ArgmaxBackend, ArgmaxPlan};
use shield_bfv::{BfvBackend, ReleaseMode};
#[cfg(feature = "tfhe")]
use shield_tfhe::{bootstrapped, leveled, noisy_argmax};
use thiserror::Error;

use super::Engine;
use super::noisy_argmax::{Counts, NoisyArgmax, Protects};

/// Which engine computes on the ballots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineName {
    /// Many samples in a ciphertext: the fastest for more than a few samples.
    #[default]
    Bfv,
    /// One vote in a ciphertext, without bootstrapping: a single sample in milliseconds.
    TfheLeveled,
    /// One vote in a ciphertext, bootstrapped: the smallest ballots.
    TfheBootstrapped,
    /// No encryption at all: for tests of everything around an engine.
    #[cfg(any(test, feature = "test-engine"))]
    Clear,
}

/// Which mechanism labels the samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MechanismName {
    /// SHIELD's rounds of draws.
    #[default]
    Shield,
    /// SPEED's argmax, with noise that the teachers add in shares.
    NoisyArgmax,
}

/// What a teacher sends to the leveled TFHE engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Upload {
    /// Ciphertexts as the server needs them: large, and fast.
    #[default]
    Plain,
    /// One ciphertext, which the server expands.
    Compact,
}

/// Gives the values of an enum the names that they have in election files, some of them only
/// where a function says so.
macro_rules! names {
    (
        $name:ident, $kind:literal,
        $($(#[$cfg:meta])? $value:ident = $text:literal $(where $known:path)?),+
    ) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $($(#[$cfg])? Self::$value => $text),+ })
            }
        }

        impl FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let all = [$($(#[$cfg])? ($text, Self::$value, true $(&& $known())?)),+];
                let known = || all.into_iter().filter(|&(.., known)| known);
                if let Some((_, value, _)) = known().find(|(name, ..)| *name == text) {
                    return Ok(value);
                }
                let known = known().map(|(name, ..)| name).collect::<Vec<_>>().join(", ");
                Err(format!("`{text}` is not {}; it must be one of {known}", $kind))
            }
        }
    };
}

names!(
    EngineName,
    "an engine",
    Bfv = "bfv",
    TfheLeveled = "tfhe-leveled",
    TfheBootstrapped = "tfhe-bootstrapped",
    #[cfg(any(test, feature = "test-engine"))]
    Clear = "clear" where super::faults::can_be_chosen
);
names!(MechanismName, "a mechanism", Shield = "shield", NoisyArgmax = "noisy-argmax");
names!(Protects, "whom the privacy cost protects", Teacher = "teacher", Voter = "voter");
names!(Upload, "an upload", Plain = "plain", Compact = "compact");

/// A mechanism with everything that it needs beside the election's setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mechanism {
    /// SHIELD, with the election's setting.
    Shield,
    /// The noisy argmax, with noise in shares.
    NoisyArgmax(NoisyArgmax),
}

/// An engine, a mechanism, and what they need to know.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Choice {
    /// BFV.
    Bfv {
        /// What the student gets.
        release: ReleaseMode,
    },
    /// Leveled TFHE.
    TfheLeveled {
        /// What a teacher sends.
        upload: Upload,
    },
    /// Bootstrapped TFHE.
    TfheBootstrapped,
    /// The noisy argmax in batches, on BFV.
    BfvNoisyArgmax {
        /// Its noise, and what a ballot holds.
        argmax: NoisyArgmax,
    },
    /// The noisy argmax on bootstrapped TFHE.
    TfheNoisyArgmax {
        /// The noise, in shares.
        noise: SharedNoise,
    },
    /// No encryption at all: for tests of everything around an engine.
    #[cfg(any(test, feature = "test-engine"))]
    Clear,
}

/// Why there is no engine for an election.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ChoiceError {
    /// This program does not have it.
    #[error(
        "this program was built without the engine `{0}`; build it with \
         `cargo build --release --features tfhe`"
    )]
    NotBuilt(EngineName),
    /// No engine of that name does this.
    #[error("the engine `{engine}` does not compute `{mechanism}`; take `engine = \"{instead}\"`")]
    OtherEngine {
        /// The engine.
        engine: EngineName,
        /// The mechanism.
        mechanism: MechanismName,
        /// An engine that does.
        instead: EngineName,
    },
    /// The engine cannot do this election.
    #[error("{0}")]
    Plan(String),
}

impl EngineName {
    /// The law of a noisy argmax's noise where an election names none.
    pub fn default_noise_law(self) -> NoiseFamily {
        match self {
            Self::Bfv => NoiseFamily::Skellam,
            _ => NoiseFamily::Laplace,
        }
    }
}

impl ChoiceError {
    fn plan(error: impl fmt::Display) -> Self {
        Self::Plan(error.to_string())
    }
}

impl Choice {
    /// What an election file asks for, if there is such an engine.
    pub fn new(
        engine: EngineName,
        mechanism: Mechanism,
        release: ReleaseMode,
        upload: Upload,
    ) -> Result<Self, ChoiceError> {
        match (engine, mechanism) {
            (EngineName::Bfv, Mechanism::Shield) => Ok(Self::Bfv { release }),
            (EngineName::TfheLeveled, Mechanism::Shield) => Ok(Self::TfheLeveled { upload }),
            (EngineName::TfheBootstrapped, Mechanism::Shield) => Ok(Self::TfheBootstrapped),
            (EngineName::Bfv, Mechanism::NoisyArgmax(argmax)) => {
                Ok(Self::BfvNoisyArgmax { argmax })
            }
            (EngineName::TfheBootstrapped, Mechanism::NoisyArgmax(argmax))
                if argmax.counts.is_none() =>
            {
                Ok(Self::TfheNoisyArgmax { noise: argmax.noise })
            }
            #[cfg(any(test, feature = "test-engine"))]
            (EngineName::Clear, Mechanism::Shield) => Ok(Self::Clear),
            (_, Mechanism::NoisyArgmax(_)) => {
                let (mechanism, instead) = (MechanismName::NoisyArgmax, EngineName::Bfv);
                Err(ChoiceError::OtherEngine { engine, mechanism, instead })
            }
        }
    }

    /// The engine's name.
    pub fn engine_name(self) -> EngineName {
        match self {
            Self::Bfv { .. } | Self::BfvNoisyArgmax { .. } => EngineName::Bfv,
            Self::TfheLeveled { .. } => EngineName::TfheLeveled,
            Self::TfheBootstrapped | Self::TfheNoisyArgmax { .. } => EngineName::TfheBootstrapped,
            #[cfg(any(test, feature = "test-engine"))]
            Self::Clear => EngineName::Clear,
        }
    }

    /// The mechanism.
    pub fn mechanism(self) -> Mechanism {
        match self {
            Self::BfvNoisyArgmax { argmax } => Mechanism::NoisyArgmax(argmax),
            Self::TfheNoisyArgmax { noise } => {
                Mechanism::NoisyArgmax(NoisyArgmax { noise, counts: None })
            }
            _ => Mechanism::Shield,
        }
    }

    /// What a ballot of counts may hold; `None` where a ballot holds votes.
    pub fn counts(self) -> Option<Counts> {
        match self.mechanism() {
            Mechanism::NoisyArgmax(argmax) => argmax.counts,
            Mechanism::Shield => None,
        }
    }

    /// How many batches the engine makes of an election, if it can do it. Plans only: cheaper than
    /// [`Self::engine`].
    pub fn batches(self, election: &Election) -> Result<usize, ChoiceError> {
        match self {
            Self::Bfv { release } => {
                let plan = shield_bfv::Plan::new(election, release).map_err(ChoiceError::plan)?;
                Ok(plan.batches())
            }
            Self::BfvNoisyArgmax { argmax } => {
                let plan = ArgmaxPlan::new(election, &argmax.noise, argmax.ballot());
                Ok(plan.map_err(ChoiceError::plan)?.batches())
            }
            _ => Ok(self.engine(election)?.batches()),
        }
    }

    /// The engine for an election.
    pub fn engine(self, election: &Election) -> Result<Arc<dyn Engine>, ChoiceError> {
        let election = election.clone();
        match self {
            Self::Bfv { release } => {
                let engine = BfvBackend::new(election, release).map_err(ChoiceError::plan)?;
                Ok(Arc::new(super::bfv::BfvEngine::new(engine)))
            }
            Self::BfvNoisyArgmax { argmax } => {
                let engine = ArgmaxBackend::with_counts(election, argmax.noise, argmax.ballot());
                Ok(Arc::new(engine.map_err(ChoiceError::plan)?))
            }
            #[cfg(feature = "tfhe")]
            Self::TfheLeveled { upload } => {
                let upload = match upload {
                    Upload::Plain => leveled::Upload::Plain,
                    Upload::Compact => leveled::Upload::Compact,
                };
                let engine = leveled::LeveledBackend::new(election, upload);
                Ok(Arc::new(engine.map_err(ChoiceError::plan)?))
            }
            #[cfg(feature = "tfhe")]
            Self::TfheBootstrapped => {
                let circuit = bootstrapped::Circuit::default();
                let engine = bootstrapped::BootstrappedBackend::new(election, circuit);
                Ok(Arc::new(engine.map_err(ChoiceError::plan)?))
            }
            #[cfg(feature = "tfhe")]
            Self::TfheNoisyArgmax { noise } => {
                let engine = noisy_argmax::NoisyArgmaxBackend::new(election, noise);
                Ok(Arc::new(engine.map_err(ChoiceError::plan)?))
            }
            #[cfg(not(feature = "tfhe"))]
            Self::TfheLeveled { .. } | Self::TfheBootstrapped | Self::TfheNoisyArgmax { .. } => {
                Err(ChoiceError::NotBuilt(self.engine_name()))
            }
            #[cfg(any(test, feature = "test-engine"))]
            Self::Clear => Ok(Arc::new(super::faults::FaultyEngine::new(election))),
        }
    }
}
