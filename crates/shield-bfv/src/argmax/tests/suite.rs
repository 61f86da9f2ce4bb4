//! The parts of the shared suite that hold for every engine.

use std::path::{Path, PathBuf};

use super::*;
use shield_core::engine::suite::{self, Case, small_elections, vectors};

#[test]
fn bad_votes_are_refused() {
    for case in small_elections() {
        let teachers = case.election.teachers();
        let noise = skellam(1.0, teachers, 0);
        let rings = Rings::Tiny(1_024);
        let engine =
            ArgmaxEngine::in_rings(case.election.clone(), noise, Sensitivity::Vote, None, rings)
                .expect("a plan");
        let mut rng = ChaCha20Rng::seed_from_u64(8);
        let keys = engine.generate_keys(&mut rng).expect("keys");
        suite::bad_votes_are_refused(&engine, &keys, &case, &mut rng);
    }
}

#[test]
fn bytes_are_read_only_if_they_are_sound() {
    let case = &small_elections()[3];
    let teachers = case.election.teachers();
    let make = |deviation| {
        let noise = skellam(deviation, teachers, 0);
        let rings = Rings::Tiny(1_024);
        ArgmaxEngine::in_rings(case.election.clone(), noise, Sensitivity::Vote, None, rings)
            .unwrap()
    };
    let (engine, elsewhere) = (make(1.0), make(1.1));
    let mut rng = ChaCha20Rng::seed_from_u64(8);
    let keys = engine.generate_keys(&mut rng).expect("keys");
    suite::only_sound_bytes_are_read(&engine, &elsewhere, &keys, &case.votes, &mut rng);
}

#[test]
fn labels_survive_bytes() {
    let case = &small_elections()[4];
    let teachers = case.election.teachers();
    // So little noise that the labels are the argmax of the votes.
    let noise = skellam(0.01, teachers, 0);
    let rings = Rings::Tiny(1_024);
    let engine =
        ArgmaxEngine::in_rings(case.election.clone(), noise, Sensitivity::Vote, None, rings)
            .unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(8);
    let keys = engine.generate_keys(&mut rng).expect("keys");
    let found = suite::labels(&engine, &keys, &case.votes, &Seed::from_number(1), &mut rng);
    let leader = |sample| {
        let mut counts = [0_i64; 3];
        case.votes.sample(sample).flatten().for_each(|class| counts[class.index()] += 1);
        Some(argmax(&counts))
    };
    assert_eq!(found, (0..case.votes.samples()).map(leader).collect::<Vec<_>>());
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/argmax")
}

/// The engine of the frozen vectors, and the same for another election. The ring is smaller than in
/// other tests, because the vectors are part of the repository.
fn frozen() -> (Case, [ArgmaxEngine; 2]) {
    let case = small_elections().swap_remove(1);
    let noise = skellam(1.0, case.election.teachers(), 0);
    let make = |election| {
        ArgmaxEngine::in_rings(election, noise, Sensitivity::Vote, None, Rings::Tiny(256))
            .expect("a plan")
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
