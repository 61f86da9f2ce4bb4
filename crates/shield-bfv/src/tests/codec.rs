//! Bytes: what is written can be read, and nothing else can.

use proptest::prelude::*;
use shield_core::Seed;
use shield_core::engine::suite::resealed;
use shield_core::engine::{BallotBox, Encoding, Engine, Key};
use std::sync::OnceLock;

use super::{CODINGS, Fixture, shape};
use crate::BfvEngine;
use shield_core::framing::{DecodeError, Header, Kind};

struct Files {
    fixture: Fixture,
    secret: Vec<u8>,
    public: Vec<u8>,
    evaluation: Vec<u8>,
    ballot: Vec<u8>,
    release: Vec<u8>,
}

fn files() -> &'static Files {
    static FILES: OnceLock<Files> = OnceLock::new();
    FILES.get_or_init(|| {
        let fixture = Fixture::new(shape(4, 3, 5, "X^2+X"));
        let Fixture { engine, keys, ballots, .. } = &fixture;
        let seed = Seed::from_number(1);
        let release = engine.aggregate(&keys.evaluation, 0, ballots, &seed).expect("a release");
        Files {
            secret: engine.encode_secret_key(&keys.secret).to_vec(),
            public: engine.encode_public_key(&keys.public),
            evaluation: engine.encode_evaluation_key(&keys.evaluation),
            ballot: engine.encode_ballot(&ballots.open(1).expect("a ballot")),
            release: engine.encode_release(&release),
            fixture,
        }
    })
}

/// Reads bytes as every kind: how often it worked.
fn read_all(engine: &BfvEngine, bytes: &[u8]) -> usize {
    let id = files().fixture.keys.public.id();
    [
        engine.decode_secret_key(bytes).is_ok(),
        engine.decode_public_key(bytes).is_ok(),
        engine.decode_evaluation_key(bytes).is_ok(),
        engine.decode_ballot(bytes, 0, id).is_ok(),
        engine.decode_release(bytes, 0, id).is_ok(),
    ]
    .into_iter()
    .filter(|&ok| ok)
    .count()
}

#[test]
fn everything_round_trips_and_has_the_planned_size() {
    let files = files();
    let Fixture { case, engine, keys, ballots } = &files.fixture;
    let id = keys.public.id();
    let plan = engine.plan();
    assert_eq!(files.evaluation.len(), plan.evaluation_key_bytes());
    assert_eq!(files.release.len(), plan.result_bytes());
    let secret = engine.decode_secret_key(&files.secret).expect("a secret key");
    let public = engine.decode_public_key(&files.public).expect("a public key");
    let evaluation = engine.decode_evaluation_key(&files.evaluation).expect("an evaluation key");
    assert_eq!(engine.encode_public_key(&public), files.public);
    assert_eq!(engine.encode_evaluation_key(&evaluation), files.evaluation);
    let ballot = engine.decode_ballot(&files.ballot, 0, id).expect("a ballot");
    assert_eq!(engine.encode_ballot(&ballot), files.ballot);
    let presence = engine.peek_presence(&files.ballot, 0).expect("a presence");
    assert_eq!(presence, ballots.presence(1).expect("a presence"));
    let seed = Seed::from_number(1);
    let again = engine.aggregate(&evaluation, 0, ballots, &seed).expect("a release");
    assert_eq!(engine.encode_release(&again), files.release);
    let release = engine.decode_release(&files.release, 0, id).expect("a release");
    let labels = engine.decrypt(&secret, 0, &release).expect("labels");
    assert_eq!(labels, case.expected(&seed));
}

/// A presence that is read as "on no sample" would leave the teacher out in silence.
#[test]
fn the_presence_of_a_damaged_ballot_is_refused() {
    let files = files();
    let engine = &files.fixture.engine;
    let mut zeroed = files.ballot.clone();
    zeroed[shield_core::framing::HEADER] = 0;
    assert!(matches!(engine.peek_presence(&zeroed, 0), Err(DecodeError::Checksum)));
    let cut = &files.ballot[..shield_core::framing::HEADER + 8];
    assert!(matches!(engine.peek_presence(cut, 0), Err(DecodeError::Length { .. })));
}

#[test]
fn the_planned_ballot_size_is_that_of_a_full_batch() {
    let fixture = Fixture::new(shape(1, 10, 512, "X"));
    let ballot = fixture.ballots.open(0).expect("a ballot");
    assert_eq!(fixture.engine.encode_ballot(&ballot).len(), fixture.engine.plan().ballot_bytes());
}

#[test]
fn what_does_not_belong_is_named() {
    let files = files();
    let Fixture { engine, keys, .. } = &files.fixture;
    let id = keys.public.id();
    let kind = Kind::Ballot;
    let found = Kind::PublicKey;
    let result = engine.decode_ballot(&files.public, 0, id).unwrap_err();
    assert_eq!(result, DecodeError::Kind { found, expected: kind });
    let other = Fixture::new(shape(5, 3, 5, "X^2+X"));
    let result = other.engine.decode_ballot(&files.ballot, 0, id).unwrap_err();
    assert_eq!(result, DecodeError::Binding { kind });
    let mut rng = Seed::from_number(2).stream("other keys", 0);
    let stranger = engine.generate_keys(&mut rng).expect("keys").public.id();
    let result = engine.decode_ballot(&files.ballot, 0, stranger).unwrap_err();
    assert_eq!(result, DecodeError::Key { kind, found: id, expected: stranger });
    let result = engine.decode_ballot(&files.ballot, 1, id).unwrap_err();
    assert_eq!(result, DecodeError::Batch { kind, found: 0, expected: 1 });
    let mut bytes = files.ballot.clone();
    bytes[4] = 9;
    let result = engine.decode_ballot(&resealed(bytes), 0, id).unwrap_err();
    assert_eq!(result, DecodeError::Version { found: 9 });
    let result = engine.decode_ballot(b"\x93NUMPY", 0, id).unwrap_err();
    assert_eq!(result, DecodeError::NotOurs);
    assert_eq!(Header::read(&files.ballot).expect("a header").kind, kind);
}

#[test]
fn foreign_keys_and_ballots_are_refused_in_memory_too() {
    let mine = Fixture::new(shape(3, 3, 5, "X^2+X"));
    let deep = Fixture::new(shape(3, 3, 5, "X^8+X"));
    let same = Fixture::new(shape(3, 3, 5, "X^2+X"));
    let seed = Seed::from_number(1);
    let refused =
        |engine: &BfvEngine, key, ballots| engine.aggregate(key, 0, ballots, &seed).is_err();
    assert!(refused(&mine.engine, &deep.keys.evaluation, &mine.ballots));
    assert!(refused(&mine.engine, &mine.keys.evaluation, &deep.ballots));
    let mut rng = seed.stream("other keys", 0);
    let other = same.engine.generate_keys(&mut rng).expect("keys");
    assert!(refused(&mine.engine, &other.evaluation, &mine.ballots));
    let votes = vec![None; 5];
    assert!(mine.engine.encrypt(&deep.keys.public, 0, &votes, &mut rng).is_err());
    let release =
        mine.engine.aggregate(&mine.keys.evaluation, 0, &mine.ballots, &seed).expect("one");
    assert!(mine.engine.decrypt(&other.secret, 0, &release).is_err());
    assert!(deep.engine.decrypt(&mine.keys.secret, 0, &release).is_err());
    assert!(mine.engine.decrypt(&mine.keys.secret, 1, &release).is_err());
}

#[test]
fn residues_out_of_range_are_refused_even_with_a_right_checksum() {
    let files = files();
    let engine = &files.fixture.engine;
    let id = files.fixture.keys.public.id();
    for (original, start) in
        [(&files.ballot, 88 + 8), (&files.release, 88), (&files.public, 88 + 32)]
    {
        let mut bytes = original.clone();
        bytes[start..start + 7].fill(0xff);
        assert_eq!(read_all(engine, &resealed(bytes)), 0);
    }
    let mut bytes = files.secret.clone();
    bytes[100] = 0xff;
    let result = engine.decode_secret_key(&resealed(bytes)).unwrap_err();
    assert_eq!(result, DecodeError::Range { kind: Kind::SecretKey });
    let mut bytes = files.ballot.clone();
    bytes[88] = 0xff;
    let result = engine.decode_ballot(&resealed(bytes), 0, id).unwrap_err();
    assert_eq!(result, DecodeError::Range { kind: Kind::Ballot });
}

#[test]
fn secrets_do_not_show() {
    let keys = &files().fixture.keys;
    let shown = format!("{:?} {:?}", keys.secret, files().fixture.ballots);
    assert!(!shown.contains("coefficients") && !shown.contains("data") && shown.len() < 2_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn cut_files_are_refused(kind in 0..5_usize, keep in 0.0..1.0_f64) {
        let files = files();
        let all = [&files.secret, &files.public, &files.evaluation, &files.ballot, &files.release];
        let cut = (all[kind].len() as f64 * keep) as usize;
        prop_assert_eq!(read_all(&files.fixture.engine, &all[kind][..cut]), 0);
    }

    #[test]
    fn flipped_bits_are_refused(kind in 0..5_usize, place in 0.0..1.0_f64, bit in 0..8_u32) {
        let files = files();
        let all = [&files.secret, &files.public, &files.evaluation, &files.ballot, &files.release];
        let mut bytes = all[kind].clone();
        let place = (bytes.len() as f64 * place) as usize;
        bytes[place] ^= 1 << bit;
        prop_assert_eq!(read_all(&files.fixture.engine, &bytes), 0);
    }

    #[test]
    fn headers_of_junk_do_not_panic(
        kind in 0..10_u8,
        junk in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let mut bytes = b"SHLD\x01\x00".to_vec();
        bytes.push(kind);
        bytes.extend(junk);
        prop_assert_eq!(read_all(&files().fixture.engine, &bytes), 0);
    }
}

/// Ballots of every coding have the planned size, and those of one are refused by the others.
#[test]
fn the_bytes_of_a_coding_are_its_own() {
    let files: Vec<(Fixture, Vec<u8>)> = CODINGS
        .iter()
        .map(|&coding| {
            let fixture = Fixture::with_coding(shape(2, 5, 9, "X^2+X"), coding);
            let ballot = fixture.engine.encode_ballot(&fixture.ballots.open(1).expect("a ballot"));
            (fixture, ballot)
        })
        .collect();
    for (i, (own, _)) in files.iter().enumerate() {
        for (j, (other, ballot)) in files.iter().enumerate() {
            let read = own.engine.decode_ballot(ballot, 0, other.keys.public.id());
            assert_eq!(read.is_ok(), i == j, "coding {j} read by coding {i}");
            if let Ok(read) = read {
                assert!(ballot.len() <= own.engine.plan().ballot_bytes());
                assert!(own.engine.encode_ballot(&read) == *ballot);
            }
        }
    }
}
