//! Tests of the engine as a whole. Those of one module sit in that module.

mod cheats;
mod codec;
mod determinism;
mod elections;
mod noise;
mod view;

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use shield::Sampling;
use shield::backend::suite::{Case, Shape};
use shield::backend::{Backend, KeysOf, MemoryBallotBox};

use crate::{BfvBackend, BfvBallot, ReleaseMode};

/// An election with keys and the ballots of its first batch.
pub(crate) struct Fixture {
    pub(crate) case: Case,
    pub(crate) backend: BfvBackend,
    pub(crate) keys: KeysOf<BfvBackend>,
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
    pub(crate) fn new(shape: Shape, release: ReleaseMode) -> Self {
        let case = Case::new(shape, 5);
        let backend = BfvBackend::new(case.election.clone(), release).expect("a plan");
        let mut rng = ChaCha20Rng::seed_from_u64(7);
        let keys = backend.generate_keys(&mut rng).expect("keys");
        let samples = backend.batch(0);
        let ballots = (0..case.votes.teachers())
            .map(|teacher| {
                let votes = case.votes.teacher(teacher, samples.clone());
                backend.encrypt(&keys.public, 0, &votes, &mut rng).ok()
            })
            .collect();
        let ballots = MemoryBallotBox::new(samples.len(), ballots);
        Self { case, backend, keys, ballots }
    }
}
