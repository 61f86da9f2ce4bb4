//! The encrypted argmax against the clear one.

use std::path::{Path, PathBuf};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use shield::backend::noisy_argmax::{argmax, noisy_one_hot};
use shield::backend::suite::{self, Case, vectors};
use shield::backend::{Backend, BackendBytes, Keys, KeysOf, MemoryBallotBox, Presence};
use shield::framing::Kind;
use shield::parameters::Noise;
use shield::shared_noise::SharedNoise;
use shield::shared_noise::Shares;
use shield::{Class, Classes, Election, Label, Seed, Setting};

use super::NoisyArgmaxBackend;
use crate::bootstrapped::{BootstrappedBallot, BootstrappedError};

fn backend(
    teachers: u32,
    classes: usize,
    samples: usize,
    scale: f64,
    dropouts: u32,
) -> NoisyArgmaxBackend {
    let noise = SharedNoise::new(Noise::new(scale).unwrap(), teachers, dropouts).unwrap();
    let classes = Classes::new(classes).unwrap();
    let election = Election::new(teachers as usize, classes, samples, Setting::default());
    NoisyArgmaxBackend::new(election.unwrap(), noise).expect("a plan")
}

/// The labels of ballots that hold given numbers, one vector per teacher.
fn labels(
    backend: &NoisyArgmaxBackend,
    keys: &KeysOf<NoisyArgmaxBackend>,
    numbers: &[Vec<i64>],
    rng: &mut ChaCha20Rng,
) -> Vec<Label> {
    let ballot = |numbers: &Vec<i64>| Some(backend.encrypt_numbers(&keys.public, 0, numbers, rng));
    let ballots: Vec<_> = numbers.iter().map(ballot).collect();
    let ballots = MemoryBallotBox::new(backend.batch(0).len(), ballots);
    let seed = Seed::from_number(1);
    let release = backend.aggregate(&keys.evaluation, 0, &ballots, &seed).expect("a release");
    backend.decrypt(&keys.secret, 0, &release).expect("labels")
}

fn expected(numbers: &[Vec<i64>], classes: usize) -> Vec<Label> {
    let sums: Vec<i64> =
        (0..numbers[0].len()).map(|i| numbers.iter().map(|n| n[i]).sum()).collect();
    sums.chunks(classes).map(|counts| Some(argmax(counts))).collect()
}

/// Gaps that are easily got wrong: none, one, a carry into the next digit, the largest there are.
#[test]
fn every_gap() {
    let backend = backend(250, 3, 8, 40.0, 0);
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let keys = backend.generate_keys(&mut rng).expect("keys");
    let reach = backend.plan().reach();
    let counts = [
        [7, 7, 7],
        [7, 8, 8],
        [16 - reach, 15 - reach, 15 - reach],
        [255, 256, 255],
        [-reach, -reach, 1 - reach],
        [250 + reach, -reach, 249 + reach],
        [-reach, 250 + reach, 250 + reach],
        [-1, -17, 0],
    ];
    let numbers = vec![counts.concat()];
    // One ballot holds all of it; the others of the 250 hold nothing.
    let all: Vec<Vec<i64>> =
        numbers.into_iter().chain(std::iter::repeat_n(vec![0; 24], 249)).collect();
    assert_eq!(labels(&backend, &keys, &all, &mut rng), expected(&all, 3));
}

fn random_votes(classes: usize, samples: usize, rng: &mut ChaCha20Rng) -> Vec<Option<Class>> {
    let vote = |_| rng.random_ratio(9, 10).then(|| rng.random_range(0..classes));
    let votes: Vec<_> = (0..samples).map(vote).collect();
    votes.into_iter().map(|vote| vote.map(|k| Class(u16::try_from(k).unwrap()))).collect()
}

fn same_as_in_the_clear(teachers: u32, classes: usize, samples: usize, scale: f64) -> usize {
    let backend = backend(teachers, classes, samples, scale, teachers / 5);
    let mut rng = ChaCha20Rng::seed_from_u64(classes as u64);
    let keys = backend.generate_keys(&mut rng).expect("keys");
    let noise = SharedNoise::new(Noise::new(scale).unwrap(), teachers, teachers / 5).unwrap();
    let shares = Shares::new(&noise);
    let all: Vec<Vec<i64>> = (0..teachers)
        .map(|_| {
            let votes = random_votes(classes, samples, &mut rng);
            noisy_one_hot(Classes::new(classes).unwrap(), &votes, &shares, &mut rng)
        })
        .collect();
    let start = std::time::Instant::now();
    let found = labels(&backend, &keys, &all, &mut rng);
    let seconds = start.elapsed().as_secs_f64() / samples as f64;
    assert_eq!(found, expected(&all, classes));
    println!(
        "{classes} classes, {teachers} teachers, {} bootstrappings: {seconds:.2} s per sample, \
         {samples} right",
        backend.plan().bootstrappings()
    );
    found.len()
}

#[test]
fn a_few_samples_as_in_the_clear() {
    same_as_in_the_clear(20, 2, 2, 1.0);
    same_as_in_the_clear(30, 5, 1, 4.0);
}

#[test]
#[ignore = "minutes: twenty samples for each number of classes"]
fn twenty_samples() {
    for classes in [2, 10, 16, 100] {
        same_as_in_the_clear(250, classes, 20, 10.0);
    }
}

#[test]
fn the_plan_is_what_is_done() {
    let backend = backend(10, 3, 1, 0.5, 0);
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let keys = backend.generate_keys(&mut rng).expect("keys");
    let mut lookup = crate::bootstrapped::lookup::Lookup::new(&keys.evaluation);
    let sum = keys.public.encrypt(&[0, 0, 0], 64, &mut rng);
    backend.aggregate_sample(&mut lookup, &keys.evaluation, &sum, 0, 0, &Seed::from_number(1));
    assert_eq!(lookup.lookups(), backend.plan().bootstrappings());
}

#[test]
fn bad_votes_are_refused() {
    for case in suite::small_elections() {
        let teachers = case.election.teachers();
        let noise = SharedNoise::new(Noise::new(1.0).unwrap(), teachers, 0).unwrap();
        let backend = NoisyArgmaxBackend::new(case.election.clone(), noise).expect("a plan");
        let mut rng = ChaCha20Rng::seed_from_u64(8);
        // Only the public key is asked for.
        let (secret, public, evaluation) = crate::bootstrapped::tests::shared_keys().clone();
        let keys = Keys { secret, public, evaluation };
        suite::bad_votes_are_refused(&backend, &keys, &case, &mut rng);
    }
}

#[test]
fn bytes_round_trip_and_damage_is_noticed() {
    let backend = backend(3, 3, 2, 0.5, 1);
    let (secret, public, evaluation) = crate::bootstrapped::tests::shared_keys();
    let mut rng = ChaCha20Rng::seed_from_u64(9);
    let votes = [Some(Class(2)), None];
    let ballot = backend.encrypt(public, 0, &votes, &mut rng).expect("a ballot");
    let bytes = backend.encode_ballot(&ballot);
    assert_eq!(bytes.len(), backend.max_bytes(Kind::Ballot));
    let decoded = backend.decode_ballot(&bytes, 0, public.id()).expect("a ballot");
    assert_eq!(backend.encode_ballot(&decoded), bytes);
    for place in (0..bytes.len()).step_by(97) {
        let mut damaged = bytes.clone();
        damaged[place] ^= 8;
        assert!(backend.decode_ballot(&damaged, 0, public.id()).is_err(), "byte {place}");
    }
    // Who abstains sends a vote for nobody: a ballot that leaves a sample out is none.
    for present in [[true, false], [false, false]] {
        let presence = Presence::new(present.into_iter());
        let bytes = backend.encode_ballot(&BootstrappedBallot { presence, ..ballot.clone() });
        assert!(backend.decode_ballot(&bytes, 0, public.id()).is_err());
        assert!(backend.peek_presence(&bytes, 0).is_err());
    }
    let ballots = MemoryBallotBox::new(2, vec![Some(ballot), Some(decoded), None]);
    let release = backend.aggregate(evaluation, 0, &ballots, &Seed::from_number(1)).unwrap();
    let bytes = backend.encode_release(&release);
    assert_eq!(bytes.len(), backend.max_bytes(Kind::Release));
    let decoded = backend.decode_release(&bytes, 0, public.id()).expect("a release");
    let labels = backend.decrypt(secret, 0, &decoded).expect("labels");
    assert_eq!(labels, backend.decrypt(secret, 0, &release).expect("labels"));
    assert!(backend.decode_release(&bytes[1..], 0, public.id()).is_err());
}

#[test]
fn missing_shares_and_wide_noise_are_refused() {
    let backend = backend(5, 3, 1, 2.0, 1);
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let keys = backend.generate_keys(&mut rng).expect("keys");
    let vote = [Some(Class(2))];
    let mut ballots: Vec<_> =
        (0..5).map(|_| backend.encrypt(&keys.public, 0, &vote, &mut rng).ok()).collect();
    ballots[1] = None;
    ballots[2] = None;
    let ballots = MemoryBallotBox::new(1, ballots);
    let result = backend.aggregate(&keys.evaluation, 0, &ballots, &Seed::from_number(1));
    assert!(matches!(result, Err(BootstrappedError::Shares(_))));
    let noise = SharedNoise::new(Noise::new(2_000.0).unwrap(), 5, 0).unwrap();
    let election = Election::new(5, Classes::new(3).unwrap(), 1, Setting::default()).unwrap();
    let wide = NoisyArgmaxBackend::new(election, noise);
    assert!(matches!(wide, Err(BootstrappedError::TooWide { .. })));
    let noise = SharedNoise::new(Noise::new(2.0).unwrap(), 5, 0).unwrap();
    let election = Election::new(5, Classes::new(2_049).unwrap(), 1, Setting::default()).unwrap();
    let many = NoisyArgmaxBackend::new(election, noise);
    assert!(matches!(many, Err(BootstrappedError::TooManyClasses { .. })));
}

/// The smallest election of the suite with noise, and the same elsewhere.
fn engines() -> (Case, [NoisyArgmaxBackend; 2]) {
    let case = suite::small_elections().swap_remove(0);
    let noise = SharedNoise::new(Noise::new(1.0).unwrap(), 1, 0).unwrap();
    let elsewhere = case.election.clone().bound_to([7; 32]);
    let engine = |election| NoisyArgmaxBackend::new(election, noise).expect("a plan");
    let engines = [case.election.clone(), elsewhere].map(engine);
    (case, engines)
}

#[test]
fn only_sound_bytes_are_read() {
    let (case, [backend, elsewhere]) = engines();
    let (secret, public, evaluation) = crate::bootstrapped::tests::shared_keys().clone();
    let keys = suite::sent_keys(&backend, &Keys { secret, public, evaluation });
    let mut rng = ChaCha20Rng::seed_from_u64(9);
    suite::only_sound_bytes_are_read(&backend, &elsewhere, &keys, &case.votes, &mut rng);
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/noisy_argmax")
}

#[test]
fn frozen_vectors_are_read() {
    let (case, [backend, elsewhere]) = engines();
    vectors::check(&folder(), &backend, &elsewhere, &case);
}

#[test]
#[ignore = "writes the frozen vectors anew"]
fn write_frozen_vectors() {
    let (case, [backend, elsewhere]) = engines();
    vectors::write(&folder(), &backend, &elsewhere, &case);
}
