//! `plan`: what the engine will use for an election, before anyone makes a key.

mod argmax;
mod bfv;
#[cfg(feature = "tfhe")]
mod tfhe;

use clap::Args;
use serde_json::{Value, json};
use shield_bfv::trustees::{Ceremony, Jointly};
use shield_core::{Classes, Election};
use shield_protocol::engine::{Counts, EngineName, EngineSpec, NoisyArgmax, Protects, SpecError};

use super::Output;
use crate::console::Report;
use crate::failure::Failure;
use crate::inputs::SpecArgs;

/// See what encryption will cost: ring, security, noise, sizes
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

    #[command(flatten)]
    spec: SpecArgs,

    /// For a noisy-argmax on bfv: teachers send counts per class, of up to this many voters
    #[arg(long, value_name = "V")]
    voters_per_teacher: Option<u64>,

    /// With counts: whom the cost protects, a teacher with all its voters, or one voter
    #[arg(long, value_name = "WHOM", default_value_t, requires = "voters_per_teacher")]
    protects: Protects,

    /// The engine: bfv, or tfhe (built with --features tfhe)
    #[arg(long, value_name = "ENGINE", default_value_t)]
    backend: EngineName,
}

impl PlanArgs {
    /// The engine and the mechanism, with counts where teachers send them.
    fn spec(&self) -> Result<EngineSpec, Failure> {
        let spec = self.spec.spec(self.backend, self.teachers)?;
        let Some(voters) = self.voters_per_teacher else { return Ok(spec) };
        let Some(argmax) = spec.argmax() else {
            return Err(Failure::bad_input(
                "--voters-per-teacher: only --mechanism noisy-argmax with --backend bfv takes \
                 counts",
            ));
        };
        let counts = Some(Counts::new(voters, self.protects, argmax.noise.family())?);
        self.spec.named(self.backend, Some(NoisyArgmax { counts, ..argmax }))
    }
}

pub(super) fn run(args: &PlanArgs, output: Output) -> Result<(), Failure> {
    let setting = args.spec.setting();
    let election = Election::new(args.teachers, args.classes, args.samples, setting)?;
    let spec = args.spec()?;
    let report = Report::default().keys(&spec);
    let report = match (args.backend, spec.argmax()) {
        (EngineName::Bfv, None) => bfv::plan(report, &election, spec, spec.trustees())?,
        (EngineName::Bfv, Some(argmax)) => {
            argmax::plan(report, &election, spec, argmax, spec.trustees())?
        }
        #[cfg(feature = "tfhe")]
        (EngineName::Tfhe, _) => tfhe::plan(report, &election)?,
        #[cfg(not(feature = "tfhe"))]
        (EngineName::Tfhe, _) => return Err(SpecError::NotBuilt(args.backend).into()),
        (EngineName::Clear, _) => return Err(SpecError::Clear.into()),
    };
    report.print(output)
}

/// What trustees send where they hold the key.
fn of_trustees<E: Jointly>(report: Report, engine: &E) -> Result<Report, Failure> {
    let ceremony = Ceremony::new(engine, &[0; 32]).map_err(Failure::failed)?;
    let (trustees, bytes) = (ceremony.trustees(), ceremony.bytes());
    let document = json!({
        "key_share_bytes": bytes.first,
        "second_key_share_bytes": bytes.second,
        "deal_bytes": bytes.deal,
        "dealt_share_bytes": bytes.dealt,
        "opening_bytes": bytes.opening,
        "checked_opening_bytes": bytes.checked,
    });
    let keys = format!(
        "{} and {} a trustee and set of keys",
        megabytes(bytes.first),
        megabytes(bytes.second)
    );
    let mut rows = vec![("trustees", format!("{trustees} open")), ("key shares", keys)];
    if trustees.shares() {
        let to_each = megabytes(bytes.dealt);
        rows.push(("deal", format!("{}, and {to_each} to each trustee", megabytes(bytes.deal))));
    }
    rows.push(("opening", format!("{} a trustee and batch", megabytes(bytes.opening))));
    Ok(report.keys(&document).rows(rows))
}

/// The noise after each stage, in bits: for machines, and for people.
fn stages(noise: &[(&str, f64)]) -> (Value, String) {
    let document = noise.iter().map(|(stage, bits)| json!({ "stage": stage, "bits": bits }));
    let words = noise.iter().map(|(stage, bits)| format!("{stage} {bits:.1}"));
    (document.collect(), words.collect::<Vec<_>>().join(", "))
}

/// What is known of a ballot, for people.
fn proven(proofs: bool, checked: &str) -> String {
    if !proofs {
        return checked.to_owned();
    }
    format!("each proves that it is well formed and that its maker knows it; {checked}")
}

/// Bytes, for people.
fn megabytes(bytes: usize) -> String {
    format!("{:.2} MB", bytes as f64 / 1e6)
}
