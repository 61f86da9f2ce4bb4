//! Labels equal those of the operator in the clear, sample by sample.

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use shield_core::engine::suite::{self, Case, Shape};
use shield_core::engine::{Engine, Key, MemoryBallotBox, Presence};
use shield_core::framing::MadeFor;
use shield_core::{Class, Sampling, Seed};

use super::{Fixture, shape};
use crate::leveled::ballot::{self, LeveledBallot};
use crate::leveled::ring::Ring;
use crate::leveled::{LeveledEngine, LeveledError};

fn check(case: &Case, number: u64) {
    let engine = LeveledEngine::new(case.election.clone()).expect("a plan");
    let mut rng = ChaCha20Rng::seed_from_u64(number);
    let keys = engine.generate_keys(&mut rng).expect("keys");
    let seed = Seed::from_number(number);
    let found = suite::labels(&engine, &keys, &case.votes, &seed, &mut rng);
    assert!(found == case.expected(&seed), "{:?}", case.election);
}

#[test]
fn the_suite_of_all_engines() {
    suite::run(&suite::small_elections(), |e| LeveledEngine::new(e.clone()));
}

#[test]
fn the_papers_polynomial() {
    check(&Case::new(shape(30, 10, 2, "8X^4+6X^3+4X^2+X"), 1), 1);
}

#[test]
fn two_to_1024_classes() {
    for classes in [2, 16, 100, 1_024] {
        check(&Case::new(shape(6, classes, 3, "2X^2+X"), 4), 4);
    }
}

#[test]
fn what_is_no_class_is_no_label() {
    // A teacher who encrypts 13 where there are ten classes: four bits hold it, no label does.
    let fixture = Fixture::new(Shape { offset: 0, ..shape(1, 10, 1, "X") });
    let Fixture { engine, keys, .. } = &fixture;
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let (zero, mut ring) = (&keys.public.zero, Ring::new());
    let words = ballot::encrypt(engine.plan(), zero, Class(13), &mut ring, &mut rng);
    let presence = Presence::new([true].into_iter());
    let forged = LeveledBallot::new(words, presence, MadeFor { batch: 0, key: keys.public.id() });
    let ballots = MemoryBallotBox::new(1, vec![Some(forged)]);
    let seed = Seed::from_number(1);
    let release = engine.aggregate(&keys.evaluation, 0, &ballots, &seed).expect("a release");
    let label = engine.decrypt(&keys.secret, 0, &release);
    assert!(matches!(label, Err(LeveledError::NotALabel)), "{label:?}");
}

#[test]
#[ignore = "minutes: a thousand samples of each kind"]
fn a_thousand_samples_of_each_kind() {
    for (i, classes) in [2, 10, 16, 100].into_iter().enumerate() {
        for sampling in [Sampling::WithReplacement, Sampling::WithoutReplacement] {
            let polynomial = ["2X^3+3X^2+X", "2X^4+X^3+X^2"][i % 2];
            let shape = Shape {
                // Few dummies: it is teachers' votes that cost products.
                offset: [1, 0, 1, 0][i],
                sampling,
                abstentions: [0, 20][i / 2],
                ..shape(12, classes, 500, polynomial)
            };
            let start = std::time::Instant::now();
            check(&Case::new(shape, i as u64), i as u64);
            println!("{classes} classes, {sampling}: {:?}", start.elapsed());
        }
    }
}
