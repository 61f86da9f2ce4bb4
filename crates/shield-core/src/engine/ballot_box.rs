//! Where the server finds the ballots of a batch: in memory, in files, behind a database.

use std::borrow::Cow;
use std::error::Error;

use thiserror::Error;

use super::BallotError;
use crate::draws::Urn;
use crate::election::Election;
use crate::framing::MadeFor;
use crate::presence::Presence;

/// A ballot that could not be had.
#[derive(Debug, Error)]
#[error("the ballot of teacher {teacher} cannot be used: {source}")]
pub struct BallotBoxError {
    /// Whose ballot it is.
    pub teacher: u32,
    /// Why not.
    pub source: Box<dyn Error + Send + Sync>,
}

/// One teacher's votes on one batch, as an engine wants them.
pub trait Ballot: Clone + Send + Sync {
    /// On which samples of the batch the teacher voted.
    fn presence(&self) -> &Presence;

    /// The batch and the keys it was made for.
    fn made_for(&self) -> MadeFor;
}

/// The ballots of one batch, one per teacher of the election, in the teachers' order.
///
/// A box need not hold its ballots in memory: an engine opens them one by one, and keeps none.
pub trait BallotBox<B: Ballot>: Sync {
    /// On which samples of the batch the teacher voted. A teacher without a ballot voted on none.
    fn presence(&self, teacher: u32) -> Result<Presence, BallotBoxError>;

    /// The teacher's ballot. Only asked for teachers who voted on some sample.
    fn open(&self, teacher: u32) -> Result<Cow<'_, B>, BallotBoxError>;

    /// The digest of the teacher's ballot, if the box knows it without opening the ballot: the
    /// checksum that its bytes end with. An engine that needs it opens the ballot otherwise.
    fn digest(&self, _teacher: u32) -> Result<Option<[u8; 32]>, BallotBoxError> {
        Ok(None)
    }
}

impl<B: Ballot, T: BallotBox<B> + ?Sized> BallotBox<B> for &T {
    fn presence(&self, teacher: u32) -> Result<Presence, BallotBoxError> {
        (**self).presence(teacher)
    }

    fn open(&self, teacher: u32) -> Result<Cow<'_, B>, BallotBoxError> {
        (**self).open(teacher)
    }

    fn digest(&self, teacher: u32) -> Result<Option<[u8; 32]>, BallotBoxError> {
        (**self).digest(teacher)
    }
}

/// The ballot of a teacher, if it was made for this batch and these keys, and `fits` the election.
pub fn open_ballot<B: Ballot>(
    ballots: &(impl BallotBox<B> + ?Sized),
    teacher: u32,
    made_for: MadeFor,
    fits: impl FnOnce(&B) -> bool,
) -> Result<Cow<'_, B>, BallotError> {
    let ballot = ballots.open(teacher)?;
    ballot.made_for().check_ballot(teacher, made_for, fits(&ballot))?;
    Ok(ballot)
}

/// The urn of each sample of a batch.
///
/// Where everybody voted it costs nothing to store; otherwise 4 bytes for each present teacher.
pub fn urns<B: Ballot>(
    election: &Election,
    batch_samples: usize,
    ballots: &(impl BallotBox<B> + ?Sized),
) -> Result<Vec<Urn>, BallotBoxError> {
    let mut voters: Vec<Option<Vec<u32>>> = vec![None; batch_samples];
    for teacher in 0..election.teachers() {
        let presence = ballots.presence(teacher)?;
        for (sample, voters) in voters.iter_mut().enumerate() {
            match (presence.contains(sample), voters) {
                (true, Some(voters)) => voters.push(teacher),
                // The first absence: until now all teachers below were present.
                (false, voters @ None) => *voters = Some((0..teacher).collect()),
                _ => {}
            }
        }
    }
    let (classes, offset) = (election.classes(), election.setting().offset);
    let urn = |voters: Option<Vec<u32>>| match voters {
        None => Urn::of_all(election.teachers(), classes, offset),
        Some(voters) => Urn::of(voters, classes, offset),
    };
    Ok(voters.into_iter().map(urn).collect())
}

/// Ballots in memory; `None` for a teacher who sent none.
#[derive(Clone, Debug)]
pub struct MemoryBallotBox<B> {
    ballots: Vec<Option<B>>,
    samples: usize,
}

impl<B: Ballot> MemoryBallotBox<B> {
    /// A box for a batch of that many samples.
    pub fn new(samples: usize, ballots: Vec<Option<B>>) -> Self {
        Self { ballots, samples }
    }

    fn ballot(&self, teacher: u32) -> Option<&B> {
        self.ballots.get(teacher as usize)?.as_ref()
    }
}

impl<B: Ballot> BallotBox<B> for MemoryBallotBox<B> {
    fn presence(&self, teacher: u32) -> Result<Presence, BallotBoxError> {
        let nobody = || Presence::none(self.samples);
        Ok(self.ballot(teacher).map_or_else(nobody, |ballot| ballot.presence().clone()))
    }

    fn open(&self, teacher: u32) -> Result<Cow<'_, B>, BallotBoxError> {
        let missing = || BallotBoxError { teacher, source: "there is none in the box".into() };
        self.ballot(teacher).map(Cow::Borrowed).ok_or_else(missing)
    }
}
