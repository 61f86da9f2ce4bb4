//! The plan of the batched noisy argmax on BFV, with the keys of the other plans where they mean
//! something. Products and rotations count one batch.

use serde_json::{Value, json};
use shield_bfv::argmax::{ArgmaxEngine, ArgmaxPlan};
use shield_bfv::flooding::STATISTICAL_BITS;
use shield_bfv::trustees::Trustees;
use shield_core::shared_noise::NoiseFamily;
use shield_core::{Delta, Election, Queries};
use shield_privacy::Usage;
use shield_protocol::engine::{Counts, EngineSpec, NoisyArgmax};

use super::{megabytes, of_trustees};
use crate::console::{Report, duration};
use crate::failure::Failure;

pub(super) fn plan(
    report: Report,
    election: &Election,
    spec: EngineSpec,
    argmax: NoisyArgmax,
    trustees: Option<Trustees>,
) -> Result<Report, Failure> {
    let plan = spec.argmax_plan(election, &argmax)?;
    let queries = Queries::new(election.samples() as u64)?;
    let usage = Usage { queries, delta: Delta::default() };
    // Of all samples together, for all votes.
    let accounting = argmax.accounting(election.classes());
    let of_counts = accounting.of_counts(usage);
    // Trustees recompute releases, so they and the student know the masks of the reveal.
    let epsilon = if trustees.is_some() { of_counts } else { accounting.tight(usage) };
    let stages = plan.noise_bits();
    let memory = plan.memory_bytes(rayon::current_num_threads());
    let costs = json!({
        "epsilon": epsilon,
        "vector_epsilon": of_counts,
        "delta": usage.delta,
        // At most, on this machine's threads.
        "memory_bytes": memory,
    });
    let (law, amount) = match argmax.noise.family() {
        NoiseFamily::Laplace => ("discrete Laplace", "scale"),
        NoiseFamily::Skellam => ("Skellam", "deviation"),
        NoiseFamily::Bits(_) => ("weighted bits", "deviation"),
    };
    let noise = format!(
        "{law} of {amount} {}, in shares; up to {} teachers may be missing",
        argmax.noise.scale().get(),
        argmax.noise.dropouts()
    );
    let ballot = argmax.counts.map(Counts::voters).map_or_else(
        || "one vote per sample".to_owned(),
        |voters| format!("counts per class, of up to {voters} voters per sample"),
    );
    let cost = format!(
        "epsilon {epsilon:.4} for all {queries} samples (delta {}), against everybody; for one {}",
        usage.delta.get(),
        argmax.protects()
    );
    let operations = format!(
        "{} evaluations, {} products, {} relinearisations, {} rotations",
        plan.evaluations(),
        plan.products(),
        plan.relinearisations(),
        plan.rotations()
    );
    let stages = stages.map(|(stage, bits, primes)| format!("{stage} {bits:.1} ({primes} primes)"));
    let flooding = format!(
        "3 uniform integers of {} bits per coefficient; statistical distance 2^-{STATISTICAL_BITS}",
        plan.flooding_bits()
    );
    let report = report.keys(&costs).keys(&circuit(&plan)).keys(&bytes(&plan)).rows([
        ("noise", noise),
        ("a ballot", ballot),
        ("cost", cost),
        ("cost of the noisy counts", format!("epsilon {of_counts:.4}, were they all seen")),
        ("ring", ring(&plan)),
        ("security", format!("{} bits (log q = {})", plan.security_bits(), plan.log_q())),
        ("batches", format!("{} of up to {} samples", plan.batches(), plan.samples_per_batch())),
        ("comparison", comparison(&plan)),
        ("wrong label", format!("probability at most 2^{:.0} per sample", -plan.failure_bits())),
        ("circuit, per batch", operations),
        ("noise bound, bits", stages.join(", ")),
        ("flooding", flooding),
        ("noise margin", format!("{:.1} bits", plan.noise_margin_bits())),
        ("ballot", sent(&plan)),
        ("public key", megabytes(plan.public_key_bytes())),
        ("evaluation key", megabytes(plan.evaluation_key_bytes())),
        ("result", format!("{} per batch", megabytes(plan.result_bytes()))),
        ("memory", format!("at most {} to aggregate a batch", megabytes(memory))),
        ("time", format!("{} per batch on one core, roughly", duration(plan.seconds_per_batch()))),
    ]);
    let report = report.rows(unlocking(&plan));
    match trustees {
        None => Ok(report),
        Some(trustees) => opened(report, election, spec, argmax, trustees),
    }
}

/// The ring, for people.
fn ring(plan: &ArgmaxPlan) -> String {
    let moduli = plan.moduli_bits();
    let (degree, bits) = (plan.ring_degree(), moduli[0]);
    format!("{degree} coefficients, {} primes of {bits} bits", moduli.len())
}

/// The comparison, for people.
fn comparison(plan: &ArgmaxPlan) -> String {
    format!("differences up to {} by a polynomial of degree {}", plan.range(), plan.degree())
}

/// The circuit, for machines.
fn circuit(plan: &ArgmaxPlan) -> Value {
    let stages = plan.noise_bits();
    let noise_bits: Vec<_> = stages
        .iter()
        .map(|(stage, bits, primes)| json!({ "stage": stage, "bits": bits, "primes": primes }))
        .collect();
    json!({
        "ring_degree": plan.ring_degree(),
        "moduli_bits": plan.moduli_bits(),
        "log_q": plan.log_q(),
        "security_bits": plan.security_bits(),
        "samples_per_batch": plan.samples_per_batch(),
        "batches": plan.batches(),
        "range": plan.range(),
        "degree": plan.degree(),
        "failure_log2": -plan.failure_bits(),
        "evaluations": plan.evaluations(),
        "products": plan.products(),
        "relinearisations": plan.relinearisations(),
        "rotations": plan.rotations(),
        "noise_bits": noise_bits,
        "noise_margin_bits": plan.noise_margin_bits(),
        "flooding_bits": plan.flooding_bits(),
        "statistical_bits": STATISTICAL_BITS,
        // Of one core, estimated.
        "seconds_per_batch": plan.seconds_per_batch(),
    })
}

/// What is sent, for machines.
fn bytes(plan: &ArgmaxPlan) -> Value {
    json!({
        "ballots": plan.kind().name(),
        "ballot_bytes": plan.ballot_bytes(),
        "bytes_per_vote": plan.bytes_per_vote(),
        "secret_dimension": plan.dimension(),
        "unlocking_bytes": plan.unlocking_bytes(),
        "public_key_bytes": plan.public_key_bytes(),
        "evaluation_key_bytes": plan.evaluation_key_bytes(),
        "result_bytes": plan.result_bytes(),
    })
}

/// What a teacher sends, for people.
fn sent(plan: &ArgmaxPlan) -> String {
    format!(
        "{}: {} per teacher and batch, {:.1} bytes per vote in all",
        plan.kind().name(),
        megabytes(plan.ballot_bytes()),
        plan.bytes_per_vote()
    )
}

/// What only tiny ballots have, for people.
fn unlocking(plan: &ArgmaxPlan) -> Vec<(&'static str, String)> {
    let rows = plan.dimension().map(|dimension| {
        let bytes = megabytes(plan.unlocking_bytes());
        vec![
            ("teacher's secret", format!("{dimension} residues, fresh for every ballot")),
            ("unlocking", format!("{bytes} per batch, from the student to the server")),
        ]
    });
    rows.unwrap_or_default()
}

/// What trustees add.
fn opened(
    report: Report,
    election: &Election,
    spec: EngineSpec,
    argmax: NoisyArgmax,
    trustees: Trustees,
) -> Result<Report, Failure> {
    let NoisyArgmax { noise, threshold, .. } = argmax;
    let election = election.clone();
    let engine = if spec.proofs() {
        ArgmaxEngine::with_proofs(election, noise, threshold, Some(trustees))
    } else {
        ArgmaxEngine::with_trustees(election, noise, argmax.ballot(), threshold, trustees)
    };
    of_trustees(report, &engine.map_err(Failure::bad_input)?)
}
