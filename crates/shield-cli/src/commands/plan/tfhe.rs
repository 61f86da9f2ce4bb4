//! The plan of SHIELD on TFHE, with the keys of the other plans where they mean something.

use serde_json::json;
use shield_core::Election;
use shield_tfhe::leveled::Plan;
use shield_tfhe::leveled::flooding::STATISTICAL_BITS;

use super::stages;
use crate::console::Report;
use crate::failure::Failure;

pub(super) fn plan(report: Report, election: &Election) -> Result<Report, Failure> {
    let plan = Plan::new(election).map_err(Failure::bad_input)?;
    // By all samples, to delta.
    let delta_added = plan.batches() as f64 * (-plan.statistical_bits()).exp2();
    let (noise_bits, noise) = stages(&plan.noise_bits());
    let document = json!({
        "ring_degree": plan.ring_degree(),
        "moduli_bits": [plan.log_q()],
        "log_q": plan.log_q(),
        "plaintext_modulus": 2,
        "security_bits": plan.security_bits(),
        "samples_per_batch": 1,
        "batches": plan.batches(),
        "levels": plan.levels(),
        "base_log": plan.base_log(),
        "bits": plan.bits(),
        "ballot_bytes": plan.ballot_bytes(),
        "public_key_bytes": plan.public_key_bytes(),
        "evaluation_key_bytes": plan.evaluation_key_bytes(),
        "result_bytes": plan.result_bytes(),
        // Of a sample, at most.
        "products": plan.products(),
        "rotations": 0,
        "noise_bits": noise_bits,
        "noise_margin_bits": plan.noise_margin_bits(),
        "failure_log2": plan.failure_log2(),
        "flooding_bits": plan.flooding_bits(),
        "statistical_bits": plan.statistical_bits(),
        "delta_added": delta_added,
    });
    let vote = format!(
        "{} bits, each a GGSW ciphertext of {} levels of {} bits",
        plan.bits(),
        plan.levels(),
        plan.base_log()
    );
    let flooding = format!(
        "2 uniform integers of {} bits per coefficient; statistical distance 2^-{:.1} per sample \
         (at most 2^-{STATISTICAL_BITS}), {delta_added:.1e} in all: it adds to delta",
        plan.flooding_bits(),
        plan.statistical_bits(),
    );
    let wrong = if plan.failure_log2() < -1_000.0 {
        "probability below 2^-1000".to_owned()
    } else {
        format!("probability at most 2^{:.0}", plan.failure_log2())
    };
    let security = format!("{} bits, as the tfhe crate states it", plan.security_bits());
    let kilobytes = |count: usize| format!("{:.1} kB", count as f64 / 1e3);
    Ok(report.keys(&document).rows([
        ("ring", format!("{} coefficients of {} bits", plan.ring_degree(), plan.log_q())),
        ("security", security),
        ("a vote", vote),
        ("a sample", format!("at most {} external products", plan.products())),
        ("noise, deviation in bits", noise),
        ("flooding", flooding),
        ("wrong label", wrong),
        ("noise margin", format!("{:.1} bits at 2^-64", plan.noise_margin_bits())),
        ("ballot", format!("{} a vote", kilobytes(plan.ballot_bytes()))),
        ("public key", kilobytes(plan.public_key_bytes())),
        ("evaluation key", kilobytes(plan.evaluation_key_bytes())),
        ("result", format!("{} per sample", kilobytes(plan.result_bytes()))),
    ]))
}
