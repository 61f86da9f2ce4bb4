//! The recursion against all strategies, where they can be tried one by one.

use super::{DataIndependent, WorstStrategy};
use crate::Usage;
use shield_core::distribution::OutputDistribution;
use shield_core::parameters::{Classes, Delta, Offset, Queries, Sampling, Voters};
use shield_core::setting::Setting;

/// Every pair of neighbouring laws, in both directions, by the definition alone.
fn all_pairs(setting: &Setting, votes: u32, classes: usize) -> Vec<Vec<(f64, f64)>> {
    fn histograms(votes: u32, classes: usize) -> Vec<Vec<u32>> {
        if classes == 1 {
            return vec![vec![votes]];
        }
        (0..=votes)
            .flat_map(|first| {
                histograms(votes - first, classes - 1).into_iter().map(move |mut rest| {
                    rest.push(first);
                    rest
                })
            })
            .collect()
    }
    let law = |counts: &[u32]| {
        let law = OutputDistribution::of_counts(setting, counts);
        law.probabilities().chain([law.failure()]).collect::<Vec<f64>>()
    };
    let mut pairs = Vec::new();
    for counts in histograms(votes, classes) {
        for (from, to) in (0..classes).flat_map(|i| (0..classes).map(move |j| (i, j))) {
            if from != to && counts[from] > 0 {
                let mut moved = counts.clone();
                moved[from] -= 1;
                moved[to] += 1;
                pairs.push(law(&counts).into_iter().zip(law(&moved)).collect());
            }
        }
    }
    pairs
}

/// delta of the best adaptive strategy: W_j(p, q) by recursion over all pairs and outputs.
fn worst_delta(pairs: &[Vec<(f64, f64)>], left: u32, p: f64, q: f64, threshold: f64) -> f64 {
    if left == 0 {
        return (p - threshold * q).max(0.0);
    }
    let gain = |pair: &Vec<(f64, f64)>| {
        pair.iter()
            .filter(|(a, _)| *a > 0.0)
            .map(|(a, b)| worst_delta(pairs, left - 1, p * a, q * b, threshold))
            .sum::<f64>()
    };
    pairs.iter().map(gain).fold(0.0, f64::max)
}

fn worst_epsilon(pairs: &[Vec<(f64, f64)>], queries: u32, delta: f64) -> f64 {
    let (mut low, mut high) = (0.0, 30.0);
    while high - low > 1e-9 {
        let middle = f64::midpoint(low, high);
        if worst_delta(pairs, queries, 1.0, 1.0, f64::exp(middle)) <= delta {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

#[test]
fn encloses_the_best_of_all_strategies() {
    use Sampling::{WithReplacement, WithoutReplacement};
    let cases = [
        ("2X^2+X", 1, WithReplacement, 3, 2, 3),
        ("2X^3+3X^2+X", 1, WithReplacement, 6, 2, 3),
        ("2X^3+3X^2+X", 2, WithoutReplacement, 5, 2, 3),
        ("2X^3+3X^2", 3, WithReplacement, 6, 3, 2),
        ("4X^2+X", 1, WithReplacement, 4, 3, 2),
        ("3X^3+X", 2, WithReplacement, 8, 4, 1),
        ("3X^3+X", 1, WithoutReplacement, 8, 3, 1),
    ];
    for (polynomial, offset, sampling, votes, classes, queries) in cases {
        let setting = Setting {
            polynomial: polynomial.parse().unwrap(),
            offset: Offset::new(offset).unwrap(),
            sampling,
        };
        let pairs = all_pairs(&setting, votes, classes);
        let (classes, voters) = (Classes::new(classes).unwrap(), Voters::new(votes).unwrap());
        let mut figure = DataIndependent::new(&setting, classes, voters);
        for delta in [1e-1, 1e-3] {
            let usage = Usage {
                queries: Queries::new(queries.into()).unwrap(),
                delta: Delta::new(delta).unwrap(),
            };
            let expected = worst_epsilon(&pairs, queries, delta);
            let proven = figure.exact(usage).get();
            let strategy = figure.worst_strategy(usage).unwrap().epsilon.get();
            let place = format!("{polynomial} w={offset} {sampling} n={votes} {queries} {delta}");
            assert!(proven >= expected - 1e-8, "{place}: {proven} < {expected}");
            assert!(proven <= expected * 1.03 + 1e-3, "{place}: {proven} > {expected}");
            assert!(strategy <= expected + 1e-8, "{place}: {strategy} > {expected}");
            assert!(strategy >= expected * 0.99 - 1e-3, "{place}: {strategy} < {expected}");
        }
    }
}

#[test]
fn at_most_three_percent_above_the_worst_strategy() {
    let usage = Usage::default();
    let setting = Setting { offset: Offset::new(5).unwrap(), ..Setting::default() };
    let mut figure =
        DataIndependent::new(&setting, Classes::new(10).unwrap(), Voters::new(250).unwrap());
    let proven = figure.exact(usage);
    let WorstStrategy { epsilon, .. } = figure.worst_strategy(usage).unwrap();
    assert!(proven >= epsilon && proven.get() <= 1.03 * epsilon.get(), "{epsilon} {proven}");
    // An adversary who may choose does no worse than one who always takes the same pair.
    let alone = figure.worst_found_exact(usage).epsilon;
    assert!(proven >= alone && alone.get() <= 1.001 * epsilon.get(), "{alone} {epsilon}");
}

/// Above this many queries the old bound is used: it must not be below what is achieved.
#[test]
fn the_quicker_bound_is_never_below_a_strategy() {
    let setting = Setting {
        polynomial: "2X^2+X".parse().unwrap(),
        offset: Offset::new(3).unwrap(),
        ..Setting::default()
    };
    let mut figure =
        DataIndependent::new(&setting, Classes::new(3).unwrap(), Voters::new(12).unwrap());
    let usage = Usage { queries: Queries::new(20).unwrap(), ..Usage::default() };
    let tight = figure.exact(usage);
    let quick = figure.quick(usage);
    let strategy = figure.worst_strategy(usage).unwrap().epsilon;
    assert!(tight >= strategy && tight.get() <= 1.001 * quick.get(), "{strategy} {tight} {quick}");
}
