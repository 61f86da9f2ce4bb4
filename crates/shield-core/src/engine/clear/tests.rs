use std::path::{Path, PathBuf};

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::*;
use crate::engine::suite::{self, Case, vectors};
use crate::engine::{Encoding, MemoryBallotBox};
use crate::parameters::Noise;
use crate::setting::Setting;

#[test]
fn passes_the_suite() {
    suite::run(&suite::small_elections(), |election| Ok(ClearEngine::new(election.clone())));
}

#[test]
fn passes_the_suite_in_small_batches() {
    suite::run(&suite::small_elections(), |election| {
        Ok(ClearEngine::with_batches_of(election.clone(), 3))
    });
}

#[test]
fn too_few_shares_are_refused() {
    let noise = SharedNoise::new(Noise::new(3.0).unwrap(), 5, 2).unwrap();
    let election = Election::new(5, Classes::new(3).unwrap(), 1, Setting::default());
    let engine = ClearEngine::noisy_argmax(election.unwrap(), noise);
    let key = ClearKey::default();
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let mut ballots: Vec<_> =
        (0..5).map(|_| engine.encrypt(&key, 0, &[Some(Class(1))], &mut rng).ok()).collect();
    let result = |ballots: &[Option<ClearBallot>]| {
        let ballots = MemoryBallotBox::new(1, ballots.to_vec());
        engine.aggregate(&key, 0, &ballots, &Seed::from_number(0))
    };
    ballots[0] = None;
    ballots[4] = None;
    assert!(result(&ballots).is_ok());
    ballots[2] = None;
    assert!(matches!(result(&ballots), Err(ClearError::Shares(_))));
}

/// A noisy argmax for an election, and the same elsewhere.
fn noisy(case: &Case, family: NoiseFamily) -> [ClearEngine; 2] {
    let teachers = case.election.teachers();
    let noise = SharedNoise::of(family, Noise::new(1.0).unwrap(), teachers, 0).unwrap();
    let elsewhere = case.election.clone().bound_to([7; 32]);
    [case.election.clone(), elsewhere].map(|election| ClearEngine::noisy_argmax(election, noise))
}

#[test]
fn only_sound_bytes_of_a_noisy_argmax_are_read() {
    for case in suite::small_elections() {
        let [engine, elsewhere] = noisy(&case, NoiseFamily::Laplace);
        let mut rng = ChaCha20Rng::seed_from_u64(3);
        let keys = suite::sent_keys(&engine, &engine.generate_keys(&mut rng).unwrap());
        suite::bad_votes_are_refused(&engine, &keys, &case, &mut rng);
        suite::only_sound_bytes_are_read(&engine, &elsewhere, &keys, &case.votes, &mut rng);
    }
}

#[test]
fn a_noisy_ballot_that_leaves_a_sample_out_is_refused() {
    let [engine, _] = noisy(&suite::small_elections()[1], NoiseFamily::Laplace);
    let key = ClearKey::default();
    let mut rng = ChaCha20Rng::seed_from_u64(4);
    let mut ballot = engine.encrypt(&key, 0, &[None; 5], &mut rng).unwrap();
    assert!(suite::sent_ballot(&engine, &ballot, 0).presence.is_complete());
    ballot.presence = Presence::new([true, true, false, true, true].into_iter());
    let bytes = engine.encode_ballot(&ballot);
    assert!(engine.decode_ballot(&bytes, 0, key.id()).is_err());
    assert!(engine.peek_presence(&bytes, 0).is_err());
}

/// The engines of the frozen vectors: folder, case, engine, the same for another election. In
/// small batches, the bytes are of one batch of several.
fn frozen() -> [(PathBuf, Case, [ClearEngine; 2]); 4] {
    let shield = |case: &Case, samples| {
        let elsewhere = case.election.clone().bound_to([7; 32]);
        [case.election.clone(), elsewhere]
            .map(|election| ClearEngine::with_batches_of(election, samples))
    };
    let case = || suite::small_elections().swap_remove(3);
    [
        ("clear", shield(&case(), ClearEngine::SAMPLES_PER_BATCH)),
        ("clear_small_batches", shield(&case(), 3)),
        ("clear_noisy_argmax", noisy(&case(), NoiseFamily::Laplace)),
        ("clear_noisy_argmax_skellam", noisy(&case(), NoiseFamily::Skellam)),
    ]
    .map(|(name, engines)| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(name);
        (folder, case(), engines)
    })
}

#[test]
fn frozen_vectors_are_read() {
    for (folder, case, [engine, elsewhere]) in frozen() {
        vectors::check(&folder, &engine, &elsewhere, &case);
    }
}

#[test]
#[ignore = "writes the frozen vectors anew"]
fn write_frozen_vectors() {
    for (folder, case, [engine, elsewhere]) in frozen() {
        vectors::write(&folder, &engine, &elsewhere, &case);
    }
}
