//! The trait that every engine implements: one method per role of SPEED.
//!
//! | role | method | holds |
//! |---|---|---|
//! | student | [`Backend::generate_keys`], [`Backend::decrypt`] | the secret key |
//! | teacher | [`Backend::encrypt`] | the public key and its own votes |
//! | server | [`Backend::aggregate`] | the evaluation key, the ballots, the seed |
//!
//! Samples are handled in batches ([`Backend::batches`]), so that an engine can pack as many as fit
//! into a ciphertext. All engines draw the same entries for the same seed, so all return exactly
//! the labels of the [`ClearBackend`]: the suite in `backend::suite` holds them to that.

mod ballot_box;
mod bytes;
mod clear;
mod error;
#[cfg(any(test, feature = "suite"))]
pub mod suite;

use std::error::Error;
use std::ops::Range;

use rand::{CryptoRng, RngCore};

pub use ballot_box::{Ballot, BallotBox, BallotBoxError, MemoryBallotBox, open_ballot, urns};
pub use bytes::{BackendBytes, Payloads};
pub use clear::noisy_argmax;
pub use clear::{ClearBackend, ClearBallot, ClearKey, ClearRelease};
pub use error::{BallotError, Scope, ShardError, check_key_fits};

pub use crate::presence::Presence;

use crate::election::Election;
use crate::seed::Seed;
use crate::votes::{Label, Vote};

/// The three keys of an election, made together by the student.
#[derive(Debug)]
pub struct Keys<S, P, E> {
    /// For the student alone. Whoever has it can read every ballot: it must never reach the server.
    pub secret: S,
    /// For the teachers, who encrypt with it.
    pub public: P,
    /// For the server, which aggregates with it.
    pub evaluation: E,
}

/// The keys of a backend.
pub type KeysOf<B> =
    Keys<<B as Backend>::SecretKey, <B as Backend>::PublicKey, <B as Backend>::EvaluationKey>;

/// An engine, set up for one election.
pub trait Backend: Sync {
    /// What the student keeps.
    type SecretKey;
    /// What the teachers encrypt with.
    type PublicKey: Sync;
    /// What the server aggregates with.
    type EvaluationKey: Sync;
    /// One teacher's votes on one batch of samples.
    type Ballot: Ballot;
    /// What the server hands to the student for one batch.
    type Release: Send;
    /// What can go wrong.
    type Error: Error + Send + Sync + From<BallotError> + 'static;

    /// The engine's name, as in `--backend`.
    fn name(&self) -> &'static str;

    /// The election it is set up for.
    fn election(&self) -> &Election;

    /// How many samples one batch holds, at most.
    fn samples_per_batch(&self) -> usize;

    /// The student's keys.
    fn generate_keys<R: RngCore + CryptoRng>(
        &self,
        rng: &mut R,
    ) -> Result<KeysOf<Self>, Self::Error>;

    /// One teacher's ballot: its votes on the samples of [`Self::batch`], in order.
    fn encrypt<R: RngCore + CryptoRng>(
        &self,
        key: &Self::PublicKey,
        batch: usize,
        votes: &[Vote],
        rng: &mut R,
    ) -> Result<Self::Ballot, Self::Error>;

    /// One teacher's ballot of counts: for each sample of [`Self::batch`], how many voters behind
    /// the teacher chose each class. `None` if the engine takes votes only.
    fn encrypt_counts<R: RngCore + CryptoRng>(
        &self,
        _key: &Self::PublicKey,
        _batch: usize,
        _counts: &[Vec<u32>],
        _rng: &mut R,
    ) -> Option<Result<Self::Ballot, Self::Error>> {
        None
    }

    /// What the server does with a ballot when it arrives, while it waits for the others. Nothing,
    /// unless an engine can do some of its work ahead; a ballot that was never received is
    /// aggregated just the same.
    fn receive(&self, _key: &Self::EvaluationKey, _ballot: &Self::Ballot) {}

    /// What the student gets for one batch: a pure function of its arguments.
    fn aggregate<B: BallotBox<Self::Ballot>>(
        &self,
        key: &Self::EvaluationKey,
        batch: usize,
        ballots: &B,
        seed: &Seed,
    ) -> Result<Self::Release, Self::Error>;

    /// What the ballots of some teachers add to a batch, as bytes. Every shard needs to know who
    /// is present and everybody's digest, but opens its own ballots only. An engine whose work does
    /// not add up has no shards.
    fn shard_bytes<B: BallotBox<Self::Ballot>>(
        &self,
        _key: &Self::EvaluationKey,
        _batch: usize,
        _ballots: &B,
        _seed: &Seed,
        _teachers: Range<u32>,
    ) -> Result<Vec<u8>, ShardError> {
        Err(ShardError::no_shards(self.name()))
    }

    /// Shards of neighbours, in order, as one.
    fn merge_shards(
        &self,
        _key: &Self::EvaluationKey,
        _batch: usize,
        _shards: &[&[u8]],
    ) -> Result<Vec<u8>, ShardError> {
        Err(ShardError::no_shards(self.name()))
    }

    /// The release of [`Self::aggregate`], from the shard of all teachers.
    fn release_shards<B: BallotBox<Self::Ballot>>(
        &self,
        _key: &Self::EvaluationKey,
        _batch: usize,
        _ballots: &B,
        _seed: &Seed,
        _whole: &[u8],
    ) -> Result<Self::Release, ShardError> {
        Err(ShardError::no_shards(self.name()))
    }

    /// The labels of one batch.
    fn decrypt(
        &self,
        key: &Self::SecretKey,
        batch: usize,
        release: &Self::Release,
    ) -> Result<Vec<Label>, Self::Error>;

    /// The statistical distance between the releases of all batches and what could be made from
    /// the labels alone: what hiding everything else leaves. 2^-40 for each batch, unless an engine
    /// says otherwise.
    fn distance(&self) -> f64 {
        self.batches() as f64 * 2_f64.powi(-40)
    }

    /// How many batches there are.
    fn batches(&self) -> usize {
        self.election().samples().div_ceil(self.samples_per_batch())
    }

    /// The samples of one batch; empty past the last.
    fn batch(&self, batch: usize) -> Range<usize> {
        let samples = self.election().samples();
        let start = batch.saturating_mul(self.samples_per_batch()).min(samples);
        start..start.saturating_add(self.samples_per_batch()).min(samples)
    }

    /// Refuses a batch past the last.
    fn check_batch(&self, batch: usize) -> Result<(), BallotError> {
        let batches = self.batches();
        if batch < batches { Ok(()) } else { Err(BallotError::Batch { batch, batches }) }
    }

    /// Refuses votes that are not one for each sample of a batch, each for a class.
    fn check_votes(&self, batch: usize, votes: &[Vote]) -> Result<(), BallotError> {
        self.check_batch(batch)?;
        error::check_votes(self.election().classes(), self.batch(batch).len(), votes)
    }
}
