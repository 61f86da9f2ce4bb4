//! `bench`: the paper's circuit and ours, in one process, on the same votes and draws.

use rand::rngs::OsRng;
use rand::{SeedableRng, TryRngCore, rngs::StdRng};
use serde::Serialize;
use shield::shared_noise::NoiseFamily;
use shield::{Election, Seed, Votes, synthetic};
use shield_bfv::{BallotCheck, baseline};

use super::bench_args::{BackendName, BenchArgs};
use super::measuring::{ours, shortest};
use super::{Output, bench_argmax, tfhe};
use crate::console::{self, duration};
use crate::failure::Failure;
use crate::inputs::{MechanismName, on_threads};

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
    /// Without the check of the ballots, which the paper's circuit does not have either.
    shield_unchecked_seconds: f64,
    seconds_per_sample: f64,
    ratio: Option<f64>,
    ratio_unchecked: Option<f64>,
    labels_agree: bool,
}

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
    let (labels, seconds) = ours(election, votes, BallotCheck::On, &seed, &mut rng)?;
    let (same, unchecked) = ours(election, votes, BallotCheck::Off, &seed, &mut rng)?;
    let published = if args.ours_only {
        None
    } else {
        let run = baseline::run(election, votes, &seed, &mut rng);
        Some(run.map_err(Failure::bad_input)?)
    };
    let (best, best_unchecked) = (shortest(&seconds), shortest(&unchecked));
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
        shield_unchecked_seconds: best_unchecked,
        seconds_per_sample: best / votes.samples() as f64,
        ratio: published_seconds.map(|seconds| seconds / best),
        ratio_unchecked: published_seconds.map(|seconds| seconds / best_unchecked),
        labels_agree: same == labels && published.is_none_or(|run| run.labels == labels),
    })
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
    let unchecked = duration(comparison.shield_unchecked_seconds);
    rows.push(("without the check of the ballots", unchecked));
    if let (Some(ratio), Some(unchecked)) = (comparison.ratio, comparison.ratio_unchecked) {
        rows.push(("ratio", format!("{ratio:.0}; {unchecked:.0} without the check")));
        let agree = if comparison.labels_agree { "yes" } else { "NO" };
        rows.push(("same labels", agree.to_owned()));
    }
    console::properties(&rows)
}
