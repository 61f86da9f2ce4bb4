//! `aggregate`: the server's work, from a folder of ballots to results that only the student can
//! read.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use serde_json::json;
use shield::{Delta, Epsilon};
use shield_protocol::hex::hex;
use shield_protocol::transcript::transcript_path;
use shield_protocol::{Aggregated, ElectionFile, Name, Progress};
use shield_server::ledger::{Accountant, Cost};

use super::Output;
use crate::console::{self, duration};
use crate::failure::Failure;
use crate::inputs::{ElectionArgs, on_threads, system_rng};

/// Server: aggregate a folder of ballots, once
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shield aggregate --election ward-7.toml --evaluation-key \
        evaluation.key --ballots ballots --out results.bin\n\n\
    Every file in the folder must be a ballot of this election; hidden files are left out. The \
    seed of all draws is stored as results.bin.seed before the work starts, and stays with the \
    server. Run again, the command gives the same bytes; with other ballots it refuses.")]
pub(super) struct AggregateArgs {
    #[command(flatten)]
    election: ElectionArgs,

    /// The student's evaluation key
    #[arg(long, value_name = "FILE")]
    evaluation_key: PathBuf,

    /// Folder of ballots, under any names
    #[arg(long, value_name = "FOLDER")]
    ballots: PathBuf,

    /// Where to write the results; their seed is stored beside them
    #[arg(long, value_name = "FILE")]
    out: PathBuf,

    /// The server's part of the seed, as `shield commit` wrote it before anyone voted [default: a
    /// fresh one]
    #[arg(long, value_name = "FILE")]
    committed: Option<PathBuf>,

    /// Number of threads [default: all cores]
    #[arg(long, value_name = "T")]
    threads: Option<usize>,
}

pub(super) fn run(args: &AggregateArgs, output: Output) -> Result<(), Failure> {
    let file = args.election.load()?;
    let start = Instant::now();
    let (aggregated, threads) =
        on_threads(args.threads, |threads| (aggregate(args, &file), threads))?;
    let aggregated = aggregated?;
    let seconds = start.elapsed().as_secs_f64();
    let delta = Delta::default();
    let spinner = console::spinner("proving the privacy figure");
    let cost = Cost::new(&file, aggregated.voters.clone());
    let epsilon = Accountant::default().total(&[cost], delta);
    spinner.finish_and_clear();
    let transcript = transcript_path(&args.out);
    if aggregated.again {
        console::note("The seed was there already: these are the same results as before.");
    }
    if epsilon == Epsilon::INFINITE {
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
            args.election.election.display(),
            args.out.display()
        ),
    );
    match output {
        Output::Json => {
            let voters = aggregated.voters.iter();
            let voters =
                voters.map(|(voters, samples)| json!({"voters": voters, "samples": samples}));
            console::print_json(&json!({
                "election": file.name(),
                "voted": aggregated.voted,
                "missing": aggregated.missing,
                "voters": voters.collect::<Vec<_>>(),
                "queries": file.election().samples(),
                "delta": delta,
                "epsilon": epsilon,
                "results": args.out.display().to_string(),
                "seed": aggregated.seed.display().to_string(),
                "commitment": hex(&aggregated.commitment),
                "transcript": transcript.display().to_string(),
                "again": aggregated.again,
                "seconds": seconds,
                "threads": threads,
            }))
        }
        Output::Tables => console::print(&console::properties(&[
            ("election", file.name().to_string()),
            ("voted", voted(&aggregated)),
            ("voters per sample", voters(&aggregated)),
            (
                "privacy",
                format!(
                    "epsilon {epsilon:.4} for the {} labels of this election alone, delta {:e}: \
                     proven for all votes, safe to publish",
                    file.election().samples(),
                    delta.get()
                ),
            ),
            ("results", args.out.display().to_string()),
            ("transcript", transcript.display().to_string()),
            ("took", duration(seconds)),
        ])),
    }
}

fn aggregate(args: &AggregateArgs, file: &ElectionFile) -> Result<Aggregated, Failure> {
    let bar = console::progress(0, "checking");
    let step = |progress| match progress {
        Progress::Checked { of } => {
            bar.set_length(of as u64);
            bar.inc(1);
        }
        Progress::Aggregated { done, of } => {
            bar.set_message("aggregating");
            bar.set_length(of as u64);
            bar.set_position(done as u64);
        }
    };
    let aggregated = shield_protocol::aggregate_committed(
        file,
        &args.evaluation_key,
        &args.ballots,
        &args.out,
        args.committed.as_deref(),
        &mut system_rng(),
        &step,
    );
    bar.finish_and_clear();
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

fn voters(aggregated: &Aggregated) -> String {
    match aggregated.voters.as_slice() {
        [(voters, _)] => format!("{voters} on each"),
        several => {
            let each = several.iter().map(|(voters, samples)| format!("{voters} on {samples}"));
            each.collect::<Vec<_>>().join(", ")
        }
    }
}
