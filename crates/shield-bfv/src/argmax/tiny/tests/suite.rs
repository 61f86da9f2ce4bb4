//! The parts of the shared suite that hold for every engine.

use std::path::{Path, PathBuf};

use super::*;
use shield_core::engine::suite::{self, Case, small_elections, vectors};

fn of_case(case: &Case, deviation: f64, ring: usize) -> TinyEngine {
    let noise = skellam(deviation, case.election.teachers(), 0);
    let rings = Rings::Tiny(ring);
    TinyEngine::in_rings(case.election.clone(), noise, Sensitivity::Vote, None, rings).unwrap()
}

#[test]
fn bad_votes_are_refused() {
    let case = &small_elections()[3];
    let engine = of_case(case, 1.0, 1_024);
    let mut rng = ChaCha20Rng::seed_from_u64(8);
    let keys = engine.generate_keys(&mut rng).expect("keys");
    suite::bad_votes_are_refused(&engine, &keys, case, &mut rng);
}

#[test]
fn bytes_are_read_only_if_they_are_sound() {
    let case = &small_elections()[3];
    let [engine, elsewhere] = [1.0, 1.1].map(|deviation| of_case(case, deviation, 1_024));
    let mut rng = ChaCha20Rng::seed_from_u64(8);
    let keys = engine.generate_keys(&mut rng).expect("keys");
    suite::only_sound_bytes_are_read(&engine, &elsewhere, &keys, &case.votes, &mut rng);
}

#[test]
fn labels_survive_bytes() {
    let case = &small_elections()[4];
    // So little noise that the labels are the argmax of the votes.
    let engine = of_case(case, 0.01, 1_024);
    let mut rng = ChaCha20Rng::seed_from_u64(8);
    let keys = engine.generate_keys(&mut rng).expect("keys");
    let found = suite::labels(&engine, &keys, &case.votes, &Seed::from_number(1), &mut rng);
    let leader = |sample| {
        let mut counts = [0_i64; 3];
        case.votes.sample(sample).flatten().for_each(|class| counts[class.index()] += 1);
        argmax_from(&counts, None)
    };
    assert_eq!(found, (0..case.votes.samples()).map(leader).collect::<Vec<_>>());
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/tiny")
}

/// The engine of the frozen vectors, and the same for another election.
fn frozen() -> (Case, [TinyEngine; 2]) {
    let case = small_elections().swap_remove(1);
    let noise = skellam(1.0, case.election.teachers(), 0);
    let make = |election| {
        TinyEngine::in_rings(election, noise, Sensitivity::Vote, None, Rings::Tiny(256)).unwrap()
    };
    let elsewhere = case.election.clone().bound_to([7; 32]);
    let engines = [case.election.clone(), elsewhere].map(make);
    (case, engines)
}

#[test]
fn frozen_vectors_are_read() {
    let (case, [engine, elsewhere]) = frozen();
    vectors::check(&folder(), &engine, &elsewhere, &case);
}

#[test]
#[ignore = "writes the frozen vectors anew"]
fn write_frozen_vectors() {
    let (case, [engine, elsewhere]) = frozen();
    vectors::write(&folder(), &engine, &elsewhere, &case);
}
