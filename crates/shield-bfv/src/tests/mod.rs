//! Tests of the engine as a whole. Those of one module sit in that module.

mod cheats;
mod codec;
mod determinism;
mod elections;
pub(crate) mod noise;
mod privacy_audit;
mod profile;
mod shards;
mod vectors;
mod view;

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use shield::Sampling;
use shield::backend::suite::{Case, Shape};
use shield::backend::{Backend, KeysOf, MemoryBallotBox};

use crate::{BfvBackend, BfvBallot, Coding, Design, ReleaseMode};

/// Every design of a reveal, that of version 0.1 first.
pub(crate) const DESIGNS: [Design; 4] = [
    Design::VERSION_0_1,
    Design::linear(Coding::OneHot),
    Design::linear(Coding::PackedBits),
    Design::linear(Coding::BitsAcross),
];

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
        Self::of(case, backend)
    }

    /// With a given design, for a reveal.
    pub(crate) fn with_design(shape: Shape, design: Design) -> Self {
        let case = Case::new(shape, 5);
        let release = ReleaseMode::Reveal;
        let backend = BfvBackend::with_design(case.election.clone(), release, design);
        Self::of(case, backend.expect("a plan"))
    }

    fn of(case: Case, backend: BfvBackend) -> Self {
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
