//! Tests of the engine as a whole. Those of one module sit in that module.

mod cheats;
mod codec;
mod determinism;
mod elections;
pub(crate) mod noise;
mod privacy_audit;
mod proven;
mod shards;
mod vectors;
mod view;

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use shield_core::Sampling;
use shield_core::engine::suite::{Case, Shape};
use shield_core::engine::{Engine, KeysOf, MemoryBallotBox};

use crate::{BfvBallot, BfvEngine, Coding};

/// Every coding.
pub(crate) const CODINGS: [Coding; 3] = [Coding::OneHot, Coding::PackedBits, Coding::BitsAcross];

/// An election with keys and the ballots of its first batch.
pub(crate) struct Fixture {
    pub(crate) case: Case,
    pub(crate) engine: BfvEngine,
    pub(crate) keys: KeysOf<BfvEngine>,
    pub(crate) ballots: MemoryBallotBox<BfvBallot>,
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
        let engine = BfvEngine::new(case.election.clone()).expect("a plan");
        Self::of(case, engine)
    }

    /// With a given coding.
    pub(crate) fn with_coding(shape: Shape, coding: Coding) -> Self {
        let case = Case::new(shape, 5);
        let engine = BfvEngine::with_coding(case.election.clone(), coding);
        Self::of(case, engine.expect("a plan"))
    }

    fn of(case: Case, engine: BfvEngine) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(7);
        let keys = engine.generate_keys(&mut rng).expect("keys");
        let ballots = MemoryBallotBox::new(engine.batch(0).len(), vec![]);
        let mut fixture = Self { case, engine, keys, ballots };
        fixture.vote(&mut rng);
        fixture
    }

    /// Makes all ballots anew, under keys that have changed.
    pub(crate) fn vote(&mut self, rng: &mut ChaCha20Rng) {
        let samples = self.engine.batch(0);
        let ballots = (0..self.case.votes.teachers())
            .map(|teacher| {
                let votes = self.case.votes.teacher(teacher, samples.clone());
                self.engine.encrypt(&self.keys.public, 0, &votes, rng).ok()
            })
            .collect();
        self.ballots = MemoryBallotBox::new(samples.len(), ballots);
    }
}
