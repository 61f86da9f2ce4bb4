//! `job`: one aggregation as a folder that can be stopped, resumed and shared.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use clap::{Args, Subcommand};
use shield_core::Watch;
use shield_core::labelling::side_by_side;
use shield_protocol::job::lease::{LeaseLength, Worker};
use shield_protocol::{Inputs, Job, Name};

use super::Output;
use super::aggregate::voters_document;
use crate::console::{self, Report};
use crate::failure::Failure;
use crate::inputs::{AggregationArgs, system_rng};

/// Server: aggregate in steps, on one machine or several
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shield job freeze --election ward-7.toml --evaluation-key \
        evaluation.key --ballots ballots --out job\n  \
    shield job run job --batches 0-9        # on one machine\n  \
    shield job run job --batches 10-19      # on another that sees the same folders\n  \
    shield job run job --lease 60           # or on both: they share what is left\n  \
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
    /// Compute the jobs of a folder as they come, such as those of `shield-server serve --jobs`
    Work(WorkArgs),
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
    of: AggregationArgs,

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

    /// Share the batches with everybody else who does this: take those that nobody has leased, for
    /// so many seconds, renewed while they are computed. Ends when all are there
    #[arg(long, value_name = "SECONDS", value_parser = lease_length)]
    lease: Option<LeaseLength>,
}

#[derive(Args, Debug)]
struct WorkArgs {
    /// The folder of the jobs
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,

    /// How long a batch is leased; renewed while it is computed
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = lease_length)]
    lease: LeaseLength,

    /// End when no job has anything left to compute, instead of waiting for more
    #[arg(long)]
    once: bool,
}

fn lease_length(text: &str) -> Result<LeaseLength, String> {
    let length = text.parse().ok().and_then(LeaseLength::from_seconds);
    length.ok_or_else(|| format!("give a number of seconds from 1 to {}", LeaseLength::LONGEST))
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
            let (job, computed) = run_batches(args)?;
            describe(&args.job, &job).key("computed", computed).print(output)
        }
        Step::Work(args) => work(args),
        Step::Status { job } => describe(job, &Job::open(job)?).print(output),
        Step::Finish { job: path, out } => {
            let job = Job::open(path)?;
            job.finish(out)?;
            console::note(&format!(
                "Give {} to the student. Keep {} on the server: its seed says whom the server \
                 drew.",
                out.display(),
                path.display()
            ));
            describe(path, &job).file("results", "results", out).print(output)
        }
    }
}

fn freeze(args: &FreezeArgs, output: Output) -> Result<(), Failure> {
    let file = args.of.election.load()?;
    let frozen = console::watched("checking ballots", |watch| {
        let inputs = Inputs::new(&file, &args.of.evaluation_key, &args.of.ballots);
        let committed = args.of.committed.as_deref();
        Job::freeze(&inputs, &args.out, committed, &mut system_rng(), watch)
    });
    describe(&args.out, &frozen?).print(output)
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
    let wanted = |batch: &usize| args.batches.as_ref().is_none_or(|asked| asked.0.contains(batch));
    let computed = console::watched("aggregating", |watch| -> Result<usize, Failure> {
        if let Some(length) = args.lease {
            let worker = Worker::new(&mut system_rng());
            return Ok(job.share(|batch| wanted(&batch), &worker, length, watch)?);
        }
        let missing: Vec<usize> = job.missing().into_iter().filter(wanted).collect();
        watch.begin("aggregating", missing.len() as u64);
        let computed = side_by_side(&missing, |&batch| job.put(batch, &job.run_batch(batch)?));
        computed.inspect(|_| watch.add(1)).collect::<Result<(), _>>()?;
        Ok(missing.len())
    })?;
    Ok((job, computed))
}

/// How often a folder is looked through for new jobs.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// Computes the jobs of a folder as they come. One that cannot be computed holds up no other.
fn work(args: &WorkArgs) -> Result<(), Failure> {
    let worker = Worker::new(&mut system_rng());
    let mut failed: HashMap<PathBuf, String> = HashMap::new();
    // Jobs that were found to be complete, and when their batches last changed.
    let mut complete: HashMap<PathBuf, SystemTime> = HashMap::new();
    loop {
        for path in jobs_in(&args.folder)? {
            let changed = path.join("parts").metadata().and_then(|parts| parts.modified()).ok();
            if changed.is_some() && complete.get(&path) == changed.as_ref() {
                continue;
            }
            let done = Job::open(&path).and_then(|job| {
                let computed = job.share(|_| true, &worker, args.lease, &Watch::default())?;
                Ok((computed, job.file().name().clone()))
            });
            match done {
                Ok((computed, name)) => {
                    failed.remove(&path);
                    complete.extend(changed.map(|changed| (path, changed)));
                    if computed > 0 {
                        console::note(&format!("{name}: computed {computed} batches"));
                    }
                }
                Err(error) => {
                    let error = error.to_string();
                    if failed.get(&path) != Some(&error) {
                        console::warn(&error);
                    }
                    failed.insert(path, error);
                }
            }
        }
        if args.once {
            let failed = failed.into_values().next();
            return failed.map_or(Ok(()), |error| Err(Failure::failed(error)));
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// The jobs of a folder that were frozen, by name.
fn jobs_in(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let place = |error| Failure::bad_input(format!("{}: {error}", folder.display()));
    let entries = std::fs::read_dir(folder).map_err(place)?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>();
    let mut paths = paths.map_err(place)?;
    paths.retain(|path| path.join("job.toml").is_file());
    paths.sort();
    Ok(paths)
}

/// Where a job is.
fn describe(path: &Path, job: &Job) -> Report {
    let (file, missing) = (job.file(), job.missing());
    let (batches, teachers) = (file.batches(), file.teachers().len());
    let voted = job.ballots().voted();
    let absent = job.absent();
    let named: Vec<&str> = absent.iter().map(Name::as_str).take(20).collect();
    let report = Report::default()
        .file("job", "job", path)
        .fact("election", "election", file.name())
        .key("batches", batches)
        .said("voted", voted, "voted", format!("{voted} of {teachers} teachers"))
        .key("absent", &absent)
        .key("voters", voters_document(&job.voters()))
        .rows((!named.is_empty()).then(|| ("without a ballot", named.join(", "))));
    let computed = format!("{} of {batches} batches", batches - missing.len());
    report.said("missing", missing, "computed", computed)
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
