//! Every role of SPEED in one process, with any engine: what `label`, `demo` and the commands of
//! the TFHE engine run.

use std::ops::ControlFlow;

use serde::Serialize;
use shield::backend::Backend;
use shield::labelling::{self, BallotRandomness, Labelled, Seconds};
use shield::{Label, Labels, Seed, Votes};

use crate::console::{self, duration, percent};
use crate::failure::Failure;

/// What a run gave.
#[derive(Debug, Serialize)]
pub(super) struct Labelling {
    pub(super) labels: Vec<Label>,
    /// How many equal the true labels, where those are known.
    pub(super) correct: Option<usize>,
    pub(super) seconds: Seconds,
    /// Of the aggregation, which is what the paper reports.
    pub(super) seconds_per_sample: f64,
    pub(super) threads: usize,
    pub(super) backend: &'static str,
}

/// What is labelled, and how.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    pub(super) votes: &'a Votes,
    pub(super) truth: Option<&'a Labels>,
    pub(super) seed: &'a Seed,
    pub(super) threads: usize,
    pub(super) ballots: BallotRandomness,
    /// Told how many more samples are labelled.
    pub(super) done: &'a (dyn Fn(u64) + Sync),
}

impl<'a> Run<'a> {
    /// A run whose labels are compared with nothing, with ballots of the teachers' own randomness.
    pub(super) fn new(
        votes: &'a Votes,
        seed: &'a Seed,
        threads: usize,
        done: &'a (dyn Fn(u64) + Sync),
    ) -> Self {
        Self { votes, truth: None, seed, threads, ballots: BallotRandomness::Fresh, done }
    }
}

/// Every role, with this engine.
pub(super) fn label_with<B: Backend>(backend: &B, run: &Run) -> Result<Labelling, Failure> {
    let &Run { votes, truth, seed, threads, ballots: randomness, done } = run;
    let progress = |samples| {
        done(samples);
        ControlFlow::Continue(())
    };
    let run = labelling::label(backend, votes, seed, randomness, &progress);
    let Labelled { labels, seconds } = run.map_err(Failure::failed)?;
    let found = Labels::new(labels)?;
    Ok(Labelling {
        correct: truth.map(|truth| truth.agreement(&found)),
        seconds_per_sample: seconds.aggregate / votes.samples() as f64,
        labels: found.as_slice().to_vec(),
        seconds,
        threads,
        backend: backend.name(),
    })
}

/// The run in a few lines.
pub(super) fn describe(labelling: &Labelling) -> String {
    let samples = labelling.labels.len();
    let absent = labelling.labels.iter().filter(|label| label.is_none()).count();
    let seconds = labelling.seconds;
    let mut rows = vec![(
        "labelled",
        format!("{} of {samples} samples ({} backend)", samples - absent, labelling.backend),
    )];
    if let Some(correct) = labelling.correct {
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
                labelling.threads,
                if labelling.threads == 1 { "" } else { "s" },
                duration(labelling.seconds_per_sample)
            ),
        ),
        ("decryption", duration(seconds.decrypt)),
    ]);
    console::properties(&rows)
}
