//! The BFV engine, which also says what is wrong with a release, and whose ballot it was.

use std::ops::Range;
use std::sync::Arc;

use rand::CryptoRng;
use shield::Seed;
use shield::backend::{Backend, BackendBytes, Presence};
use shield::framing::{DecodeError, KeyId, Kind};
use shield_bfv::BfvBackend;

use super::erased::{Evaluation, Opening, Secret, With};
use super::{
    Again, Aggregating, BallotBytes, EncodedKeys, Engine, EngineError, RevealError, Revealed,
    Revealing, Voting,
};

/// The engine as bytes, with alarms and audits.
pub(super) struct BfvEngine(Arc<BfvBackend>);

impl BfvEngine {
    pub(super) fn new(backend: BfvBackend) -> Self {
        Self(Arc::new(backend))
    }
}

impl Engine for BfvEngine {
    fn batches(&self) -> usize {
        Engine::batches(&*self.0)
    }

    fn batch(&self, batch: usize) -> Range<usize> {
        Engine::batch(&*self.0, batch)
    }

    fn max_bytes(&self, kind: Kind) -> usize {
        Engine::max_bytes(&*self.0, kind)
    }

    fn make_keys(&self, rng: &mut dyn CryptoRng) -> Result<EncodedKeys, EngineError> {
        self.0.make_keys(rng)
    }

    fn check_public_key(&self, bytes: &[u8]) -> Result<KeyId, DecodeError> {
        self.0.check_public_key(bytes)
    }

    fn check_evaluation_key(&self, bytes: &[u8]) -> Result<KeyId, DecodeError> {
        self.0.check_evaluation_key(bytes)
    }

    fn check_ballot(
        &self,
        bytes: &[u8],
        batch: usize,
        key: KeyId,
    ) -> Result<Presence, DecodeError> {
        self.0.check_ballot(bytes, batch, key)
    }

    fn check_release(&self, bytes: &[u8], batch: usize, key: KeyId) -> Result<(), DecodeError> {
        self.0.check_release(bytes, batch, key)
    }

    fn audit_bytes(&self) -> Option<usize> {
        Some(self.0.audit_bytes())
    }

    fn distance(&self) -> f64 {
        Engine::distance(&*self.0)
    }

    fn voting(self: Arc<Self>, public_key: &[u8]) -> Result<Box<dyn Voting>, DecodeError> {
        Arc::clone(&self.0).voting(public_key)
    }

    fn aggregating(
        self: Arc<Self>,
        evaluation_key: &[u8],
    ) -> Result<Box<dyn Aggregating>, DecodeError> {
        let backend = Arc::clone(&self.0);
        let key = backend.decode_evaluation_key(evaluation_key)?;
        let id = backend.evaluation_key_id(&key);
        Ok(Box::new(WithAudit(With { id, backend, key: Evaluation(key) })))
    }

    fn revealing(self: Arc<Self>, secret_key: &[u8]) -> Result<Box<dyn Revealing>, DecodeError> {
        let backend = Arc::clone(&self.0);
        let key = backend.decode_secret_key(secret_key)?;
        let id = backend.secret_key_id(&key);
        Ok(Box::new(WithAudit(With { id, backend, key: Secret(key) })))
    }
}

/// The engine with one of its keys.
struct WithAudit<K>(With<BfvBackend, K>);

impl Aggregating for WithAudit<Evaluation<BfvBackend>> {
    fn key(&self) -> KeyId {
        self.0.id
    }

    fn aggregate(
        &self,
        batch: usize,
        ballots: &dyn BallotBytes,
        seed: &Seed,
    ) -> Result<Vec<u8>, EngineError> {
        self.0.aggregate(batch, ballots, seed)
    }

    fn shard(
        &self,
        batch: usize,
        ballots: &dyn BallotBytes,
        seed: &Seed,
        teachers: Range<u32>,
    ) -> Result<Vec<u8>, EngineError> {
        self.0.shard(batch, ballots, seed, teachers)
    }

    fn merge_shards(&self, batch: usize, shards: &[&[u8]]) -> Result<Vec<u8>, EngineError> {
        self.0.merge_shards(batch, shards)
    }

    fn release_shards(
        &self,
        batch: usize,
        ballots: &dyn BallotBytes,
        seed: &Seed,
        whole: &[u8],
    ) -> Result<Vec<u8>, EngineError> {
        self.0.release_shards(batch, ballots, seed, whole)
    }

    fn audit(
        &self,
        batch: usize,
        ballots: &dyn BallotBytes,
        seed: &Seed,
        samples: &[usize],
    ) -> Result<Vec<u8>, EngineError> {
        let With { backend, key, id } = &self.0;
        let ballots = Opening { backend: &**backend, ballots, batch, key: *id };
        let audit = backend.audit(&key.0, batch, &ballots, seed, samples);
        Ok(backend.encode_audit(&audit.map_err(EngineError::new)?))
    }

    fn aggregate_again(
        &self,
        batch: usize,
        ballots: &dyn BallotBytes,
        seed: &Seed,
        again: Again<'_>,
    ) -> Result<Vec<u8>, EngineError> {
        let With { backend, key, id } = &self.0;
        let ballots = Opening { backend: &**backend, ballots, batch, key: *id };
        let samples = Backend::batch(&**backend, batch).len();
        let asked = Presence::new((0..samples).map(|sample| again.samples.contains(&sample)));
        let release = backend.aggregate_only(&key.0, batch, &ballots, seed, again.excluded, &asked);
        Ok(backend.encode_release(&release.map_err(EngineError::new)?))
    }
}

impl Revealing for WithAudit<Secret<BfvBackend>> {
    fn key(&self) -> KeyId {
        self.0.id
    }

    fn inspect(&self, batch: usize, release: &[u8]) -> Result<Revealed, RevealError> {
        let With { backend, key, id } = &self.0;
        let release = backend.decode_release(release, batch, *id)?;
        let found = backend.inspect(&key.0, batch, &release).map_err(EngineError::new)?;
        Ok(Revealed { labels: found.labels, alarms: found.alarms.raised().to_vec() })
    }

    fn read_audit(&self, batch: usize, audit: &[u8]) -> Result<Vec<u32>, RevealError> {
        let With { backend, key, id } = &self.0;
        let audit = backend.decode_audit(audit, batch, *id)?;
        Ok(backend.read_audit(&key.0, batch, &audit).map_err(EngineError::new)?.accused())
    }
}
