//! The engines without encryption: the references, and what the encrypted ones are measured
//! against. Their keys and bytes are as strict as any engine's, so that they serve tests of
//! everything around an engine.

mod codec;
mod key;
pub mod noisy_argmax;

use rand::{CryptoRng, RngCore};

use super::{Backend, Ballot, BallotBox, BallotError, KeysOf, Presence, open_ballot, urns};
use crate::draws::Draws;
use crate::election::Election;
use crate::framing::MadeFor;
use crate::operator::elect;
use crate::seed::Seed;
use crate::votes::{Label, Vote};

pub use key::{ClearKey, ClearRelease};

/// SHIELD on votes that anyone can read. Never for real votes.
#[derive(Clone, Debug)]
pub struct ClearBackend {
    election: Election,
    samples_per_batch: usize,
    binding: [u8; 32],
}

/// A ballot that anyone can read.
#[derive(Clone)]
pub struct ClearBallot {
    votes: Vec<Vote>,
    presence: Presence,
    made_for: MadeFor,
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

    fn made_for(&self) -> MadeFor {
        self.made_for
    }
}

impl ClearBackend {
    /// Small enough for a ballot box of 10,000 teachers to fit in little memory.
    const SAMPLES_PER_BATCH: usize = 512;

    /// The clear backend for an election.
    pub fn new(election: Election) -> Self {
        Self::with_batches_of(election, Self::SAMPLES_PER_BATCH)
    }

    /// The same in batches of at most that many samples (at least one).
    pub fn with_batches_of(election: Election, samples: usize) -> Self {
        let samples_per_batch = samples.max(1);
        let binding = key::binding("shield 2026 clear binding v1", &election, samples_per_batch);
        Self { election, samples_per_batch, binding }
    }
}

impl Backend for ClearBackend {
    type SecretKey = ClearKey;
    type PublicKey = ClearKey;
    type EvaluationKey = ClearKey;
    type Ballot = ClearBallot;
    type Release = ClearRelease;
    type Error = BallotError;

    fn name(&self) -> &'static str {
        "clear"
    }

    fn election(&self) -> &Election {
        &self.election
    }

    fn samples_per_batch(&self) -> usize {
        self.samples_per_batch
    }

    fn distance(&self) -> f64 {
        0.0
    }

    fn generate_keys<R: RngCore + CryptoRng>(
        &self,
        rng: &mut R,
    ) -> Result<KeysOf<Self>, BallotError> {
        Ok(ClearKey::generate(rng))
    }

    fn encrypt<R: RngCore + CryptoRng>(
        &self,
        key: &ClearKey,
        batch: usize,
        votes: &[Vote],
        _: &mut R,
    ) -> Result<ClearBallot, BallotError> {
        self.check_votes(batch, votes)?;
        let presence = Presence::new(votes.iter().map(Option::is_some));
        let made_for = MadeFor { batch, key: key.id() };
        Ok(ClearBallot { votes: votes.to_vec(), presence, made_for })
    }

    fn aggregate<B: BallotBox<ClearBallot>>(
        &self,
        key: &ClearKey,
        batch: usize,
        ballots: &B,
        seed: &Seed,
    ) -> Result<ClearRelease, BallotError> {
        self.check_batch(batch)?;
        let samples = self.batch(batch);
        let setting = self.election.setting();
        let made_for = MadeFor { batch, key: key.id() };
        let mut votes = vec![Vec::new(); self.election.teachers() as usize];
        for (teacher, votes) in (0..).zip(&mut votes) {
            if !ballots.presence(teacher)?.is_nobody() {
                let fits = |ballot: &ClearBallot| ballot.votes.len() == samples.len();
                votes.clone_from(&open_ballot(ballots, teacher, made_for, fits)?.votes);
            }
        }
        let urns = urns(&self.election, samples.len(), ballots)?;
        let labels = urns.iter().zip(samples).enumerate().map(|(place, (urn, sample))| {
            let draws = Draws::seeded(setting, urn, seed, sample as u64);
            elect(&draws, |teacher| {
                votes[teacher as usize][place].expect("the urn holds only who voted")
            })
        });
        Ok(ClearRelease { labels: labels.collect(), made_for })
    }

    fn decrypt(
        &self,
        key: &ClearKey,
        batch: usize,
        release: &ClearRelease,
    ) -> Result<Vec<Label>, BallotError> {
        self.check_batch(batch)?;
        release.labels_for(MadeFor { batch, key: key.id() }, self.batch(batch).len())
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::backend::suite::{self, Case, vectors};

    #[test]
    fn passes_the_suite() {
        suite::run(&suite::small_elections(), |election| Ok(ClearBackend::new(election.clone())));
    }

    #[test]
    fn passes_the_suite_in_small_batches() {
        suite::run(&suite::small_elections(), |election| {
            Ok(ClearBackend::with_batches_of(election.clone(), 3))
        });
    }

    /// The engines of the frozen vectors: folder, case, engine, the same for another election. In
    /// small batches, the bytes are of one batch of several.
    fn frozen() -> [(PathBuf, Case, [ClearBackend; 2]); 2] {
        [("clear", ClearBackend::SAMPLES_PER_BATCH), ("clear_small_batches", 3)].map(
            |(name, samples)| {
                let case = suite::small_elections().swap_remove(3);
                let engine = |election| ClearBackend::with_batches_of(election, samples);
                let elsewhere = case.election.clone().bound_to([7; 32]);
                let engines = [case.election.clone(), elsewhere].map(engine);
                let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(name);
                (folder, case, engines)
            },
        )
    }

    #[test]
    fn frozen_vectors_are_read() {
        for (folder, case, [backend, elsewhere]) in frozen() {
            vectors::check(&folder, &backend, &elsewhere, &case);
        }
    }

    #[test]
    #[ignore = "writes the frozen vectors anew"]
    fn write_frozen_vectors() {
        for (folder, case, [backend, elsewhere]) in frozen() {
            vectors::write(&folder, &backend, &elsewhere, &case);
        }
    }
}
