//! Tiny ballots against the clear argmax of the same numbers. Most tests run in a small ring with
//! a small module that have no security, and the same circuit.

mod large;
mod noise;
mod once;
mod plan;
mod suite;
mod unlocking;

use rand::{Rng, RngCore, SeedableRng};
use rand_chacha::ChaCha20Rng;
use shield_core::engine::noisy_argmax::argmax_from;
use shield_core::engine::{Counts, Engine, KeysOf, MemoryBallotBox};
use shield_core::shared_noise::SharedNoise;
use shield_core::votes::Vote;
use shield_core::{Class, Election, Label, Seed};
use shield_privacy::skellam::Sensitivity;

use super::engine::{TinyBallot, TinyEngine};
use crate::argmax::plan::Rings;
use crate::argmax::tests::{election, gaps, skellam};

/// An engine in a small ring.
fn tiny(election: Election, noise: SharedNoise, threshold: Option<u32>) -> TinyEngine {
    let rings = Rings::Tiny(1_024);
    TinyEngine::in_rings(election, noise, Sensitivity::Vote, threshold, rings).expect("a plan")
}

/// A ballot of these numbers.
fn ballot(
    engine: &TinyEngine,
    keys: &KeysOf<TinyEngine>,
    numbers: &[i64],
    rng: &mut ChaCha20Rng,
) -> TinyBallot {
    let mut fresh = [0; 32];
    rng.fill_bytes(&mut fresh);
    engine.hide(&keys.public, 0, numbers, &fresh)
}

/// The labels of the first batch from some ballots.
fn labels(
    engine: &TinyEngine,
    keys: &KeysOf<TinyEngine>,
    ballots: Vec<Option<TinyBallot>>,
    rng: &mut ChaCha20Rng,
) -> Vec<Label> {
    let ballots = MemoryBallotBox::new(engine.batch(0).len(), ballots);
    let seed = Seed::from_number(1);
    let release = engine
        .aggregate_here((Some(&keys.secret), &keys.evaluation), 0, &ballots, &seed, rng)
        .expect("a release");
    engine.decrypt(&keys.secret, 0, &release).expect("labels")
}

/// The same of noisy counts: one ballot has them all, the others are of zeros.
fn labels_of(
    engine: &TinyEngine,
    keys: &KeysOf<TinyEngine>,
    counts: &[i64],
    rng: &mut ChaCha20Rng,
) -> Vec<Label> {
    let zeros = vec![0; counts.len()];
    let ballots = (0..engine.election().teachers())
        .map(|i| Some(ballot(engine, keys, if i == 0 { counts } else { &zeros }, rng)))
        .collect();
    labels(engine, keys, ballots, rng)
}

fn expected(counts: &[i64], classes: usize, threshold: Option<u32>) -> Vec<Label> {
    counts.chunks(classes).map(|counts| argmax_from(counts, threshold)).collect()
}

#[test]
fn every_gap_for_every_number_of_classes() {
    for classes in [2_usize, 3, 10, 16, 32] {
        let mut rng = ChaCha20Rng::seed_from_u64(classes as u64);
        // One sample, as many as fill long runs, more than a batch holds.
        let sizes = [16, 1, 1_024 / classes.next_power_of_two()];
        for &samples in if classes > 16 { &sizes[..1] } else { &sizes[..] } {
            let engine = tiny(election(5, classes, samples), skellam(3.0, 5, 1), None);
            let keys = engine.generate_keys(&mut rng).expect("keys");
            let samples = engine.batch(0).len();
            let counts = gaps(classes, samples, engine.plan().range() as i64, &mut rng);
            let found = labels_of(&engine, &keys, &counts, &mut rng);
            assert_eq!(found, expected(&counts, classes, None), "{classes}, {samples}");
        }
    }
}

#[test]
fn a_threshold_is_a_class_that_nobody_votes_for() {
    let mut rng = ChaCha20Rng::seed_from_u64(4);
    for (classes, samples) in [(2, 100), (4, 30), (10, 40), (16, 9)] {
        let noise = skellam(3.0, 20, 0);
        let engine = tiny(election(20, classes, samples), noise, Some(11));
        let keys = engine.generate_keys(&mut rng).expect("keys");
        let samples = engine.batch(0).len();
        let mut counts = Vec::new();
        for _ in 0..samples {
            let most = rng.random_range(5..=14);
            counts.extend((0..classes).map(|_| rng.random_range(-4..=most)));
        }
        let found = labels_of(&engine, &keys, &counts, &mut rng);
        let expected = expected(&counts, classes, Some(11));
        assert_eq!(found, expected, "{classes} classes");
        assert!(expected.contains(&None) && expected.iter().any(Option::is_some));
    }
}

#[test]
fn votes_with_noise_as_in_the_clear_whoever_drops_out() {
    let (teachers, classes, samples) = (12_u32, 4, 100);
    let engine = tiny(election(teachers, classes, samples), skellam(2.5, teachers, 3), None);
    let mut rng = ChaCha20Rng::seed_from_u64(7);
    let keys = engine.generate_keys(&mut rng).expect("keys");
    let votes: Vec<Vec<Vote>> = (0..teachers)
        .map(|_| {
            let vote = |_| rng.random_ratio(9, 10).then(|| Class(rng.random_range(0..4)));
            (0..samples).map(vote).collect()
        })
        .collect();
    let own_rng = |teacher: usize| ChaCha20Rng::seed_from_u64(100 + teacher as u64);
    for dropped in [vec![], vec![3, 8], vec![0, 1, 11]] {
        let mut sums = vec![0; samples * classes];
        let mut ballots = Vec::new();
        for (teacher, votes) in votes.iter().enumerate() {
            if dropped.contains(&teacher) {
                ballots.push(None);
                continue;
            }
            let numbers = engine.argmax.noisy_votes(0, votes, &mut own_rng(teacher)).unwrap();
            sums.iter_mut().zip(&*numbers).for_each(|(sum, number)| *sum += number);
            let ballot = engine.encrypt(&keys.public, 0, votes, &mut own_rng(teacher)).unwrap();
            ballots.push(Some(ballot));
        }
        let found = labels(&engine, &keys, ballots, &mut rng);
        assert_eq!(found, expected(&sums, classes, None), "without {dropped:?}");
    }
}

#[test]
fn histograms_count_as_often_as_they_say() {
    let (noise, bound) = (skellam(0.01, 3, 0), Sensitivity::Counts(40));
    let rings = Rings::Tiny(1_024);
    let engine = TinyEngine::in_rings(election(3, 3, 2), noise, bound, None, rings).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let keys = engine.generate_keys(&mut rng).expect("keys");
    let all = [
        [vec![40, 0, 0], vec![20, 20, 0]],
        [vec![0, 0, 40], vec![0, 0, 0]],
        [vec![0, 1, 39], vec![0, 1, 30]],
    ];
    let mut encrypt =
        |counts: &[Vec<u32>]| engine.encrypt_counts(&keys.public, 0, counts, &mut rng);
    let ballots = all.iter().map(|counts| encrypt(counts).ok()).collect();
    assert!(encrypt(&[vec![41, 0, 0], vec![0; 3]]).is_err());
    assert!(encrypt(&[vec![1, 0, 0, 0], vec![0; 3]]).is_err());
    let found = labels(&engine, &keys, ballots, &mut rng);
    assert_eq!(found, [Some(Class(2)), Some(Class(2))]);
}

#[test]
fn a_release_shows_one_zero_a_sample_and_nothing_beside_its_samples() {
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    // Samples that share polynomials, and a last polynomial that is not full.
    for (classes, samples) in [(2, 35), (4, 33), (10, 20)] {
        let engine = tiny(election(2, classes, samples), skellam(3.0, 2, 1), None);
        let keys = engine.generate_keys(&mut rng).expect("keys");
        let counts = gaps(classes, samples, engine.plan().range() as i64, &mut rng);
        let zeros = vec![0; counts.len()];
        let both = [&counts, &zeros].map(|own| Some(ballot(&engine, &keys, own, &mut rng)));
        let ballots = MemoryBallotBox::new(samples, both.into());
        let seed = Seed::from_number(5);
        let release = engine
            .aggregate_here((Some(&keys.secret), &keys.evaluation), 0, &ballots, &seed, &mut rng)
            .unwrap();
        let secret = &keys.secret.secret.secret;
        let slots = crate::release::slots(&engine.argmax.context, secret, &release).concat();
        let filled = slots.iter().filter(|slot| **slot != 0).count();
        assert_eq!(filled, samples * (classes - 1), "{classes} classes");
    }
}
