//! What a teacher sends: one of two kinds of ballots.

use std::str::FromStr;

/// What a teacher sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BallotKind {
    /// A ciphertext of votes and noise: megabytes a batch, whatever the number of samples.
    #[default]
    Checked,
    /// Samples of module learning with errors whose errors are the noise: [`crate::argmax::tiny`].
    Tiny,
}

impl BallotKind {
    /// The name, as in `--ballots`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Checked => "checked",
            Self::Tiny => "tiny",
        }
    }

    /// What is first computed of the ballots.
    pub(super) fn first_stage(self) -> &'static str {
        match self {
            Self::Checked => "sum of the ballots",
            Self::Tiny => "phases of the sum",
        }
    }
}

impl FromStr for BallotKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = [Self::Checked, Self::Tiny].into_iter().find(|kind| kind.name() == text);
        known
            .ok_or_else(|| format!("`{text}` is not a kind of ballots; it must be checked or tiny"))
    }
}
