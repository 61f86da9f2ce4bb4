//! The batched argmax against the clear one. Most tests run in a small ring that has no security
//! and the same circuit.

mod large;
mod noise;
mod plan;
mod proven;
mod suite;
mod view;

use std::borrow::Cow;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use shield_core::engine::noisy_argmax::{argmax, argmax_from, noisy_one_hot};
use shield_core::engine::{
    BallotBox, BallotBoxError, Counts, Engine, KeysOf, MemoryBallotBox, Presence,
};
use shield_core::parameters::Noise;
use shield_core::shared_noise::SharedNoise;
use shield_core::shared_noise::{NoiseFamily, Shares};
use shield_core::{Class, Classes, Election, Label, Seed, Setting};
use shield_privacy::skellam::Sensitivity;

use super::plan::Rings;
use super::{ArgmaxEngine, ArgmaxError};
use crate::ballot::BfvBallot;

pub(crate) fn skellam(deviation: f64, teachers: u32, dropouts: u32) -> SharedNoise {
    let amount = Noise::new(deviation).unwrap();
    SharedNoise::of(NoiseFamily::Skellam, amount, teachers, dropouts).unwrap()
}

pub(crate) fn election(teachers: u32, classes: usize, samples: usize) -> Election {
    let classes = Classes::new(classes).unwrap();
    Election::new(teachers as usize, classes, samples, Setting::default()).unwrap()
}

pub(super) fn tiny(
    teachers: u32,
    classes: usize,
    samples: usize,
    noise: SharedNoise,
) -> ArgmaxEngine {
    let election = election(teachers, classes, samples);
    ArgmaxEngine::in_rings(election, noise, Sensitivity::Vote, None, Rings::Tiny(1_024))
        .expect("a plan")
}

/// Ballots of which all but the first are the same one: large sums for the price of two ballots.
pub(crate) struct Padded {
    pub(crate) first: BfvBallot,
    pub(crate) other: BfvBallot,
}

impl BallotBox<BfvBallot> for Padded {
    fn presence(&self, _: u32) -> Result<Presence, BallotBoxError> {
        Ok(self.first.presence.clone())
    }

    fn open(&self, teacher: u32) -> Result<Cow<'_, BfvBallot>, BallotBoxError> {
        Ok(Cow::Borrowed(if teacher == 0 { &self.first } else { &self.other }))
    }
}

/// The labels of a batch whose noisy counts are given, sample by sample.
pub(super) fn labels_of(
    engine: &ArgmaxEngine,
    keys: &KeysOf<ArgmaxEngine>,
    counts: &[i64],
    rng: &mut ChaCha20Rng,
) -> Vec<Label> {
    let first = engine.encrypt_numbers(&keys.public, 0, counts, rng);
    let other = engine.encrypt_numbers(&keys.public, 0, &vec![0; counts.len()], rng);
    let ballots = Padded { first, other };
    let release =
        engine.aggregate(&keys.evaluation, 0, &ballots, &Seed::from_number(1)).expect("a release");
    engine.decrypt(&keys.secret, 0, &release).expect("labels")
}

pub(super) fn expected(counts: &[i64], classes: usize) -> Vec<Label> {
    counts.chunks(classes).map(|counts| Some(argmax(counts))).collect()
}

/// Noisy counts with every kind of gap: none, one, two, large, both ends of the range.
pub(crate) fn gaps(classes: usize, samples: usize, range: i64, rng: &mut ChaCha20Rng) -> Vec<i64> {
    let mut counts = Vec::with_capacity(classes * samples);
    for sample in 0..samples {
        let base = rng.random_range(-range..=range);
        let lucky = rng.random_range(0..classes);
        for class in 0..classes {
            let here = i64::from(class == lucky);
            counts.push(match sample % 8 {
                0 => base,
                1 => base + here,
                2 => base + rng.random_range(0..3),
                3 => base + range * here,
                4 => {
                    if rng.random::<bool>() {
                        range
                    } else {
                        0
                    }
                }
                5 => base - range * (1 - here),
                6 => rng.random_range(-range / 2..=range / 2),
                _ => base - class as i64 % 2,
            });
        }
    }
    counts
}

#[test]
fn every_difference_of_the_range() {
    let engine = tiny(2, 2, 512, skellam(2.0, 2, 0));
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let keys = engine.generate_keys(&mut rng).expect("keys");
    let range = engine.plan().range() as i64;
    let mut counts: Vec<i64> =
        (-range - 1..=range).flat_map(|x| [x / 2 + x % 2, -(x / 2)]).collect();
    counts.truncate(1_024);
    counts.resize(1_024, 0);
    assert!(range >= 8 && 2 * range + 2 <= 512, "{range}");
    assert_eq!(labels_of(&engine, &keys, &counts, &mut rng), expected(&counts, 2));
}

#[test]
fn every_gap_for_every_number_of_classes() {
    for classes in [2_usize, 3, 5, 10, 13, 16, 32] {
        let mut rng = ChaCha20Rng::seed_from_u64(classes as u64);
        // With few samples a run is long, with many it is short.
        for samples in [1, 1_024 / classes.next_power_of_two()] {
            let engine = tiny(5, classes, samples, skellam(3.0, 5, 1));
            let keys = engine.generate_keys(&mut rng).expect("keys");
            let samples = engine.batch(0).len();
            let range = engine.plan().range() as i64;
            let counts = gaps(classes, samples, range, &mut rng);
            let found = labels_of(&engine, &keys, &counts, &mut rng);
            assert_eq!(found, expected(&counts, classes), "{classes} classes, {samples} samples");
        }
    }
}

#[test]
fn votes_with_noise_as_in_the_clear() {
    let (teachers, classes, samples) = (12_u32, 4, 100);
    let noise = skellam(2.5, teachers, 3);
    let engine = tiny(teachers, classes, samples, noise);
    let mut rng = ChaCha20Rng::seed_from_u64(7);
    let keys = engine.generate_keys(&mut rng).expect("keys");
    let shares = Shares::new(&noise);
    let all: Vec<Vec<i64>> = (0..teachers)
        .map(|_| {
            let vote = |_| rng.random_ratio(9, 10).then(|| Class(rng.random_range(0..4)));
            let votes: Vec<_> = (0..samples).map(vote).collect();
            noisy_one_hot(Classes::new(classes).unwrap(), &votes, &shares, &mut rng)
        })
        .collect();
    let ballot =
        |numbers: &Vec<i64>| Some(engine.encrypt_numbers(&keys.public, 0, numbers, &mut rng));
    let mut ballots: Vec<_> = all.iter().map(ballot).collect();
    // Two of three allowed dropouts.
    ballots[3] = None;
    ballots[8] = None;
    let sums: Vec<i64> = (0..samples * classes)
        .map(|i| (0..12).filter(|t| ![3, 8].contains(t)).map(|t| all[t][i]).sum())
        .collect();
    let seed = Seed::from_number(3);
    let run = |ballots: Vec<_>| {
        let ballots = MemoryBallotBox::new(samples, ballots);
        engine.aggregate(&keys.evaluation, 0, &ballots, &seed)
    };
    let release = run(ballots.clone()).expect("a release");
    assert_eq!(engine.decrypt(&keys.secret, 0, &release).unwrap(), expected(&sums, classes));
    assert!(
        run(ballots.clone()).expect("a release") == release,
        "the same ballots, the same bytes"
    );
    ballots[0] = None;
    ballots[1] = None;
    assert!(matches!(run(ballots), Err(ArgmaxError::Shares(_))));
}

/// A threshold loses every tie, whichever class ties with it.
#[test]
fn samples_below_the_threshold_have_no_label() {
    let (teachers, classes, threshold) = (20_u32, 3, Some(9));
    let counts: [[i64; 3]; 6] =
        [[9, 3, 8], [8, 8, 4], [1, 2, 9], [0, 17, 3], [-2, -4, -3], [8, 10, 10]];
    let (election, noise) = (election(teachers, classes, counts.len()), skellam(1.0, teachers, 0));
    let (vote, rings) = (Sensitivity::Vote, Rings::Tiny(1_024));
    let engine = ArgmaxEngine::in_rings(election, noise, vote, threshold, rings).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(8);
    let keys = engine.generate_keys(&mut rng).expect("keys");
    let found = labels_of(&engine, &keys, &counts.concat(), &mut rng);
    let expected = counts.map(|counts| argmax_from(&counts, threshold));
    assert_eq!(found, expected);
    assert_eq!(expected.iter().flatten().count(), 4);
    let above = ArgmaxEngine::in_rings(engine.election().clone(), noise, vote, Some(21), rings);
    assert!(above.unwrap_err().to_string().contains("take less"));
}

#[test]
fn histograms_count_as_often_as_they_say() {
    let (teachers, classes, samples) = (3_u32, 3, 2);
    let noise = skellam(0.01, teachers, 0);
    let bound = Sensitivity::Counts(40);
    let election = election(teachers, classes, samples);
    let engine = ArgmaxEngine::in_rings(election, noise, bound, None, Rings::Tiny(1_024)).unwrap();
    assert!(engine.plan().range() >= 120);
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let keys = engine.generate_keys(&mut rng).expect("keys");
    let members = [
        vec![vec![40, 0, 0], vec![20, 20, 0]],
        vec![vec![0, 0, 40], vec![0, 0, 0]],
        vec![vec![0, 1, 39], vec![0, 1, 30]],
    ];
    let ballots = members
        .iter()
        .map(|counts| engine.encrypt_counts(&keys.public, 0, counts, &mut rng).ok())
        .collect();
    let ballots = MemoryBallotBox::new(samples, ballots);
    let seed = Seed::from_number(1);
    let release = engine.aggregate(&keys.evaluation, 0, &ballots, &seed).expect("a release");
    let labels = engine.decrypt(&keys.secret, 0, &release).unwrap();
    assert_eq!(labels, [Some(Class(2)), Some(Class(2))]);
    let mut refused = |counts: Vec<u32>| {
        let all = vec![counts, vec![0, 0, 0]];
        let found = engine.encrypt_counts(&keys.public, 0, &all, &mut rng);
        assert!(matches!(found, Err(ArgmaxError::Counts { .. })), "{all:?}");
    };
    refused(vec![41, 0, 0]);
    refused(vec![20, 20, 1]);
    refused(vec![u32::MAX, u32::MAX, 2]);
    refused(vec![1, 2]);
    refused(vec![1, 2, 3, 4]);
}
