//! Every engine behind bytes: the one adapter from the contract to the objects of the roles.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use rand::CryptoRng;
use shield_core::Seed;
use shield_core::engine::{
    self, AuditError, Audits, Ballot, BallotBox, BallotBoxError, Encoding, Holder, Key, Presence,
    Shards,
};
use shield_core::framing::{DecodeError, KeyId, Kind};
use shield_core::votes::Vote;

use super::{
    Again, Aggregating, BallotBytes, EncodedKeys, Engine, EngineError, NONCE, NoAudit, NoCounts,
    NoShards, RevealError, Revealed, Revealing, Voting,
};

/// An engine whose keys, ballots and releases are bytes.
pub(super) struct Adapter<E> {
    engine: E,
    /// Random bytes that follow the votes of a ballot.
    random: usize,
}

impl<E: engine::Engine> Adapter<E> {
    pub(super) fn new(engine: E) -> Self {
        Self { engine, random: NONCE }
    }

    /// The same with more random bytes than a nonce.
    #[cfg(any(test, feature = "test-engine"))]
    pub(super) fn with_random(engine: E, random: usize) -> Self {
        Self { engine, random }
    }

    /// The votes of a ballot; nothing if it is too short to have any.
    fn votes<'a>(&self, ballot: &'a [u8]) -> &'a [u8] {
        &ballot[..ballot.len().saturating_sub(self.random)]
    }

    /// A ballot as it is sent.
    fn seal(
        &self,
        ballot: Result<E::Ballot, E::Error>,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u8>, EngineError> {
        let mut bytes = self.engine.encode_ballot(&ballot.map_err(EngineError::new)?);
        let votes = bytes.len();
        bytes.resize(votes + self.random, 0);
        rng.fill_bytes(&mut bytes[votes..]);
        Ok(bytes)
    }

    /// A release as it is sent.
    fn release<X: std::error::Error + Send + Sync + 'static>(
        &self,
        release: Result<E::Release, X>,
    ) -> Result<Vec<u8>, EngineError> {
        Ok(self.engine.encode_release(&release.map_err(EngineError::new)?))
    }

    /// Refuses a ballot without a valid proof.
    fn check_proof(
        &self,
        key: Holder<'_, E>,
        (batch, id): (usize, KeyId),
        teacher: u32,
        ballot: &[u8],
    ) -> Result<(), EngineError> {
        let ballot = self.engine.decode_ballot(self.votes(ballot), batch, id);
        let ballot = ballot.map_err(EngineError::new)?;
        self.engine.check_proof(key, teacher, &ballot).map_err(EngineError::new)
    }

    fn audits(&self) -> Result<&dyn Audits<E>, EngineError> {
        self.engine.audits().ok_or_else(|| EngineError::new(NoAudit))
    }

    fn shards(&self) -> Result<&dyn Shards<E>, EngineError> {
        self.engine.shards().ok_or_else(|| EngineError::new(NoShards { engine: E::NAME }))
    }
}

impl<E: engine::Engine> Engine for Adapter<E> {
    fn batches(&self) -> usize {
        self.engine.batches()
    }

    fn batch(&self, batch: usize) -> Range<usize> {
        self.engine.batch(batch)
    }

    fn max_bytes(&self, kind: Kind) -> usize {
        let random = if kind == Kind::Ballot { self.random } else { 0 };
        self.engine.max_bytes(kind) + random
    }

    fn make_keys(&self, mut rng: &mut dyn CryptoRng) -> Result<EncodedKeys, EngineError> {
        let keys = self.engine.generate_keys(&mut rng).map_err(EngineError::new)?;
        Ok(EncodedKeys {
            secret: self.engine.encode_secret_key(&keys.secret),
            public: self.engine.encode_public_key(&keys.public),
            evaluation: self.engine.encode_evaluation_key(&keys.evaluation),
            id: keys.public.id(),
        })
    }

    fn check_public_key(&self, bytes: &[u8]) -> Result<KeyId, DecodeError> {
        Ok(self.engine.decode_public_key(bytes)?.id())
    }

    fn check_evaluation_key(&self, bytes: &[u8]) -> Result<KeyId, DecodeError> {
        Ok(self.engine.decode_evaluation_key(bytes)?.id())
    }

    fn check_ballot(
        &self,
        bytes: &[u8],
        batch: usize,
        key: KeyId,
    ) -> Result<Presence, DecodeError> {
        Ok(self.engine.decode_ballot(self.votes(bytes), batch, key)?.presence().clone())
    }

    fn check_release(&self, bytes: &[u8], batch: usize, key: KeyId) -> Result<(), DecodeError> {
        self.engine.decode_release(bytes, batch, key).map(drop)
    }

    fn audit_bytes(&self) -> Option<usize> {
        Some(self.engine.audits()?.audit_bytes())
    }

    fn memory_bytes(&self) -> usize {
        self.engine.memory_bytes(rayon::current_num_threads())
    }

    fn distance(&self) -> f64 {
        self.engine.distance()
    }

    fn voting(self: Arc<Self>, public_key: &[u8]) -> Result<Box<dyn Voting>, DecodeError> {
        let key = self.engine.decode_public_key(public_key)?;
        Ok(Box::new(With { key: Public(key), adapter: self }))
    }

    fn aggregating(
        self: Arc<Self>,
        evaluation_key: &[u8],
    ) -> Result<Box<dyn Aggregating>, DecodeError> {
        let key = self.engine.decode_evaluation_key(evaluation_key)?;
        Ok(Box::new(With { key: Evaluation(key), adapter: self }))
    }

    fn revealing(self: Arc<Self>, secret_key: &[u8]) -> Result<Box<dyn Revealing>, DecodeError> {
        let key = self.engine.decode_secret_key(secret_key)?;
        Ok(Box::new(With { key: Secret(key), adapter: self }))
    }
}

/// An engine with one of its keys, which may be of the same type for several roles.
struct With<E, K> {
    adapter: Arc<Adapter<E>>,
    key: K,
}

struct Public<K>(K);
struct Evaluation<K>(K);
struct Secret<K>(K);

impl<E: engine::Engine> Voting for With<E, Public<E::PublicKey>> {
    fn key(&self) -> KeyId {
        self.key.0.id()
    }

    fn encrypt(
        &self,
        batch: usize,
        teacher: u32,
        votes: &[Vote],
        mut rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u8>, EngineError> {
        let engine = &self.adapter.engine;
        let ballot = engine.encrypt_as(&self.key.0, batch, teacher, votes, &mut rng);
        self.adapter.seal(ballot, rng)
    }

    fn check_proof(&self, batch: usize, teacher: u32, ballot: &[u8]) -> Result<(), EngineError> {
        let (key, place) = (Holder::Public(&self.key.0), (batch, self.key.0.id()));
        self.adapter.check_proof(key, place, teacher, ballot)
    }

    fn encrypt_counts(
        &self,
        batch: usize,
        counts: &[Vec<u32>],
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u8>, EngineError> {
        let able = self.adapter.engine.counts().ok_or_else(|| EngineError::new(NoCounts))?;
        self.adapter.seal(able.encrypt_counts(&self.key.0, batch, counts, rng), rng)
    }
}

impl<E: engine::Engine> With<E, Evaluation<E::EvaluationKey>> {
    /// The ballots of a batch, opened as the engine asks for them.
    fn open<'a>(&'a self, batch: usize, ballots: &'a dyn BallotBytes) -> Opening<'a, E> {
        Opening { adapter: &self.adapter, ballots, batch, key: self.key.0.id() }
    }
}

impl<E: engine::Engine> Aggregating for With<E, Evaluation<E::EvaluationKey>> {
    fn key(&self) -> KeyId {
        self.key.0.id()
    }

    fn check_proof(&self, batch: usize, teacher: u32, ballot: &[u8]) -> Result<(), EngineError> {
        let (key, place) = (Holder::Evaluation(&self.key.0), (batch, self.key.0.id()));
        self.adapter.check_proof(key, place, teacher, ballot)
    }

    fn aggregate(
        &self,
        batch: usize,
        ballots: &dyn BallotBytes,
        seed: &Seed,
    ) -> Result<Vec<u8>, EngineError> {
        let engine = &self.adapter.engine;
        #[cfg(any(test, feature = "test-engine"))]
        super::faults::before_aggregation(engine.election(), batch)?;
        let ballots = self.open(batch, ballots);
        self.adapter.release(engine.aggregate(&self.key.0, batch, &ballots, seed))
    }

    fn audit(
        &self,
        batch: usize,
        ballots: &dyn BallotBytes,
        seed: &Seed,
        samples: &[usize],
    ) -> Result<Vec<u8>, EngineError> {
        let (audits, ballots) = (self.adapter.audits()?, self.open(batch, ballots));
        audits.audit(&self.key.0, batch, &ballots, seed, samples).map_err(EngineError::new)
    }

    fn aggregate_again(
        &self,
        batch: usize,
        ballots: &dyn BallotBytes,
        seed: &Seed,
        again: Again<'_>,
    ) -> Result<Vec<u8>, EngineError> {
        let (audits, ballots) = (self.adapter.audits()?, self.open(batch, ballots));
        let release = audits.aggregate_again(&self.key.0, batch, &ballots, seed, again);
        self.adapter.release(release)
    }

    fn shard(
        &self,
        batch: usize,
        ballots: &dyn BallotBytes,
        seed: &Seed,
        teachers: Range<u32>,
    ) -> Result<Vec<u8>, EngineError> {
        let (shards, ballots) = (self.adapter.shards()?, self.open(batch, ballots));
        shards.shard(&self.key.0, batch, &ballots, seed, teachers).map_err(EngineError::new)
    }

    fn merge_shards(&self, batch: usize, shards: &[&[u8]]) -> Result<Vec<u8>, EngineError> {
        self.adapter.shards()?.merge(&self.key.0, batch, shards).map_err(EngineError::new)
    }

    fn release_shards(
        &self,
        batch: usize,
        ballots: &dyn BallotBytes,
        seed: &Seed,
        whole: &[u8],
    ) -> Result<Vec<u8>, EngineError> {
        let (shards, ballots) = (self.adapter.shards()?, self.open(batch, ballots));
        self.adapter.release(shards.release(&self.key.0, batch, &ballots, seed, whole))
    }
}

impl<E: engine::Engine> Revealing for With<E, Secret<E::SecretKey>> {
    fn key(&self) -> KeyId {
        self.key.0.id()
    }

    fn inspect(&self, batch: usize, release: &[u8]) -> Result<Revealed, RevealError> {
        let engine = &self.adapter.engine;
        let release = engine.decode_release(release, batch, self.key.0.id())?;
        Ok(engine.inspect(&self.key.0, batch, &release).map_err(EngineError::new)?)
    }

    fn read_audit(&self, batch: usize, audit: &[u8]) -> Result<Vec<u32>, RevealError> {
        let accused = self.adapter.audits()?.read_audit(&self.key.0, batch, audit);
        accused.map_err(|error| match error {
            AuditError::Bytes(error) => error.into(),
            AuditError::Engine(error) => EngineError(error).into(),
        })
    }
}

/// Ballots as an engine reads them.
struct Opening<'a, E> {
    adapter: &'a Adapter<E>,
    ballots: &'a dyn BallotBytes,
    batch: usize,
    key: KeyId,
}

impl<E: engine::Engine> BallotBox<E::Ballot> for Opening<'_, E> {
    fn presence(&self, teacher: u32) -> Result<Presence, BallotBoxError> {
        self.ballots.presence(teacher)
    }

    fn open(&self, teacher: u32) -> Result<Cow<'_, E::Ballot>, BallotBoxError> {
        let bytes = self.ballots.bytes(teacher)?;
        let votes = self.adapter.votes(&bytes);
        let ballot = self.adapter.engine.decode_ballot(votes, self.batch, self.key);
        ballot.map(Cow::Owned).map_err(|error| BallotBoxError { teacher, source: error.into() })
    }

    fn digest(&self, teacher: u32) -> Result<Option<[u8; 32]>, BallotBoxError> {
        self.ballots.checksum(teacher)
    }
}
