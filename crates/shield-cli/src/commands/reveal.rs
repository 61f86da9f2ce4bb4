//! `reveal`: the student reads the labels.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use shield_protocol::{Inspected, private};

use super::{Output, roles};
use crate::console::{self, Report, percent};
use crate::failure::Failure;
use crate::inputs::ElectionArgs;

/// Student: read the labels of an election
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shield reveal --election ward-7.toml --secret-key keys/secret.key \
    --results results.bin --out labels.csv\n\n\
    Without --out the labels go to stdout, one a line; a sample without a label is an empty \
    line. If samples show what honest ballots cannot cause, their labels are left out, all others \
    are written, and the exit code is 1: see `shield audit`."
)]
pub(super) struct RevealArgs {
    #[command(flatten)]
    election: ElectionArgs,

    /// The student's secret key
    #[arg(long, value_name = "FILE")]
    secret_key: PathBuf,

    /// What the server handed over
    #[arg(long, value_name = "FILE")]
    results: PathBuf,

    /// True labels to compare with: one integer a sample, .npy or .csv
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,

    /// Where to write the labels, .npy or .csv [default: stdout]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &RevealArgs, output: Output) -> Result<(), Failure> {
    args.out.as_deref().map(shield_data::check_target).transpose()?;
    let file = args.election.load()?;
    let election = file.election();
    let truth = args.labels.as_deref().map(shield_data::read_labels).transpose()?;
    if let (Some(truth), Some(path)) = (&truth, &args.labels) {
        truth
            .check(election.samples(), election.classes())
            .map_err(|error| Failure::bad_input(format!("{}: {error}", path.display())))?;
    }
    if private::is_open_to_others(&args.secret_key).unwrap_or(false) {
        console::warn(&format!(
            "{} can be read by others than its owner: chmod 600 it",
            args.secret_key.display()
        ));
    }
    let found = shield_protocol::inspect(&file, &args.secret_key, &args.results)?;
    let labels = &found.labels;
    let (samples, absent) =
        (labels.as_slice().len(), labels.as_slice().iter().filter(|label| label.is_none()).count());
    let correct = truth.map(|truth| truth.agreement(labels));
    let names = file.class_names();
    if let Some(path) = &args.out {
        shield_data::write_named_labels(path, labels, names).map_err(Failure::failed)?;
    }
    console::next(
        output,
        "use the labels, and keep them from the server's people: they know whom the server drew, \
         so no epsilon holds against them",
    );
    let excluded = found.transcript.excluded(found.transcript.rounds.len());
    let excluded_names: Vec<&str> = excluded.iter().map(|name| name.as_str()).collect();
    let alarms = found.alarms.iter();
    let alarms = alarms.map(|(at, alarm)| json!({"sample": at, "alarm": alarm.to_string()}));
    let turnout = found.transcript.turnout.iter();
    let turnout = turnout.map(|(samples, voters)| json!({"samples": samples, "voters": voters}));
    let share = |correct: usize| {
        let share = percent(correct as f64 / samples as f64);
        ("correct", format!("{correct} of {samples} ({share})"))
    };
    let mut report = Report::default()
        .fact("election", "election", file.name())
        .key("labels", labels.as_slice())
        .row("labelled", format!("{} of {samples} samples", samples - absent))
        .key("class_names", names)
        .key("alarms", alarms.collect::<Vec<_>>())
        .said("turnout", turnout.collect::<Vec<_>>(), "voters per sample", voters(&found))
        .key("excluded", &excluded)
        .rows(
            (!excluded.is_empty()).then(|| ("left out after an audit", excluded_names.join(", "))),
        )
        .key("correct", correct)
        .rows(correct.map(share));
    if let Some(path) = &args.out {
        report = report.row("labels", path.display().to_string());
    } else if output == Output::Tables {
        console::note(&report.table());
        console::print(&roles::lines(labels.as_slice(), names))?;
        return ended(&found);
    }
    report.print(output)?;
    ended(&found)
}

/// Fails if there were alarms.
fn ended(found: &Inspected) -> Result<(), Failure> {
    found.warning().map_or(Ok(()), |warning| Err(Failure::failed(warning)))
}

/// The fewest and the most voters that a sample had, by what the server published.
fn voters(found: &Inspected) -> String {
    let voters = || found.transcript.turnout.iter().map(|&(_, voters)| voters);
    match (voters().min(), voters().max()) {
        (Some(fewest), Some(most)) if fewest == most => fewest.to_string(),
        (Some(fewest), Some(most)) => format!("{fewest} to {most}"),
        _ => "unknown".to_owned(),
    }
}
