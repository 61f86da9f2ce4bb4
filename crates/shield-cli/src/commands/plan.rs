//! `plan`: what the engine will use for an election, before anyone makes a key.

use clap::Args;
use serde::Serialize;
use shield::shared_noise::NoiseFamily;
use shield::{Classes, Election};
use shield_bfv::{Calibration, Plan, ReleaseMode};
use shield_protocol::engine::{Counts, NoisyArgmax, Protects};

use super::bench_args::BackendName;
use super::upload::Upload;
use super::{Output, argmax, tfhe};
use crate::console::{self, duration};
use crate::failure::Failure;
use crate::inputs::{MechanismArgs, MechanismName, NoiseArgs};

/// What an encrypted engine will use: ring, security, layout, noise, sizes
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shield plan --teachers 250 --classes 10 --samples 100")]
pub(super) struct PlanArgs {
    /// Number of teachers
    #[arg(long, value_name = "N")]
    teachers: usize,

    /// Number of classes
    #[arg(long, value_name = "K")]
    classes: Classes,

    /// Number of samples
    #[arg(long, value_name = "S")]
    samples: usize,

    /// SHIELD, or SPEED's exact argmax of counts with noise in shares
    #[arg(long = "mechanism", value_name = "NAME", value_enum, default_value_t)]
    name: MechanismName,

    #[command(flatten)]
    mechanism: MechanismArgs,

    #[command(flatten)]
    noise: NoiseArgs,

    /// For a noisy-argmax on bfv: teachers send counts per class, of up to this many voters
    #[arg(long, value_name = "V")]
    voters_per_teacher: Option<u64>,

    /// With counts: whom the cost protects, a teacher with all its voters, or one voter
    #[arg(long, value_name = "WHOM", default_value_t, requires = "voters_per_teacher")]
    protects: Protects,

    /// The engine
    #[arg(long, value_enum, default_value_t)]
    backend: BackendName,

    /// What a teacher sends, with the engine tfhe
    #[arg(long, value_enum, default_value_t)]
    upload: Upload,

    /// What the student gets, with the engine bfv: reveal (labels) or composable (encrypted one-hot
    /// labels)
    #[arg(long, value_name = "MODE", default_value_t = ReleaseMode::default())]
    release: ReleaseMode,
}

/// The plan for machines. Products and rotations count one batch.
#[derive(Serialize)]
struct Described {
    ring_degree: usize,
    moduli_bits: Vec<u32>,
    log_q: u32,
    plaintext_modulus: u64,
    security_bits: u32,
    samples_per_batch: usize,
    batches: usize,
    rounds_per_ciphertext: usize,
    ciphertexts: usize,
    coding: String,
    coding_reason: String,
    depth: u32,
    ballot_bytes: usize,
    evaluation_key_bytes: usize,
    result_bytes: usize,
    products: usize,
    rotations: usize,
    noise_bits: Vec<Stage>,
    noise_margin_bits: f64,
    flooding_bits: u32,
    statistical_bits: u32,
    ballot_check: &'static str,
    release: ReleaseMode,
    /// Expected of one thread of this machine.
    seconds_per_batch: f64,
    seconds: f64,
    /// Of the whole election.
    teacher_bytes: usize,
    server_bytes: usize,
    student_bytes: usize,
}

#[derive(Serialize)]
struct Stage {
    stage: &'static str,
    bits: f64,
}

pub(super) fn run(args: &PlanArgs, output: Output) -> Result<(), Failure> {
    let mechanism = args.mechanism.mechanism();
    let election = Election::new(args.teachers, args.classes, args.samples, mechanism)?;
    let counted = (args.name, args.backend) == (MechanismName::NoisyArgmax, BackendName::Bfv);
    if args.voters_per_teacher.is_some() && !counted {
        return Err(Failure::bad_input(
            "--voters-per-teacher: only --mechanism noisy-argmax with --backend bfv takes counts",
        ));
    }
    match (args.name, args.backend) {
        (MechanismName::Shield, BackendName::Bfv) => {}
        (MechanismName::Shield, BackendName::Tfhe) => {
            return tfhe::plan(&election, args.upload, output);
        }
        (MechanismName::NoisyArgmax, BackendName::Tfhe) => {
            let noise = args.noise.shared(election.teachers(), NoiseFamily::Laplace)?;
            return tfhe::plan_noisy_argmax(election, noise, output);
        }
        (MechanismName::NoisyArgmax, BackendName::Bfv) => {
            let noise = args.noise.shared(election.teachers(), NoiseFamily::Skellam)?;
            let law = noise.family();
            let counts = |voters| Counts::new(voters, args.protects, law);
            let counts = args.voters_per_teacher.map(counts).transpose();
            let counts = counts.map_err(Failure::bad_input)?;
            return argmax::plan(&election, NoisyArgmax { noise, counts }, output);
        }
    }
    let plan = Plan::new(&election, args.release).map_err(Failure::bad_input)?;
    let seconds = plan.seconds_per_batch(&Calibration::measure());
    match output {
        Output::Json => console::print_json(&described(&plan, seconds)),
        Output::Tables => console::print(&describe(&plan, seconds)),
    }
}

fn described(plan: &Plan, seconds_per_batch: f64) -> Described {
    let stages = plan.noise_bits().into_iter();
    Described {
        ring_degree: plan.ring_degree(),
        moduli_bits: plan.moduli_bits(),
        log_q: plan.log_q(),
        plaintext_modulus: plan.plaintext_modulus(),
        security_bits: plan.security_bits(),
        samples_per_batch: plan.samples_per_batch(),
        batches: plan.batches(),
        rounds_per_ciphertext: plan.layout().groups(),
        ciphertexts: plan.layout().ciphertexts(),
        coding: plan.coding().to_string(),
        coding_reason: plan.coding_reason(),
        depth: plan.depth(),
        ballot_bytes: plan.ballot_bytes(),
        evaluation_key_bytes: plan.evaluation_key_bytes(),
        result_bytes: plan.result_bytes(),
        products: plan.products(),
        rotations: plan.rotations(),
        noise_bits: stages.map(|(stage, bits)| Stage { stage, bits }).collect(),
        noise_margin_bits: plan.noise_margin_bits(),
        flooding_bits: plan.flooding_bits(),
        statistical_bits: shield_bfv::flooding::STATISTICAL_BITS,
        ballot_check: plan.ballot_check(),
        release: plan.release(),
        seconds_per_batch,
        seconds: plan.batches() as f64 * seconds_per_batch,
        teacher_bytes: plan.teacher_bytes(),
        server_bytes: plan.server_bytes(),
        student_bytes: plan.student_bytes(),
    }
}

fn describe(plan: &Plan, seconds_per_batch: f64) -> String {
    let layout = plan.layout();
    let bytes = |count: usize| format!("{:.2} MB", count as f64 / 1e6);
    let moduli = plan.moduli_bits();
    let noise: Vec<String> =
        plan.noise_bits().iter().map(|(stage, bits)| format!("{stage} {bits:.1}")).collect();
    console::properties(&[
        (
            "ring",
            format!(
                "{} coefficients, {} primes of {} bits, plaintext modulus {}",
                plan.ring_degree(),
                moduli.len(),
                moduli[0],
                plan.plaintext_modulus()
            ),
        ),
        ("security", format!("{} bits (log q = {})", plan.security_bits(), plan.log_q())),
        (
            "layout",
            format!(
                "{} samples per batch, {} slots per sample, {} round{} per ciphertext, {} \
                 ciphertexts",
                plan.samples_per_batch(),
                layout.run(),
                layout.groups(),
                if layout.groups() == 1 { "" } else { "s" },
                layout.ciphertexts()
            ),
        ),
        ("classes", format!("{}: {}", plan.coding(), plan.coding_reason())),
        ("batches", plan.batches().to_string()),
        ("ballots", plan.ballot_check().to_owned()),
        (
            "circuit, per batch",
            format!(
                "{} products, depth {}, {} rotations",
                plan.products(),
                plan.depth(),
                plan.rotations()
            ),
        ),
        ("noise bound, bits", noise.join(", ")),
        (
            "flooding",
            format!(
                "3 uniform integers of {} bits per coefficient; statistical distance 2^-{}",
                plan.flooding_bits(),
                shield_bfv::flooding::STATISTICAL_BITS
            ),
        ),
        ("noise margin", format!("{:.1} bits", plan.noise_margin_bits())),
        ("ballot", format!("{} a teacher and batch", bytes(plan.ballot_bytes()))),
        ("evaluation key", bytes(plan.evaluation_key_bytes())),
        ("result", format!("{} per batch", bytes(plan.result_bytes()))),
        (
            "expected time",
            format!(
                "{} per batch, {} in all, on one thread of this machine",
                duration(seconds_per_batch),
                duration(plan.batches() as f64 * seconds_per_batch)
            ),
        ),
        (
            "whole election",
            format!(
                "each teacher sends {}, the server takes in {}, the student fetches {}",
                bytes(plan.teacher_bytes()),
                bytes(plan.server_bytes()),
                bytes(plan.student_bytes())
            ),
        ),
    ])
}
