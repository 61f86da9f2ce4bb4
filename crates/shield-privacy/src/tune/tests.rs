//! Fronts of spaces too large to be searched whole.

use super::*;
use shield_core::parameters::Classes;
use shield_core::synthetic;

/// Proofs for few teachers and classes take less time, and say the same of the search.
const TEACHERS: u32 = 100;
const CLASSES: usize = 5;

fn front_of_a_large_space(objective: Objective, max_terms: u32) -> Vec<Point> {
    let (votes, _) =
        synthetic::votes(TEACHERS as usize, Classes::new(CLASSES).unwrap(), 20, 1).unwrap();
    let histograms: Vec<Histogram> = votes.histograms().collect();
    let search = Search {
        space: Space { max_degree: 8, max_terms },
        offsets: vec![Offset::default()],
        sampling: Sampling::default(),
        objective,
        usage: Usage::default(),
    };
    let outcome = search.run(&histograms, None, &Watch::default()).unwrap();
    assert!(!outcome.exhaustive && outcome.evaluated > 1000);
    let front = outcome.front.points();
    assert!(front.len() > 5);
    for pair in front.windows(2) {
        assert!(pair[0].epsilon.get() < pair[1].epsilon.get());
        assert!(pair[0].ground_truth < pair[1].ground_truth);
    }
    front.to_vec()
}

/// Two orders whose epsilons differ by rounding alone once sent this search back and forth for
/// ever.
#[test]
fn a_search_of_a_large_space_ends() {
    front_of_a_large_space(Objective::Published, 64);
}

#[test]
fn what_a_search_by_estimates_returns_is_proven() {
    let voters = Voters::new(TEACHERS).unwrap();
    for point in front_of_a_large_space(Objective::DataIndependent, 32).iter().step_by(8) {
        let setting = Setting {
            polynomial: point.polynomial.clone(),
            offset: point.offset,
            sampling: Sampling::default(),
        };
        let mut figure = DataIndependent::new(&setting, Classes::new(CLASSES).unwrap(), voters);
        let proven = figure.epsilon(Usage::default()).get();
        assert!((point.epsilon.get() / proven - 1.0).abs() < 0.02, "{point:?}: {proven}");
    }
}
