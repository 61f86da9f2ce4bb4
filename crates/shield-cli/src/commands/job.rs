//! `job`: one aggregation as a folder that can be stopped, resumed and shared.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use shield_protocol::{Job, Name, Progress};

use super::Output;
use crate::console;
use crate::failure::Failure;
use crate::inputs::{ElectionArgs, on_threads, system_rng};

/// Server: aggregate in steps that can be interrupted, repeated and shared among machines
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shield job freeze --election ward-7.toml --evaluation-key \
        evaluation.key --ballots ballots --out job\n  \
    shield job run job --batches 0-9        # on one machine\n  \
    shield job run job --batches 10-19      # on another that sees the same folders\n  \
    shield job finish job --out results.bin\n\n\
    Whoever computes a batch gets the same bytes. `shield aggregate` does all of it in one go.")]
pub(super) struct JobArgs {
    #[command(subcommand)]
    step: Step,
}

#[derive(Subcommand, Debug)]
enum Step {
    /// Check key and ballots, draw the seed, and write down what is to be computed
    Freeze(FreezeArgs),
    /// Compute batches that nobody has computed yet
    Run(RunArgs),
    /// Show what is there and what is missing
    Status {
        /// The job
        #[arg(value_name = "JOB")]
        job: PathBuf,
    },
    /// Write the results, once all batches are there
    Finish {
        /// The job
        #[arg(value_name = "JOB")]
        job: PathBuf,

        /// Where to write the results
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
}

#[derive(Args, Debug)]
struct FreezeArgs {
    #[command(flatten)]
    election: ElectionArgs,

    /// The student's evaluation key
    #[arg(long, value_name = "FILE")]
    evaluation_key: PathBuf,

    /// Folder of ballots, under any names; it must stay where it is until the job is finished
    #[arg(long, value_name = "FOLDER")]
    ballots: PathBuf,

    /// The server's part of the seed, as `shield commit` wrote it before anyone voted [default: a
    /// fresh one]
    #[arg(long, value_name = "FILE")]
    committed: Option<PathBuf>,

    /// Folder of the job; made if it is not there
    #[arg(long, value_name = "JOB")]
    out: PathBuf,
}

#[derive(Args, Debug)]
struct RunArgs {
    /// The job
    #[arg(value_name = "JOB")]
    job: PathBuf,

    /// Only these batches, counted from 0: `7`, or `0-9` for the first ten
    #[arg(long, value_name = "A-B")]
    batches: Option<Batches>,

    /// Number of threads [default: all cores]
    #[arg(long, value_name = "T")]
    threads: Option<usize>,
}

/// A range of batches.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Batches(RangeInclusive<usize>);

impl FromStr for Batches {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (first.trim().parse(), last.trim().parse()) {
            (Ok(first), Ok(last)) if first <= last => Ok(Self(first..=last)),
            _ => Err("give a batch, or the first and the last: 0-9".to_owned()),
        }
    }
}

pub(super) fn run(args: &JobArgs, output: Output) -> Result<(), Failure> {
    match &args.step {
        Step::Freeze(args) => freeze(args, output),
        Step::Run(args) => {
            let ran = on_threads(args.threads, |_| run_batches(args))??;
            show(&args.job, &ran.0, &[("computed", ran.1.into())], output)
        }
        Step::Status { job } => show(job, &Job::open(job)?, &[], output),
        Step::Finish { job: path, out } => {
            let job = Job::open(path)?;
            job.finish(out)?;
            console::note(&format!(
                "Give {} to the student. Keep {} on the server: its seed says whom the server \
                 drew.",
                out.display(),
                path.display()
            ));
            show(path, &job, &[("results", out.display().to_string().into())], output)
        }
    }
}

fn freeze(args: &FreezeArgs, output: Output) -> Result<(), Failure> {
    let file = args.election.load()?;
    let bar = console::progress(1, "checking ballots");
    let frozen = Job::freeze_committed(
        &file,
        &args.evaluation_key,
        &args.ballots,
        &args.out,
        args.committed.as_deref(),
        &mut system_rng(),
        &|progress| {
            if let Progress::Checked { of } = progress {
                bar.set_length(of as u64);
                bar.inc(1);
            }
        },
    );
    bar.finish_and_clear();
    show(&args.out, &frozen?, &[], output)
}

/// Computes what is missing of the batches asked for; gives the job and how many those were.
fn run_batches(args: &RunArgs) -> Result<(Job, usize), Failure> {
    let job = Job::open(&args.job)?;
    let batches = job.file().batches();
    if let Some(Batches(asked)) = &args.batches
        && *asked.end() >= batches
    {
        return Err(Failure::bad_input(format!(
            "--batches ends at {}, and the election has {batches} batches, counted from 0",
            asked.end()
        )));
    }
    let mut missing = job.missing();
    if let Some(Batches(asked)) = &args.batches {
        missing.retain(|batch| asked.contains(batch));
    }
    let bar = console::progress(missing.len() as u64, "aggregating");
    for &batch in &missing {
        job.put(batch, &job.run_batch(batch)?)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok((job, missing.len()))
}

/// Where a job is, with what was just done.
fn show(
    path: &Path,
    job: &Job,
    done: &[(&'static str, Value)],
    out: Output,
) -> Result<(), Failure> {
    let (batches, missing) = (job.file().batches(), job.missing());
    match out {
        Output::Json => {
            let voters = job.voters().iter();
            let voters =
                voters.map(|(voters, samples)| json!({"voters": voters, "samples": samples}));
            let mut status = json!({
                "job": path.display().to_string(),
                "election": job.file().name(),
                "batches": batches,
                "missing": missing,
                "voted": job.voted(),
                "absent": job.absent(),
                "voters": voters.collect::<Vec<_>>(),
            });
            for (key, value) in done {
                status[*key] = value.clone();
            }
            console::print_json(&status)
        }
        Output::Tables => {
            let teachers = job.file().teachers().len();
            let mut rows = vec![
                ("job", path.display().to_string()),
                ("election", job.file().name().to_string()),
                ("voted", format!("{} of {teachers} teachers", job.voted())),
            ];
            if !job.absent().is_empty() {
                let names: Vec<&str> = job.absent().iter().map(Name::as_str).take(20).collect();
                rows.push(("without a ballot", names.join(", ")));
            }
            rows.push(("computed", format!("{} of {batches} batches", batches - missing.len())));
            if let Some((_, results)) = done.iter().find(|(key, _)| *key == "results") {
                rows.push(("results", results.as_str().unwrap_or_default().to_owned()));
            }
            console::print(&console::properties(&rows))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_one_or_a_range() {
        for (text, range) in [("7", 7..=7), ("0-9", 0..=9), ("3 - 3", 3..=3)] {
            assert_eq!(text.parse::<Batches>(), Ok(Batches(range)), "{text}");
        }
        for bad in ["", "-", "9-0", "a-b", "1-2-3", "-1"] {
            assert!(bad.parse::<Batches>().is_err(), "{bad}");
        }
    }
}
