//! Every role of SPEED in one process, with any engine: what `label` and `demo` run.

use serde::Serialize;
use shield_core::labelling::{Labelled, Seconds};
use shield_core::{ClassNames, Election, Label, Labels};
use shield_protocol::engine::{EngineSpec, Labelling};

use crate::console::{self, duration, percent};
use crate::failure::Failure;

/// What a run gave.
#[derive(Debug, Serialize)]
pub(super) struct Outcome {
    pub(super) labels: Vec<Label>,
    /// How many equal the true labels, where those are known.
    pub(super) correct: Option<usize>,
    pub(super) seconds: Seconds,
    /// Of the aggregation, which is what the paper reports.
    pub(super) seconds_per_sample: f64,
    pub(super) threads: usize,
    #[serde(rename = "backend")]
    pub(super) engine: String,
}

/// Every role, with the engine that the spec names.
pub(super) fn label(
    spec: EngineSpec,
    election: &Election,
    votes: Labelling,
    truth: Option<&Labels>,
) -> Result<Outcome, Failure> {
    let Labelled { labels, seconds } = spec.with(election, votes)?.map_err(Failure::failed)?;
    let found = Labels::new(labels)?;
    Ok(Outcome {
        correct: truth.map(|truth| truth.agreement(&found)),
        seconds_per_sample: seconds.aggregate / election.samples() as f64,
        labels: found.as_slice().to_vec(),
        seconds,
        threads: rayon::current_num_threads(),
        engine: spec.engine_name().to_string(),
    })
}

/// The run in a few lines.
pub(super) fn describe(outcome: &Outcome) -> String {
    let samples = outcome.labels.len();
    let absent = outcome.labels.iter().filter(|label| label.is_none()).count();
    let seconds = outcome.seconds;
    let mut rows = vec![(
        "labelled",
        format!("{} of {samples} samples (engine {})", samples - absent, outcome.engine),
    )];
    if let Some(correct) = outcome.correct {
        let share = percent(correct as f64 / samples as f64);
        rows.push(("correct", format!("{correct} of {samples} ({share})")));
    }
    rows.extend([
        ("keys", duration(seconds.keygen)),
        ("encryption", format!("{}, all teachers", duration(seconds.encrypt))),
    ]);
    // Only the TFHE engine does anything with a ballot when it arrives.
    if seconds.receive > 1e-3 {
        rows.push(("arrival", format!("{}, all ballots", duration(seconds.receive))));
    }
    rows.extend([
        (
            "aggregation",
            format!(
                "{} on {} thread{}, {} per sample",
                duration(seconds.aggregate),
                outcome.threads,
                if outcome.threads == 1 { "" } else { "s" },
                duration(outcome.seconds_per_sample)
            ),
        ),
        ("decryption", duration(seconds.decrypt)),
    ]);
    console::properties(&rows)
}

/// Labels for people and pipes: one per line, by name where the classes have names, and an empty
/// line where there is none.
pub(super) fn lines(labels: &[Label], names: Option<&ClassNames>) -> String {
    let line = |label: &Label| match label {
        None => "\n".to_owned(),
        Some(class) => match names.and_then(|names| names.name(*class)) {
            Some(name) => format!("{name}\n"),
            None => format!("{class}\n"),
        },
    };
    labels.iter().map(line).collect()
}
