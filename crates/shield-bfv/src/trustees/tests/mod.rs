//! Joint keys and openings, with both engines, against the clear operator and against cheats.

mod deals;
mod keys;
mod labels;
mod liars;
mod vectors;

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use shield_core::engine::suite::{Case, Shape};
use shield_core::engine::{Encoding, MemoryBallotBox};
use shield_core::parameters::Noise;
use shield_core::shared_noise::{NoiseFamily, SharedNoise};
use shield_core::{Sampling, Seed};
use shield_privacy::skellam::Sensitivity;

use super::*;
use crate::argmax::{ArgmaxEngine, BallotKind, Rings};
use crate::ballot::BfvBallot;
use crate::engine::BfvEngine;
use crate::noise::Lengths;

pub(super) fn trustees(threshold: u32, count: u32) -> Trustees {
    Trustees::new(count, threshold).expect("trustees")
}

pub(super) fn rng(number: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(number)
}

pub(super) fn case(teachers: usize, samples: usize, polynomial: &'static str) -> Case {
    let sampling = Sampling::WithReplacement;
    let classes = 4;
    let shape =
        Shape { teachers, classes, samples, polynomial, offset: 1, sampling, abstentions: 0 };
    Case::new(shape, 5)
}

pub(super) fn shield(case: &Case, trustees: Trustees) -> BfvEngine {
    BfvEngine::with_trustees(case.election.clone(), trustees).expect("a plan")
}

/// In a small ring without security.
pub(super) fn argmax(case: &Case, trustees: Trustees, degree: usize) -> ArgmaxEngine {
    let teachers = case.election.teachers();
    // So little noise that labels are the argmax of the votes.
    let amount = Noise::new(0.01).expect("noise");
    let noise = SharedNoise::of(NoiseFamily::Skellam, amount, teachers, 0).expect("noise");
    let (of, rings) = ((Sensitivity::Vote, None), Rings::Tiny(degree));
    let (election, kind, assumed) = (case.election.clone(), BallotKind::Checked, Lengths::Assumed);
    ArgmaxEngine::held_by(election, noise, of, rings, Some(trustees), kind, assumed)
        .expect("a plan")
}

/// An election whose trustees have made keys, with a release of its first batch.
pub(super) struct Run<E: Jointly> {
    pub(super) engine: E,
    pub(super) together: Together<E>,
    pub(super) release: Vec<u8>,
}

impl<E: Jointly<Ballot = BfvBallot>> Run<E> {
    pub(super) fn new(engine: E, case: &Case, seed: &Seed) -> Self {
        let mut rng = rng(7);
        let together = Together::new(&engine, &mut rng).expect("keys");
        let samples = engine.batch(0);
        let ballots = (0..case.votes.teachers()).map(|teacher| {
            let votes = case.votes.teacher(teacher, samples.clone());
            engine.encrypt(&together.keys.public, 0, &votes, &mut rng).ok()
        });
        let ballots = MemoryBallotBox::new(samples.len(), ballots.collect());
        let evaluation = &together.keys.evaluation;
        let release = engine.aggregate(evaluation, 0, &ballots, seed).expect("a release");
        let release = engine.encode_release(&release);
        Self { engine, together, release }
    }

    /// What some trustees read.
    pub(super) fn read(&self, set: &[usize]) -> shield_core::engine::Revealed {
        let openings =
            self.together.openers.open(&self.engine, 0, &self.release, set).expect("openings");
        self.combine(set, &openings).expect("a reading")
    }

    pub(super) fn combine(
        &self,
        set: &[usize],
        openings: &[Vec<u8>],
    ) -> Result<shield_core::engine::Revealed, TrusteeError> {
        combine(&self.engine, self.together.keys.id(), 0, &self.release, set, openings)
    }
}
