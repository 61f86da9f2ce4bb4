//! `analyze`: how accurate a mechanism is on given votes.

use clap::Args;
use serde::Serialize;
use shield::{Accuracy, Histogram, Mechanism};

use super::Output;
use crate::console::{self, percent};
use crate::failure::Failure;
use crate::inputs::{MechanismArgs, VotesArgs};

/// Accuracy of a mechanism on given votes
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shield analyze --votes examples/synthetic/votes.npy \
    --labels examples/synthetic/labels.npy --polynomial 2X^3+3X^2+X --offset 5"
)]
pub(super) struct AnalyzeArgs {
    #[command(flatten)]
    votes: VotesArgs,

    #[command(flatten)]
    mechanism: MechanismArgs,
}

#[derive(Serialize)]
struct Shape {
    samples: usize,
    teachers: usize,
    classes: usize,
}

#[derive(Serialize)]
struct NamedMechanism<'a> {
    name: &'static str,
    #[serde(flatten)]
    mechanism: &'a Mechanism,
}

#[derive(Serialize)]
struct Analysis<'a> {
    votes: Shape,
    mechanism: NamedMechanism<'a>,
    accuracy: Accuracy,
}

pub(super) fn run(args: &AnalyzeArgs, output: Output) -> Result<(), Failure> {
    let (votes, labels) = args.votes.load()?;
    let mechanism = args.mechanism.mechanism();
    let histograms: Vec<Histogram> = votes.histograms().collect();
    let accuracy = Accuracy::of(&mechanism, &histograms, labels.as_ref());
    let analysis = Analysis {
        votes: Shape {
            samples: votes.samples(),
            teachers: votes.teachers(),
            classes: votes.classes().count(),
        },
        mechanism: NamedMechanism {
            name: "shield",
            mechanism: &mechanism,
        },
        accuracy,
    };
    match output {
        Output::Json => console::print_json(&analysis),
        Output::Tables => console::print(&describe(&analysis)),
    }
}

fn describe(analysis: &Analysis) -> String {
    let Shape {
        samples,
        teachers,
        classes,
    } = analysis.votes;
    let mechanism = analysis.mechanism.mechanism;
    let accuracy = analysis.accuracy;
    let mut rows = vec![
        (
            "votes",
            format!("{samples} samples x {teachers} teachers, {classes} classes"),
        ),
        (
            "mechanism",
            format!(
                "{}, offset {}, {}",
                mechanism.polynomial, mechanism.offset, mechanism.sampling
            ),
        ),
        (
            "ground-truth accuracy (GTA)",
            percent(accuracy.ground_truth),
        ),
        ("probability of the argmax", percent(accuracy.argmax)),
    ];
    if let Some(correct) = accuracy.correct_labels {
        let share = percent(correct / samples as f64);
        rows.push((
            "expected correct labels",
            format!("{correct:.1} of {samples} ({share})"),
        ));
    }
    if mechanism.polynomial.can_fail() || accuracy.failure > 0.0 {
        rows.push(("probability of no label", percent(accuracy.failure)));
    }
    console::properties(&rows)
}
