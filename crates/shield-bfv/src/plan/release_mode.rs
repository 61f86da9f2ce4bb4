//! What the student gets: the label alone, or an encryption of it to go on with.

use serde::Serialize;

/// What the student gets for each sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReleaseMode {
    /// One clean cell among uniform junk, at a secret place: the shallow circuit.
    #[default]
    Reveal,
    /// An encryption of the one-hot label, as the paper outputs it. Such encryptions can be added
    /// up.
    Composable,
}

impl std::str::FromStr for ReleaseMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "reveal" => Ok(Self::Reveal),
            "composable" => Ok(Self::Composable),
            _ => Err(format!("`{text}` is not a release mode; it must be reveal or composable")),
        }
    }
}

impl std::fmt::Display for ReleaseMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Reveal => "reveal",
            Self::Composable => "composable",
        })
    }
}

impl ReleaseMode {
    /// The mode as one byte.
    pub(crate) fn byte(self) -> u8 {
        match self {
            Self::Reveal => 0,
            Self::Composable => 1,
        }
    }
}
