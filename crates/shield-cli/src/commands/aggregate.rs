//! `aggregate`: the server's work, from a folder of ballots to results that only the student can
//! read.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use serde_json::{Value, json};
use shield_core::Delta;
use shield_protocol::hex::hex;
use shield_protocol::ledger::{Accountant, Cost};
use shield_protocol::transcript::transcript_path;
use shield_protocol::{Aggregated, Inputs, Name, PlannedElection};

use super::Output;
use crate::console::{self, Report, duration};
use crate::failure::Failure;
use crate::inputs::{AggregationArgs, system_rng};

/// Server: aggregate a folder of ballots, once
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shield aggregate --election ward-7.toml --evaluation-key \
        evaluation.key --ballots ballots --out results.bin\n\n\
    Every file in the folder must be a ballot of this election; hidden files are left out. The \
    seed of all draws is stored as results.bin.seed before the work starts, and stays with the \
    server. Run again, the command gives the same bytes; with other ballots it refuses.")]
pub(super) struct AggregateArgs {
    #[command(flatten)]
    of: AggregationArgs,

    /// Where to write the results; their seed is stored beside them
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

pub(super) fn run(args: &AggregateArgs, output: Output) -> Result<(), Failure> {
    let file = args.of.election.load()?;
    let start = Instant::now();
    let aggregated = aggregate(args, &file)?;
    let seconds = start.elapsed().as_secs_f64();
    let delta = Delta::default();
    let cost = Cost::new(&file, aggregated.voters.clone());
    let epsilon = console::watched("proving the privacy figure", |_| {
        Accountant::default().total(&[cost], delta)
    });
    let transcript = transcript_path(&args.out);
    if aggregated.again {
        console::note("The seed was there already: these are the same results as before.");
    }
    if !epsilon.epsilon().is_finite() {
        console::warn(
            "epsilon is infinite: with offset 0 one vote can make a label possible that was not",
        );
    }
    console::note(&format!(
        "Give {} to the student, and {} to everybody: it says whose ballots were counted. Keep {} \
         on the server: whoever reads it knows whom the server drew.",
        args.out.display(),
        transcript.display(),
        aggregated.seed.display()
    ));
    console::next(
        output,
        &format!(
            "the student runs: shield reveal --election {} --secret-key secret.key --results {} \
             --out labels.csv",
            args.of.election.election.display(),
            args.out.display()
        ),
    );
    Report::default()
        .fact("election", "election", file.name())
        .said("voted", &aggregated.voted, "voted", voted(&aggregated))
        .key("missing", &aggregated.missing)
        .said(
            "voters",
            voters_document(&aggregated.voters),
            "voters per sample",
            voters(&aggregated),
        )
        .key("queries", file.election().samples())
        .key("delta", delta)
        .said(
            "epsilon",
            epsilon,
            "privacy",
            format!(
                "epsilon {epsilon:.4} for the {} labels of this election alone, delta {:e}: proven \
                 for all votes, safe to publish",
                file.election().samples(),
                delta.get()
            ),
        )
        .file("results", "results", &args.out)
        .key("seed", aggregated.seed.display().to_string())
        .key("commitment", hex(&aggregated.commitment))
        .file("transcript", "transcript", &transcript)
        .key("again", aggregated.again)
        .said("seconds", seconds, "took", duration(seconds))
        .key("threads", rayon::current_num_threads())
        .print(output)
}

fn aggregate(args: &AggregateArgs, file: &PlannedElection) -> Result<Aggregated, Failure> {
    let aggregated = console::watched("checking ballots", |watch| {
        let inputs = Inputs::new(file, &args.of.evaluation_key, &args.of.ballots);
        let committed = args.of.committed.as_deref();
        shield_protocol::aggregate(&inputs, &args.out, committed, &mut system_rng(), watch)
    });
    Ok(aggregated?)
}

fn voted(aggregated: &Aggregated) -> String {
    let (voted, missing) = (aggregated.voted.len(), &aggregated.missing);
    let all = voted + missing.len();
    if missing.is_empty() {
        return format!("all {all} teachers");
    }
    let names: Vec<&str> = missing.iter().map(Name::as_str).collect();
    format!("{voted} of {all} teachers; without {}", names.join(", "))
}

/// How many samples have how many voters, for machines.
pub(super) fn voters_document(voters: &[(u32, u64)]) -> Vec<Value> {
    voters.iter().map(|(voters, samples)| json!({"voters": voters, "samples": samples})).collect()
}

fn voters(aggregated: &Aggregated) -> String {
    match aggregated.voters.as_slice() {
        [(voters, _)] => format!("{voters} on each"),
        several => {
            let each = several.iter().map(|(voters, samples)| format!("{voters} on {samples}"));
            each.collect::<Vec<_>>().join(", ")
        }
    }
}
