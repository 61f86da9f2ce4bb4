//! The plan of SHIELD on BFV. Products and rotations count one batch.

use serde_json::json;
use shield_bfv::BfvEngine;
use shield_bfv::Calibration;
use shield_bfv::flooding::STATISTICAL_BITS;
use shield_bfv::trustees::Trustees;
use shield_core::Election;
use shield_protocol::engine::EngineSpec;

use super::{megabytes, of_trustees, proven, stages};
use crate::console::{Report, duration};
use crate::failure::Failure;

pub(super) fn plan(
    report: Report,
    election: &Election,
    spec: EngineSpec,
    trustees: Option<Trustees>,
) -> Result<Report, Failure> {
    let plan = spec.shield_plan(election)?;
    let (layout, moduli, batches) = (plan.layout(), plan.moduli_bits(), plan.batches());
    // Expected of one thread of this machine.
    let seconds_per_batch = plan.seconds_per_batch(&Calibration::measure());
    let seconds = batches as f64 * seconds_per_batch;
    let (noise_bits, noise) = stages(&plan.noise_bits());
    let memory = plan.memory_bytes(rayon::current_num_threads());
    let document = json!({
        "ring_degree": plan.ring_degree(),
        "moduli_bits": moduli,
        "log_q": plan.log_q(),
        "plaintext_modulus": plan.plaintext_modulus(),
        "security_bits": plan.security_bits(),
        "samples_per_batch": plan.samples_per_batch(),
        "batches": batches,
        "rounds_per_ciphertext": layout.groups(),
        "ciphertexts": layout.ciphertexts(),
        "coding": plan.coding().to_string(),
        "coding_reason": plan.coding_reason(),
        "depth": plan.depth(),
        "ballot_bytes": plan.ballot_bytes(),
        "evaluation_key_bytes": plan.evaluation_key_bytes(),
        "result_bytes": plan.result_bytes(),
        // At most, on this machine's threads.
        "memory_bytes": memory,
        "products": plan.products(),
        "rotations": plan.rotations(),
        "noise_bits": noise_bits,
        "noise_margin_bits": plan.noise_margin_bits(),
        "flooding_bits": plan.flooding_bits(),
        "statistical_bits": STATISTICAL_BITS,
        "ballot_check": plan.ballot_check(),
        "seconds_per_batch": seconds_per_batch,
        "seconds": seconds,
        "teacher_bytes": plan.teacher_bytes(),
        "server_bytes": plan.server_bytes(),
        "student_bytes": plan.student_bytes(),
    });
    let layout = format!(
        "{} samples per batch, {} slots per sample, {} round{} per ciphertext, {} ciphertexts",
        plan.samples_per_batch(),
        layout.run(),
        layout.groups(),
        if layout.groups() == 1 { "" } else { "s" },
        layout.ciphertexts()
    );
    let circuit = format!(
        "{} products, depth {}, {} rotations",
        plan.products(),
        plan.depth(),
        plan.rotations()
    );
    let flooding = format!(
        "3 uniform integers of {} bits per coefficient; statistical distance 2^-{STATISTICAL_BITS}",
        plan.flooding_bits()
    );
    let time = format!(
        "{} per batch, {} in all, on one thread of this machine",
        duration(seconds_per_batch),
        duration(seconds)
    );
    let whole = format!(
        "each teacher sends {}, the server takes in {}, the student fetches {}",
        megabytes(plan.teacher_bytes()),
        megabytes(plan.server_bytes()),
        megabytes(plan.student_bytes())
    );
    let rows = [
        ("ring", ring(&plan)),
        ("security", format!("{} bits (log q = {})", plan.security_bits(), plan.log_q())),
        ("layout", layout),
        ("classes", format!("{}: {}", plan.coding(), plan.coding_reason())),
        ("batches", batches.to_string()),
        ("ballots", proven(plan.proofs(), plan.ballot_check())),
        ("circuit, per batch", circuit),
        ("noise bound, bits", noise),
        ("flooding", flooding),
        ("noise margin", format!("{:.1} bits", plan.noise_margin_bits())),
        ("ballot", format!("{} a teacher and batch", megabytes(plan.ballot_bytes()))),
        ("evaluation key", megabytes(plan.evaluation_key_bytes())),
        ("result", format!("{} per batch", megabytes(plan.result_bytes()))),
        ("memory", format!("at most {} to aggregate a batch", megabytes(memory))),
        ("expected time", time),
        ("whole election", whole),
    ];
    let report = report.keys(&document).rows(rows);
    match trustees {
        None => Ok(report),
        Some(trustees) => opened(report, election, spec, trustees),
    }
}

/// What trustees add.
fn opened(
    report: Report,
    election: &Election,
    spec: EngineSpec,
    trustees: Trustees,
) -> Result<Report, Failure> {
    let election = election.clone();
    let engine = if spec.proofs() {
        BfvEngine::with_proofs(election, Some(trustees))
    } else {
        BfvEngine::with_trustees(election, trustees)
    };
    of_trustees(report, &engine.map_err(Failure::bad_input)?)
}

/// The ring, for people.
fn ring(plan: &shield_bfv::Plan) -> String {
    let moduli = plan.moduli_bits();
    format!(
        "{} coefficients, {} primes of {} bits, plaintext modulus {}",
        plan.ring_degree(),
        moduli.len(),
        moduli[0],
        plan.plaintext_modulus()
    )
}
