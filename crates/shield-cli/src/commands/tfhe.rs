//! What `label`, `plan` and `bench` do with the TFHE engine.

mod bench;
mod bootstrapped;

pub(super) use bench::bench;
pub(super) use bootstrapped::{measure_noisy_argmax, noisy_argmax, plan_noisy_argmax};
use serde::Serialize;
use shield::Election;
use shield_tfhe::leveled::{self, LeveledBackend, Plan};

use super::Output;
use super::roles::{Labelling, Run, label_with};
use super::upload::Upload;
use crate::console;
use crate::failure::Failure;

/// `label --backend tfhe`.
pub(super) fn label(upload: Upload, election: Election, run: &Run) -> Result<Labelling, Failure> {
    let Some(upload) = leveled(upload) else { return bootstrapped::label(&election, run) };
    let backend = LeveledBackend::new(election, upload).map_err(Failure::bad_input)?;
    let plan = backend.plan();
    if upload == leveled::Upload::Compact {
        console::warn(&format!(
            "compact ballots are noisy: what the student gets hides the draws of a sample up to \
             2^-{:.0} only, which adds {:.1e} to delta in all; the plain upload hides them up to \
             2^-40",
            plan.statistical_bits(),
            delta_added(plan)
        ));
    }
    label_with(&backend, run)
}

/// The leveled engine's upload; `None` if it is the bootstrapped engine's.
fn leveled(upload: Upload) -> Option<leveled::Upload> {
    match upload {
        Upload::Plain => Some(leveled::Upload::Plain),
        Upload::Compact => Some(leveled::Upload::Compact),
        Upload::Smallest => None,
    }
}

/// What the statistical distance of all samples adds to delta.
fn delta_added(plan: &Plan) -> f64 {
    plan.batches() as f64 * (-plan.statistical_bits()).exp2()
}

/// The plan for machines: the keys of the BFV engine's plan where they mean something, and its own.
#[derive(Serialize)]
struct Described {
    backend: &'static str,
    upload: Upload,
    ring_degree: usize,
    moduli_bits: Vec<u32>,
    log_q: u32,
    plaintext_modulus: u64,
    security_bits: u32,
    samples_per_batch: usize,
    batches: usize,
    levels: usize,
    base_log: usize,
    bits: usize,
    ballot_bytes: usize,
    public_key_bytes: usize,
    evaluation_key_bytes: usize,
    result_bytes: usize,
    /// Of a sample, at most.
    products: usize,
    rotations: usize,
    /// Standard deviations.
    noise_bits: Vec<Stage>,
    noise_margin_bits: f64,
    failure_log2: f64,
    flooding_bits: u32,
    statistical_bits: f64,
    /// By all samples.
    delta_added: f64,
}

#[derive(Serialize)]
struct Stage {
    stage: &'static str,
    bits: f64,
}

/// `plan --backend tfhe`.
pub(super) fn plan(election: &Election, upload: Upload, output: Output) -> Result<(), Failure> {
    let Some(kind) = leveled(upload) else { return bootstrapped::plan(election, output) };
    let plan = Plan::new(election, kind).map_err(Failure::bad_input)?;
    match output {
        Output::Json => console::print_json(&described(&plan, upload)),
        Output::Tables => console::print(&describe(&plan)),
    }
}

fn described(plan: &Plan, upload: Upload) -> Described {
    let stages = plan.noise_bits().into_iter();
    Described {
        backend: "tfhe",
        upload,
        ring_degree: plan.ring_degree(),
        moduli_bits: vec![plan.log_q()],
        log_q: plan.log_q(),
        plaintext_modulus: 2,
        security_bits: plan.security_bits(),
        samples_per_batch: 1,
        batches: plan.batches(),
        levels: plan.levels(),
        base_log: plan.base_log(),
        bits: plan.bits(),
        ballot_bytes: plan.ballot_bytes(),
        public_key_bytes: plan.public_key_bytes(),
        evaluation_key_bytes: plan.evaluation_key_bytes(),
        result_bytes: plan.result_bytes(),
        products: plan.products(),
        rotations: 0,
        noise_bits: stages.map(|(stage, bits)| Stage { stage, bits }).collect(),
        noise_margin_bits: plan.noise_margin_bits(),
        failure_log2: plan.failure_log2(),
        flooding_bits: plan.flooding_bits(),
        statistical_bits: plan.statistical_bits(),
        delta_added: delta_added(plan),
    }
}

fn describe(plan: &Plan) -> String {
    let kilobytes = |count: usize| format!("{:.1} kB", count as f64 / 1e3);
    let noise: Vec<String> =
        plan.noise_bits().iter().map(|(stage, bits)| format!("{stage} {bits:.1}")).collect();
    console::properties(&[
        ("ring", format!("{} coefficients of {} bits", plan.ring_degree(), plan.log_q())),
        (
            "security",
            format!("{} bits, as the tfhe crate states it for this ring", plan.security_bits()),
        ),
        (
            "a vote",
            format!(
                "{} bits, each a GGSW ciphertext of {} levels of {} bits",
                plan.bits(),
                plan.levels(),
                plan.base_log()
            ),
        ),
        ("a sample", format!("at most {} external products", plan.products())),
        ("noise, deviation in bits", noise.join(", ")),
        (
            "flooding",
            format!(
                "2 uniform integers of {} bits per coefficient; statistical distance 2^-{:.1} per \
                 sample (at most 2^-{}), {:.1e} in all: it adds to delta",
                plan.flooding_bits(),
                plan.statistical_bits(),
                plan.required_statistical_bits(),
                delta_added(plan)
            ),
        ),
        (
            "wrong label",
            if plan.failure_log2() < -1_000.0 {
                "probability below 2^-1000".to_owned()
            } else {
                format!("probability at most 2^{:.0}", plan.failure_log2())
            },
        ),
        ("noise margin", format!("{:.1} bits at 2^-64", plan.noise_margin_bits())),
        ("ballot", format!("{} a vote", kilobytes(plan.ballot_bytes()))),
        ("public key", kilobytes(plan.public_key_bytes())),
        ("evaluation key", kilobytes(plan.evaluation_key_bytes())),
        ("result", format!("{} per sample", kilobytes(plan.result_bytes()))),
    ])
}
