//! `reveal`: the student reads the labels.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use shield_protocol::{Inspected, PlannedElection, private, signed};

use super::{Output, roles};
use crate::console::{self, Report, percent};
use crate::failure::Failure;
use crate::inputs::{TrustArgs, read_election};

/// Student: read the labels of an election
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shield reveal --election ward-7.toml --secret-key keys/secret.key \
    --results results.bin --out labels.csv\n\n\
    Without --out the labels go to stdout, one a line; a sample without a label is an empty \
    line. If samples show what honest ballots cannot cause, their labels are left out, all others \
    are written, and the exit code is 1: see `shield audit`.\n\n\
    Signed election:\n  shield reveal --board ward-7.board --secret-key keys/secret.key\n\n\
    Nothing is decrypted before the board was checked and the election's auditors have signed \
    that they computed the results again."
)]
pub(super) struct RevealArgs {
    /// The election file (TOML) that all parties have
    #[arg(long, value_name = "FILE", required_unless_present = "board", requires = "results")]
    election: Option<PathBuf>,

    /// A copy of the board of a signed election, without ballots
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["election", "results"])]
    board: Option<PathBuf>,

    #[command(flatten)]
    trust: TrustArgs,

    /// The student's secret key
    #[arg(long, value_name = "FILE")]
    secret_key: PathBuf,

    /// What the server handed over
    #[arg(long, value_name = "FILE", requires = "election")]
    results: Option<PathBuf>,

    /// True labels to compare with: one integer a sample, .npy or .csv
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,

    /// Where to write the labels, .npy or .csv [default: stdout]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &RevealArgs, output: Output) -> Result<(), Failure> {
    args.out.as_deref().map(shield_data::check_target).transpose()?;
    let truth = args.labels.as_deref().map(shield_data::read_labels).transpose()?;
    if private::is_open_to_others(&args.secret_key).unwrap_or(false) {
        console::warn(&format!(
            "{} can be read by others than its owner: chmod 600 it",
            args.secret_key.display()
        ));
    }
    let (file, found) = decrypt(args)?;
    if let (Some(truth), Some(path)) = (&truth, &args.labels) {
        let election = file.election();
        truth
            .check(election.samples(), election.classes())
            .map_err(|error| Failure::bad_input(format!("{}: {error}", path.display())))?;
    }
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

/// The election, and what its results show.
fn decrypt(args: &RevealArgs) -> Result<(PlannedElection, Inspected), Failure> {
    match (&args.board, &args.election, &args.results) {
        (Some(board), ..) => {
            let election = signed::open_as_student(board)?;
            args.trust.check(&election)?;
            let open = |watch: &_| signed::open_results(&election, &args.secret_key, watch);
            let found = console::watched("checking the board", open)?;
            Ok((election.file().clone(), found))
        }
        (None, Some(election), Some(results)) => {
            let file = read_election(election)?;
            let found = shield_protocol::inspect(&file, &args.secret_key, results)?;
            Ok((file, found))
        }
        _ => Err(Failure::bad_input("give --election and --results, or --board")),
    }
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
