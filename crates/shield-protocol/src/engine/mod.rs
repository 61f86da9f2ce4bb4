//! Engines as the protocol sees them: everything goes in and out as bytes.
//!
//! [`EngineSpec`] names an engine and turns into an [`Engine`], and nothing else in protocol,
//! server and client names one: keys, ballots and releases are bytes to them. Every
//! [`shield_core::engine::Engine`] is an [`Engine`].

mod adapter;
#[cfg(any(test, feature = "test-engine"))]
pub mod faults;
mod labelling;
mod names;
mod spec;

use std::error::Error;
use std::ops::Range;
use std::sync::Arc;

use rand::CryptoRng;
use shield_core::engine::{BallotBoxError, Presence};
use shield_core::framing::{DecodeError, KeyId, Kind};
use shield_core::votes::Vote;
use shield_core::{Label, Seed};
use thiserror::Error;
use zeroize::Zeroizing;

pub use labelling::Labelling;
pub use names::{EngineName, MechanismName, Protects};
pub use shield_bfv::argmax::BallotKind;
pub use shield_core::engine::{Again, Alarm, Revealed};
pub use spec::{Counts, EngineSpec, NoisyArgmax, Outline, SpecError, UseEngine};

/// Random bytes at the end of every ballot: its teacher's part of the seed. Whatever the engine
/// does, no two ballots are the same, and nobody knows their digests before they are sent.
pub const NONCE: usize = 32;

/// The checksum that the votes of a ballot end with, before the nonce; zeros if there is none.
pub fn votes_checksum(ballot: &[u8]) -> [u8; 32] {
    let votes = &ballot[..ballot.len().saturating_sub(NONCE)];
    votes.last_chunk().copied().unwrap_or_default()
}

/// What an engine stumbled over.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct EngineError(Box<dyn Error + Send + Sync>);

impl EngineError {
    /// Any engine's own error.
    pub fn new(error: impl Error + Send + Sync + 'static) -> Self {
        Self(Box::new(error))
    }
}

/// The three keys of an election, as bytes.
#[derive(Debug)]
pub struct EncodedKeys {
    /// For the student alone.
    pub secret: Zeroizing<Vec<u8>>,
    /// For every teacher.
    pub public: Vec<u8>,
    /// For the server.
    pub evaluation: Vec<u8>,
    /// The name of the set.
    pub id: KeyId,
}

/// An engine, set up for one election.
pub trait Engine: Send + Sync {
    /// How many batches the samples make.
    fn batches(&self) -> usize;

    /// The samples of one batch; empty past the last.
    fn batch(&self, batch: usize) -> Range<usize>;

    /// The most bytes that a kind takes in this election.
    fn max_bytes(&self, kind: Kind) -> usize;

    /// The student's keys.
    fn make_keys(&self, rng: &mut dyn CryptoRng) -> Result<EncodedKeys, EngineError>;

    /// Checks a public key, and gives the name of its set.
    fn check_public_key(&self, bytes: &[u8]) -> Result<KeyId, DecodeError>;

    /// Checks an evaluation key, and gives the name of its set.
    fn check_evaluation_key(&self, bytes: &[u8]) -> Result<KeyId, DecodeError>;

    /// Checks a ballot from end to end, and says on which samples its teacher voted.
    fn check_ballot(&self, bytes: &[u8], batch: usize, key: KeyId)
    -> Result<Presence, DecodeError>;

    /// Checks a release from end to end.
    fn check_release(&self, bytes: &[u8], batch: usize, key: KeyId) -> Result<(), DecodeError>;

    /// The most bytes of the audit of a batch; `None` if the engine cannot tell a ballot that is
    /// no vote from one that is.
    fn audit_bytes(&self) -> Option<usize>;

    /// The most memory that aggregating a batch takes in this process, estimated from above.
    fn memory_bytes(&self) -> usize;

    /// The statistical distance between everything that the engine releases in this election and
    /// what the labels alone would give: what flooding leaves.
    fn distance(&self) -> f64;

    /// What a teacher needs.
    fn voting(self: Arc<Self>, public_key: &[u8]) -> Result<Box<dyn Voting>, DecodeError>;

    /// What the server needs.
    fn aggregating(
        self: Arc<Self>,
        evaluation_key: &[u8],
    ) -> Result<Box<dyn Aggregating>, DecodeError>;

    /// What the student needs.
    fn revealing(self: Arc<Self>, secret_key: &[u8]) -> Result<Box<dyn Revealing>, DecodeError>;
}

/// An engine with the teachers' key.
pub trait Voting: Send + Sync {
    /// The name of its key.
    fn key(&self) -> KeyId;

    /// The ballot for a batch of the teacher with this number, counted from 0.
    fn encrypt(
        &self,
        batch: usize,
        teacher: u32,
        votes: &[Vote],
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u8>, EngineError>;

    /// Refuses a ballot of a teacher without a valid proof, where ballots carry proofs: after
    /// [`Engine::check_ballot`].
    fn check_proof(&self, batch: usize, teacher: u32, ballot: &[u8]) -> Result<(), EngineError>;

    /// One teacher's ballot of counts per class for a batch, sample by sample.
    fn encrypt_counts(
        &self,
        batch: usize,
        counts: &[Vec<u32>],
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u8>, EngineError>;
}

/// An engine with the server's key.
pub trait Aggregating: Send + Sync {
    /// The name of its key.
    fn key(&self) -> KeyId;

    /// Refuses a ballot of a teacher without a valid proof, where ballots carry proofs: after
    /// [`Engine::check_ballot`].
    fn check_proof(&self, batch: usize, teacher: u32, ballot: &[u8]) -> Result<(), EngineError>;

    /// What the student gets for one batch: the same bytes for the same arguments.
    fn aggregate(
        &self,
        batch: usize,
        ballots: &dyn BallotBytes,
        seed: &Seed,
    ) -> Result<Vec<u8>, EngineError>;

    /// The check of every teacher alone on some samples of a batch, counted from 0 within it.
    fn audit(
        &self,
        batch: usize,
        ballots: &dyn BallotBytes,
        seed: &Seed,
        samples: &[usize],
    ) -> Result<Vec<u8>, EngineError>;

    /// What the student gets for some samples of a batch, counted from 0 within it, without some
    /// teachers; all other samples come out as junk.
    fn aggregate_again(
        &self,
        batch: usize,
        ballots: &dyn BallotBytes,
        seed: &Seed,
        again: Again<'_>,
    ) -> Result<Vec<u8>, EngineError>;

    /// What some teachers' ballots add to a batch.
    fn shard(
        &self,
        batch: usize,
        ballots: &dyn BallotBytes,
        seed: &Seed,
        teachers: Range<u32>,
    ) -> Result<Vec<u8>, EngineError>;

    /// Shards of neighbours, in order, as one.
    fn merge_shards(&self, batch: usize, shards: &[&[u8]]) -> Result<Vec<u8>, EngineError>;

    /// What the student gets, from the shard of all teachers: the bytes of [`Self::aggregate`].
    fn release_shards(
        &self,
        batch: usize,
        ballots: &dyn BallotBytes,
        seed: &Seed,
        whole: &[u8],
    ) -> Result<Vec<u8>, EngineError>;
}

/// The engine takes votes, not counts.
#[derive(Clone, Copy, Debug, Error)]
#[error(
    "this engine takes one vote per sample; counts need `mechanism = \"noisy-argmax\"` with \
     `engine = \"bfv\"` and `voters_per_teacher`"
)]
pub struct NoCounts;

/// The engine cannot say whose ballot is no vote.
#[derive(Clone, Copy, Debug, Error)]
#[error(
    "this election's engine does not check ballots, so there is no audit; ballots are checked with \
     `engine = \"bfv\"` and `mechanism = \"shield\"`"
)]
pub struct NoAudit;

/// The engine's work does not add up.
#[derive(Clone, Copy, Debug, Error)]
#[error("the engine `{engine}` has no shards of teachers; run whole batches")]
pub struct NoShards {
    /// The engine.
    engine: &'static str,
}

/// An engine with the student's key.
pub trait Revealing: Send + Sync {
    /// The name of its key.
    fn key(&self) -> KeyId;

    /// The labels of one batch, and what is wrong with them.
    fn inspect(&self, batch: usize, release: &[u8]) -> Result<Revealed, RevealError>;

    /// The labels of one batch.
    fn reveal(&self, batch: usize, release: &[u8]) -> Result<Vec<Label>, RevealError> {
        Ok(self.inspect(batch, release)?.labels)
    }

    /// The teachers whose ballots are no votes, out of the audit of a batch.
    fn read_audit(&self, batch: usize, audit: &[u8]) -> Result<Vec<u32>, RevealError>;
}

/// Why a release gave no labels.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RevealError {
    /// It is not this batch's release for these keys.
    #[error(transparent)]
    Release(#[from] DecodeError),
    /// The engine gave up.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// The ballots of one batch, as bytes, wherever they are kept.
pub trait BallotBytes: Sync {
    /// On which samples a teacher voted; nowhere if there is no ballot.
    fn presence(&self, teacher: u32) -> Result<Presence, BallotBoxError>;

    /// A teacher's ballot.
    fn bytes(&self, teacher: u32) -> Result<Vec<u8>, BallotBoxError>;

    /// The checksum that a teacher's votes end with, before the nonce, if that is cheaper to get
    /// than the whole ballot.
    fn checksum(&self, _teacher: u32) -> Result<Option<[u8; 32]>, BallotBoxError> {
        Ok(None)
    }
}
