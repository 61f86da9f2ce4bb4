//! What `bench` is asked.

use clap::{Args, ValueEnum};
use shield::Classes;

use crate::inputs::{MechanismArgs, MechanismName, NoiseArgs};

/// Time the paper's circuit and ours, side by side
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shield bench\n\nThe paper's circuit takes a minute and a half \
    with the defaults, on one thread. Times are of the aggregation, which is what the paper \
    reports.\n\n\
    With --backend tfhe: the engines that answer one sample at once, on the paper's four \
    polynomials, and the BFV engine at 1, 100 and 512 samples beside them.\n\n\
    With --mechanism noisy-argmax: TFHE's noisy argmax, on two samples, and the batched one of \
    BFV, from stored ballots to the release."
)]
pub(super) struct BenchArgs {
    /// Number of teachers
    #[arg(long, value_name = "N", default_value_t = 250)]
    pub(super) teachers: usize,

    /// Number of samples [default: 100; with --backend tfhe 20 for each polynomial; with
    /// --mechanism noisy-argmax 2048]
    #[arg(long, value_name = "S")]
    pub(super) samples: Option<usize>,

    /// Whose circuits
    #[arg(long, value_enum, default_value_t)]
    pub(super) backend: BackendName,

    /// Number of classes
    #[arg(long, value_name = "K", default_value = "10")]
    pub(super) classes: Classes,

    /// SHIELD's circuits, or those of SPEED's exact argmax of counts with noise in shares
    #[arg(long = "mechanism", value_name = "NAME", value_enum, default_value_t)]
    pub(super) name: MechanismName,

    #[command(flatten)]
    pub(super) mechanism: MechanismArgs,

    #[command(flatten)]
    pub(super) noise: NoiseArgs,

    /// Number of threads, for both
    #[arg(long, value_name = "T", default_value_t = 1)]
    pub(super) threads: usize,

    /// Leave out the paper's circuit and time only ours
    #[arg(long)]
    pub(super) ours_only: bool,
}

/// The encrypted engines by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum BackendName {
    /// Many samples per ciphertext
    #[default]
    Bfv,
    /// One sample at once (built with --features tfhe)
    Tfhe,
}

impl BenchArgs {
    pub(super) fn samples_or(&self, default: usize) -> usize {
        self.samples.unwrap_or(default)
    }
}
