//! The paper's circuit and ours, both on BFV.

use rand::rngs::{OsRng, StdRng};
use rand::{SeedableRng, TryRngCore};
use shield_bfv::{BallotCheck, BfvEngine, baseline};
use shield_core::{Election, Seed, Votes};
use shield_protocol::engine::{EngineName, EngineSpec};

use super::measuring::{Case, Kept, Measured, measure};
use super::{BenchArgs, plural};
use crate::commands::Output;
use crate::console::{Report, duration};
use crate::failure::Failure;

/// Runs of our circuit.
pub(super) const RUNS: usize = 5;

pub(super) fn run(args: &BenchArgs, output: Output) -> Result<(), Failure> {
    let (election, votes) = args.election(args.samples.unwrap_or(100))?;
    let spec = args.spec.spec(EngineName::Bfv, args.teachers)?;
    let seed = Seed::random(&mut OsRng.unwrap_err());
    let checked = ours(spec, &election, &votes, BallotCheck::On, &seed)?;
    // The paper's circuit does not check them either.
    let unchecked = ours(spec, &election, &votes, BallotCheck::Off, &seed)?;
    let published = if args.ours_only {
        None
    } else {
        let run = baseline::run(&election, &votes, &seed, &mut StdRng::from_os_rng());
        Some(run.map_err(Failure::bad_input)?)
    };
    // The best of several runs; the first has cold caches.
    let (best, first, best_unchecked) =
        (checked.shortest(), checked.aggregate[0], unchecked.shortest());
    let per_sample = best / votes.samples() as f64;
    let published_seconds = published.as_ref().map(|run| run.aggregation.as_secs_f64());
    let labels = &checked.labels;
    let agree = unchecked.labels == *labels && published.is_none_or(|run| run.labels == *labels);
    let (polynomial, threads) = (&election.setting().polynomial, rayon::current_num_threads());
    let setting = format!(
        "{} teachers, {} samples, {} classes, {polynomial}, {threads} thread{}",
        args.teachers,
        votes.samples(),
        args.classes,
        plural(threads)
    );
    let words = format!(
        "{} (first run {}), {} per sample",
        duration(best),
        duration(first),
        duration(per_sample)
    );
    let ratio = published_seconds.map(|seconds| seconds / best);
    let ratio_unchecked = published_seconds.map(|seconds| seconds / best_unchecked);
    let ratios = ratio.zip(ratio_unchecked).map(|(ratio, unchecked)| {
        ("ratio", format!("{ratio:.0}; {unchecked:.0} without the check"))
    });
    let same = if agree { "yes" } else { "NO" };
    Report::default()
        .key("teachers", args.teachers)
        .key("samples", votes.samples())
        .key("classes", args.classes)
        .key("polynomial", polynomial)
        .key("threads", threads)
        .row("setting", setting)
        .key("published_seconds", published_seconds)
        .rows(published_seconds.map(|seconds| ("the paper's circuit", duration(seconds))))
        .said("shield_seconds", best, "ours", words)
        .key("shield_first_seconds", first)
        .said(
            "shield_unchecked_seconds",
            best_unchecked,
            "without the check of the ballots",
            duration(best_unchecked),
        )
        .key("seconds_per_sample", per_sample)
        .key("ratio", ratio)
        .key("ratio_unchecked", ratio_unchecked)
        .key("labels_agree", agree)
        .rows(ratios)
        .rows(ratio.map(|_| ("same labels", same.to_owned())))
        .print(output)
}

/// SHIELD on BFV, on all teachers' ballots.
pub(super) fn ours(
    spec: EngineSpec,
    election: &Election,
    votes: &Votes,
    check: BallotCheck,
    seed: &Seed,
) -> Result<Measured, Failure> {
    let engine = if spec.proofs() {
        BfvEngine::with_proofs(election.clone(), None)
    } else {
        BfvEngine::new(election.clone())
    };
    let engine = engine.map_err(Failure::bad_input)?;
    let case = Case { votes, seed, runs: RUNS, ballots: Kept::Open };
    measure(&engine.with_ballot_check(check), &case, |_| 0..election.teachers())
}
