//! Many samples and teachers in the real rings.

use std::time::Instant;

use super::*;
use crate::argmax::ArgmaxEngine;
use crate::argmax::tests::Padded;
use shield_core::engine::{Encoding, Unlocks};

#[test]
#[ignore = "minutes: ten thousand samples in the real rings"]
fn ten_thousand_samples_as_in_the_clear() {
    for (classes, samples, threshold) in
        [(2, 6_000, None), (10, 1_954, None), (10, 512, Some(100)), (32, 1_024, None)]
    {
        let (noise, election) = (skellam(30.0, 250, 5), election(250, classes, samples));
        let engine = TinyEngine::with_counts(election, noise, Sensitivity::Vote, threshold);
        let engine = engine.expect("a plan");
        let mut rng = ChaCha20Rng::seed_from_u64(classes as u64);
        let keys = engine.generate_keys(&mut rng).expect("keys");
        let range = engine.plan().range() as i64;
        let samples = engine.batch(0).len();
        let start = Instant::now();
        let counts: Vec<i64> = match threshold {
            None => gaps(classes, samples, range, &mut rng),
            // Within the range of the threshold, too.
            Some(_) => (0..samples * classes).map(|_| rng.random_range(0..=105)).collect(),
        };
        let found = labels_of(&engine, &keys, &counts, &mut rng);
        let expected: Vec<Label> = expected(&counts, classes, threshold);
        assert_eq!(found, expected, "{classes} classes");
        println!("{classes} classes: {samples} samples right, {:?} in all", start.elapsed());
    }
}

/// Seconds of processor time of this process.
fn processor() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields = stat.rsplit(')').next().expect("a name").split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).map(|field| field.parse::<u64>().unwrap()).sum();
    ticks as f64 / 100.0
}

/// What some work gives, and the processor time it took.
fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = processor();
    let done = work();
    (done, processor() - start)
}

#[test]
#[ignore = "a minute: processor time of both kinds of ballots, side by side"]
fn processor_time_beside_checked_ballots() {
    for (teachers, samples, deviation) in [(250, 512, 42.75), (1_000, 512, 42.75)] {
        let noise = skellam(deviation, teachers, 0);
        let make = || election(teachers, 10, samples);
        let mut rng = ChaCha20Rng::seed_from_u64(3);
        let seed = Seed::from_number(1);

        let engine = TinyEngine::new(make(), noise).expect("a plan");
        let keys = engine.generate_keys(&mut rng).expect("keys");
        let votes = vec![Some(Class(3)); samples];
        let encrypt = |rng: &mut ChaCha20Rng| engine.encrypt(&keys.public, 0, &votes, rng).unwrap();
        let (ballots, teacher) =
            timed(|| (0..teachers).map(|_| encrypt(&mut rng)).collect::<Vec<_>>());
        let stored: Vec<Vec<u8>> = ballots.iter().map(|b| engine.encode_ballot(b)).collect();
        let id = keys.public.id;
        let (ballots, opening) = timed(|| {
            let open = |bytes: &Vec<u8>| engine.decode_ballot(bytes, 0, id).ok();
            MemoryBallotBox::new(samples, stored.iter().map(open).collect())
        });
        let request = engine.request(&keys.evaluation, 0, &ballots).unwrap();
        let (unlocking, student) =
            timed(|| engine.unlock(&keys.secret, 0, &request, &mut rng).unwrap());
        let (release, server) = timed(|| {
            engine.aggregate_unlocked(&keys.evaluation, 0, &ballots, &seed, &unlocking).unwrap()
        });
        let labels = engine.decrypt(&keys.secret, 0, &release).unwrap();
        assert!(labels.iter().filter(|&&label| label == Some(Class(3))).count() > samples / 2);
        drop((engine, keys));

        // Checked ballots: one that is opened 20 times, and counted as often as there are teachers.
        let engine = ArgmaxEngine::new(make(), noise).expect("a plan");
        let keys = engine.generate_keys(&mut rng).expect("keys");
        let ballot = engine.encrypt(&keys.public, 0, &votes, &mut rng).unwrap();
        let bytes = engine.encode_ballot(&ballot);
        let id = keys.public.id;
        let ((), one) =
            timed(|| (0..20).for_each(|_| drop(engine.decode_ballot(&bytes, 0, id).unwrap())));
        let ballots = Padded { first: ballot.clone(), other: ballot };
        let (_, rest) = timed(|| engine.aggregate(&keys.evaluation, 0, &ballots, &seed).unwrap());
        let checked = f64::from(teachers) * one / 20.0 + rest;
        let tiny = opening + student + server;
        let each = teacher / f64::from(teachers) * 1e3;
        println!(
            "{teachers} teachers, {samples} samples: tiny {tiny:.2} s (opening {opening:.2}, \
             student {student:.2}, server {server:.2}; {each:.2} ms a ballot), checked \
             {checked:.2} s ({rest:.2} without opening): a factor of {:.2}",
            tiny / checked
        );
    }
}
