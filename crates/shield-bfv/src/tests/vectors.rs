//! Frozen vectors of every coding, and of an audit.

use std::path::{Path, PathBuf};

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use shield_core::Seed;
use shield_core::engine::suite::{Case, vectors};
use shield_core::engine::{AuditError, Audits, Encoding, Engine, MemoryBallotBox};

use super::shape;
use crate::{BfvEngine, Coding, SecretKey};
use shield_core::framing::{DecodeError, Kind};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(name)
}

/// The case of all vectors, and engines that `make` makes: for it, and for another election.
fn engines(make: impl Fn(shield_core::Election) -> BfvEngine) -> (Case, [BfvEngine; 2]) {
    let case = Case::new(shape(3, 3, 2, "X"), 5);
    let elsewhere = case.election.clone().bound_to([7; 32]);
    let engines = [case.election.clone(), elsewhere].map(make);
    (case, engines)
}

/// The engines of the frozen vectors, with their folders.
fn frozen() -> Vec<(PathBuf, (Case, [BfvEngine; 2]))> {
    [
        ("reveal", Coding::OneHot),
        ("reveal_packed_bits", Coding::PackedBits),
        ("reveal_bits_across", Coding::BitsAcross),
    ]
    .map(|(name, coding)| {
        let make = |election| BfvEngine::with_coding(election, coding).expect("a plan");
        (folder(name), engines(make))
    })
    .into()
}

#[test]
fn frozen_vectors_are_read() {
    for (folder, (case, [engine, elsewhere])) in frozen() {
        vectors::check(&folder, &engine, &elsewhere, &case);
    }
}

#[test]
#[ignore = "writes the frozen vectors anew"]
fn write_frozen_vectors() {
    for (folder, (case, [engine, elsewhere])) in frozen() {
        vectors::write(&folder, &engine, &elsewhere, &case);
    }
}

/// The engines of the frozen audit.
fn audited() -> (Case, [BfvEngine; 2]) {
    engines(|election| BfvEngine::new(election).expect("a plan"))
}

/// Reads bytes as one of the kinds of [`AUDIT`].
fn read(
    engine: &BfvEngine,
    secret: &SecretKey,
    kind: Kind,
    bytes: &[u8],
) -> Result<(), DecodeError> {
    match kind {
        Kind::SecretKey => engine.decode_secret_key(bytes).map(drop),
        _ => match engine.read_audit(secret, 0, bytes) {
            Err(AuditError::Bytes(error)) => Err(error),
            read => read.map(drop).map_err(|_| DecodeError::NotOurs),
        },
    }
}

/// What the folder of the audit holds: the key shows that the audit still names the cheat.
const AUDIT: [Kind; 2] = [Kind::SecretKey, Kind::Audit];

/// A key, and the audit of a cheat, from fixed seeds.
fn audit_files(case: &Case, engine: &BfvEngine) -> Vec<(Kind, Vec<u8>)> {
    let mut rng = ChaCha20Rng::seed_from_u64(2_026);
    let keys = engine.generate_keys(&mut rng).expect("keys");
    let ballots = (0..3).map(|teacher| {
        let votes = case.votes.teacher(teacher, 0..2);
        let cheated: &[usize] = if teacher == 2 { &[1] } else { &[] };
        engine.forge(&keys.public, 0, &votes, cheated, &mut rng).ok()
    });
    let ballots = MemoryBallotBox::new(2, ballots.collect());
    let seed = Seed::from_number(2_026);
    let audit = engine.audit(&keys.evaluation, 0, &ballots, &seed, &[1]).expect("an audit");
    let secret = engine.encode_secret_key(&keys.secret).to_vec();
    vec![(Kind::SecretKey, secret), (Kind::Audit, audit)]
}

#[test]
fn a_frozen_audit_is_read() {
    let (folder, (case, [engine, elsewhere])) = (folder("audit"), audited());
    let good = vectors::read_files(&folder, &AUDIT, || audit_files(&case, &engine));
    let secret = engine.decode_secret_key(&good[0].1).expect("a secret key");
    // Different on purpose: so it shows if teachers and samples change places.
    let found = engine.accusations(&secret, 0, &good[1].1).expect("teachers");
    assert_eq!(found, [(2, vec![1])]);
    vectors::check_wrong(&folder, &good, elsewhere.binding(), |kind, bytes| {
        read(&engine, &secret, kind, bytes)
    });
}

#[test]
#[ignore = "writes the frozen vectors anew"]
fn write_frozen_audit() {
    let (case, [engine, elsewhere]) = audited();
    let files = audit_files(&case, &engine);
    let secret = engine.decode_secret_key(&files[0].1).expect("a secret key");
    vectors::write_files(&folder("audit"), &files, elsewhere.binding(), |kind, bytes| {
        read(&engine, &secret, kind, bytes)
    });
}
