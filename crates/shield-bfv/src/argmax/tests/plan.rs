use super::*;
use crate::argmax::{ArgmaxPlan, ArgmaxPlanError};

fn plan(
    teachers: u32,
    classes: usize,
    samples: usize,
    deviation: f64,
) -> Result<ArgmaxPlan, ArgmaxPlanError> {
    let election = election(teachers, classes, samples);
    ArgmaxPlan::new(&election, &skellam(deviation, teachers, 0), Sensitivity::Vote, None)
}

#[test]
fn from_two_to_two_thousand_teachers() {
    for (teachers, deviation) in [(2, 1.0), (20, 8.0), (250, 28.0), (2_000, 100.0)] {
        for classes in [2, 10, 32] {
            let plan = plan(teachers, classes, 2_048, deviation).expect("a plan");
            println!("{teachers} teachers, {classes} classes: {plan:?}");
            assert!(plan.security_bits() >= 128 && plan.noise_margin_bits() >= 0.0);
            assert!(plan.failure_bits() >= 50.0, "what the price of a label pays for");
            assert!(plan.range() as u32 >= teachers);
        }
    }
}

#[test]
fn every_number_of_classes_has_a_plan() {
    for classes in 2..=32 {
        assert!(plan(250, classes, 500, 20.0).is_ok(), "{classes}");
    }
    let error = plan(250, 65, 10, 20.0).unwrap_err();
    assert!(matches!(error, ArgmaxPlanError::Classes { classes: 65 }));
    assert!(error.to_string().contains("--mechanism shield"), "{error}");
}

#[test]
fn what_is_too_wide_is_refused() {
    let wide = plan(250, 3, 1, 5_000.0).unwrap_err();
    assert!(matches!(wide, ArgmaxPlanError::Range { .. }), "{wide}");
    let many = plan(20_000, 3, 1, 5.0).unwrap_err();
    assert!(matches!(many, ArgmaxPlanError::Range { votes: 20_000, .. }), "{many}");
    let election = election(5, 3, 1);
    let noise = skellam(2.0, 6, 0);
    let found = ArgmaxEngine::new(election, noise);
    assert!(matches!(found, Err(ArgmaxError::Teachers { noise: 6, election: 5 })));
}

#[test]
fn runs_are_long_where_samples_are_few() {
    let few = plan(250, 10, 500, 20.0).unwrap();
    assert_eq!((few.samples_per_batch(), few.evaluations()), (512, 1));
    let many = plan(250, 10, 2_048, 20.0).unwrap();
    assert_eq!((many.samples_per_batch(), many.evaluations()), (2_048, 3));
}

#[test]
fn proven_ballots_have_a_plan() {
    for (samples, deviation) in [(100, 40.0), (512, 40.0), (2_048, 28.0)] {
        let election = election(250, 10, samples);
        let noise = skellam(deviation, 250, 0);
        let plan = ArgmaxPlan::with_proofs(&election, &noise, None, None).expect("a plan");
        let assumed = ArgmaxPlan::new(&election, &noise, Sensitivity::Vote, None).expect("a plan");
        println!("{samples}: {} limbs, assumed {}", plan.log_q() / 51, assumed.log_q() / 51);
        assert!(plan.proofs() && plan.noise_margin_bits() >= 0.0 && plan.security_bits() >= 128);
        assert!(plan.log_q() >= assumed.log_q() && plan.ballot_bytes() > assumed.ballot_bytes());
    }
}
