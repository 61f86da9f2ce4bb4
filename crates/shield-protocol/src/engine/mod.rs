//! Engines as the protocol sees them: everything goes in and out as bytes.
//!
//! [`Choice`] turns what an election file says into an [`Engine`], and nothing else in protocol,
//! server and client names one: keys, ballots and releases are bytes to them. Every engine that has
//! [`BackendBytes`](shield::backend::BackendBytes) is an [`Engine`].

mod choice;
mod erased;
#[cfg(any(test, feature = "test-engine"))]
pub mod faults;

use std::error::Error;
use std::ops::Range;
use std::sync::Arc;

use rand::CryptoRng;
use shield::backend::{BallotBoxError, Presence};
use shield::framing::{DecodeError, KeyId, Kind};
use shield::votes::Vote;
use shield::{Label, Seed};
use thiserror::Error;
use zeroize::Zeroizing;

pub use choice::{Choice, ChoiceError, EngineName, Mechanism, MechanismName, Upload};
pub use shield_bfv::ReleaseMode;

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

    /// One teacher's ballot for a batch.
    fn encrypt(
        &self,
        batch: usize,
        votes: &[Vote],
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u8>, EngineError>;
}

/// An engine with the server's key.
pub trait Aggregating: Send + Sync {
    /// The name of its key.
    fn key(&self) -> KeyId;

    /// What the student gets for one batch: the same bytes for the same arguments.
    fn aggregate(
        &self,
        batch: usize,
        ballots: &dyn BallotBytes,
        seed: &Seed,
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

/// An engine with the student's key.
pub trait Revealing: Send + Sync {
    /// The name of its key.
    fn key(&self) -> KeyId;

    /// The labels of one batch.
    fn reveal(&self, batch: usize, release: &[u8]) -> Result<Vec<Label>, RevealError>;
}

/// Why a release gave no labels.
#[derive(Debug, Error)]
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

    /// The checksum that a teacher's ballot ends with, if it is known without reading the ballot.
    fn checksum(&self, _teacher: u32) -> Option<[u8; 32]> {
        None
    }
}
