//! What can be planned, and what is refused.

use super::*;
use shield_core::{Classes, Setting};

fn election(teachers: usize, classes: usize, samples: usize, polynomial: &str) -> Election {
    let polynomial = polynomial.parse().expect("a polynomial");
    let setting = Setting { polynomial, ..Setting::default() };
    let classes = Classes::new(classes).expect("classes");
    Election::new(teachers, classes, samples, setting).expect("an election")
}

#[test]
fn everything_the_engine_promises_has_a_secure_plan() {
    for classes in [2, 3, 10, 100, 1_024, 65_536] {
        for degree in 1..=Order::MAX {
            for samples in [1, 100, 100_000] {
                let election = election(10_000, classes, samples, &format!("9X^{degree}"));
                let plan = Plan::new(&election).expect("a plan");
                assert!(plan.security_bits() >= 128 && plan.noise_margin_bits() >= 0.0);
            }
        }
    }
}

#[test]
fn the_default_setting_runs_in_the_small_ring() {
    for (teachers, samples) in [(250, 100), (250, 512), (10_000, 512)] {
        let election = election(teachers, 10, samples, "8X^4+6X^3+4X^2+X");
        let plan = Plan::new(&election).expect("a plan");
        assert_eq!((plan.ring_degree(), plan.log_q(), plan.depth()), (8_192, 204, 2));
    }
}

#[test]
fn what_cannot_be_done_is_refused_with_what_can() {
    let degree = Plan::new(&election(9, 3, 5, "2X^40+X^20+3X"));
    let nearest = "3X^16+3X".parse().expect("a polynomial");
    assert_eq!(degree, Err(PlanError::Degree { degree: 40, nearest }));
    let rounds = Plan::new(&election(9, 3, 5, "65000X^2+600X"));
    assert_eq!(rounds, Err(PlanError::Rounds { rounds: 65_600, largest: 65_535 }));
    assert!(Plan::new(&election(9, 3, 5, "9000X^16+X")).is_ok());
}

#[test]
fn the_coding_follows_the_number_of_classes_and_samples() {
    let default = "8X^4+6X^3+4X^2+X";
    for (classes, samples, coding) in [
        (10, 100, Coding::OneHot),
        (10, 512, Coding::OneHot),
        (10, 16_384, Coding::BitsAcross),
        (100, 512, Coding::PackedBits),
        (1_000, 512, Coding::PackedBits),
        (1_000, 16_384, Coding::BitsAcross),
        (65_536, 16_384, Coding::BitsAcross),
    ] {
        let election = election(250, classes, samples, default);
        let plan = Plan::new(&election).expect("a plan");
        assert_eq!(plan.coding(), coding, "{classes} classes: {}", plan.coding_reason());
        assert!(plan.coding_reason().starts_with(&format!("{coding} takes the least work")));
        assert_eq!(plan.teacher_bytes(), plan.batches() * plan.ballot_bytes());
    }
}

#[test]
fn a_calibration_expects_seconds() {
    let plan = Plan::new(&election(250, 10, 100, "X^2+X")).expect("a plan");
    let seconds = plan.seconds_per_batch(&Calibration::measure());
    assert!((1e-4..100.0).contains(&seconds), "{seconds} seconds");
}

/// Peaks of a whole process with two threads, 60 teachers and real ballots, in MB.
#[test]
fn memory_is_estimated_from_above() {
    let cases = [
        ("8X^4+6X^3+4X^2+X", 10, 512, 173),
        ("8X^4+6X^3+4X^2+X", 10, 20, 106),
        ("8X^4+6X^3+4X^2+X", 10, 8_000, 535),
        ("8X^4+6X^3+4X^2+X", 2, 512, 134),
        ("30X^2+X", 500, 100, 319),
        ("100X^2+X", 10, 512, 461),
        ("1000X^2+X", 10, 512, 723),
        ("3000X^2+X", 10, 512, 1_541),
    ];
    for (polynomial, classes, samples, measured) in cases {
        let plan = Plan::new(&election(60, classes, samples, polynomial)).expect("a plan");
        let estimate = plan.memory_bytes(2) >> 20;
        let fits = (measured..2 * measured).contains(&estimate);
        assert!(fits, "{polynomial}, {classes}, {samples}: {estimate} for {measured}");
    }
}

#[test]
fn proven_ballots_have_a_plan() {
    for (classes, samples) in [(2, 512), (10, 100), (10, 512), (10, 16_384), (100, 512)] {
        let election = election(250, classes, samples, "8X^4+6X^3+4X^2+X");
        let plan = Plan::with_proofs(&election, None).expect("a plan");
        println!(
            "{classes} classes, {samples} samples: {} {}, margin {:.1}, {} bytes, {:?}",
            plan.ring_degree(),
            plan.log_q(),
            plan.noise_margin_bits(),
            plan.ballot_bytes(),
            plan.noise_bits()
        );
        assert!(plan.proofs() && plan.noise_margin_bits() >= 0.0 && plan.security_bits() >= 128);
    }
}
