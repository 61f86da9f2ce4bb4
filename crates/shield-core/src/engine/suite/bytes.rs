//! What is written can be read, and nothing else can.

use rand::{Rng, RngCore};
use rand_chacha::ChaCha20Rng;

use super::wrong::resealed;
use crate::engine::{Ballot, Encoding, Engine, Key, Keys, KeysOf, MemoryBallotBox};
use crate::framing::{DecodeError, HEADER, KeyId, Kind};
use crate::seed::Seed;
use crate::votes::Votes;

/// The keys, after they were sent as bytes.
///
/// # Panics
/// If they do not come back, or take more bytes than they may.
pub fn sent_keys<E: Engine>(engine: &E, keys: &KeysOf<E>) -> KeysOf<E> {
    let secret = engine.encode_secret_key(&keys.secret);
    let public = engine.encode_public_key(&keys.public);
    let evaluation = engine.encode_evaluation_key(&keys.evaluation);
    assert_eq!(secret.len(), engine.max_bytes(Kind::SecretKey));
    assert_eq!(public.len(), engine.max_bytes(Kind::PublicKey));
    assert_eq!(evaluation.len(), engine.max_bytes(Kind::EvaluationKey));
    let sent = Keys {
        secret: engine.decode_secret_key(&secret).expect("a secret key"),
        public: engine.decode_public_key(&public).expect("a public key"),
        evaluation: engine.decode_evaluation_key(&evaluation).expect("an evaluation key"),
    };
    assert!(*engine.encode_secret_key(&sent.secret) == *secret);
    assert!(engine.encode_public_key(&sent.public) == public);
    assert!(engine.encode_evaluation_key(&sent.evaluation) == evaluation);
    let id = keys.public.id();
    assert_eq!(sent.secret.id(), id);
    assert_eq!(sent.public.id(), id);
    assert_eq!(sent.evaluation.id(), id);
    sent
}

/// A ballot, after it was sent as bytes.
///
/// # Panics
/// If it does not come back, or takes more bytes than it may.
pub fn sent_ballot<E: Engine>(engine: &E, ballot: &E::Ballot, batch: usize) -> E::Ballot {
    let bytes = engine.encode_ballot(ballot);
    assert!(bytes.len() <= engine.max_bytes(Kind::Ballot));
    let sent = engine.decode_ballot(&bytes, batch, ballot.made_for().key).expect("a ballot");
    assert!(engine.encode_ballot(&sent) == bytes);
    assert_eq!(engine.peek_presence(&bytes, batch).as_ref(), Ok(sent.presence()));
    assert_eq!(sent.presence(), ballot.presence());
    sent
}

/// A release, after it was sent as bytes.
///
/// # Panics
/// If it does not come back, or takes more bytes than it may.
pub fn sent_release<E: Engine>(
    engine: &E,
    release: &E::Release,
    batch: usize,
    key: KeyId,
) -> E::Release {
    let bytes = engine.encode_release(release);
    assert!(bytes.len() <= engine.max_bytes(Kind::Release));
    let sent = engine.decode_release(&bytes, batch, key).expect("a release");
    assert!(engine.encode_release(&sent) == bytes);
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
    pub(super) fn new<E: Engine>(
        engine: &E,
        keys: &KeysOf<E>,
        votes: &Votes,
        seed: &Seed,
        rng: &mut ChaCha20Rng,
    ) -> Self {
        let samples = engine.batch(0);
        let mut ballot = |teacher: usize| {
            let votes = votes.teacher(teacher, samples.clone());
            let number = u32::try_from(teacher).expect("32 bits");
            let ballot = engine.encrypt_as(&keys.public, 0, number, &votes, rng);
            ballot.expect("a ballot")
        };
        let ballots: Vec<_> = (0..votes.teachers()).map(&mut ballot).collect();
        // The first that votes: an abstention can be shorter.
        let voter = ballots.iter().find(|ballot| !ballot.presence().is_nobody()).expect("a voter");
        let bytes = engine.encode_ballot(voter);
        let ballots = MemoryBallotBox::new(samples.len(), ballots.into_iter().map(Some).collect());
        let release = engine
            .aggregate_here((Some(&keys.secret), &keys.evaluation), 0, &ballots, seed, rng)
            .expect("a release");
        let all = [
            (Kind::SecretKey, engine.encode_secret_key(&keys.secret).to_vec()),
            (Kind::PublicKey, engine.encode_public_key(&keys.public)),
            (Kind::EvaluationKey, engine.encode_evaluation_key(&keys.evaluation)),
            (Kind::Ballot, bytes),
            (Kind::Release, engine.encode_release(&release)),
        ];
        Self { all, id: keys.public.id() }
    }
}

/// Reads bytes as a kind.
pub(super) fn read<E: Engine>(
    engine: &E,
    kind: Kind,
    bytes: &[u8],
    batch: usize,
    key: KeyId,
) -> Result<(), DecodeError> {
    match kind {
        Kind::SecretKey => engine.decode_secret_key(bytes).map(drop),
        Kind::PublicKey => engine.decode_public_key(bytes).map(drop),
        Kind::EvaluationKey => engine.decode_evaluation_key(bytes).map(drop),
        Kind::Ballot => {
            let read = engine.decode_ballot(bytes, batch, key).map(drop);
            // Whoever only looks at the presence must not be told of a ballot that is refused.
            if matches!(read, Err(DecodeError::Length { .. } | DecodeError::Checksum)) {
                assert!(engine.peek_presence(bytes, batch).is_err());
            }
            read
        }
        Kind::Release => engine.decode_release(bytes, batch, key).map(drop),
        _ => Err(DecodeError::NotOurs),
    }
}

/// Bytes that are cut off, damaged or too long, or that are something else than what is asked for,
/// are refused by every decoder.
///
/// `elsewhere` is the same engine for another election.
///
/// # Panics
/// If any are accepted.
pub fn only_sound_bytes_are_read<E: Engine>(
    engine: &E,
    elsewhere: &E,
    keys: &KeysOf<E>,
    votes: &Votes,
    rng: &mut ChaCha20Rng,
) {
    let Files { all, id } = Files::new(engine, keys, votes, &Seed::from_number(1), rng);
    let stranger = KeyId::from_bytes([7; 32]);
    for (kind, bytes) in all {
        assert!(bytes.len() <= engine.max_bytes(kind), "{kind}");
        let read = |bytes: &[u8]| read(engine, kind, bytes, 0, id);
        assert_eq!(read(&bytes), Ok(()), "{kind}");
        for other in Kind::OF_EVERY_ENGINE.into_iter().filter(|&other| other != kind) {
            let error = DecodeError::Kind { found: kind, expected: other };
            assert_eq!(self::read(engine, other, &bytes, 0, id), Err(error));
        }
        let error = DecodeError::Binding { kind };
        assert_eq!(self::read(elsewhere, kind, &bytes, 0, id), Err(error));
        if matches!(kind, Kind::Ballot | Kind::Release) {
            let error = DecodeError::Batch { kind, found: 0, expected: 1 };
            assert_eq!(self::read(engine, kind, &bytes, 1, id), Err(error));
            let error = DecodeError::Key { kind, found: id, expected: stranger };
            assert_eq!(self::read(engine, kind, &bytes, 0, stranger), Err(error));
        }
        let half = bytes.len() / 2;
        for cut in [0, 3, 5, HEADER - 1, HEADER, half, bytes.len() - 1] {
            assert!(read(&bytes[..cut]).is_err(), "{kind} cut off at {cut}");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(matches!(read(&longer), Err(DecodeError::Length { .. })), "{kind} with more");
        // Magic, version, kind, holder, binding, key, batch, length, payload, checksum.
        let end = bytes.len();
        let fields = [0, 4, 6, 7, 8, 40, 72, 80, HEADER, half, end - 33, end - 32, end - 1];
        let fields = fields.map(|place| (place, 4));
        let anywhere = [(); 8].map(|()| (rng.random_range(0..end), rng.random_range(0..8)));
        for (place, bit) in fields.into_iter().chain(anywhere) {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1 << bit;
            assert!(read(&damaged).is_err(), "{kind} damaged at {place}, bit {bit}");
        }
        let mut noise = vec![0; rng.random_range(0..400)];
        rng.fill_bytes(&mut noise);
        assert!(read(&noise).is_err(), "{kind} of random bytes");
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
