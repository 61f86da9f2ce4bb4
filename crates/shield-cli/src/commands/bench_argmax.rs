//! `bench --mechanism noisy-argmax`: TFHE's noisy argmax and the batched one, in one process.

use serde::Serialize;
use shield::shared_noise::{NoiseFamily, SharedNoise};
use shield::{Election, Votes};
use shield_bfv::argmax::ArgmaxBackend;

use super::measuring::measure;
use super::{Output, tfhe};
use crate::console::{self, duration};
use crate::failure::Failure;

/// TFHE takes seconds per sample, so it is measured on this many at most.
const TFHE_SAMPLES: usize = 2;

/// Both engines. What was not measured is null.
#[derive(Serialize)]
struct Comparison {
    teachers: usize,
    samples: usize,
    classes: usize,
    noise: f64,
    noise_law: NoiseFamily,
    dropouts: u32,
    threads: usize,
    tfhe_samples: Option<usize>,
    tfhe_seconds_per_sample: Option<f64>,
    bfv_seconds_per_sample: f64,
    ratio: Option<f64>,
    /// Whether every label is the argmax in the clear of the same votes with the same noise.
    labels_agree: bool,
}

/// What both engines are asked.
#[derive(Clone, Copy)]
pub(super) struct Question<'a> {
    pub(super) election: &'a Election,
    pub(super) votes: &'a Votes,
    pub(super) noise: SharedNoise,
    pub(super) threads: usize,
}

/// Runs both engines, or BFV alone in a program without TFHE.
pub(super) fn run(question: Question, output: Output) -> Result<(), Failure> {
    let Question { election, votes, noise, threads } = question;
    let backend = ArgmaxBackend::new(election.clone(), noise).map_err(Failure::bad_input)?;
    let bfv = measure(&backend, noise, votes)?;
    let few = votes.samples().min(TFHE_SAMPLES);
    let setting = election.setting().clone();
    let small = Election::new(votes.teachers(), election.classes(), few, setting)?;
    let tfhe = tfhe::measure_noisy_argmax(small, noise, votes)?;
    let comparison = Comparison {
        teachers: votes.teachers(),
        samples: bfv.samples,
        classes: election.classes().count(),
        noise: noise.scale().get(),
        noise_law: noise.family(),
        dropouts: noise.dropouts(),
        threads,
        tfhe_samples: tfhe.map(|tfhe| tfhe.samples),
        tfhe_seconds_per_sample: tfhe.map(|tfhe| tfhe.seconds_per_sample),
        bfv_seconds_per_sample: bfv.seconds_per_sample,
        ratio: tfhe.map(|tfhe| tfhe.seconds_per_sample / bfv.seconds_per_sample),
        labels_agree: bfv.labels_agree && tfhe.is_none_or(|tfhe| tfhe.labels_agree),
    };
    match output {
        Output::Json => console::print_json(&comparison),
        Output::Tables => console::print(&describe(&comparison)),
    }
}

fn describe(comparison: &Comparison) -> String {
    let plural = if comparison.threads == 1 { "" } else { "s" };
    let mut rows = vec![(
        "setting",
        format!(
            "{} teachers, {} samples, {} classes, {} noise of {}, {} thread{plural}",
            comparison.teachers,
            comparison.samples,
            comparison.classes,
            comparison.noise_law,
            comparison.noise,
            comparison.threads,
        ),
    )];
    if let (Some(seconds), Some(samples)) =
        (comparison.tfhe_seconds_per_sample, comparison.tfhe_samples)
    {
        rows.push(("tfhe", format!("{} per sample, of {samples}", duration(seconds))));
    }
    let bfv = duration(comparison.bfv_seconds_per_sample);
    rows.push(("bfv", format!("{bfv} per sample, from stored ballots to the release")));
    if let Some(ratio) = comparison.ratio {
        rows.push(("ratio", format!("{ratio:.0}")));
    }
    let agree = if comparison.labels_agree { "yes" } else { "NO" };
    rows.push(("the argmax in the clear", agree.to_owned()));
    console::properties(&rows)
}
