//! Tests of the engine as a whole. Those of one module sit in that module.

mod codec;
mod elections;
mod noise;

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use shield_core::Sampling;
use shield_core::engine::suite::{Case, Shape};
use shield_core::engine::{Engine, KeysOf, MemoryBallotBox};

use super::{LeveledBallot, LeveledEngine};

/// An election with keys and the ballots of its first sample.
pub(crate) struct Fixture {
    pub(crate) case: Case,
    pub(crate) engine: LeveledEngine,
    pub(crate) keys: KeysOf<LeveledEngine>,
    pub(crate) ballots: MemoryBallotBox<LeveledBallot>,
}

pub(crate) fn shape(
    teachers: usize,
    classes: usize,
    samples: usize,
    polynomial: &'static str,
) -> Shape {
    let sampling = Sampling::WithReplacement;
    Shape { teachers, classes, samples, polynomial, offset: 1, sampling, abstentions: 0 }
}

impl Fixture {
    pub(crate) fn new(shape: Shape) -> Self {
        let case = Case::new(shape, 5);
        let engine = LeveledEngine::new(case.election.clone()).expect("a plan");
        let mut rng = ChaCha20Rng::seed_from_u64(7);
        let keys = engine.generate_keys(&mut rng).expect("keys");
        let ballots = (0..case.votes.teachers())
            .map(|teacher| {
                let votes = case.votes.teacher(teacher, 0..1);
                engine.encrypt(&keys.public, 0, &votes, &mut rng).ok()
            })
            .collect();
        Self { case, engine, keys, ballots: MemoryBallotBox::new(1, ballots) }
    }
}
