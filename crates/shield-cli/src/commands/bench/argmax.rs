//! SPEED's noisy argmax on TFHE and the batched one of BFV.

use rand::TryRngCore;
use rand::rngs::OsRng;
use shield_bfv::argmax::tiny::TinyEngine;
use shield_bfv::argmax::{ArgmaxEngine, ArgmaxPlan, BallotKind};
use shield_core::engine::noisy_argmax::{argmax, noisy_one_hot};
use shield_core::engine::{Engine, Setup};
use shield_core::shared_noise::{SharedNoise, Shares};
use shield_core::{Label, Seed, Votes};
use shield_protocol::engine::EngineSpec;

use super::measuring::{Case, Kept, ballot_rng, measure};
use super::{BenchArgs, plural};
use crate::commands::Output;
use crate::console::{Report, duration};
use crate::failure::Failure;

/// TFHE takes seconds per sample, so it is measured on this many at most.
#[cfg(feature = "tfhe")]
const TFHE_SAMPLES: usize = 2;

/// What one engine took from stored ballots to the release.
struct Row {
    samples: usize,
    seconds_per_sample: f64,
    /// Whether every label is the argmax in the clear of the same votes with the same noise.
    labels_agree: bool,
}

/// What the batched argmax took with one kind of ballots.
struct Batched {
    row: Row,
    bytes_per_vote: f64,
    /// A teacher's, for one batch.
    seconds_per_ballot: f64,
}

/// Runs both engines, or BFV alone in a program without TFHE; with tiny ballots also the batched
/// argmax of checked ones, unless only ours is asked for.
pub(super) fn run(
    args: &BenchArgs,
    noise: SharedNoise,
    spec: EngineSpec,
    output: Output,
) -> Result<(), Failure> {
    let samples = args.samples.unwrap_or(2048);
    let (election, votes) = args.election(samples)?;
    let kind = spec.ballots();
    let checked = || -> Result<Batched, Failure> {
        let election = election.clone();
        let engine = if spec.proofs() {
            ArgmaxEngine::with_proofs(election, noise, None, None)
        } else {
            ArgmaxEngine::new(election, noise)
        };
        let engine = engine.map_err(Failure::bad_input)?;
        bfv(&engine, engine.plan(), noise, &votes)
    };
    let (batched, beside) = match kind {
        BallotKind::Checked => (checked()?, None),
        BallotKind::Tiny => {
            let engine = TinyEngine::new(election.clone(), noise).map_err(Failure::bad_input)?;
            let batched = bfv(&engine, engine.plan(), noise, &votes)?;
            drop(engine);
            (batched, (!args.ours_only).then(checked).transpose()?)
        }
    };
    let tfhe = if args.ours_only { None } else { tfhe(noise, &votes)? };
    let bfv = batched.row;
    let threads = rayon::current_num_threads();
    let ratio = tfhe.as_ref().map(|tfhe| tfhe.seconds_per_sample / bfv.seconds_per_sample);
    let beside_ratio =
        beside.as_ref().map(|checked| bfv.seconds_per_sample / checked.row.seconds_per_sample);
    let others = tfhe.iter().chain(beside.iter().map(|checked| &checked.row));
    let agree = bfv.labels_agree && others.into_iter().all(|other| other.labels_agree);
    let setting = format!(
        "{} teachers, {samples} samples, {} classes, {} noise of {}, {} thread{}",
        args.teachers,
        args.classes,
        noise.family(),
        noise.scale().get(),
        threads,
        plural(threads)
    );
    let mut report = Report::default()
        .key("teachers", args.teachers)
        .key("samples", samples)
        .key("classes", args.classes)
        .key("noise", noise.scale().get())
        .key("noise_law", noise.family())
        .key("dropouts", noise.dropouts())
        .key("threads", threads)
        .row("setting", setting)
        .key("tfhe_samples", tfhe.as_ref().map(|tfhe| tfhe.samples))
        .key("tfhe_seconds_per_sample", tfhe.as_ref().map(|tfhe| tfhe.seconds_per_sample))
        .key("bfv_seconds_per_sample", bfv.seconds_per_sample)
        .key("ratio", ratio)
        .key("ballots", kind.name())
        .key("bytes_per_vote", batched.bytes_per_vote)
        .key("seconds_per_ballot", batched.seconds_per_ballot)
        .key("checked_seconds_per_sample", beside.as_ref().map(|c| c.row.seconds_per_sample))
        .key("checked_bytes_per_vote", beside.as_ref().map(|c| c.bytes_per_vote))
        .key("ratio_to_checked", beside_ratio);
    if let Some(tfhe) = tfhe {
        let seconds = duration(tfhe.seconds_per_sample);
        report = report.row("tfhe", format!("{seconds} per sample, of {}", tfhe.samples));
    }
    let seconds = duration(bfv.seconds_per_sample);
    report = report.row("bfv", format!("{seconds} per sample, from stored ballots to the release"));
    report = report.rows(ratio.map(|ratio| ("ratio", format!("{ratio:.0}"))));
    let ballots = format!(
        "{}: {:.1} bytes per vote, {} to make one per batch",
        kind.name(),
        batched.bytes_per_vote,
        duration(batched.seconds_per_ballot)
    );
    report = report.row("ballots", ballots).rows(beside.iter().zip(beside_ratio).map(
        |(checked, ratio)| {
            let seconds = duration(checked.row.seconds_per_sample);
            let bytes = checked.bytes_per_vote;
            let took = format!("{seconds} per sample, {bytes:.0} bytes per vote: a factor of");
            ("checked ballots", format!("{took} {ratio:.2}"))
        },
    ));
    let yes = if agree { "yes" } else { "NO" };
    report.said("labels_agree", agree, "the argmax in the clear", yes).print(output)
}

fn bfv<E: Engine>(
    engine: &E,
    plan: &ArgmaxPlan,
    noise: SharedNoise,
    votes: &Votes,
) -> Result<Batched, Failure> {
    let seed = Seed::random(&mut OsRng.unwrap_err());
    let case = Case { votes, seed: &seed, runs: 1, ballots: Kept::Stored };
    let found = measure(engine, &case, |_| 0..noise.teachers())?;
    let samples = votes.samples();
    let labels_agree = found.labels == in_the_clear(engine.setup(), noise, votes, &seed);
    let seconds_per_sample = found.shortest() / samples as f64;
    Ok(Batched {
        row: Row { samples, seconds_per_sample, labels_agree },
        bytes_per_vote: plan.bytes_per_vote(),
        seconds_per_ballot: found.encrypt / found.ballots as f64,
    })
}

/// The argmax of the same votes, with the shares that the ballots drew.
fn in_the_clear(setup: &Setup, noise: SharedNoise, votes: &Votes, seed: &Seed) -> Vec<Label> {
    let (classes, shares) = (votes.classes(), Shares::new(&noise));
    let mut labels = Vec::new();
    for batch in 0..setup.batches() {
        let samples = setup.batch(batch);
        let mut counts = vec![0_i64; samples.len() * classes.count()];
        for teacher in 0..votes.teachers() {
            let own = votes.teacher(teacher, samples.clone());
            let mut rng = ballot_rng(seed, votes, batch, teacher);
            let numbers = noisy_one_hot(classes, &own, &shares, &mut rng);
            counts.iter_mut().zip(numbers).for_each(|(count, number)| *count += number);
        }
        labels.extend(counts.chunks(classes.count()).map(|counts| Some(argmax(counts))));
    }
    labels
}

/// SPEED's circuit on the first samples.
#[cfg(feature = "tfhe")]
fn tfhe(noise: SharedNoise, votes: &Votes) -> Result<Option<Row>, Failure> {
    let samples = votes.samples().min(TFHE_SAMPLES);
    let rng = &mut <rand::rngs::StdRng as rand::SeedableRng>::from_os_rng();
    let run = shield_tfhe::baseline::noisy_argmax::run(&noise, votes, samples, rng);
    let run = run.map_err(Failure::bad_input)?;
    Ok(Some(Row {
        samples,
        seconds_per_sample: run.aggregation.as_secs_f64() / samples as f64,
        labels_agree: run.labels == run.expected,
    }))
}

#[cfg(not(feature = "tfhe"))]
#[expect(clippy::unnecessary_wraps, reason = "it can fail in a program with the engine")]
fn tfhe(_: SharedNoise, _: &Votes) -> Result<Option<Row>, Failure> {
    crate::console::note(
        "TFHE's argmax is left out: this program was built without TFHE; build it with \
         `cargo build --release --features tfhe`",
    );
    Ok(None)
}
