//! What only some engines can do: shards of teachers, audits, ballots of counts, batches that the
//! student unlocks. And the alarms that audits are for.

use std::fmt;
use std::ops::Range;

use rand::CryptoRng;

use super::{AuditError, BallotBox, Engine, ShardError};
use crate::seed::Seed;
use crate::votes::Label;

/// A batch aggregated by several machines, each with the ballots of some teachers.
pub trait Shards<E: Engine> {
    /// What the ballots of some teachers add to a batch, as bytes. Every shard needs to know who
    /// is present and everybody's digest, but opens its own ballots only.
    fn shard(
        &self,
        key: &E::EvaluationKey,
        batch: usize,
        ballots: &dyn BallotBox<E::Ballot>,
        seed: &Seed,
        teachers: Range<u32>,
    ) -> Result<Vec<u8>, ShardError>;

    /// Shards of neighbours, in order, as one.
    fn merge(
        &self,
        key: &E::EvaluationKey,
        batch: usize,
        shards: &[&[u8]],
    ) -> Result<Vec<u8>, ShardError>;

    /// The release of [`Engine::aggregate`], from the shard of all teachers.
    fn release(
        &self,
        key: &E::EvaluationKey,
        batch: usize,
        ballots: &dyn BallotBox<E::Ballot>,
        seed: &Seed,
        whole: &[u8],
    ) -> Result<E::Release, ShardError>;
}

/// Audits: whose ballot is no vote, and the batch again without those teachers.
pub trait Audits<E: Engine> {
    /// The most bytes of the audit of a batch.
    fn audit_bytes(&self) -> usize;

    /// For the server: the check of every teacher alone on some samples of a batch, counted from 0
    /// within it, as bytes. The seed is a new one.
    fn audit(
        &self,
        key: &E::EvaluationKey,
        batch: usize,
        ballots: &dyn BallotBox<E::Ballot>,
        seed: &Seed,
        samples: &[usize],
    ) -> Result<Vec<u8>, E::Error>;

    /// For the student: the teachers whose ballots are no votes.
    fn read_audit(
        &self,
        key: &E::SecretKey,
        batch: usize,
        audit: &[u8],
    ) -> Result<Vec<u32>, AuditError>;

    /// For the server: some samples of a batch without some teachers, under a new seed; all other
    /// samples come out as junk.
    fn aggregate_again(
        &self,
        key: &E::EvaluationKey,
        batch: usize,
        ballots: &dyn BallotBox<E::Ballot>,
        seed: &Seed,
        again: Again<'_>,
    ) -> Result<E::Release, E::Error>;
}

/// Ballots of counts: how many voters behind a teacher chose each class.
pub trait Counts<E: Engine> {
    /// One teacher's ballot of counts, for each sample of the batch and each class.
    fn encrypt_counts(
        &self,
        key: &E::PublicKey,
        batch: usize,
        counts: &[Vec<u32>],
        rng: &mut dyn CryptoRng,
    ) -> Result<E::Ballot, E::Error>;
}

/// Batches that the student unlocks: it turns what the teachers sealed to it into one message for
/// the server, once it is known whose ballots count.
///
/// The student unlocks one set of ballots per batch, ever: the labels of two sets that differ in
/// one ballot say more than the price of one.
pub trait Unlocks<E: Engine> {
    /// For the server: what the teachers sealed to the student, without their votes, as bytes.
    fn request(
        &self,
        key: &E::EvaluationKey,
        batch: usize,
        ballots: &dyn BallotBox<E::Ballot>,
    ) -> Result<Vec<u8>, E::Error>;

    /// For the student: the message that the request asks for, as bytes.
    fn unlock(
        &self,
        key: &E::SecretKey,
        batch: usize,
        request: &[u8],
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u8>, E::Error>;

    /// For the server: [`Engine::aggregate`] with the student's message.
    fn aggregate_unlocked(
        &self,
        key: &E::EvaluationKey,
        batch: usize,
        ballots: &dyn BallotBox<E::Ballot>,
        seed: &Seed,
        unlocking: &[u8],
    ) -> Result<E::Release, E::Error>;
}

/// What is aggregated a second time.
#[derive(Clone, Copy, Debug)]
pub struct Again<'a> {
    /// The teachers whose ballots do not count.
    pub excluded: &'a [u32],
    /// The samples, counted from 0 within the batch.
    pub samples: &'a [usize],
}

/// What the student reads out of the release of one batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revealed {
    /// The label of each sample.
    pub labels: Vec<Label>,
    /// Samples, counted from 0 within the batch and in increasing order, that show what honest
    /// ballots cannot cause.
    pub alarms: Vec<(usize, Alarm)>,
}

impl Revealed {
    /// The samples with an alarm, each once: what an audit should ask about.
    pub fn spoiled(&self) -> Vec<usize> {
        let mut samples: Vec<usize> = self.alarms.iter().map(|&(sample, _)| sample).collect();
        samples.dedup();
        samples
    }
}

/// Something that honest ballots cannot cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Alarm {
    /// There is no label, although the polynomial cannot fail.
    NoLabel,
    /// More than one cell shows a label; none of them counts.
    SeveralLabels,
    /// A cell is zero in all of its slots.
    EmptyCell,
    /// The label's code is no class.
    NoClass,
}

impl fmt::Display for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoLabel => "no label, although every honest election has one",
            Self::SeveralLabels => "more than one label",
            Self::EmptyCell => "a cell without any content",
            Self::NoClass => "a label that is no class",
        })
    }
}
