//! Every engine of the library, behind bytes.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use rand::CryptoRng;
use shield::backend::{Backend, BackendBytes, Ballot, BallotBox, BallotBoxError, Presence};
use shield::framing::{DecodeError, KeyId, Kind};
use shield::votes::Vote;
use shield::{Label, Seed};

use super::{
    Aggregating, Alarm, BallotBytes, EncodedKeys, Engine, EngineError, NONCE, NoCounts,
    RevealError, Revealed, Revealing, Voting,
};

impl<B> Engine for B
where
    B: BackendBytes + Send + 'static,
    B::SecretKey: Send + Sync,
    B::PublicKey: Send,
    B::EvaluationKey: Send,
{
    fn batches(&self) -> usize {
        Backend::batches(self)
    }

    fn batch(&self, batch: usize) -> Range<usize> {
        Backend::batch(self, batch)
    }

    fn max_bytes(&self, kind: Kind) -> usize {
        let nonce = if kind == Kind::Ballot { NONCE } else { 0 };
        BackendBytes::max_bytes(self, kind) + nonce
    }

    fn make_keys(&self, mut rng: &mut dyn CryptoRng) -> Result<EncodedKeys, EngineError> {
        let keys = self.generate_keys(&mut rng).map_err(EngineError::new)?;
        Ok(EncodedKeys {
            secret: self.encode_secret_key(&keys.secret),
            public: self.encode_public_key(&keys.public),
            evaluation: self.encode_evaluation_key(&keys.evaluation),
            id: self.public_key_id(&keys.public),
        })
    }

    fn check_public_key(&self, bytes: &[u8]) -> Result<KeyId, DecodeError> {
        Ok(self.public_key_id(&self.decode_public_key(bytes)?))
    }

    fn check_evaluation_key(&self, bytes: &[u8]) -> Result<KeyId, DecodeError> {
        Ok(self.evaluation_key_id(&self.decode_evaluation_key(bytes)?))
    }

    fn check_ballot(
        &self,
        bytes: &[u8],
        batch: usize,
        key: KeyId,
    ) -> Result<Presence, DecodeError> {
        Ok(self.decode_ballot(votes_of(bytes), batch, key)?.presence().clone())
    }

    fn check_release(&self, bytes: &[u8], batch: usize, key: KeyId) -> Result<(), DecodeError> {
        self.decode_release(bytes, batch, key).map(drop)
    }

    fn distance(&self) -> f64 {
        Backend::distance(self)
    }

    fn voting(self: Arc<Self>, public_key: &[u8]) -> Result<Box<dyn Voting>, DecodeError> {
        let key = self.decode_public_key(public_key)?;
        Ok(Box::new(With { id: self.public_key_id(&key), backend: self, key: Public::<B>(key) }))
    }

    fn aggregating(
        self: Arc<Self>,
        evaluation_key: &[u8],
    ) -> Result<Box<dyn Aggregating>, DecodeError> {
        let key = self.decode_evaluation_key(evaluation_key)?;
        let id = self.evaluation_key_id(&key);
        Ok(Box::new(With { id, backend: self, key: Evaluation::<B>(key) }))
    }

    fn revealing(self: Arc<Self>, secret_key: &[u8]) -> Result<Box<dyn Revealing>, DecodeError> {
        let key = self.decode_secret_key(secret_key)?;
        Ok(Box::new(With { id: self.secret_key_id(&key), backend: self, key: Secret::<B>(key) }))
    }
}

/// What stands before a ballot's nonce; nothing if it is too short to have one.
pub(super) fn votes_of(ballot: &[u8]) -> &[u8] {
    ballot.split_last_chunk::<NONCE>().map_or(&[], |(votes, _)| votes)
}

/// An engine with one of its keys.
pub(super) struct With<B, K> {
    pub(super) backend: Arc<B>,
    pub(super) key: K,
    pub(super) id: KeyId,
}

struct Public<B: Backend>(B::PublicKey);
pub(super) struct Evaluation<B: Backend>(pub(super) B::EvaluationKey);
pub(super) struct Secret<B: Backend>(pub(super) B::SecretKey);

impl<B> Voting for With<B, Public<B>>
where
    B: BackendBytes + Send,
    B::PublicKey: Send,
{
    fn key(&self) -> KeyId {
        self.id
    }

    fn encrypt(
        &self,
        batch: usize,
        votes: &[Vote],
        mut rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u8>, EngineError> {
        let ballot = self.backend.encrypt(&self.key.0, batch, votes, &mut rng);
        let bytes = self.backend.encode_ballot(&ballot.map_err(EngineError::new)?);
        Ok(with_nonce(bytes, rng))
    }

    fn encrypt_counts(
        &self,
        batch: usize,
        counts: &[Vec<u32>],
        mut rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u8>, EngineError> {
        let ballot = self.backend.encrypt_counts(&self.key.0, batch, counts, &mut rng);
        let ballot = ballot.ok_or_else(|| EngineError::new(NoCounts))?;
        let bytes = self.backend.encode_ballot(&ballot.map_err(EngineError::new)?);
        Ok(with_nonce(bytes, rng))
    }
}

/// A ballot's votes, and its teacher's part of the seed.
fn with_nonce(mut votes: Vec<u8>, rng: &mut dyn CryptoRng) -> Vec<u8> {
    let mut nonce = [0; NONCE];
    rng.fill_bytes(&mut nonce);
    votes.extend(nonce);
    votes
}

impl<B> Aggregating for With<B, Evaluation<B>>
where
    B: BackendBytes + Send,
    B::EvaluationKey: Send,
{
    fn key(&self) -> KeyId {
        self.id
    }

    fn aggregate(
        &self,
        batch: usize,
        ballots: &dyn BallotBytes,
        seed: &Seed,
    ) -> Result<Vec<u8>, EngineError> {
        let ballots = Opening { backend: &*self.backend, ballots, batch, key: self.id };
        let release = self.backend.aggregate(&self.key.0, batch, &ballots, seed);
        Ok(self.backend.encode_release(&release.map_err(EngineError::new)?))
    }

    fn shard(
        &self,
        batch: usize,
        ballots: &dyn BallotBytes,
        seed: &Seed,
        teachers: Range<u32>,
    ) -> Result<Vec<u8>, EngineError> {
        let ballots = Opening { backend: &*self.backend, ballots, batch, key: self.id };
        let shard = self.backend.shard_bytes(&self.key.0, batch, &ballots, seed, teachers);
        shard.map_err(EngineError::new)
    }

    fn merge_shards(&self, batch: usize, shards: &[&[u8]]) -> Result<Vec<u8>, EngineError> {
        self.backend.merge_shards(&self.key.0, batch, shards).map_err(EngineError::new)
    }

    fn release_shards(
        &self,
        batch: usize,
        ballots: &dyn BallotBytes,
        seed: &Seed,
        whole: &[u8],
    ) -> Result<Vec<u8>, EngineError> {
        let ballots = Opening { backend: &*self.backend, ballots, batch, key: self.id };
        let release = self.backend.release_shards(&self.key.0, batch, &ballots, seed, whole);
        Ok(self.backend.encode_release(&release.map_err(EngineError::new)?))
    }
}

impl<B> Revealing for With<B, Secret<B>>
where
    B: BackendBytes + Send,
    B::SecretKey: Send + Sync,
{
    fn key(&self) -> KeyId {
        self.id
    }

    fn inspect(&self, batch: usize, release: &[u8]) -> Result<Revealed, RevealError> {
        let release = self.backend.decode_release(release, batch, self.id)?;
        let labels = self.backend.decrypt(&self.key.0, batch, &release);
        let labels = labels.map_err(EngineError::new)?;
        let always = self.backend.election().always_labels();
        let alarms = if always { missing(&labels) } else { vec![] };
        Ok(Revealed { labels, alarms })
    }
}

/// An alarm for every sample without a label.
fn missing(labels: &[Label]) -> Vec<(usize, Alarm)> {
    let missing = labels.iter().enumerate().filter(|(_, label)| label.is_none());
    missing.map(|(sample, _)| (sample, Alarm::NoLabel)).collect()
}

/// Opens ballots as the engine asks for them.
pub(super) struct Opening<'a, B> {
    pub(super) backend: &'a B,
    pub(super) ballots: &'a dyn BallotBytes,
    pub(super) batch: usize,
    pub(super) key: KeyId,
}

impl<B: BackendBytes> BallotBox<B::Ballot> for Opening<'_, B> {
    fn presence(&self, teacher: u32) -> Result<Presence, BallotBoxError> {
        self.ballots.presence(teacher)
    }

    fn open(&self, teacher: u32) -> Result<Cow<'_, B::Ballot>, BallotBoxError> {
        let bytes = self.ballots.bytes(teacher)?;
        let ballot = self.backend.decode_ballot(votes_of(&bytes), self.batch, self.key);
        ballot.map(Cow::Owned).map_err(|error| BallotBoxError { teacher, source: error.into() })
    }

    fn digest(&self, teacher: u32) -> Result<Option<[u8; 32]>, BallotBoxError> {
        self.ballots.checksum(teacher)
    }
}
