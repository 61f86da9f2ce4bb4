//! Labelling votes in one process, with the engine that an [`EngineSpec`](super::EngineSpec) names.

use shield_bfv::trustees::{Jointly, Together};
use shield_core::engine;
use shield_core::labelling::{self, BallotRandomness, Held, Labelled, Run};
use shield_core::{Seed, Votes, Watch};

use super::{EngineError, UseEngine};

/// Votes to label with every role in this process: give it to
/// [`EngineSpec::with`](super::EngineSpec::with).
#[derive(Clone, Copy, Debug)]
pub struct Labelling<'a> {
    /// The votes of the election.
    pub votes: &'a Votes,
    /// What the server draws from.
    pub seed: &'a Seed,
    /// What the teachers draw from.
    pub ballots: BallotRandomness,
    /// Counts samples, and may stop the run.
    pub watch: &'a Watch,
}

impl UseEngine for Labelling<'_> {
    type Output = Result<Labelled, EngineError>;

    fn run<E: engine::Engine>(self, engine: E) -> Self::Output {
        let Self { votes, seed, ballots, watch } = self;
        labelling::label(&engine, votes, seed, ballots, watch).map_err(EngineError::new)
    }

    /// The trustees are in this process, too.
    fn run_jointly<E: Jointly>(self, engine: E) -> Self::Output {
        let Self { votes, seed, ballots, watch } = self;
        let run = Run { votes, seed, ballots, watch };
        let held = |rng: &mut _| {
            let made = Together::new(&engine, rng).map_err(EngineError::new)?;
            let Together { keys, openers } = made;
            let engine = &engine;
            let reveal = move |batch: usize, release: &E::Release| {
                let revealed = openers.reveal(engine, batch, release);
                Ok(revealed.map_err(EngineError::new)?.labels)
            };
            Ok(Held { public: keys.public, evaluation: keys.evaluation, secret: None, reveal })
        };
        labelling::label_with(&engine, run, EngineError::new, held).map_err(EngineError::new)
    }
}
