//! `bench`: the paper's circuit and ours, in one process, on the same votes and draws.

use std::time::Instant;

use clap::{Args, ValueEnum};
use rand::rngs::OsRng;
use rand::{SeedableRng, TryRngCore, rngs::StdRng};
use serde::Serialize;
use shield::backend::{Backend, MemoryBallotBox};
use shield::shared_noise::NoiseFamily;
use shield::{Classes, Election, Label, Seed, Votes, synthetic};
use shield_bfv::{BfvBackend, ReleaseMode, baseline};

use super::{Output, bench_argmax, tfhe};
use crate::console::{self, duration};
use crate::failure::Failure;
use crate::inputs::{MechanismArgs, MechanismName, NoiseArgs, on_threads};

/// Time the paper's circuit and ours, side by side
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shield bench\n\nThe paper's circuit takes a minute and a half \
    with the defaults, on one thread. Times are of the aggregation, which is what the paper \
    reports.\n\n\
    With --backend tfhe: the engines that answer one sample at once, on the paper's four \
    polynomials, and the BFV engine at 1, 100 and 512 samples beside them.\n\n\
    With --mechanism noisy-argmax: TFHE's noisy argmax, on two samples, and the batched one of \
    BFV, from stored ballots to the release."
)]
pub(super) struct BenchArgs {
    /// Number of teachers
    #[arg(long, value_name = "N", default_value_t = 250)]
    teachers: usize,

    /// Number of samples [default: 100; with --backend tfhe 20 for each polynomial; with
    /// --mechanism noisy-argmax 2048]
    #[arg(long, value_name = "S")]
    samples: Option<usize>,

    /// Whose circuits
    #[arg(long, value_enum, default_value_t)]
    backend: BackendName,

    /// Number of classes
    #[arg(long, value_name = "K", default_value = "10")]
    classes: Classes,

    /// SHIELD's circuits, or those of SPEED's exact argmax of counts with noise in shares
    #[arg(long = "mechanism", value_name = "NAME", value_enum, default_value_t)]
    name: MechanismName,

    #[command(flatten)]
    mechanism: MechanismArgs,

    #[command(flatten)]
    noise: NoiseArgs,

    /// Number of threads, for both
    #[arg(long, value_name = "T", default_value_t = 1)]
    threads: usize,

    /// Leave out the paper's circuit and time only ours
    #[arg(long)]
    ours_only: bool,
}

/// The encrypted engines by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum BackendName {
    /// Many samples per ciphertext
    #[default]
    Bfv,
    /// One sample at once (built with --features tfhe)
    Tfhe,
}

#[cfg(feature = "tfhe")]
impl BenchArgs {
    pub(super) fn teachers(&self) -> usize {
        self.teachers
    }

    pub(super) fn classes(&self) -> Classes {
        self.classes
    }

    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    pub(super) fn mechanism(&self) -> shield::Setting {
        self.mechanism.mechanism()
    }
}

impl BenchArgs {
    pub(super) fn samples_or(&self, default: usize) -> usize {
        self.samples.unwrap_or(default)
    }
}

#[derive(Serialize)]
struct Comparison {
    teachers: usize,
    samples: usize,
    classes: usize,
    polynomial: String,
    threads: usize,
    published_seconds: Option<f64>,
    shield_seconds: f64,
    /// The best of several runs; the first, with cold caches, is `shield_first_seconds`.
    shield_first_seconds: f64,
    seconds_per_sample: f64,
    ratio: Option<f64>,
    labels_agree: bool,
}

/// Runs of our circuit: it is short, so the best of a few says more than one.
const RUNS: usize = 3;

pub(super) fn run(args: &BenchArgs, output: Output) -> Result<(), Failure> {
    if args.name == MechanismName::NoisyArgmax {
        return noisy_argmax(args, output);
    }
    if args.backend == BackendName::Tfhe {
        return tfhe::bench(args, output);
    }
    let samples = args.samples_or(100);
    let (votes, _) = synthetic::votes(args.teachers, args.classes, samples, 1)?;
    let mechanism = args.mechanism.mechanism();
    let election = Election::new(args.teachers, args.classes, samples, mechanism)?;
    let comparison = on_threads(Some(args.threads), |_| compare(args, &election, &votes))??;
    match output {
        Output::Json => console::print_json(&comparison),
        Output::Tables => console::print(&describe(&comparison)),
    }
}

fn noisy_argmax(args: &BenchArgs, output: Output) -> Result<(), Failure> {
    let samples = args.samples_or(2048);
    let (votes, _) = synthetic::votes(args.teachers, args.classes, samples, 1)?;
    let setting = args.mechanism.mechanism();
    let election = Election::new(args.teachers, args.classes, samples, setting)?;
    let noise = args.noise.shared(election.teachers(), NoiseFamily::Skellam)?;
    on_threads(Some(args.threads), |threads| {
        let (election, votes) = (&election, &votes);
        bench_argmax::run(bench_argmax::Question { election, votes, noise, threads }, output)
    })?
}

fn compare(args: &BenchArgs, election: &Election, votes: &Votes) -> Result<Comparison, Failure> {
    let mut rng = StdRng::from_rng(&mut OsRng.unwrap_err());
    let seed = Seed::random(&mut OsRng.unwrap_err());
    let (labels, seconds) = ours(election, votes, &seed, &mut rng)?;
    let published = if args.ours_only {
        None
    } else {
        let run = baseline::run(election, votes, &seed, &mut rng);
        Some(run.map_err(Failure::bad_input)?)
    };
    let best = seconds.iter().copied().fold(f64::INFINITY, f64::min);
    let published_seconds = published.as_ref().map(|run| run.aggregation.as_secs_f64());
    Ok(Comparison {
        teachers: args.teachers,
        samples: votes.samples(),
        classes: args.classes.count(),
        polynomial: election.setting().polynomial.to_string(),
        threads: args.threads,
        published_seconds,
        shield_seconds: best,
        shield_first_seconds: seconds[0],
        seconds_per_sample: best / votes.samples() as f64,
        ratio: published_seconds.map(|seconds| seconds / best),
        labels_agree: published.is_none_or(|run| run.labels == labels),
    })
}

/// The labels, and the seconds of each run's aggregation.
pub(super) fn ours(
    election: &Election,
    votes: &Votes,
    seed: &Seed,
    rng: &mut StdRng,
) -> Result<(Vec<Label>, Vec<f64>), Failure> {
    let backend =
        BfvBackend::new(election.clone(), ReleaseMode::Reveal).map_err(Failure::bad_input)?;
    let keys = backend.generate_keys(rng).map_err(Failure::failed)?;
    let mut labels = Vec::new();
    let mut seconds = vec![0.0; RUNS];
    for batch in 0..backend.batches() {
        let samples = backend.batch(batch);
        let ballots = (0..votes.teachers())
            .map(|teacher| {
                let own = votes.teacher(teacher, samples.clone());
                backend.encrypt(&keys.public, batch, &own, rng).map(Some)
            })
            .collect::<Result<Vec<_>, _>>()
            .map_err(Failure::failed)?;
        let ballots = MemoryBallotBox::new(samples.len(), ballots);
        for (run, seconds) in seconds.iter_mut().enumerate() {
            let start = Instant::now();
            let release = backend
                .aggregate(&keys.evaluation, batch, &ballots, seed)
                .map_err(Failure::failed)?;
            *seconds += start.elapsed().as_secs_f64();
            if run == 0 {
                let found = backend.decrypt(&keys.secret, batch, &release);
                labels.extend(found.map_err(Failure::failed)?);
            }
        }
    }
    Ok((labels, seconds))
}

fn describe(comparison: &Comparison) -> String {
    let mut rows = vec![(
        "setting",
        format!(
            "{} teachers, {} samples, {} classes, {}, {} thread{}",
            comparison.teachers,
            comparison.samples,
            comparison.classes,
            comparison.polynomial,
            comparison.threads,
            if comparison.threads == 1 { "" } else { "s" }
        ),
    )];
    if let Some(seconds) = comparison.published_seconds {
        rows.push(("the paper's circuit", duration(seconds)));
    }
    rows.push((
        "ours",
        format!(
            "{} (first run {}), {} per sample",
            duration(comparison.shield_seconds),
            duration(comparison.shield_first_seconds),
            duration(comparison.seconds_per_sample)
        ),
    ));
    if let Some(ratio) = comparison.ratio {
        rows.push(("ratio", format!("{ratio:.0}")));
        let agree = if comparison.labels_agree { "yes" } else { "NO" };
        rows.push(("same labels", agree.to_owned()));
    }
    console::properties(&rows)
}
