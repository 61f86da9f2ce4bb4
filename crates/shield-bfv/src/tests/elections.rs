//! Labels equal those of the operator in the clear, sample by sample.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use shield_core::engine::Engine;
use shield_core::engine::suite::{self, Case, Shape};
use shield_core::{Sampling, Seed};

use super::{CODINGS, shape};
use crate::{BfvEngine, Coding};

fn check(case: &Case, number: u64) {
    let engine = BfvEngine::new(case.election.clone()).expect("a plan");
    let mut rng = ChaCha20Rng::seed_from_u64(number);
    let keys = engine.generate_keys(&mut rng).expect("keys");
    let seed = Seed::from_number(number);
    let found = suite::labels(&engine, &keys, &case.votes, &seed, &mut rng);
    assert!(found == case.expected(&seed), "{:?}", case.election);
}

fn check_coding(case: &Case, coding: Coding, number: u64) {
    let engine = BfvEngine::with_coding(case.election.clone(), coding);
    let engine = engine.expect("a plan");
    let mut rng = ChaCha20Rng::seed_from_u64(number);
    let keys = engine.generate_keys(&mut rng).expect("keys");
    let seed = Seed::from_number(number);
    let found = suite::labels(&engine, &keys, &case.votes, &seed, &mut rng);
    assert!(found == case.expected(&seed), "{coding:?} of {:?}", case.election);
}

#[test]
fn the_suite_of_all_engines() {
    suite::run(&suite::small_elections(), |e| BfvEngine::new(e.clone()));
}

/// Election number `i` of thirty: shapes cycle through everything the engine must take.
fn random_election(i: usize) -> Case {
    let mut rng = ChaCha20Rng::seed_from_u64(100 + i as u64);
    let polynomials = [
        "X",
        "3X^2+X",
        "2X^3+2X^2+X",
        "8X^4+6X^3+4X^2+X",
        "2X^5+X^2+X",
        "X^6+2X^3",
        "2X^7+X^4+X",
        "X^8+2X^4+X^2+X",
    ];
    let classes = [2, 3, 10, 37, 100, 16, 150, 257, 1_000, 3_000][i % 10];
    let samples = if classes <= 37 { 600 } else { 40 };
    let sampling = [Sampling::WithReplacement, Sampling::WithoutReplacement];
    let shape = Shape {
        teachers: if i == 0 { 1 } else { rng.random_range(2..=300) },
        classes,
        samples: if i == 1 { 1 } else { rng.random_range(2..=samples) },
        polynomial: polynomials[i % polynomials.len()],
        offset: [0, 1, 5][i % 3],
        sampling: sampling[i / 2 % 2],
        abstentions: [0, 10, 40][i / 3 % 3],
    };
    Case::new(shape, i as u64)
}

#[test]
fn random_elections_a_few() {
    for i in [0, 1, 3] {
        check(&random_election(i), i as u64);
    }
}

#[test]
fn random_elections_of_many_classes() {
    for i in [6, 9] {
        let case = random_election(i);
        check(&case, i as u64);
        check_coding(&case, Coding::PackedBits, i as u64);
    }
}

#[test]
#[ignore = "minutes: all thirty"]
fn random_elections_all() {
    for i in 0..30 {
        let case = random_election(i);
        let start = std::time::Instant::now();
        check(&case, i as u64);
        println!("{i} {:?} {:?}", start.elapsed(), case.election);
    }
}

#[test]
fn as_many_classes_as_there_can_be() {
    let case = Case::new(shape(3, 65_536, 6, "X^2+X"), 4);
    // The last class, whose code is all ones, for all of them.
    let last = Some(shield_core::Class(u16::MAX));
    let rows = (0..6).map(|sample| {
        let votes = case.votes.sample(sample);
        votes.map(|vote| if sample == 0 { last } else { vote }).collect::<Vec<_>>()
    });
    let votes = shield_core::Votes::from_rows(case.votes.classes(), rows).expect("votes");
    let setting = shield_core::Setting {
        offset: shield_core::Offset::new(0).expect("an offset"),
        ..case.election.setting().clone()
    };
    let election =
        shield_core::Election::new(3, case.votes.classes(), 6, setting).expect("an election");
    let case = Case { election, votes };
    assert_eq!(case.expected(&Seed::from_number(4))[0], last);
    for coding in [Coding::PackedBits, Coding::BitsAcross] {
        check_coding(&case, coding, 4);
    }
}

#[test]
fn every_coding_gives_the_same_labels() {
    for (i, polynomial) in ["X", "2X^2+X", "X^3+2X^2", "X^4+X^3+X"].into_iter().enumerate() {
        let sampling = [Sampling::WithReplacement, Sampling::WithoutReplacement][i % 2];
        // So few teachers and dummies that some rounds have nothing to draw.
        let teachers = [6, 2, 1, 5][i];
        let shape =
            Shape { sampling, offset: 0, abstentions: 20, ..shape(teachers, 5, 9, polynomial) };
        let case = Case::new(shape, i as u64);
        for coding in CODINGS {
            check_coding(&case, coding, i as u64);
        }
    }
}

#[test]
fn degrees_up_to_sixteen() {
    for (polynomial, classes) in [("X^9+X", 3), ("2X^16+X^12", 10)] {
        check(&Case::new(shape(6, classes, 5, polynomial), 3), 3);
    }
}

#[test]
fn two_to_1024_classes_one_hot() {
    for classes in [2, 8, 9, 1_024] {
        check_coding(&Case::new(shape(9, classes, 11, "2X^2+X"), 4), Coding::OneHot, 4);
    }
}

#[test]
fn every_number_of_groups() {
    // 1, 2, 4, 8 and more rounds in a ciphertext; in the last one cell is empty.
    for samples in [512, 256, 128, 60, 5] {
        check(&Case::new(shape(20, 10, samples, "2X^2+2X"), 5), 5);
    }
}

#[test]
fn more_samples_than_a_batch_holds() {
    let case = Case::new(shape(5, 10, 520, "X^2+X"), 6);
    let plan = crate::Plan::with_coding(&case.election, Coding::OneHot);
    assert_eq!(plan.expect("a plan").batches(), 2);
    check_coding(&case, Coding::OneHot, 6);
}
