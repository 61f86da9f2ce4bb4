//! `bench`: the engines side by side, in one process and on the same votes and draws.

mod argmax;
mod measuring;
mod paper;
#[cfg(feature = "tfhe")]
mod tfhe;
mod trustees;

use clap::Args;
use shield_core::{Classes, Election, Votes, synthetic};
use shield_protocol::engine::{EngineName, SpecError};

use super::Output;
use crate::failure::Failure;
use crate::inputs::SpecArgs;

/// Time the paper's circuit and ours, side by side
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shield bench\n\nThe paper's circuit takes a minute and a half \
    with the defaults, on one thread. Times are of the aggregation, which is what the paper \
    reports.\n\n\
    With --backend tfhe: the engine that answers one sample at once, on the paper's four \
    polynomials, and beside it SPEED's argmax and the paper's gates on TFHE, and the BFV engine at \
    1, 100 and 512 samples.\n\n\
    With --mechanism noisy-argmax: SPEED's argmax on TFHE, on two samples, and the batched one of \
    BFV, from stored ballots to the release; with --ballots tiny the batched one with both kinds \
    of ballots.\n\n\
    With --trustees 3: aggregation under a key that three trustees hold beside that under the \
    student's own, and what the trustees do and send.\n\n\
    Without --threads, all of it runs on one thread."
)]
pub(super) struct BenchArgs {
    /// Number of teachers
    #[arg(long, value_name = "N", default_value_t = 250)]
    teachers: usize,

    /// Number of samples [default: 100; with --backend tfhe 20 for each polynomial; with
    /// --mechanism noisy-argmax 2048; with --trustees 512]
    #[arg(long, value_name = "S")]
    samples: Option<usize>,

    /// Whose circuits: bfv, or tfhe (built with --features tfhe)
    #[arg(long, value_name = "ENGINE", default_value_t)]
    backend: EngineName,

    /// Number of classes
    #[arg(long, value_name = "K", default_value = "10")]
    classes: Classes,

    #[command(flatten)]
    spec: SpecArgs,

    /// Leave out the paper's circuit and time only ours
    #[arg(long)]
    ours_only: bool,
}

impl BenchArgs {
    /// Made-up votes, and their election.
    fn election(&self, samples: usize) -> Result<(Election, Votes), Failure> {
        let (votes, _) = synthetic::votes(self.teachers, self.classes, samples, 1)?;
        let setting = self.spec.setting();
        Ok((Election::new(self.teachers, self.classes, samples, setting)?, votes))
    }
}

pub(super) fn run(args: &BenchArgs, output: Output) -> Result<(), Failure> {
    // The noisy argmax is timed on both engines, and is the one of BFV that takes its setting.
    let spec = args.spec.spec(EngineName::Bfv, args.teachers)?;
    if let Some(trustees) = spec.trustees() {
        if args.backend != EngineName::Bfv {
            return Err(SpecError::Trustees { engine: args.backend }.into());
        }
        return trustees::run(args, spec, trustees, output);
    }
    match (args.backend, spec.argmax()) {
        (_, Some(argmax)) => argmax::run(args, argmax.noise, spec, output),
        (EngineName::Bfv, None) => paper::run(args, output),
        #[cfg(feature = "tfhe")]
        (EngineName::Tfhe, None) => tfhe::run(args, output),
        #[cfg(not(feature = "tfhe"))]
        (EngineName::Tfhe, None) => Err(SpecError::NotBuilt(args.backend).into()),
        (EngineName::Clear, None) => Err(SpecError::Clear.into()),
    }
}

/// The end of a word, for that many.
fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}
