//! `reveal`: the student reads the labels.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use shield::{Label, files};
use shield_protocol::{Inspected, private};

use super::Output;
use crate::console::{self, percent};
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
    args.out.as_deref().map(files::check_target).transpose()?;
    let file = args.election.load()?;
    let election = file.election();
    let truth = args.labels.as_deref().map(files::read_labels).transpose()?;
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
        files::write_named_labels(path, labels, names).map_err(Failure::failed)?;
    }
    console::next(
        output,
        "use the labels, and keep them from the server's people: they know whom the server drew, \
         so no epsilon holds against them",
    );
    let mut rows = vec![
        ("election", file.name().to_string()),
        ("labelled", format!("{} of {samples} samples", samples - absent)),
        ("voters per sample", voters(&found)),
    ];
    let excluded = found.transcript.excluded(found.transcript.rounds.len());
    if !excluded.is_empty() {
        let names: Vec<&str> = excluded.iter().map(|name| name.as_str()).collect();
        rows.push(("left out after an audit", names.join(", ")));
    }
    if let Some(correct) = correct {
        let share = percent(correct as f64 / samples as f64);
        rows.push(("correct", format!("{correct} of {samples} ({share})")));
    }
    let shown = match (output, &args.out) {
        (Output::Json, _) => console::print_json(&json!({
            "election": file.name(),
            "labels": labels.as_slice(),
            "class_names": names,
            "correct": correct,
            "alarms": found.alarms.iter()
                .map(|(sample, alarm)| json!({"sample": sample, "alarm": alarm.to_string()}))
                .collect::<Vec<_>>(),
            "turnout": found.transcript.turnout.iter()
                .map(|(samples, voters)| json!({"samples": samples, "voters": voters}))
                .collect::<Vec<_>>(),
            "excluded": excluded,
        })),
        (Output::Tables, Some(path)) => {
            rows.push(("labels", path.display().to_string()));
            console::print(&console::properties(&rows))
        }
        (Output::Tables, None) => {
            console::note(&console::properties(&rows));
            let line = |label: &Label| match label {
                None => "\n".to_owned(),
                Some(class) => match names.and_then(|names| names.name(*class)) {
                    Some(name) => format!("{name}\n"),
                    None => format!("{class}\n"),
                },
            };
            console::print(&labels.as_slice().iter().map(line).collect::<String>())
        }
    };
    shown?;
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
