//! An election as one engine runs it: in batches, bound to the engine's plan.

use std::ops::Range;

use super::BallotError;
use crate::election::Election;
use crate::votes::Vote;

/// An election in batches, with the digest that all bytes of its engine carry.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The election.
    pub election: Election,
    /// How many samples one batch holds, at most.
    pub samples_per_batch: usize,
    /// A digest of the election, the engine and its plan.
    pub binding: [u8; 32],
}

impl Setup {
    /// How many batches there are.
    pub fn batches(&self) -> usize {
        self.election.samples().div_ceil(self.samples_per_batch)
    }

    /// The samples of one batch; empty past the last.
    pub fn batch(&self, batch: usize) -> Range<usize> {
        let samples = self.election.samples();
        let start = batch.saturating_mul(self.samples_per_batch).min(samples);
        start..start.saturating_add(self.samples_per_batch).min(samples)
    }

    /// Refuses a batch past the last.
    pub fn check_batch(&self, batch: usize) -> Result<(), BallotError> {
        let batches = self.batches();
        if batch < batches { Ok(()) } else { Err(BallotError::Batch { batch, batches }) }
    }

    /// Refuses votes that are not one for each sample of a batch, each for a class.
    pub fn check_votes(&self, batch: usize, votes: &[Vote]) -> Result<(), BallotError> {
        self.check_batch(batch)?;
        let (samples, classes) = (self.batch(batch).len(), self.election.classes());
        if votes.len() != samples {
            return Err(BallotError::VoteCount { votes: votes.len(), samples });
        }
        for (sample, vote) in votes.iter().enumerate() {
            if let Some(class) = vote.filter(|&class| !classes.contains(class)) {
                return Err(BallotError::NotAClass { sample, class, classes: classes.count() });
            }
        }
        Ok(())
    }
}
