//! `label` and `plan` with the engines that bootstrap.

use serde::Serialize;
use shield::Election;
use shield::backend::Backend;
use shield::polya::SharedNoise;
use shield_tfhe::bootstrapped::{BootstrappedBackend, Circuit, sanitise};
use shield_tfhe::noisy_argmax::NoisyArgmaxBackend;

use crate::commands::Output;
use crate::commands::label::{Labelling, Run, label_with};
use crate::commands::upload::Upload;
use crate::console;
use crate::failure::Failure;

/// The circuit with fewer bootstrappings: up to ten or so classes a digit the folded one, else the plain one.
fn backend(election: &Election) -> Result<BootstrappedBackend, Failure> {
    let folded = BootstrappedBackend::new(election.clone(), Circuit::Folded);
    let plain = BootstrappedBackend::new(election.clone(), Circuit::Plain);
    match (folded, plain) {
        (Ok(folded), Ok(plain)) => {
            let cheaper = plain.plan().bootstrappings() < folded.plan().bootstrappings();
            Ok(if cheaper { plain } else { folded })
        }
        (Ok(one), Err(_)) | (Err(_), Ok(one)) => Ok(one),
        (Err(error), Err(_)) => Err(Failure::bad_input(error)),
    }
}

/// `label --backend tfhe --upload smallest`.
pub(super) fn label(election: &Election, run: &Run) -> Result<Labelling, Failure> {
    label_with(&backend(election)?, run)
}

/// `label --mechanism noisy-argmax --backend tfhe`.
pub(in crate::commands) fn noisy_argmax(
    election: Election,
    noise: SharedNoise,
    run: &Run,
) -> Result<Labelling, Failure> {
    let backend = NoisyArgmaxBackend::new(election, noise).map_err(Failure::bad_input)?;
    label_with(&backend, run)
}

/// The plan for machines: the keys of the other engines' plans where they mean something, and its own.
#[derive(Serialize)]
struct Described {
    backend: &'static str,
    upload: Upload,
    circuit: String,
    base: usize,
    digits: usize,
    samples_per_batch: usize,
    batches: usize,
    ballot_bytes: usize,
    public_key_bytes: usize,
    evaluation_key_bytes: usize,
    result_bytes: usize,
    /// Of a sample.
    bootstrappings: usize,
    sanitising_bootstrappings: usize,
    failure_log2: f64,
    statistical_bits: f64,
}

/// `plan --backend tfhe --upload smallest`.
pub(super) fn plan(election: &Election, output: Output) -> Result<(), Failure> {
    let backend = backend(election)?;
    let plan = backend.plan();
    let described = Described {
        backend: "tfhe",
        upload: Upload::Smallest,
        circuit: plan.circuit().to_string(),
        base: plan.base(),
        digits: plan.digits(),
        samples_per_batch: plan.samples_per_batch(),
        batches: backend.batches(),
        ballot_bytes: backend.ballot_bytes(),
        public_key_bytes: backend.public_key_bytes(),
        evaluation_key_bytes: backend.evaluation_key_bytes(),
        result_bytes: backend.release_bytes(),
        bootstrappings: plan.bootstrappings(),
        sanitising_bootstrappings: plan.sanitising_bootstrappings(),
        failure_log2: -plan.failure_bits(),
        statistical_bits: sanitise::STATISTICAL_BITS,
    };
    match output {
        Output::Json => console::print_json(&described),
        Output::Tables => console::print(&describe(&described)),
    }
}

fn describe(plan: &Described) -> String {
    let kilobytes = |count: usize| format!("{:.1} kB", count as f64 / 1e3);
    console::properties(&[
        ("a vote", format!("{} digit(s) of {} values", plan.digits, plan.base)),
        ("batches", format!("{} of up to {} samples", plan.batches, plan.samples_per_batch)),
        (
            "a sample",
            format!(
                "{} bootstrappings ({} circuit), {} of them to sanitise",
                plan.bootstrappings, plan.circuit, plan.sanitising_bootstrappings
            ),
        ),
        ("wrong label", format!("probability at most 2^{:.0}", plan.failure_log2)),
        ("washing", format!("statistical distance at most 2^-{} a batch", plan.statistical_bits)),
        ("ballot", format!("{} a teacher and batch", kilobytes(plan.ballot_bytes))),
        ("public key", kilobytes(plan.public_key_bytes)),
        ("evaluation key", kilobytes(plan.evaluation_key_bytes)),
        ("result", format!("{} a batch", kilobytes(plan.result_bytes))),
    ])
}
