//! A key that trustees hold, beside the student's own: what it costs server and trustees.

use std::cell::Cell;
use std::time::Instant;

use rand::rngs::{OsRng, StdRng};
use rand::{SeedableRng, TryRngCore};
use serde_json::json;
use shield_bfv::BfvEngine;
use shield_bfv::argmax::ArgmaxEngine;
use shield_bfv::trustees::{Ceremony, Jointly, Together, Trustees};
use shield_core::engine::Encoding;
use shield_core::framing::Kind;
use shield_core::labelling::Held;
use shield_core::{Seed, Votes};
use shield_protocol::engine::EngineSpec;

use super::measuring::{Case, Kept, Measured, measure, measure_with};
use super::{BenchArgs, paper, plural};
use crate::commands::Output;
use crate::console::{Report, duration};
use crate::failure::Failure;

/// Samples of a run where none are given: a full batch of SHIELD.
const SAMPLES: usize = 512;

/// Runs of a noisy argmax, which takes about a second each.
const ARGMAX_RUNS: usize = 2;

/// What was measured with one key and with the other.
struct Compared {
    alone: Measured,
    joint: Measured,
    /// Of one trustee, for one set of keys.
    key: f64,
    /// Of one trustee, for one batch.
    opening: f64,
    /// Of the student, for one batch.
    combining: f64,
    bytes: Vec<(&'static str, usize)>,
}

pub(super) fn run(
    args: &BenchArgs,
    spec: EngineSpec,
    trustees: Trustees,
    output: Output,
) -> Result<(), Failure> {
    let (election, votes) = args.election(args.samples.unwrap_or(SAMPLES))?;
    let seed = Seed::random(&mut OsRng.unwrap_err());
    let of = election.teachers();
    let found = if let Some(argmax) = spec.argmax() {
        let (noise, threshold) = (argmax.noise, argmax.threshold);
        let ballot = argmax.ballot();
        let alone = ArgmaxEngine::with_counts(election.clone(), noise, ballot, threshold);
        let joint = if spec.proofs() {
            ArgmaxEngine::with_proofs(election, noise, threshold, Some(trustees))
        } else {
            ArgmaxEngine::with_trustees(election, noise, ballot, threshold, trustees)
        };
        let engines = [alone.map_err(Failure::bad_input)?, joint.map_err(Failure::bad_input)?];
        compare(&engines, &votes, &seed, (ARGMAX_RUNS, of), trustees)?
    } else {
        let alone = BfvEngine::new(election.clone()).map_err(Failure::bad_input)?;
        let joint = if spec.proofs() {
            BfvEngine::with_proofs(election, Some(trustees))
        } else {
            BfvEngine::with_trustees(election, trustees)
        };
        let joint = joint.map_err(Failure::bad_input)?;
        compare(&[alone, joint], &votes, &seed, (paper::RUNS, of), trustees)?
    };
    report(args, spec, trustees, &votes, &found).print(output)
}

fn compare<E: Jointly>(
    [alone, joint]: &[E; 2],
    votes: &Votes,
    seed: &Seed,
    (runs, teachers): (usize, u32),
    trustees: Trustees,
) -> Result<Compared, Failure> {
    let case = Case { votes, seed, runs, ballots: Kept::Open };
    let measured_alone = measure(alone, &case, |_| 0..teachers)?;
    let start = Instant::now();
    let together = Together::new(joint, &mut StdRng::from_os_rng()).map_err(Failure::failed)?;
    let key = start.elapsed().as_secs_f64() / trustees.count() as f64;
    let Together { keys, openers } = together;
    let bytes = Ceremony::new(joint, &[0; 32]).map_err(Failure::failed)?.bytes();
    let set: Vec<usize> = (0..trustees.threshold()).collect();
    let (opening, combining) = (Cell::new(0.0), Cell::new(0.0));
    let reveal = |batch: usize, release: &E::Release| {
        let release = joint.encode_release(release);
        let start = Instant::now();
        let openings = openers.open(joint, batch, &release, &set).map_err(Failure::failed)?;
        opening.set(opening.get() + start.elapsed().as_secs_f64() / set.len() as f64);
        let start = Instant::now();
        let revealed = openers.combine(joint, batch, &release, &set, &openings);
        let revealed = revealed.map_err(Failure::failed)?;
        combining.set(combining.get() + start.elapsed().as_secs_f64());
        Ok(revealed.labels)
    };
    let held = Held { public: keys.public, evaluation: keys.evaluation, secret: None, reveal };
    let measured = measure_with(joint, &case, |_| 0..teachers, &held)?;
    let batches = joint.batches() as f64;
    let bytes = vec![
        ("key_share", bytes.first),
        ("second_key_share", bytes.second),
        ("deal", bytes.deal),
        ("dealt_share", bytes.dealt),
        ("opening", bytes.opening),
        ("checked_opening", bytes.checked),
        ("release", joint.max_bytes(Kind::Release)),
        ("ballot", joint.max_bytes(Kind::Ballot)),
        ("public_key", joint.max_bytes(Kind::PublicKey)),
        ("evaluation_key", joint.max_bytes(Kind::EvaluationKey)),
    ];
    Ok(Compared {
        alone: measured_alone,
        joint: measured,
        key,
        opening: opening.get() / batches,
        combining: combining.get() / batches,
        bytes,
    })
}

fn report(
    args: &BenchArgs,
    spec: EngineSpec,
    trustees: Trustees,
    votes: &Votes,
    found: &Compared,
) -> Report {
    let (alone, joint) = (found.alone.shortest(), found.joint.shortest());
    let (ratio, threads) = (joint / alone, rayon::current_num_threads());
    let agree = found.alone.labels == found.joint.labels;
    let setting = format!(
        "{}, {} teachers, {} samples, {} classes, {threads} thread{}",
        spec.mechanism_name(),
        args.teachers,
        votes.samples(),
        args.classes,
        plural(threads)
    );
    let bytes = found.bytes.iter().map(|&(what, bytes)| (what.to_owned(), json!(bytes)));
    let sizes =
        found.bytes.iter().filter(|(_, bytes)| *bytes > 0).map(|(what, bytes)| {
            format!("{} {:.2} MB", what.replace('_', " "), *bytes as f64 / 1e6)
        });
    let yes = if agree { "yes" } else { "NO" };
    Report::default()
        .key("teachers", args.teachers)
        .key("samples", votes.samples())
        .key("classes", args.classes)
        .key("threads", threads)
        .keys(&spec)
        .row("setting", setting)
        .said("single_seconds", alone, "aggregation, the student's key", duration(alone))
        .said(
            "trustees_seconds",
            joint,
            "aggregation, trustees' key",
            format!("{}, {trustees} trustees open", duration(joint)),
        )
        .said("trustees_ratio", ratio, "ratio", format!("{ratio:.2}"))
        .said(
            "key_seconds",
            found.key,
            "a set of keys",
            format!("{} a trustee", duration(found.key)),
        )
        .said(
            "opening_seconds",
            found.opening,
            "an opening",
            format!("{} a trustee and batch", duration(found.opening)),
        )
        .said(
            "combining_seconds",
            found.combining,
            "the student reads",
            format!("{} a batch", duration(found.combining)),
        )
        .key("bytes", serde_json::Value::Object(bytes.collect()))
        .row("bytes", sizes.collect::<Vec<_>>().join(", "))
        .said("labels_agree", agree, "same labels", yes)
}
