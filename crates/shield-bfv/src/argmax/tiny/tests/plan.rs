use super::*;
use crate::argmax::plan::BallotKind;
use crate::argmax::{ArgmaxPlan, ArgmaxPlanError};

fn plan(
    teachers: u32,
    classes: usize,
    samples: usize,
    deviation: f64,
) -> Result<ArgmaxPlan, ArgmaxPlanError> {
    let noise = skellam(deviation, teachers, 0);
    let election = election(teachers, classes, samples);
    ArgmaxPlan::of_kind(BallotKind::Tiny, &election, &noise, Sensitivity::Vote, None)
}

#[test]
fn a_vote_has_few_bytes_and_any_election_a_plan() {
    for (samples, most) in [(100, 60.0), (512, 25.0), (2_048, 25.0), (20_000, 22.5)] {
        let plan = plan(250, 10, samples, 42.75).expect("a plan");
        let bytes = plan.bytes_per_vote();
        println!(
            "{samples} samples: {bytes:.2} bytes per vote, {} per batch, ring {}, {} primes, {} \
             evaluations, margin {:.1}, {:.2} s per batch",
            plan.samples_per_batch(),
            plan.ring_degree(),
            plan.moduli_bits().len(),
            plan.evaluations(),
            plan.noise_margin_bits(),
            plan.seconds_per_batch(),
        );
        assert!(bytes < most && plan.security_bits() >= 128, "{samples}: {bytes}");
        assert_eq!(plan.dimension(), Some(640));
    }
    for (teachers, deviation) in [(20, 4.0), (250, 28.0), (1_000, 42.75)] {
        for classes in [2, 10, 32] {
            let plan = plan(teachers, classes, 2_048, deviation).expect("a plan");
            assert!(plan.security_bits() >= 128 && plan.noise_margin_bits() >= 0.0);
            assert!(plan.failure_bits() >= 50.0 && plan.range() as u32 >= teachers);
        }
    }
}

#[test]
fn noise_that_hides_nothing_is_refused() {
    let small = plan(250, 10, 100, 12.0).unwrap_err();
    assert!(matches!(small, ArgmaxPlanError::TinyShare { .. }));
    assert!(small.to_string().contains("--noise of 12.65"), "{small}");
    assert!(plan(250, 10, 100, 12.65).is_ok());
}
