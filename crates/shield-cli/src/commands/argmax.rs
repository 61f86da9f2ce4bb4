//! `plan` with the batched noisy argmax of the BFV engine.

use serde::Serialize;
use shield::privacy::Usage;
use shield::shared_noise::NoiseFamily;
use shield::{Delta, Election, Epsilon, Queries};
use shield_bfv::argmax::ArgmaxPlan;
use shield_bfv::flooding::STATISTICAL_BITS;
use shield_protocol::engine::{Counts, NoisyArgmax};

use super::Output;
use crate::console::{self, duration};
use crate::failure::Failure;

/// The plan for machines, with the keys of the other engines' plans where they mean something.
/// Products and rotations count one batch.
#[derive(Serialize)]
struct Described {
    mechanism: &'static str,
    backend: &'static str,
    noise: f64,
    noise_law: NoiseFamily,
    /// Teachers that may be missing.
    dropouts: u32,
    /// Where teachers send counts: of how many voters at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    voters_per_teacher: Option<u32>,
    /// Whose participation epsilon is stated for.
    protects: String,
    /// Of all samples together, for all votes; infinite as text.
    epsilon: Epsilon,
    delta: f64,
    ring_degree: usize,
    moduli_bits: Vec<u32>,
    log_q: u32,
    security_bits: u32,
    samples_per_batch: usize,
    batches: usize,
    /// Differences of noisy counts that are compared rightly.
    range: usize,
    /// Of the polynomial that compares.
    degree: usize,
    failure_log2: f64,
    evaluations: usize,
    products: usize,
    relinearisations: usize,
    rotations: usize,
    noise_bits: Vec<Bound>,
    noise_margin_bits: f64,
    flooding_bits: u32,
    statistical_bits: u32,
    ballot_bytes: usize,
    public_key_bytes: usize,
    evaluation_key_bytes: usize,
    result_bytes: usize,
    /// Of one core, estimated.
    seconds_per_batch: f64,
}

#[derive(Serialize)]
struct Bound {
    stage: &'static str,
    bits: f64,
    primes: usize,
}

/// `plan --mechanism noisy-argmax --backend bfv`.
pub(super) fn plan(
    election: &Election,
    argmax: NoisyArgmax,
    output: Output,
) -> Result<(), Failure> {
    let plan = ArgmaxPlan::new(election, &argmax.noise, argmax.ballot());
    let plan = plan.map_err(Failure::bad_input)?;
    let queries = Queries::new(election.samples() as u64)?;
    let usage = Usage { queries, delta: Delta::default() };
    let cost = Cost { argmax, usage, epsilon: argmax.accounting(election.classes()).tight(usage) };
    match output {
        Output::Json => console::print_json(&described(&plan, &cost)),
        Output::Tables => console::print(&describe(&plan, &cost)),
    }
}

/// What all samples of the election cost.
struct Cost {
    argmax: NoisyArgmax,
    usage: Usage,
    epsilon: Epsilon,
}

impl Cost {
    /// Whose participation it is stated for, as in election files.
    fn protects(&self) -> String {
        self.argmax.counts.map(Counts::protects).unwrap_or_default().to_string()
    }
}

fn described(plan: &ArgmaxPlan, cost: &Cost) -> Described {
    let noise = cost.argmax.noise;
    let stages = plan.noise_bits().into_iter();
    Described {
        mechanism: "noisy-argmax",
        backend: "bfv",
        noise: noise.scale().get(),
        noise_law: noise.family(),
        dropouts: noise.dropouts(),
        voters_per_teacher: cost.argmax.counts.map(Counts::voters),
        protects: cost.protects(),
        epsilon: cost.epsilon,
        delta: cost.usage.delta.get(),
        ring_degree: plan.ring_degree(),
        moduli_bits: plan.moduli_bits(),
        log_q: plan.log_q(),
        security_bits: plan.security_bits(),
        samples_per_batch: plan.samples_per_batch(),
        batches: plan.batches(),
        range: plan.range(),
        degree: plan.degree(),
        failure_log2: -plan.failure_bits(),
        evaluations: plan.evaluations(),
        products: plan.products(),
        relinearisations: plan.relinearisations(),
        rotations: plan.rotations(),
        noise_bits: stages.map(|(stage, bits, primes)| Bound { stage, bits, primes }).collect(),
        noise_margin_bits: plan.noise_margin_bits(),
        flooding_bits: plan.flooding_bits(),
        statistical_bits: STATISTICAL_BITS,
        ballot_bytes: plan.ballot_bytes(),
        public_key_bytes: plan.public_key_bytes(),
        evaluation_key_bytes: plan.evaluation_key_bytes(),
        result_bytes: plan.result_bytes(),
        seconds_per_batch: plan.seconds_per_batch(),
    }
}

fn describe(plan: &ArgmaxPlan, cost: &Cost) -> String {
    let noise = cost.argmax.noise;
    let bytes = |count: usize| format!("{:.2} MB", count as f64 / 1e6);
    let moduli = plan.moduli_bits();
    let stages = plan.noise_bits();
    let stages = stages.map(|(stage, bits, primes)| format!("{stage} {bits:.1} ({primes} primes)"));
    let (law, amount) = match noise.family() {
        NoiseFamily::Laplace => ("discrete Laplace", "scale"),
        NoiseFamily::Skellam => ("Skellam", "deviation"),
    };
    console::properties(&[
        (
            "noise",
            format!(
                "{law} of {amount} {}, in shares; up to {} teachers may be missing",
                noise.scale().get(),
                noise.dropouts()
            ),
        ),
        (
            "a ballot",
            match cost.argmax.counts {
                None => "one vote per sample".to_owned(),
                Some(counts) => {
                    format!("counts per class, of up to {} voters per sample", counts.voters())
                }
            },
        ),
        (
            "cost",
            format!(
                "epsilon {:.4} for all {} samples (delta {}), against everybody; for one {}",
                cost.epsilon,
                cost.usage.queries.count(),
                cost.usage.delta.get(),
                cost.protects()
            ),
        ),
        (
            "ring",
            format!(
                "{} coefficients, {} primes of {} bits",
                plan.ring_degree(),
                moduli.len(),
                moduli[0]
            ),
        ),
        ("security", format!("{} bits (log q = {})", plan.security_bits(), plan.log_q())),
        ("batches", format!("{} of up to {} samples", plan.batches(), plan.samples_per_batch())),
        (
            "comparison",
            format!(
                "differences up to {} by a polynomial of degree {}",
                plan.range(),
                plan.degree()
            ),
        ),
        ("wrong label", format!("probability at most 2^{:.0} per sample", -plan.failure_bits())),
        (
            "circuit, per batch",
            format!(
                "{} evaluations, {} products, {} relinearisations, {} rotations",
                plan.evaluations(),
                plan.products(),
                plan.relinearisations(),
                plan.rotations()
            ),
        ),
        ("noise bound, bits", stages.join(", ")),
        (
            "flooding",
            format!(
                "3 uniform integers of {} bits per coefficient; statistical distance 2^-{}",
                plan.flooding_bits(),
                STATISTICAL_BITS
            ),
        ),
        ("noise margin", format!("{:.1} bits", plan.noise_margin_bits())),
        ("ballot", format!("{} per teacher and batch", bytes(plan.ballot_bytes()))),
        ("public key", bytes(plan.public_key_bytes())),
        ("evaluation key", bytes(plan.evaluation_key_bytes())),
        ("result", format!("{} per batch", bytes(plan.result_bytes()))),
        ("time", format!("{} per batch on one core, roughly", duration(plan.seconds_per_batch()))),
    ])
}
