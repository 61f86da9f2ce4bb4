//! What a teacher sends to the TFHE engine.

use clap::ValueEnum;
use serde::Serialize;

/// What a teacher sends, with the TFHE engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Upload {
    /// The vote's bits as the server needs them: large, and fast
    #[default]
    Plain,
    /// One small ciphertext, which the server expands: its keys are larger, and it takes longer
    Compact,
    /// 8 kB, and 4 to 8 bytes per vote: the server bootstraps, and takes about a second per sample
    Smallest,
}
