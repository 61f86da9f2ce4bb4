//! Ballots on their way into the tally: each is opened once, and passes through the check.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;
use shield_core::Seed;
use shield_core::engine::BallotBox;

use super::Aggregation;
use crate::ballot::BfvBallot;
use crate::error::BfvError;
use crate::ring::LANES;
use crate::scheme::Ciphertext;
use crate::tally::OPEN_BALLOTS;
use crate::validity::{ReducedSums, Sums, Validity, Voter};

/// Purpose of the seed that the check's coefficients come from.
const CHALLENGE: &str = "shield 2026 bfv validity seed bound to all ballots of a batch";

/// Memory for ballots that are open at a time, where that is more than one octet: besides those
/// that the tally has asked for.
const OPEN_BYTES: usize = 32 << 20;

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

/// The ciphertexts of a teacher's ballot.
type Opened<'b> = (u32, Cow<'b, [Ciphertext]>);

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
    /// How many are opened at a time.
    at_once: usize,
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
        let words = 2 * aggregation.context.degree() * aggregation.context.limbs() * sums.len();
        let fitting = (OPEN_BYTES / (size_of::<u64>() * words)).min(OPEN_BALLOTS / 2);
        let at_once = (fitting / LANES).max(1) * LANES;
        Ok(Self { aggregation, ballots, validity, voters, sums, opened: 0, at_once })
    }

    /// The ballots of drawn teachers. Teachers are asked for in increasing order.
    pub(crate) fn open(
        &mut self,
        teachers: &[u32],
    ) -> Result<Vec<Cow<'b, [Ciphertext]>>, BfvError> {
        let (aggregation, ballots) = (self.aggregation, self.ballots);
        let mut found = Vec::with_capacity(teachers.len());
        let mut wanted = teachers.iter().copied().peekable();
        let last = teachers.last().copied().unwrap_or(0);
        while wanted.peek().is_some() {
            let opened = self.advance(last)?;
            if opened.is_empty() {
                break;
            }
            for (number, ballot) in opened {
                while let Some(teacher) = wanted.next_if(|&teacher| teacher < number) {
                    found.push(aggregation.open(ballots, teacher)?);
                }
                if wanted.next_if_eq(&number).is_some() {
                    found.push(ballot);
                }
            }
        }
        for teacher in wanted {
            found.push(aggregation.open(ballots, teacher)?);
        }
        Ok(found)
    }

    /// Opens the next ballots of teachers up to `last` and adds them to the sums: none when there
    /// are no more.
    fn advance(&mut self, last: u32) -> Result<Vec<Opened<'b>>, BfvError> {
        let next = &self.voters[self.opened..];
        let due = next.partition_point(|voter| voter.teacher <= last);
        let (aggregation, ballots) = (self.aggregation, self.ballots);
        let open = |voter: &Voter| Ok((voter.teacher, aggregation.open(ballots, voter.teacher)?));
        let opened = next[..due.min(self.at_once)]
            .par_iter()
            .map(open)
            .collect::<Result<Vec<_>, BfvError>>()?;
        self.opened += opened.len();
        if !opened.is_empty() {
            let borrowed: Vec<(u32, &[Ciphertext])> =
                opened.iter().map(|(t, c)| (*t, &**c)).collect();
            self.validity.add(&mut self.sums, &borrowed);
        }
        Ok(opened)
    }

    /// Adds the ballots that nobody asked for.
    fn complete(&mut self) -> Result<(), BfvError> {
        while !self.advance(u32::MAX)?.is_empty() {}
        Ok(())
    }

    /// V of each repetition, at full level, when the tally has all it wants.
    pub(crate) fn finish(mut self) -> Result<Vec<Ciphertext>, BfvError> {
        self.complete()?;
        Ok(self.validity.finish(&self.sums, &self.voters))
    }

    /// The sums themselves, to be added to those of other shards.
    pub(crate) fn into_sums(mut self) -> Result<Vec<ReducedSums>, BfvError> {
        self.complete()?;
        Ok(self.validity.reduced(&self.sums))
    }
}
