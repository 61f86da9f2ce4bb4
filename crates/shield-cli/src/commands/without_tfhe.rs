//! The commands of the TFHE engine in a program that was built without it: how to get one with it.

use shield::shared_noise::SharedNoise;
use shield::{Election, Votes};

use super::Output;
use super::bench_args::BenchArgs;
use super::measuring::Measured;
use super::roles::{Labelling, Run};
use super::upload::Upload;
use crate::console;
use crate::failure::Failure;

fn missing() -> Failure {
    Failure::bad_input(
        "this program was built without the TFHE engine; build it with `cargo build --release \
         --features tfhe` (it takes some minutes), or use --backend bfv",
    )
}

pub(super) fn label(_: Upload, _: Election, _: &Run) -> Result<Labelling, Failure> {
    Err(missing())
}

pub(super) fn noisy_argmax(_: Election, _: SharedNoise, _: &Run) -> Result<Labelling, Failure> {
    Err(missing())
}

pub(super) fn plan(_: &Election, _: Upload, _: Output) -> Result<(), Failure> {
    Err(missing())
}

pub(super) fn plan_noisy_argmax(_: Election, _: SharedNoise, _: Output) -> Result<(), Failure> {
    Err(missing())
}

pub(super) fn bench(_: &BenchArgs, _: Output) -> Result<(), Failure> {
    Err(missing())
}

#[expect(clippy::unnecessary_wraps, reason = "it can fail in a program with the engine")]
pub(super) fn measure_noisy_argmax(
    _: Election,
    _: SharedNoise,
    _: &Votes,
) -> Result<Option<Measured>, Failure> {
    console::note(
        "TFHE's argmax is left out: this program was built without that engine; build it with \
         `cargo build --release --features tfhe`",
    );
    Ok(None)
}
