//! Frozen vectors of both release modes, of every design of a reveal, and of audits with their
//! verdicts.

use std::path::{Path, PathBuf};

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use shield::Seed;
use shield::backend::suite::{Case, vectors};
use shield::backend::{Backend, BackendBytes, MemoryBallotBox};

use super::shape;
use crate::codec::{DecodeError, Kind};
use crate::{BfvBackend, Coding, Design, KeyId, ReleaseMode};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(name)
}

/// The case of all vectors, and engines that `make` makes: for it, and for another election.
fn engines(make: impl Fn(shield::Election) -> BfvBackend) -> (Case, [BfvBackend; 2]) {
    let case = Case::new(shape(3, 3, 2, "X"), 5);
    let elsewhere = case.election.clone().bound_to([7; 32]);
    let engines = [case.election.clone(), elsewhere].map(make);
    (case, engines)
}

/// The engines of the frozen vectors, with their folders.
fn frozen() -> Vec<(PathBuf, (Case, [BfvBackend; 2]))> {
    let planned = [ReleaseMode::Reveal, ReleaseMode::Composable].map(|release| {
        let make = |election| BfvBackend::new(election, release).expect("a plan");
        (folder(&release.to_string()), engines(make))
    });
    // The fourth design is the one that the plan takes for a reveal.
    let designed = [
        ("reveal_version_0_1", Design::VERSION_0_1),
        ("reveal_packed_bits", Design::linear(Coding::PackedBits)),
        ("reveal_bits_across", Design::linear(Coding::BitsAcross)),
    ]
    .map(|(name, design)| {
        let release = ReleaseMode::Reveal;
        let make = |election| BfvBackend::with_design(election, release, design).expect("a plan");
        (folder(name), engines(make))
    });
    planned.into_iter().chain(designed).collect()
}

#[test]
fn frozen_vectors_are_read() {
    for (folder, (case, [backend, elsewhere])) in frozen() {
        vectors::check(&folder, &backend, &elsewhere, &case);
    }
}

#[test]
#[ignore = "writes the frozen vectors anew"]
fn write_frozen_vectors() {
    for (folder, (case, [backend, elsewhere])) in frozen() {
        vectors::write(&folder, &backend, &elsewhere, &case);
    }
}

/// The engines of the frozen audit.
fn audited() -> (Case, [BfvBackend; 2]) {
    engines(|election| BfvBackend::new(election, ReleaseMode::Reveal).expect("a plan"))
}

/// Reads bytes as a kind of [`AUDIT`].
fn read(backend: &BfvBackend, kind: Kind, bytes: &[u8], id: KeyId) -> Result<(), DecodeError> {
    match kind {
        Kind::SecretKey => backend.decode_secret_key(bytes).map(drop),
        Kind::Audit => backend.decode_audit(bytes, 0, id).map(drop),
        Kind::Verdict => backend.decode_verdict(bytes, 0, id).map(drop),
        _ => Err(DecodeError::NotOurs),
    }
}

/// What the folder of the audit holds: the key shows that the audit still leads to the verdict.
const AUDIT: [Kind; 3] = [Kind::SecretKey, Kind::Audit, Kind::Verdict];

#[test]
fn a_frozen_audit_and_its_verdict_are_read() {
    let (folder, (_, [backend, elsewhere])) = (folder("audit"), audited());
    let good = vectors::read_files(&folder, &AUDIT, || unreachable!("every file is small"));
    let [(_, secret), (_, audit), (_, verdict)] = &good[..] else { unreachable!("three kinds") };
    let secret = backend.decode_secret_key(secret).expect("a secret key");
    let id = backend.secret_key_id(&secret);
    let found = backend.decode_audit(audit, 0, id);
    let again = found.as_ref().map(|audit| backend.encode_audit(audit)).map_err(Clone::clone);
    vectors::check_again(&folder, Kind::Audit, audit, &again);
    let answer = backend.read_audit(&secret, 0, &found.expect("an audit")).expect("a verdict");
    // Different on purpose: so it shows if teachers and samples change places.
    assert_eq!((answer.accused(), answer.spoiled()), (vec![2], vec![1]));
    vectors::check_again(&folder, Kind::Verdict, verdict, &Ok(backend.encode_verdict(&answer)));
    assert_eq!(backend.decode_verdict(verdict, 0, id), Ok(answer));
    let binding = elsewhere.binding();
    vectors::check_wrong(&folder, &good, binding, |kind, bytes| read(&backend, kind, bytes, id));
}

#[test]
#[ignore = "writes the frozen vectors anew"]
fn write_frozen_audit_and_verdict() {
    let (case, [backend, elsewhere]) = audited();
    let mut rng = ChaCha20Rng::seed_from_u64(2_026);
    let keys = backend.generate_keys(&mut rng).expect("keys");
    let ballots = (0..3).map(|teacher| {
        let votes = case.votes.teacher(teacher, 0..2);
        let cheated: &[usize] = if teacher == 2 { &[1] } else { &[] };
        backend.forge(&keys.public, 0, &votes, cheated, &mut rng).ok()
    });
    let ballots = MemoryBallotBox::new(2, ballots.collect());
    let seed = Seed::from_number(2_026);
    let audit = backend.audit(&keys.evaluation, 0, &ballots, &seed, &[1]).expect("an audit");
    let verdict = backend.read_audit(&keys.secret, 0, &audit).expect("a verdict");
    let files = [
        (Kind::SecretKey, backend.encode_secret_key(&keys.secret).to_vec()),
        (Kind::Audit, backend.encode_audit(&audit)),
        (Kind::Verdict, backend.encode_verdict(&verdict)),
    ];
    let (folder, id) = (folder("audit"), keys.public.id());
    vectors::write_files(&folder, &files, elsewhere.binding(), |kind, bytes| {
        read(&backend, kind, bytes, id)
    });
}
