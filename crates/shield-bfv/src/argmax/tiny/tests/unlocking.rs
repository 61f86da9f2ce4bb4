//! What the student refuses to unlock, and the server to aggregate.

use super::*;
use crate::argmax::error::ArgmaxError;
use shield_core::engine::{BallotError, Unlocks};
use shield_core::framing::{DecodeError, Kind};

/// An election of 5 teachers with one dropout, its keys, and everybody's ballot.
fn fixture() -> (TinyEngine, KeysOf<TinyEngine>, Vec<Option<TinyBallot>>) {
    let engine = tiny(election(5, 3, 4), skellam(3.0, 5, 1), None);
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let keys = engine.generate_keys(&mut rng).expect("keys");
    let ballots = (0..5).map(|_| Some(ballot(&engine, &keys, &[0; 12], &mut rng))).collect();
    (engine, keys, ballots)
}

fn request(
    engine: &TinyEngine,
    keys: &KeysOf<TinyEngine>,
    ballots: &[Option<TinyBallot>],
) -> Result<Vec<u8>, ArgmaxError> {
    engine.request(&keys.evaluation, 0, &MemoryBallotBox::new(4, ballots.to_vec()))
}

#[test]
fn too_few_seeds_are_not_summed_up() {
    let (engine, keys, mut ballots) = fixture();
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    ballots[1] = None;
    let asked = request(&engine, &keys, &ballots).unwrap();
    assert!(engine.unlock(&keys.secret, 0, &asked, &mut rng).is_ok());
    ballots[2] = None;
    let asked = request(&engine, &keys, &ballots);
    assert!(matches!(asked, Err(ArgmaxError::Shares(few)) if few.ballots == 3));
    // A server that asks all the same, from an engine that needs fewer.
    let four = tiny(election(5, 3, 4), skellam(3.0, 5, 2), None);
    let seeds = crate::argmax::tiny::unlocking::Request(
        ballots.iter().map(|ballot| Some(*ballot.as_ref()?.capsule)).collect(),
    );
    let refused = seeds.check(&engine.argmax.noise).unwrap_err();
    assert!(refused.to_string().starts_with("3 of 5 teachers"), "{refused}");
    assert!(seeds.check(&four.argmax.noise).is_ok());
}

#[test]
fn a_copy_is_no_second_share_of_the_noise() {
    let (engine, keys, mut ballots) = fixture();
    ballots[4] = ballots[1].clone();
    let asked = request(&engine, &keys, &ballots).unwrap();
    let refused = engine.unlock(&keys.secret, 0, &asked, &mut ChaCha20Rng::seed_from_u64(2));
    assert!(matches!(refused, Err(ArgmaxError::Copied { first: 1, second: 4 })));
}

#[test]
fn damaged_and_foreign_requests_are_refused() {
    let (engine, keys, ballots) = fixture();
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let asked = request(&engine, &keys, &ballots).unwrap();
    let mut unlock = |bytes: &[u8]| engine.unlock(&keys.secret, 0, bytes, &mut rng).err();
    for (at, name) in [(0, "start"), (10, "binding"), (45, "keys"), (75, "batch"), (500, "seed")] {
        let mut wrong = asked.clone();
        wrong[at] ^= 1;
        assert!(matches!(unlock(&wrong), Some(ArgmaxError::Decode(_))), "{name}");
    }
    assert!(matches!(unlock(&asked[..asked.len() - 1]), Some(ArgmaxError::Decode(_))));
    assert!(matches!(unlock(&[]), Some(ArgmaxError::Decode(DecodeError::NotOurs))));
    let last = engine.unlock(&keys.secret, 1, &asked, &mut rng).unwrap_err();
    assert!(matches!(last, ArgmaxError::Ballot(BallotError::Batch { .. })));
    let strangers = engine.generate_keys(&mut rng).unwrap();
    let foreign = engine.unlock(&strangers.secret, 0, &asked, &mut rng).unwrap_err();
    assert!(matches!(foreign, ArgmaxError::Decode(DecodeError::Key { .. })));
}

#[test]
fn a_seed_of_nobody_is_out_of_range() {
    let (engine, keys, ballots) = fixture();
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let mut seeds = crate::argmax::tiny::unlocking::Request(
        ballots.iter().map(|ballot| Some(*ballot.as_ref().unwrap().capsule)).collect(),
    );
    let write = |seeds: &crate::argmax::tiny::unlocking::Request| {
        let made_for = shield_core::framing::MadeFor { batch: 0, key: keys.public.id };
        engine.write_request(seeds, made_for)
    };
    seeds.0[3] = None;
    let sound = write(&seeds);
    assert!(engine.unlock(&keys.secret, 0, &sound, &mut rng).is_ok());
    // The seed of somebody who is said to be absent, under a checksum that is right.
    let mut wrong = sound.clone();
    let end = wrong.len() - 32;
    wrong[end - 1_088 - 5] = 1;
    let checksum = blake3::hash(&wrong[..end]);
    wrong[end..].copy_from_slice(checksum.as_bytes());
    let refused = engine.unlock(&keys.secret, 0, &wrong, &mut rng).unwrap_err();
    assert!(matches!(refused, ArgmaxError::Decode(DecodeError::Range { kind: Kind::Request })));
}

#[test]
fn the_server_aggregates_what_was_unlocked_and_nothing_else() {
    let (engine, keys, ballots) = fixture();
    let (mut rng, seed) = (ChaCha20Rng::seed_from_u64(2), Seed::from_number(1));
    let asked = request(&engine, &keys, &ballots).unwrap();
    let unlocking = engine.unlock(&keys.secret, 0, &asked, &mut rng).unwrap();
    let run = |ballots: &[Option<TinyBallot>], unlocking: &[u8]| {
        let ballots = MemoryBallotBox::new(4, ballots.to_vec());
        engine.aggregate_unlocked(&keys.evaluation, 0, &ballots, &seed, unlocking).err()
    };
    assert!(run(&ballots, &unlocking).is_none());
    let mut fewer = ballots.clone();
    fewer[2] = None;
    assert!(matches!(run(&fewer, &unlocking), Some(ArgmaxError::OtherBallots { batch: 0 })));
    let mut changed = ballots.clone();
    changed[2] = Some(ballot(&engine, &keys, &[0; 12], &mut rng));
    assert!(matches!(run(&changed, &unlocking), Some(ArgmaxError::OtherBallots { .. })));
    for at in [9, 200, unlocking.len() - 1] {
        let mut wrong = unlocking.clone();
        wrong[at] ^= 1;
        assert!(matches!(run(&ballots, &wrong), Some(ArgmaxError::Decode(_))), "{at}");
    }
    assert!(matches!(run(&ballots, &asked), Some(ArgmaxError::Decode(DecodeError::Kind { .. }))));
    let box_of_all = MemoryBallotBox::new(4, ballots);
    let locked = engine.aggregate(&keys.evaluation, 0, &box_of_all, &seed).unwrap_err();
    assert!(matches!(locked, ArgmaxError::Locked { batch: 0 }));
}
