//! Climbs on small votes, against every polynomial and against the law.

use super::mountain::Mountain;
use super::*;
use shield_core::accuracy::Accuracy;
use shield_core::parameters::Classes;
use shield_core::synthetic;

fn small() -> (Vec<Histogram>, Labels) {
    let (votes, labels) = synthetic::votes(50, Classes::new(3).unwrap(), 40, 1).unwrap();
    (votes.histograms().collect(), labels)
}

fn climb(budget: f64, max_degree: u32, max_terms: u32) -> Climb {
    Climb {
        max_degree,
        max_terms,
        offset: Offset::new(3).unwrap(),
        sampling: Sampling::default(),
        usage: Usage::default(),
        budget: Epsilon::new(budget).unwrap(),
        composition: Composition::Tight,
    }
}

#[test]
fn accuracy_is_that_of_the_law() {
    let (histograms, labels) = small();
    for sampling in [Sampling::WithReplacement, Sampling::WithoutReplacement] {
        let climb = Climb { sampling, ..climb(4.0, 5, 40) };
        for labels in [Some(&labels), None] {
            let mountain = Mountain::new(&climb, &histograms, labels).unwrap();
            for counts in [vec![1, 0, 0, 0, 0], vec![1, 4, 3, 0, 2], vec![1, 0, 0, 0, 9]] {
                let setting = mountain.setting(&counts);
                let law = Accuracy::of(&setting, &histograms, labels);
                let expected = law.correct_labels.map(|right| right / histograms.len() as f64);
                let expected = expected.unwrap_or(law.argmax);
                let found = mountain.right(&counts);
                assert!((found - expected).abs() < 1e-12, "{counts:?}: {found} {expected}");
            }
        }
    }
}

#[test]
fn the_summit_is_proven_and_nothing_small_beats_it() {
    let (histograms, labels) = small();
    let climb = climb(6.0, 3, 12);
    let watch = &Watch::default();
    let summit = climb.run(&histograms, Some(&labels), watch).unwrap().unwrap();
    assert!(summit.epsilon <= climb.budget);
    let mut mountain = Mountain::new(&climb, &histograms, Some(&labels)).unwrap();
    // Every polynomial of the space, by its cost on the worst pairs: all that could be better
    // are within the slack of the proof.
    for squares in 0..12 {
        for cubes in 0..12 - squares {
            let counts = vec![1, squares, cubes];
            if mountain.right(&counts) > summit.right + 1e-3 {
                let proven = mountain.prove(&counts, Composition::Tight);
                assert!(proven > climb.budget, "{counts:?} costs {proven} and beats {summit:?}");
            }
        }
    }
}

#[test]
fn a_climb_that_is_stopped_keeps_what_it_has() {
    let (histograms, labels) = small();
    let watch = &Watch::new(|_| ControlFlow::Break(()));
    let summit = climb(8.0, 4, 60).run(&histograms, Some(&labels), watch).unwrap();
    assert!(summit.is_none_or(|summit| summit.epsilon.get() <= 8.0));
}

#[test]
fn nothing_fits_a_budget_of_next_to_nothing() {
    let (histograms, labels) = small();
    let watch = &Watch::default();
    assert!(climb(1e-3, 3, 10).run(&histograms, Some(&labels), watch).unwrap().is_none());
}
