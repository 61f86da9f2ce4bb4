//! Bytes: what is written can be read, and nothing else can. The same bytes for the same seed.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use shield::backend::suite::{Case, resealed, vectors};
use shield::backend::{Backend, BackendBytes, BallotBox, BallotError, MemoryBallotBox};
use shield::framing::{DecodeError, HEADER, Header, Kind};
use shield::{Class, Seed};

use super::{Fixture, shape};
use crate::leveled::{LeveledBackend, LeveledError, Upload};

struct Files {
    fixture: Fixture,
    secret: Vec<u8>,
    public: Vec<u8>,
    evaluation: Vec<u8>,
    ballot: Vec<u8>,
    abstention: Vec<u8>,
    release: Vec<u8>,
}

impl Files {
    fn new(upload: Upload) -> Self {
        let fixture = Fixture::new(shape(4, 3, 2, "X^2"), upload);
        let Fixture { backend, keys, ballots, .. } = &fixture;
        let mut rng = ChaCha20Rng::seed_from_u64(3);
        let seed = Seed::from_number(1);
        let release = backend.aggregate(&keys.evaluation, 0, ballots, &seed).expect("a release");
        let abstention = backend.encrypt(&keys.public, 0, &[None], &mut rng).expect("a ballot");
        Self {
            secret: backend.encode_secret_key(&keys.secret).to_vec(),
            public: backend.encode_public_key(&keys.public),
            evaluation: backend.encode_evaluation_key(&keys.evaluation),
            ballot: backend.encode_ballot(&ballots.open(1).expect("a ballot")),
            abstention: backend.encode_ballot(&abstention),
            release: backend.encode_release(&release),
            fixture,
        }
    }

    fn all(&self) -> [&Vec<u8>; 6] {
        let Self { secret, public, evaluation, ballot, abstention, release, .. } = self;
        [secret, public, evaluation, ballot, abstention, release]
    }
}

fn files() -> &'static Files {
    static FILES: OnceLock<Files> = OnceLock::new();
    FILES.get_or_init(|| Files::new(Upload::Compact))
}

/// Reads bytes as every kind: how often it worked.
fn read_all(files: &Files, bytes: &[u8]) -> usize {
    let Fixture { backend, keys, .. } = &files.fixture;
    let id = keys.public.id();
    [
        backend.decode_secret_key(bytes).is_ok(),
        backend.decode_public_key(bytes).is_ok(),
        backend.decode_evaluation_key(bytes).is_ok(),
        backend.decode_ballot(bytes, 0, id).is_ok(),
        backend.decode_release(bytes, 0, id).is_ok(),
    ]
    .into_iter()
    .filter(|&ok| ok)
    .count()
}

#[test]
fn every_kind_comes_back_and_works() {
    for upload in [Upload::Plain, Upload::Compact] {
        let files = Files::new(upload);
        let Fixture { backend, keys, ballots, case } = &files.fixture;
        let (id, plan) = (keys.public.id(), backend.plan());
        assert_eq!(files.ballot.len(), plan.ballot_bytes());
        assert_eq!(files.public.len(), plan.public_key_bytes());
        assert_eq!(files.evaluation.len(), plan.evaluation_key_bytes());
        assert_eq!(files.release.len(), plan.result_bytes());
        assert!(files.all().iter().all(|bytes| read_all(&files, bytes) == 1));
        let secret = backend.decode_secret_key(&files.secret).expect("a key");
        let public = backend.decode_public_key(&files.public).expect("a key");
        let evaluation = backend.decode_evaluation_key(&files.evaluation).expect("a key");
        let mut rng = ChaCha20Rng::seed_from_u64(9);
        let decoded = (0..4).map(|teacher| {
            if teacher == 3 {
                let votes = case.votes.teacher(3, 0..1);
                return backend.encrypt(&public, 0, &votes, &mut rng).ok();
            }
            let bytes = backend.encode_ballot(&ballots.open(teacher).expect("a ballot"));
            let ballot = backend.decode_ballot(&bytes, 0, id).expect("a ballot");
            assert_eq!(backend.encode_ballot(&ballot), bytes);
            Some(ballot)
        });
        let decoded = MemoryBallotBox::new(1, decoded.collect());
        let seed = Seed::from_number(1);
        let release = backend.aggregate(&evaluation, 0, &decoded, &seed).expect("a release");
        let bytes = backend.encode_release(&release);
        let release = backend.decode_release(&bytes, 0, id).expect("a release");
        let labels = backend.decrypt(&secret, 0, &release).expect("labels");
        assert_eq!(labels, case.expected(&seed)[..1]);
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let Files { fixture, release, .. } = files();
    let Fixture { backend, keys, ballots, .. } = fixture;
    let again = |seed| {
        let release = backend.aggregate(&keys.evaluation, 0, ballots, &Seed::from_number(seed));
        backend.encode_release(&release.expect("a release"))
    };
    assert!(again(1) == *release && again(2) != *release);
    // A received ballot and one that was not give the same.
    let cold: Vec<_> = (0..4)
        .map(|teacher| {
            let bytes = backend.encode_ballot(&ballots.open(teacher).expect("a ballot"));
            backend.decode_ballot(&bytes, 0, keys.public.id()).ok()
        })
        .collect();
    let cold = MemoryBallotBox::new(1, cold);
    for teacher in [0, 2] {
        backend.receive(&keys.evaluation, &cold.open(teacher).expect("a ballot"));
    }
    let seed = Seed::from_number(1);
    let found = backend.aggregate(&keys.evaluation, 0, &cold, &seed).expect("a release");
    assert!(backend.encode_release(&found) == *release);
}

#[test]
fn what_belongs_elsewhere_is_refused_by_name() {
    let files = files();
    let Fixture { backend, keys, .. } = &files.fixture;
    let id = keys.public.id();
    let other = Fixture::new(shape(4, 3, 2, "X^2"), Upload::Compact);
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let stranger = other.backend.generate_keys(&mut rng).expect("keys").public.id();
    assert!(matches!(
        backend.decode_ballot(&files.ballot, 0, stranger),
        Err(DecodeError::Key { .. })
    ));
    assert!(matches!(
        backend.decode_ballot(&files.ballot, 1, id),
        Err(DecodeError::Batch { found: 0, expected: 1, .. })
    ));
    assert!(matches!(
        backend.decode_release(&files.ballot, 0, id),
        Err(DecodeError::Kind { found: Kind::Ballot, .. })
    ));
    let plain = LeveledBackend::new(backend.election().clone(), Upload::Plain).expect("a plan");
    assert!(matches!(plain.decode_public_key(&files.public), Err(DecodeError::Binding { .. })));
    // In memory, too.
    let votes = [Some(Class(1))];
    let stray = plain.generate_keys(&mut rng).expect("keys");
    let ballot = plain.encrypt(&stray.public, 0, &votes, &mut rng).expect("a ballot");
    let ballots = MemoryBallotBox::new(1, vec![Some(ballot); 4]);
    let seed = Seed::from_number(1);
    let found = backend.aggregate(&keys.evaluation, 0, &ballots, &seed);
    assert!(
        matches!(found, Err(LeveledError::Ballot(BallotError::ForeignBallot { .. }))),
        "{found:?}"
    );
    let found = backend.aggregate(&stray.evaluation, 0, &ballots, &seed);
    assert!(matches!(found, Err(LeveledError::Ballot(BallotError::Foreign { .. }))), "{found:?}");
}

#[test]
fn whole_bytes_that_cannot_be_right_are_refused() {
    let files = files();
    let Fixture { backend, keys, .. } = &files.fixture;
    let id = keys.public.id();
    let range = |kind| DecodeError::Range { kind };
    // A secret of ones, more than any that is drawn has; and one with a coefficient of 2.
    for stray in [vec![0b1010_1010; 512], vec![0b0101_0111]] {
        let mut bytes = files.secret.clone();
        bytes[HEADER..HEADER + stray.len()].copy_from_slice(&stray);
        let found = backend.decode_secret_key(&resealed(bytes)).map(|_| ());
        assert_eq!(found, Err(range(Kind::SecretKey)));
    }
    // A vote that says it abstained, and an abstention that says it voted.
    let mut bytes = files.ballot.clone();
    bytes[HEADER] = 0;
    let found = backend.decode_ballot(&resealed(bytes), 0, id).map(|_| ());
    assert_eq!(found, Err(range(Kind::Ballot)));
    let mut bytes = files.abstention.clone();
    bytes[HEADER] = 1;
    let found = backend.decode_ballot(&resealed(bytes), 0, id).map(|_| ());
    assert_eq!(found, Err(range(Kind::Ballot)));
    // A length that no kind has.
    let mut bytes = files.ballot.clone();
    bytes[HEADER - 8..HEADER].fill(255);
    let found = backend.decode_ballot(&resealed(bytes), 0, id).map(|_| ());
    assert!(matches!(found, Err(DecodeError::Length { .. })), "{found:?}");
    // Another public key under the old name.
    let mut bytes = files.public.clone();
    bytes[HEADER + 40] ^= 1;
    let found = backend.decode_public_key(&resealed(bytes)).map(|_| ());
    assert!(matches!(found, Err(DecodeError::Key { .. })), "{found:?}");
    // The last half of an odd number of coefficients.
    let mut bytes = files.release.clone();
    let last = bytes.len() - 33;
    bytes[last] |= 0x80;
    let found = backend.decode_release(&resealed(bytes), 0, id).map(|_| ());
    assert_eq!(found, Err(range(Kind::Release)));
}

fn folder(upload: Upload) -> PathBuf {
    let name = match upload {
        Upload::Plain => "leveled_plain",
        Upload::Compact => "leveled_compact",
    };
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(name)
}

/// The engine of the frozen vectors, and the same for another election.
fn frozen(upload: Upload) -> (Case, [LeveledBackend; 2]) {
    let case = Case::new(shape(3, 2, 2, "X"), 5);
    let elsewhere = case.election.clone().bound_to([7; 32]);
    let engine = |election| LeveledBackend::new(election, upload).expect("a plan");
    let engines = [case.election.clone(), elsewhere].map(engine);
    (case, engines)
}

#[test]
fn frozen_vectors_are_read() {
    for upload in [Upload::Plain, Upload::Compact] {
        let (case, [backend, elsewhere]) = frozen(upload);
        vectors::check(&folder(upload), &backend, &elsewhere, &case);
    }
}

#[test]
#[ignore = "writes the frozen vectors anew"]
fn write_frozen_vectors() {
    for upload in [Upload::Plain, Upload::Compact] {
        let (case, [backend, elsewhere]) = frozen(upload);
        vectors::write(&folder(upload), &backend, &elsewhere, &case);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_flipped_bit_is_noticed(
        place in any::<prop::sample::Index>(),
        bit in 0..8_u32,
        kind in 0..6_usize,
    ) {
        let files = files();
        let mut bytes = files.all()[kind].clone();
        let place = place.index(bytes.len());
        bytes[place] ^= 1 << bit;
        prop_assert_eq!(read_all(files, &bytes), 0);
    }

    #[test]
    fn a_part_is_noticed(end in any::<prop::sample::Index>(), kind in 0..6_usize) {
        let files = files();
        let bytes = files.all()[kind];
        prop_assert_eq!(read_all(files, &bytes[..end.index(bytes.len())]), 0);
        let longer = [bytes.as_slice(), &[0]].concat();
        prop_assert_eq!(read_all(files, &longer), 0);
    }

    #[test]
    fn noise_is_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        prop_assert_eq!(read_all(files(), &bytes), 0);
        let _ = Header::read(&bytes);
    }
}
