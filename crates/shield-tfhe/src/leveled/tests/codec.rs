//! Bytes, beside what the suite of all engines looks at. The same bytes for the same seed.

use std::path::{Path, PathBuf};

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use shield_core::Seed;
use shield_core::engine::suite::{Case, resealed, vectors};
use shield_core::engine::{BallotBox, Encoding, Engine, Key, MemoryBallotBox};
use shield_core::framing::{DecodeError, HEADER, Kind};

use super::{Fixture, shape};
use crate::leveled::LeveledEngine;

/// An election, and the release of its first sample as bytes.
fn released() -> (Fixture, Vec<u8>) {
    let fixture = Fixture::new(shape(4, 3, 2, "X^2"));
    let Fixture { engine, keys, ballots, .. } = &fixture;
    let release = engine.aggregate(&keys.evaluation, 0, ballots, &Seed::from_number(1));
    let release = engine.encode_release(&release.expect("a release"));
    (fixture, release)
}

#[test]
fn the_plan_knows_every_size() {
    let (Fixture { engine, keys, ballots, .. }, release) = released();
    let plan = engine.plan();
    let ballot = engine.encode_ballot(&ballots.open(1).expect("a ballot"));
    assert_eq!(ballot.len(), plan.ballot_bytes());
    assert_eq!(engine.encode_public_key(&keys.public).len(), plan.public_key_bytes());
    assert_eq!(engine.encode_evaluation_key(&keys.evaluation).len(), plan.evaluation_key_bytes());
    assert_eq!(release.len(), plan.result_bytes());
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let (Fixture { engine, keys, ballots, .. }, release) = released();
    let again = |ballots: &MemoryBallotBox<_>, seed| {
        let found = engine.aggregate(&keys.evaluation, 0, ballots, &Seed::from_number(seed));
        engine.encode_release(&found.expect("a release"))
    };
    assert!(again(&ballots, 1) == release && again(&ballots, 2) != release);
    // A received ballot and one that was not give the same.
    let cold = (0..4).map(|teacher| {
        let bytes = engine.encode_ballot(&ballots.open(teacher).expect("a ballot"));
        engine.decode_ballot(&bytes, 0, keys.public.id()).ok()
    });
    let cold = MemoryBallotBox::new(1, cold.collect());
    for teacher in [0, 2] {
        engine.receive(&keys.evaluation, &cold.open(teacher).expect("a ballot"));
    }
    assert!(again(&cold, 1) == release);
}

#[test]
fn whole_bytes_that_cannot_be_right_are_refused() {
    let (Fixture { engine, keys, ballots, .. }, release) = released();
    let id = keys.public.id();
    let range = |kind| Err(DecodeError::Range { kind });
    // A secret of ones, more than any that is drawn has; and one with a coefficient of 2.
    for stray in [vec![0b1010_1010; 512], vec![0b0101_0111]] {
        let mut bytes = engine.encode_secret_key(&keys.secret).to_vec();
        bytes[HEADER..HEADER + stray.len()].copy_from_slice(&stray);
        let found = engine.decode_secret_key(&resealed(bytes)).map(drop);
        assert_eq!(found, range(Kind::SecretKey));
    }
    // A vote that says it abstained, and an abstention that says it voted.
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let abstention = engine.encrypt(&keys.public, 0, &[None], &mut rng).expect("a ballot");
    let voted = ballots.open(1).expect("a ballot");
    for (ballot, presence) in [(&*voted, 0), (&abstention, 1)] {
        let mut bytes = engine.encode_ballot(ballot);
        bytes[HEADER] = presence;
        let found = engine.decode_ballot(&resealed(bytes), 0, id).map(drop);
        assert_eq!(found, range(Kind::Ballot));
    }
    // The last half of an odd number of coefficients.
    let mut bytes = release;
    let last = bytes.len() - 33;
    bytes[last] |= 0x80;
    let found = engine.decode_release(&resealed(bytes), 0, id).map(drop);
    assert_eq!(found, range(Kind::Release));
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/leveled")
}

/// The engine of the frozen vectors, and the same for another election.
fn frozen() -> (Case, [LeveledEngine; 2]) {
    let case = Case::new(shape(3, 2, 2, "X"), 5);
    let elsewhere = case.election.clone().bound_to([7; 32]);
    let engine = |election| LeveledEngine::new(election).expect("a plan");
    let engines = [case.election.clone(), elsewhere].map(engine);
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
