//! Labelling votes in one process, with the engine that an [`EngineSpec`](super::EngineSpec) names.

use shield_core::engine;
use shield_core::labelling::{self, BallotRandomness, Labelled};
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
}
