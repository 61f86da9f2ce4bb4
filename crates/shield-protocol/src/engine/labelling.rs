//! Labelling votes in one process, with the engine that an [`EngineSpec`](super::EngineSpec) names.

use rand::CryptoRng;
use shield_bfv::trustees::{Jointly, Together};
use shield_core::engine;
use shield_core::labelling::{self, BallotRandomness, Held, Labelled, Run};
use shield_core::{Label, Seed, Votes, Watch};

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
        let held = |rng: &mut _| together(&engine, rng);
        labelling::label_with(&engine, run, EngineError::new, held).map_err(EngineError::new)
    }
}

/// Keys of trustees, who open every release.
fn together<'e, E: Jointly, R: CryptoRng>(
    engine: &'e E,
    rng: &mut R,
) -> Result<
    Held<E, impl Fn(usize, &E::Release) -> Result<Vec<Label>, EngineError> + use<'e, E, R>>,
    EngineError,
> {
    let Together { keys, openers } = Together::new(engine, rng).map_err(EngineError::new)?;
    let reveal = move |batch: usize, release: &E::Release| {
        let revealed = openers.reveal(engine, batch, release).map_err(EngineError::new)?;
        Ok(revealed.labels)
    };
    Ok(Held { public: keys.public, evaluation: keys.evaluation, secret: None, reveal })
}
