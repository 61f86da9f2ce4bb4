//! The contract that every engine implements: one method for each role of SPEED, the bytes of what
//! the roles exchange, and what only some engines can do.
//!
//! | role | method | holds |
//! |---|---|---|
//! | student | [`Engine::generate_keys`], [`Engine::inspect`] | the secret key |
//! | teacher | [`Engine::encrypt`] | the public key and its own votes |
//! | server | [`Engine::aggregate`] | the evaluation key, the ballots, the seed |
//!
//! Samples are handled in batches ([`Setup`]), so that an engine can pack as many as fit into a
//! ciphertext. All engines draw the same entries for the same seed, so all return exactly the
//! labels of the [`ClearEngine`]: the suite in `engine::suite` holds them to that.
//!
//! An engine writes and reads payloads; [`Encoding`] frames them, the same way for every engine.
//! [`Shards`], [`Audits`], [`Counts`] and [`Unlocks`] are capabilities: an engine without one says
//! `None`.

mod ballot_box;
mod bytes;
mod capabilities;
mod clear;
mod error;
pub mod noisy_argmax;
mod setup;
#[cfg(any(test, feature = "suite"))]
pub mod suite;

use std::error::Error;
use std::ops::Range;

use rand::{CryptoRng, RngCore};

pub use ballot_box::{Ballot, BallotBox, BallotBoxError, MemoryBallotBox, open_ballot, urns};
pub use bytes::Encoding;
pub use capabilities::{Again, Alarm, Audits, Counts, Revealed, Shards, Unlocks};
pub use clear::{ClearBallot, ClearEngine, ClearError, ClearKey, ClearRelease};
pub use error::{AuditError, BallotError, Scope, ShardError, check_key_fits};
pub use setup::Setup;

pub use crate::presence::Presence;

use crate::election::Election;
use crate::framing::{KeyId, Kind, MadeFor, Reader};
use crate::seed::Seed;
use crate::votes::{Label, Vote};

/// Bits of the statistical distance that what is released of one batch keeps, at least, from what
/// could be made of its labels alone: 2^-40.
pub const STATISTICAL_BITS: u32 = 40;

/// The statistical distance of one batch: see [`STATISTICAL_BITS`].
pub const BATCH_DISTANCE: f64 = 1.0 / (1_u64 << STATISTICAL_BITS) as f64;

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

/// The keys of an engine.
pub type KeysOf<E> =
    Keys<<E as Engine>::SecretKey, <E as Engine>::PublicKey, <E as Engine>::EvaluationKey>;

/// One of the keys of a set.
pub trait Key: Send + Sync {
    /// The name of the set that it belongs to.
    fn id(&self) -> KeyId;
}

/// What is known of a ballot before its votes are read.
#[derive(Clone, Debug)]
pub struct Envelope {
    /// On which samples of the batch the teacher voted.
    pub presence: Presence,
    /// The batch and the keys it was made for.
    pub made_for: MadeFor,
    /// The checksum that its bytes end with: for engines that bind an aggregation to every ballot.
    pub digest: [u8; 32],
}

/// A key that holds the teachers' key.
#[expect(missing_debug_implementations, reason = "it holds keys")]
pub enum Holder<'a, E: Engine> {
    /// That key itself.
    Public(&'a E::PublicKey),
    /// The server's.
    Evaluation(&'a E::EvaluationKey),
}

/// An engine, set up for one election.
pub trait Engine: Send + Sync + Sized + 'static {
    /// What the student keeps.
    type SecretKey: Key;
    /// What the teachers encrypt with.
    type PublicKey: Key;
    /// What the server aggregates with.
    type EvaluationKey: Key;
    /// One teacher's votes on one batch of samples.
    type Ballot: Ballot;
    /// What the server hands to the student for one batch.
    type Release: Send;
    /// What can go wrong.
    type Error: Error + Send + Sync + From<BallotError> + 'static;

    /// The engine's name, as in `--backend`.
    const NAME: &'static str;

    /// Purpose of the digest that names a set of keys.
    const KEY_NAME: &'static str;

    /// The election in batches, and the digest that all of the engine's bytes carry.
    fn setup(&self) -> &Setup;

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

    /// The same for a teacher by number, counted from 0: ballots with proofs, which name a teacher,
    /// can be made no other way.
    fn encrypt_as<R: RngCore + CryptoRng>(
        &self,
        key: &Self::PublicKey,
        batch: usize,
        _teacher: u32,
        votes: &[Vote],
        rng: &mut R,
    ) -> Result<Self::Ballot, Self::Error> {
        self.encrypt(key, batch, votes, rng)
    }

    /// Refuses a ballot of a teacher without a valid proof, where ballots carry proofs.
    /// Aggregations check it again.
    fn check_proof(
        &self,
        _key: Holder<'_, Self>,
        _teacher: u32,
        _ballot: &Self::Ballot,
    ) -> Result<(), Self::Error> {
        Ok(())
    }

    /// What the server does with a ballot when it arrives, while it waits for the others. Nothing,
    /// unless an engine can do some of its work ahead; a ballot that was never received is
    /// aggregated just the same.
    fn receive(&self, _key: &Self::EvaluationKey, _ballot: &Self::Ballot) {}

    /// What the student gets for one batch: a pure function of its arguments.
    fn aggregate(
        &self,
        key: &Self::EvaluationKey,
        batch: usize,
        ballots: &dyn BallotBox<Self::Ballot>,
        seed: &Seed,
    ) -> Result<Self::Release, Self::Error>;

    /// The labels of one batch.
    fn decrypt(
        &self,
        key: &Self::SecretKey,
        batch: usize,
        release: &Self::Release,
    ) -> Result<Vec<Label>, Self::Error>;

    /// The labels of one batch, and what honest ballots cannot have caused: a missing label where
    /// every sample has one, unless an engine sees more.
    fn inspect(
        &self,
        key: &Self::SecretKey,
        batch: usize,
        release: &Self::Release,
    ) -> Result<Revealed, Self::Error> {
        let labels = self.decrypt(key, batch, release)?;
        let missing = (0..).zip(&labels).filter(|(_, label)| label.is_none());
        let missing = missing.map(|(sample, _)| (sample, Alarm::NoLabel));
        let alarms = if self.election().always_labels() { missing.collect() } else { vec![] };
        Ok(Revealed { labels, alarms })
    }

    /// The statistical distance between the releases of all batches and what could be made from
    /// the labels alone: what hiding everything else leaves.
    fn distance(&self) -> f64 {
        self.batches() as f64 * BATCH_DISTANCE
    }

    /// Aggregation by several machines, each with some teachers' ballots.
    fn shards(&self) -> Option<&dyn Shards<Self>> {
        None
    }

    /// Audits, which name the teachers whose ballots are no votes.
    fn audits(&self) -> Option<&dyn Audits<Self>> {
        None
    }

    /// Ballots of counts in place of votes.
    fn counts(&self) -> Option<&dyn Counts<Self>> {
        None
    }

    /// Batches that the student must unlock before they are aggregated.
    fn unlocks(&self) -> Option<&dyn Unlocks<Self>> {
        None
    }

    /// The whole way of a batch from ballots to release where one process holds all keys: the
    /// student's part first, for an engine that has one.
    fn aggregate_here(
        &self,
        (secret, evaluation): (Option<&Self::SecretKey>, &Self::EvaluationKey),
        batch: usize,
        ballots: &dyn BallotBox<Self::Ballot>,
        seed: &Seed,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self::Release, Self::Error> {
        let (Some(unlocks), Some(secret)) = (self.unlocks(), secret) else {
            return self.aggregate(evaluation, batch, ballots, seed);
        };
        let request = unlocks.request(evaluation, batch, ballots)?;
        let unlocking = unlocks.unlock(secret, batch, &request, rng)?;
        unlocks.aggregate_unlocked(evaluation, batch, ballots, seed, &unlocking)
    }

    /// Bytes of a key, of a ballot's votes (its presence left out), or of a release, for a batch of
    /// that many samples.
    fn payload_bytes(&self, kind: Kind, samples: usize) -> usize;

    /// Bytes of the votes in a ballot that abstains from every sample, where that is less than
    /// [`Self::payload_bytes`].
    fn abstention_bytes(&self) -> Option<usize> {
        None
    }

    /// Whether a ballot may have this presence.
    fn accepts(&self, _presence: &Presence) -> bool {
        true
    }

    /// The most memory that aggregating a batch takes, keys, open ballots and the program included,
    /// with this many threads: estimated from above. Unless an engine knows better, some keys, and
    /// some ballots and releases per thread.
    fn memory_bytes(&self, threads: usize) -> usize {
        const PROGRAM: usize = 32 << 20;
        let samples = self.batch(0).len();
        let bytes = |kind| self.payload_bytes(kind, samples);
        PROGRAM
            + 8 * bytes(Kind::EvaluationKey)
            + 4 * (48 + threads) * (bytes(Kind::Ballot) + bytes(Kind::Release))
    }

    /// What a release was made for.
    fn release_made_for(&self, release: &Self::Release) -> MadeFor;

    /// Appends the student's key.
    fn write_secret_key(&self, out: &mut Vec<u8>, key: &Self::SecretKey);

    /// Appends the teachers' key.
    fn write_public_key(&self, out: &mut Vec<u8>, key: &Self::PublicKey);

    /// Appends the server's key, which starts with the teachers'.
    fn write_evaluation_key(&self, out: &mut Vec<u8>, key: &Self::EvaluationKey);

    /// Appends the votes of a ballot.
    fn write_votes(&self, out: &mut Vec<u8>, ballot: &Self::Ballot);

    /// Appends a release.
    fn write_release(&self, out: &mut Vec<u8>, release: &Self::Release);

    /// Reads the student's key of the keys with this name. Every reader is given exactly the
    /// payload, and returns `None` for values out of range.
    fn read_secret_key(&self, payload: &mut Reader, id: KeyId) -> Option<Self::SecretKey>;

    /// Reads the teachers' key of the keys with this name.
    fn read_public_key(&self, payload: &mut Reader, id: KeyId) -> Option<Self::PublicKey>;

    /// Reads the server's key of the keys with this name.
    fn read_evaluation_key(&self, payload: &mut Reader, id: KeyId) -> Option<Self::EvaluationKey>;

    /// Reads the votes of a ballot.
    fn read_votes(&self, payload: &mut Reader, envelope: Envelope) -> Option<Self::Ballot>;

    /// Reads a release.
    fn read_release(&self, payload: &mut Reader, made_for: MadeFor) -> Option<Self::Release>;

    /// The election it is set up for.
    fn election(&self) -> &Election {
        &self.setup().election
    }

    /// A digest of the election, the engine and its plan: every key, ballot and release carries it.
    fn binding(&self) -> &[u8; 32] {
        &self.setup().binding
    }

    /// How many batches there are.
    fn batches(&self) -> usize {
        self.setup().batches()
    }

    /// The samples of one batch; empty past the last.
    fn batch(&self, batch: usize) -> Range<usize> {
        self.setup().batch(batch)
    }
}
