//! Ballots on their way into the tally: each is opened once, and passes through the check.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;

use rayon::prelude::*;
use shield::Seed;
use shield::backend::BallotBox;

use super::Aggregation;
use crate::ballot::BfvBallot;
use crate::error::BfvError;
use crate::ring::LANES;
use crate::scheme::Ciphertext;
use crate::validity::{ReducedSums, Sums, Validity, Voter};

/// Purpose of the seed that the check's coefficients come from.
const CHALLENGE: &str = "shield 2026 bfv validity seed bound to all ballots of a batch";

/// The teachers who voted on some sample of a batch.
pub(crate) fn voters<B: BallotBox<BfvBallot>>(
    teachers: u32,
    ballots: &B,
) -> Result<Vec<Voter>, BfvError> {
    let mut voters = Vec::new();
    for teacher in 0..teachers {
        let presence = ballots.presence(teacher)?;
        if !presence.is_nobody() {
            voters.push(Voter { teacher, presence });
        }
    }
    Ok(voters)
}

/// The seed of the coefficients: it follows from the aggregation's seed and from every ballot, so
/// that nobody who sends a ballot knows them, and two sets of ballots never share them.
pub(crate) fn challenge<B: BallotBox<BfvBallot>>(
    aggregation: &Aggregation<'_>,
    voters: &[Voter],
    ballots: &B,
) -> Result<Seed, BfvError> {
    let mut hasher = blake3::Hasher::new_derive_key(CHALLENGE);
    hasher.update(aggregation.seed.as_bytes());
    hasher.update(aggregation.key.id.as_bytes());
    hasher.update(&(aggregation.batch as u64).to_le_bytes());
    for voter in voters {
        let digest = match ballots.digest(voter.teacher)? {
            Some(known) => known,
            None => ballots.open(voter.teacher)?.digest,
        };
        hasher.update(&voter.teacher.to_le_bytes());
        hasher.update(&digest);
    }
    Ok(Seed::from_bytes(*hasher.finalize().as_bytes()))
}

/// Hands ballots to the tally in the order of teachers, and adds all of them to the check's sums.
pub(crate) struct Examination<'a, 'b, B> {
    aggregation: &'a Aggregation<'a>,
    ballots: &'b B,
    validity: Validity<'a>,
    voters: Vec<Voter>,
    /// Those of each ciphertext of a ballot.
    sums: Vec<Sums>,
    /// How many of the voters' ballots have been opened.
    opened: usize,
    /// Ballots that are in the sums and were not asked for yet.
    ready: VecDeque<(u32, Cow<'b, [Ciphertext]>)>,
}

impl<'a, 'b, B: BallotBox<BfvBallot>> Examination<'a, 'b, B> {
    pub(crate) fn new(aggregation: &'a Aggregation<'a>, ballots: &'b B) -> Result<Self, BfvError> {
        Self::of_shard(aggregation, ballots, &(0..aggregation.election.teachers()))
    }

    /// The examination of some teachers' ballots, with the coefficients that all of them make.
    pub(crate) fn of_shard(
        aggregation: &'a Aggregation<'a>,
        ballots: &'b B,
        teachers: &Range<u32>,
    ) -> Result<Self, BfvError> {
        let mut voters = voters(aggregation.election.teachers(), ballots)?;
        let validity = aggregation.validity(challenge(aggregation, &voters, ballots)?);
        voters.retain(|voter| teachers.contains(&voter.teacher));
        let sums = validity.sums();
        let ready = VecDeque::new();
        Ok(Self { aggregation, ballots, validity, voters, sums, opened: 0, ready })
    }

    /// The ballots of drawn teachers. Teachers are asked for in increasing order.
    pub(crate) fn open(
        &mut self,
        teachers: &[u32],
    ) -> Result<Vec<Cow<'b, [Ciphertext]>>, BfvError> {
        teachers.iter().map(|&teacher| self.open_one(teacher)).collect()
    }

    fn open_one(&mut self, teacher: u32) -> Result<Cow<'b, [Ciphertext]>, BfvError> {
        loop {
            while let Some((number, ballot)) = self.ready.pop_front() {
                if number == teacher {
                    return Ok(ballot);
                }
            }
            if !self.advance()? {
                return self.aggregation.open(self.ballots, teacher);
            }
        }
    }

    /// Opens the next ballots and adds them to the sums; false when there are no more.
    fn advance(&mut self) -> Result<bool, BfvError> {
        let next = &self.voters[self.opened..];
        let next = &next[..next.len().min(LANES)];
        let open = |voter: &Voter| {
            Ok((voter.teacher, self.aggregation.open(self.ballots, voter.teacher)?))
        };
        let opened = next.par_iter().map(open).collect::<Result<Vec<_>, BfvError>>()?;
        self.opened += opened.len();
        if opened.is_empty() {
            return Ok(false);
        }
        let borrowed: Vec<(u32, &[Ciphertext])> = opened.iter().map(|(t, c)| (*t, &**c)).collect();
        self.validity.add(&mut self.sums, &borrowed);
        self.ready = opened.into();
        Ok(true)
    }

    /// V of each repetition, at full level, when the tally has all it wants.
    pub(crate) fn finish(mut self) -> Result<Vec<Ciphertext>, BfvError> {
        while self.advance()? {}
        Ok(self.validity.finish(&self.sums, &self.voters))
    }

    /// The sums themselves, to be added to those of other shards.
    pub(crate) fn into_sums(mut self) -> Result<Vec<ReducedSums>, BfvError> {
        while self.advance()? {}
        Ok(self.validity.reduced(&self.sums))
    }
}
