//! The backend without encryption: the reference, and what the encrypted ones are measured against.

use rand::{CryptoRng, RngCore};
use thiserror::Error;

use super::{Backend, Ballot, BallotBox, BallotBoxError, Keys, KeysOf, Presence, urns};
use crate::draws::Draws;
use crate::election::Election;
use crate::operator::elect;
use crate::parameters::Class;
use crate::seed::Seed;
use crate::votes::{Label, Vote};

/// SHIELD on votes that anyone can read. Never for real votes.
#[derive(Clone, Debug)]
pub struct ClearBackend {
    election: Election,
    samples_per_batch: usize,
}

/// A key that locks nothing.
#[derive(Clone, Copy, Debug)]
pub struct NoKey;

/// A ballot that anyone can read.
#[derive(Clone)]
pub struct ClearBallot {
    votes: Vec<Vote>,
    presence: Presence,
}

impl std::fmt::Debug for ClearBallot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClearBallot").field("samples", &self.votes.len()).finish_non_exhaustive()
    }
}

impl Ballot for ClearBallot {
    fn presence(&self) -> &Presence {
        &self.presence
    }
}

/// The labels of one batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClearRelease(Vec<Label>);

/// What can go wrong in the clear.
#[derive(Debug, Error)]
pub enum ClearError {
    /// Another number of votes than samples in the batch.
    #[error("the batch has {samples} samples, the ballot {votes} votes; vote or abstain on each")]
    VoteCount {
        /// How many votes there are.
        votes: usize,
        /// How many samples the batch has.
        samples: usize,
    },
    /// A vote for something else.
    #[error("sample {sample} of the batch: {class} is not one of the {classes} classes")]
    NotAClass {
        /// The sample, from 0, within the batch.
        sample: usize,
        /// The vote.
        class: Class,
        /// How many classes there are.
        classes: usize,
    },
    /// A ballot could not be had.
    #[error(transparent)]
    Ballot(#[from] BallotBoxError),
}

impl ClearBackend {
    /// Small enough for a ballot box of 10,000 teachers to fit in little memory.
    const SAMPLES_PER_BATCH: usize = 512;

    /// The clear backend for an election.
    pub fn new(election: Election) -> Self {
        Self { election, samples_per_batch: Self::SAMPLES_PER_BATCH }
    }
}

impl Backend for ClearBackend {
    type SecretKey = NoKey;
    type PublicKey = NoKey;
    type EvaluationKey = NoKey;
    type Ballot = ClearBallot;
    type Release = ClearRelease;
    type Error = ClearError;

    fn name(&self) -> &'static str {
        "clear"
    }

    fn election(&self) -> &Election {
        &self.election
    }

    fn samples_per_batch(&self) -> usize {
        self.samples_per_batch
    }

    fn generate_keys<R: RngCore + CryptoRng>(&self, _: &mut R) -> Result<KeysOf<Self>, ClearError> {
        Ok(Keys { secret: NoKey, public: NoKey, evaluation: NoKey })
    }

    fn encrypt<R: RngCore + CryptoRng>(
        &self,
        _: &NoKey,
        batch: usize,
        votes: &[Vote],
        _: &mut R,
    ) -> Result<ClearBallot, ClearError> {
        let samples = self.batch(batch).len();
        if votes.len() != samples {
            return Err(ClearError::VoteCount { votes: votes.len(), samples });
        }
        let classes = self.election.classes();
        for (sample, vote) in votes.iter().enumerate() {
            if let Some(class) = vote.filter(|&class| !classes.contains(class)) {
                return Err(ClearError::NotAClass { sample, class, classes: classes.count() });
            }
        }
        let presence = Presence::new(votes.iter().map(Option::is_some));
        Ok(ClearBallot { votes: votes.to_vec(), presence })
    }

    fn aggregate<B: BallotBox<ClearBallot>>(
        &self,
        _: &NoKey,
        batch: usize,
        ballots: &B,
        seed: &Seed,
    ) -> Result<ClearRelease, ClearError> {
        let samples = self.batch(batch);
        let setting = self.election.setting();
        let mut votes = vec![Vec::new(); self.election.teachers() as usize];
        for teacher in 0..self.election.teachers() {
            if !ballots.presence(teacher)?.is_nobody() {
                votes[teacher as usize].clone_from(&ballots.open(teacher)?.votes);
            }
        }
        let urns = urns(&self.election, samples.len(), ballots)?;
        let labels = urns.iter().zip(samples).enumerate().map(|(place, (urn, sample))| {
            let draws = Draws::seeded(setting, urn, seed, sample as u64);
            elect(&draws, |teacher| {
                votes[teacher as usize][place].expect("the urn holds only who voted")
            })
        });
        Ok(ClearRelease(labels.collect()))
    }

    fn decrypt(
        &self,
        _: &NoKey,
        _: usize,
        release: &ClearRelease,
    ) -> Result<Vec<Label>, ClearError> {
        Ok(release.0.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::suite;

    #[test]
    fn passes_the_suite() {
        suite::run(&suite::small_elections(), |election| Ok(ClearBackend::new(election.clone())));
    }

    #[test]
    fn passes_the_suite_in_small_batches() {
        suite::run(&suite::small_elections(), |election| {
            Ok(ClearBackend { samples_per_batch: 3, ..ClearBackend::new(election.clone()) })
        });
    }
}
