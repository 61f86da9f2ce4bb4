//! What is written can be read, and nothing else can.

use rand_chacha::ChaCha20Rng;

use super::wrong::resealed;
use crate::backend::{BackendBytes, Ballot, Keys, KeysOf, MemoryBallotBox};
use crate::framing::{DecodeError, HEADER, KeyId, Kind};
use crate::seed::Seed;
use crate::votes::{Vote, Votes};

/// The keys, after they were sent as bytes.
///
/// # Panics
/// If they do not come back, or take more bytes than they may.
pub fn sent_keys<B: BackendBytes>(backend: &B, keys: &KeysOf<B>) -> KeysOf<B> {
    let secret = backend.encode_secret_key(&keys.secret);
    let public = backend.encode_public_key(&keys.public);
    let evaluation = backend.encode_evaluation_key(&keys.evaluation);
    assert_eq!(secret.len(), backend.max_bytes(Kind::SecretKey));
    assert_eq!(public.len(), backend.max_bytes(Kind::PublicKey));
    assert_eq!(evaluation.len(), backend.max_bytes(Kind::EvaluationKey));
    let sent = Keys {
        secret: backend.decode_secret_key(&secret).expect("a secret key"),
        public: backend.decode_public_key(&public).expect("a public key"),
        evaluation: backend.decode_evaluation_key(&evaluation).expect("an evaluation key"),
    };
    assert!(*backend.encode_secret_key(&sent.secret) == *secret);
    assert!(backend.encode_public_key(&sent.public) == public);
    assert!(backend.encode_evaluation_key(&sent.evaluation) == evaluation);
    let id = backend.public_key_id(&keys.public);
    assert_eq!(backend.secret_key_id(&sent.secret), id);
    assert_eq!(backend.public_key_id(&sent.public), id);
    assert_eq!(backend.evaluation_key_id(&sent.evaluation), id);
    sent
}

/// A ballot, after it was sent as bytes.
///
/// # Panics
/// If it does not come back, or takes more bytes than it may.
pub fn sent_ballot<B: BackendBytes>(backend: &B, ballot: &B::Ballot, batch: usize) -> B::Ballot {
    let bytes = backend.encode_ballot(ballot);
    assert!(bytes.len() <= backend.max_bytes(Kind::Ballot));
    let sent = backend.decode_ballot(&bytes, batch, ballot.made_for().key).expect("a ballot");
    assert!(backend.encode_ballot(&sent) == bytes);
    assert_eq!(backend.peek_presence(&bytes, batch).as_ref(), Ok(sent.presence()));
    assert_eq!(sent.presence(), ballot.presence());
    sent
}

/// A release, after it was sent as bytes.
///
/// # Panics
/// If it does not come back, or takes more bytes than it may.
pub fn sent_release<B: BackendBytes>(
    backend: &B,
    release: &B::Release,
    batch: usize,
    key: KeyId,
) -> B::Release {
    let bytes = backend.encode_release(release);
    assert!(bytes.len() <= backend.max_bytes(Kind::Release));
    let sent = backend.decode_release(&bytes, batch, key).expect("a release");
    assert!(backend.encode_release(&sent) == bytes);
    sent
}

/// One of each kind, as bytes, from the first batch of an election.
pub(super) struct Files {
    /// A kind, and its bytes.
    pub(super) all: [(Kind, Vec<u8>); 5],
    /// The name of their keys.
    pub(super) id: KeyId,
}

impl Files {
    pub(super) fn new<B: BackendBytes>(
        backend: &B,
        keys: &KeysOf<B>,
        votes: &Votes,
        seed: &Seed,
        rng: &mut ChaCha20Rng,
    ) -> Self {
        let samples = backend.batch(0);
        let ballot = |votes: &[Vote], rng: &mut _| {
            backend.encrypt(&keys.public, 0, votes, rng).expect("a ballot")
        };
        let ballots: Vec<_> = (0..votes.teachers())
            .map(|teacher| ballot(&votes.teacher(teacher, samples.clone()), rng))
            .collect();
        // The first that votes: an abstention can be shorter.
        let voter = ballots.iter().find(|ballot| !ballot.presence().is_nobody()).expect("a voter");
        let bytes = backend.encode_ballot(voter);
        let ballots = MemoryBallotBox::new(samples.len(), ballots.into_iter().map(Some).collect());
        let release = backend.aggregate(&keys.evaluation, 0, &ballots, seed).expect("a release");
        let all = [
            (Kind::SecretKey, backend.encode_secret_key(&keys.secret).to_vec()),
            (Kind::PublicKey, backend.encode_public_key(&keys.public)),
            (Kind::EvaluationKey, backend.encode_evaluation_key(&keys.evaluation)),
            (Kind::Ballot, bytes),
            (Kind::Release, backend.encode_release(&release)),
        ];
        Self { all, id: backend.public_key_id(&keys.public) }
    }
}

/// Reads bytes as a kind.
pub(super) fn read<B: BackendBytes>(
    backend: &B,
    kind: Kind,
    bytes: &[u8],
    batch: usize,
    key: KeyId,
) -> Result<(), DecodeError> {
    match kind {
        Kind::SecretKey => backend.decode_secret_key(bytes).map(drop),
        Kind::PublicKey => backend.decode_public_key(bytes).map(drop),
        Kind::EvaluationKey => backend.decode_evaluation_key(bytes).map(drop),
        Kind::Ballot => {
            let read = backend.decode_ballot(bytes, batch, key).map(drop);
            // Whoever only looks at the presence must not be told of a ballot that is refused.
            if matches!(read, Err(DecodeError::Length { .. } | DecodeError::Checksum)) {
                assert!(backend.peek_presence(bytes, batch).is_err());
            }
            read
        }
        Kind::Release => backend.decode_release(bytes, batch, key).map(drop),
        Kind::Audit | Kind::Verdict => Err(DecodeError::NotOurs),
    }
}

/// Bytes that are cut off, damaged or too long, or that are something else than what is asked for,
/// are refused by every decoder.
///
/// `elsewhere` is the same engine for another election.
///
/// # Panics
/// If any are accepted.
pub fn only_sound_bytes_are_read<B: BackendBytes>(
    backend: &B,
    elsewhere: &B,
    keys: &KeysOf<B>,
    votes: &Votes,
    rng: &mut ChaCha20Rng,
) {
    let Files { all, id } = Files::new(backend, keys, votes, &Seed::from_number(1), rng);
    let stranger = KeyId::from_bytes([7; 32]);
    for (kind, bytes) in all {
        assert!(bytes.len() <= backend.max_bytes(kind), "{kind}");
        let read = |bytes: &[u8]| read(backend, kind, bytes, 0, id);
        assert_eq!(read(&bytes), Ok(()), "{kind}");
        for other in Kind::OF_EVERY_ENGINE.into_iter().filter(|&other| other != kind) {
            let error = DecodeError::Kind { found: kind, expected: other };
            assert_eq!(self::read(backend, other, &bytes, 0, id), Err(error));
        }
        let error = DecodeError::Binding { kind };
        assert_eq!(self::read(elsewhere, kind, &bytes, 0, id), Err(error));
        if matches!(kind, Kind::Ballot | Kind::Release) {
            let error = DecodeError::Batch { kind, found: 0, expected: 1 };
            assert_eq!(self::read(backend, kind, &bytes, 1, id), Err(error));
            let error = DecodeError::Key { kind, found: id, expected: stranger };
            assert_eq!(self::read(backend, kind, &bytes, 0, stranger), Err(error));
        }
        let half = bytes.len() / 2;
        for cut in [0, 3, 5, HEADER - 1, HEADER, half, bytes.len() - 1] {
            assert!(read(&bytes[..cut]).is_err(), "{kind} cut off at {cut}");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(matches!(read(&longer), Err(DecodeError::Length { .. })), "{kind} with more");
        // Magic, version, kind, holder, binding, key, batch, length, payload, checksum.
        let end = bytes.len();
        for place in [0, 4, 6, 7, 8, 40, 72, 80, HEADER, half, end - 33, end - 32, end - 1] {
            let mut damaged = bytes.clone();
            damaged[place] ^= 0x10;
            assert!(read(&damaged).is_err(), "{kind} damaged at {place}");
        }
        let mut claim = bytes.clone();
        claim[HEADER - 8..HEADER].fill(0xff);
        let found = read(&resealed(claim));
        assert!(matches!(found, Err(DecodeError::Length { .. })), "{kind}: {found:?}");
        // Another public key under the name of this one.
        if matches!(kind, Kind::PublicKey | Kind::EvaluationKey) {
            let mut renamed = bytes;
            renamed[HEADER + 1] ^= 1;
            let found = read(&resealed(renamed));
            assert!(matches!(found, Err(DecodeError::Key { .. })), "{kind}: {found:?}");
        }
    }
}
