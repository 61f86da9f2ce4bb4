//! `label` and `plan` with the engines that bootstrap.

use serde::Serialize;
use shield::backend::{Backend, BackendBytes};
use shield::framing::Kind;
use shield::shared_noise::NoiseFamily;
use shield::shared_noise::SharedNoise;
use shield::{Election, Votes};
use shield_tfhe::bootstrapped::{BootstrappedBackend, Circuit, flooding};
use shield_tfhe::noisy_argmax::NoisyArgmaxBackend;

use crate::commands::Output;
use crate::commands::measuring::{Measured, measure};
use crate::commands::roles::{Labelling, Run, label_with};
use crate::commands::upload::Upload;
use crate::console;
use crate::failure::Failure;

/// The circuit with fewer bootstrappings: up to ten or so classes a digit the folded one, else the
/// plain one.
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

/// TFHE's part of `bench --mechanism noisy-argmax`.
pub(in crate::commands) fn measure_noisy_argmax(
    election: Election,
    noise: SharedNoise,
    votes: &Votes,
) -> Result<Option<Measured>, Failure> {
    let backend = NoisyArgmaxBackend::new(election, noise).map_err(Failure::bad_input)?;
    measure(&backend, noise, votes).map(Some)
}

/// What both plans state for machines, with the keys of the other engines' plans where they mean
/// something.
#[derive(Serialize)]
struct Work {
    backend: &'static str,
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

impl Work {
    fn describe(&self) -> Vec<(&'static str, String)> {
        let kilobytes = |count: usize| format!("{:.1} kB", count as f64 / 1e3);
        vec![
            ("batches", format!("{} of up to {} samples", self.batches, self.samples_per_batch)),
            (
                "a sample",
                format!(
                    "{} bootstrappings, {} of them to flood",
                    self.bootstrappings, self.sanitising_bootstrappings
                ),
            ),
            ("wrong label", format!("probability at most 2^{:.0}", self.failure_log2)),
            (
                "flooding",
                format!("statistical distance at most 2^-{} per batch", self.statistical_bits),
            ),
            ("ballot", format!("{} a teacher and batch", kilobytes(self.ballot_bytes))),
            ("public key", kilobytes(self.public_key_bytes)),
            ("evaluation key", kilobytes(self.evaluation_key_bytes)),
            ("result", format!("{} per batch", kilobytes(self.result_bytes))),
        ]
    }
}

/// Both engines have a plan and sizes of the same names.
macro_rules! work {
    ($backend:expr) => {
        Work {
            backend: $backend.name(),
            samples_per_batch: $backend.samples_per_batch(),
            batches: $backend.batches(),
            ballot_bytes: $backend.max_bytes(Kind::Ballot),
            public_key_bytes: $backend.max_bytes(Kind::PublicKey),
            evaluation_key_bytes: $backend.max_bytes(Kind::EvaluationKey),
            result_bytes: $backend.max_bytes(Kind::Release),
            bootstrappings: $backend.plan().bootstrappings(),
            sanitising_bootstrappings: $backend.plan().flooding_bootstrappings(),
            failure_log2: -$backend.plan().failure_bits(),
            statistical_bits: flooding::STATISTICAL_BITS,
        }
    };
}

#[derive(Serialize)]
struct Described {
    upload: Upload,
    circuit: String,
    base: usize,
    digits: usize,
    #[serde(flatten)]
    work: Work,
}

/// `plan --backend tfhe --upload smallest`.
pub(super) fn plan(election: &Election, output: Output) -> Result<(), Failure> {
    let backend = backend(election)?;
    let plan = backend.plan();
    let described = Described {
        upload: Upload::Smallest,
        circuit: plan.circuit().to_string(),
        base: plan.base(),
        digits: plan.digits(),
        work: work!(backend),
    };
    if output == Output::Json {
        return console::print_json(&described);
    }
    let mut rows = vec![
        ("a vote", format!("{} digit(s) of {} values", described.digits, described.base)),
        ("circuit", described.circuit),
    ];
    rows.extend(described.work.describe());
    console::print(&console::properties(&rows))
}

#[derive(Serialize)]
struct DescribedArgmax {
    mechanism: &'static str,
    noise: f64,
    noise_law: NoiseFamily,
    /// Teachers that may be missing.
    dropouts: u32,
    /// Largest noise, in votes, that a count has room for.
    reach: i64,
    digits: usize,
    #[serde(flatten)]
    work: Work,
}

/// `plan --mechanism noisy-argmax --backend tfhe`.
pub(in crate::commands) fn plan_noisy_argmax(
    election: Election,
    noise: SharedNoise,
    output: Output,
) -> Result<(), Failure> {
    let backend = NoisyArgmaxBackend::new(election, noise).map_err(Failure::bad_input)?;
    let described = DescribedArgmax {
        mechanism: "noisy-argmax",
        noise: noise.scale().get(),
        noise_law: noise.family(),
        dropouts: noise.dropouts(),
        reach: backend.plan().reach(),
        digits: backend.plan().digits(),
        work: work!(backend),
    };
    if output == Output::Json {
        return console::print_json(&described);
    }
    let DescribedArgmax { noise, noise_law, dropouts, reach, digits, .. } = described;
    let law = match noise_law {
        NoiseFamily::Laplace => "discrete Laplace of scale",
        NoiseFamily::Skellam => "Skellam of deviation",
    };
    let mut rows = vec![
        ("noise", format!("{law} {noise}, in shares; up to {dropouts} teachers may be missing")),
        ("a count", format!("{digits} digits of 16 values: room for noise of up to {reach} votes")),
    ];
    rows.extend(described.work.describe());
    console::print(&console::properties(&rows))
}
