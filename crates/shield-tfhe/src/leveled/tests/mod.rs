//! Tests of the engine as a whole. Those of one module sit in that module.

mod codec;
mod elections;
mod noise;

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use shield::Sampling;
use shield::backend::suite::{Case, Shape};
use shield::backend::{Backend, KeysOf, MemoryBallotBox};

use super::{LeveledBackend, LeveledBallot, Upload};

/// An election with keys and the ballots of its first sample.
pub(crate) struct Fixture {
    pub(crate) case: Case,
    pub(crate) backend: LeveledBackend,
    pub(crate) keys: KeysOf<LeveledBackend>,
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
    pub(crate) fn new(shape: Shape, upload: Upload) -> Self {
        let case = Case::new(shape, 5);
        let backend = LeveledBackend::new(case.election.clone(), upload).expect("a plan");
        let mut rng = ChaCha20Rng::seed_from_u64(7);
        let keys = backend.generate_keys(&mut rng).expect("keys");
        let ballots = (0..case.votes.teachers())
            .map(|teacher| {
                let votes = case.votes.teacher(teacher, 0..1);
                backend.encrypt(&keys.public, 0, &votes, &mut rng).ok()
            })
            .collect();
        Self { case, backend, keys, ballots: MemoryBallotBox::new(1, ballots) }
    }
}
