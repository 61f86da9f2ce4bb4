//! A million runs of the clear operator against the exact output law, by chi-square at level 1e-6;
//! and the same test on operators that are wrong, which it must catch.

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use shield_core::operator::{simulate, unanimity};
use shield_core::{
    Class, Classes, Draws, Histogram, Offset, OutputDistribution, Sampling, Setting, Urn,
};
use statrs::distribution::{ChiSquared, ContinuousCDF};

const RUNS: usize = 1_000_000;
const LEVEL: f64 = 1e-6;

fn setting(polynomial: &str, offset: u32, sampling: Sampling) -> Setting {
    Setting {
        polynomial: polynomial.parse().unwrap(),
        offset: Offset::new(offset).unwrap(),
        sampling,
    }
}

/// The probability of outputs at least this far from the law, by Pearson's test. Outputs expected
/// fewer than ten times are pooled; an output that cannot happen and did gives 0.
fn p_value(outputs: &[u64], law: &OutputDistribution) -> f64 {
    let runs = outputs.iter().sum::<u64>() as f64;
    let expected: Vec<f64> =
        law.probabilities().chain([law.failure()]).map(|probability| probability * runs).collect();
    let (mut statistic, mut cells) = (0.0, 0);
    let (mut rare_found, mut rare_expected) = (0.0, 0.0);
    for (&found, &expected) in outputs.iter().zip(&expected) {
        if expected == 0.0 && found > 0 {
            return 0.0;
        }
        if expected < 10.0 {
            rare_found += found as f64;
            rare_expected += expected;
        } else {
            statistic += (found as f64 - expected).powi(2) / expected;
            cells += 1;
        }
    }
    if rare_expected >= 10.0 {
        statistic += (rare_found - rare_expected).powi(2) / rare_expected;
        cells += 1;
    } else {
        assert!(rare_found < rare_expected + 60.0, "rare outputs {rare_found}");
    }
    if cells < 2 {
        return 1.0;
    }
    ChiSquared::new(f64::from(cells - 1)).unwrap().sf(statistic)
}

fn histogram(counts: &[u32]) -> Histogram {
    Histogram::new(counts.to_vec()).unwrap()
}

/// 100 classes, most of them with few votes.
fn hundred() -> Histogram {
    histogram(
        &(0..100)
            .map(|class| if class < 5 { 40 - 7 * class } else { class % 3 })
            .collect::<Vec<_>>(),
    )
}

#[test]
fn a_million_runs_follow_the_exact_law() {
    use Sampling::{WithReplacement, WithoutReplacement};
    let ten = histogram(&[120, 60, 30, 15, 10, 5, 5, 3, 2, 0]);
    let two = histogram(&[9, 4]);
    let settings = [
        ("8X^4+6X^3+4X^2+X", 1, WithReplacement, &ten),
        ("8X^4+6X^3+4X^2+X", 5, WithReplacement, &ten),
        ("8X^4+6X^3+4X^2+X", 0, WithoutReplacement, &ten),
        ("2X^3+3X^2+X", 1, WithReplacement, &two),
        ("2X^3+3X^2+X", 0, WithoutReplacement, &two),
        ("3X^5+2X^3", 0, WithReplacement, &two),
        ("4X^6+X^2", 1, WithoutReplacement, &ten),
        ("5X^3+9X^2+X", 1, WithReplacement, &hundred()),
        ("X^2", 5, WithReplacement, &hundred()),
        ("6X^4+2X^2+X", 5, WithoutReplacement, &hundred()),
    ];
    std::thread::scope(|scope| {
        for (number, (polynomial, offset, sampling, histogram)) in (0..).zip(settings) {
            scope.spawn(move || {
                let setting = setting(polynomial, offset, sampling);
                let mut rng = ChaCha20Rng::seed_from_u64(number);
                let outputs = simulate(&setting, histogram, RUNS, &mut rng);
                let p = p_value(&outputs, &OutputDistribution::of(&setting, histogram));
                assert!(p > LEVEL, "{polynomial}, offset {offset}, {sampling}: p = {p}");
            });
        }
    });
}

#[test]
fn the_test_catches_rounds_in_the_wrong_order() {
    let setting = setting("2X^3+3X^2+X", 1, Sampling::WithReplacement);
    let histogram = histogram(&[9, 4, 2]);
    let votes: Vec<Class> =
        [(0, 9), (1, 4), (2, 2)].iter().flat_map(|&(k, n)| vec![Class(k); n]).collect();
    let urn = Urn::of_all(15, Classes::new(3).unwrap(), setting.offset);
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let mut outputs = vec![0; 4];
    for _ in 0..RUNS / 10 {
        let draws = Draws::draw(&setting, &urn, &mut rng);
        let mut rounds: Vec<_> = draws.rounds().collect();
        rounds.reverse();
        let label = rounds.iter().find_map(|(_, drawn)| unanimity(drawn, |t| votes[t as usize]));
        outputs[label.map_or(3, Class::index)] += 1;
    }
    assert!(p_value(&outputs, &OutputDistribution::of(&setting, &histogram)) < LEVEL);
}

#[test]
fn the_test_catches_a_dropped_offset() {
    let histogram = histogram(&[120, 60, 30, 15, 10, 5, 5, 3, 2, 0]);
    let with = setting("8X^4+6X^3+4X^2+X", 1, Sampling::WithReplacement);
    let without = setting("8X^4+6X^3+4X^2+X", 0, Sampling::WithReplacement);
    let outputs = simulate(&without, &histogram, RUNS, &mut ChaCha20Rng::seed_from_u64(1));
    assert!(p_value(&outputs, &OutputDistribution::of(&with, &histogram)) < LEVEL);
}

#[test]
fn the_test_catches_the_wrong_sampling_rule() {
    let histogram = histogram(&[9, 4]);
    let with = setting("2X^3+3X^2+X", 0, Sampling::WithReplacement);
    let without = setting("2X^3+3X^2+X", 0, Sampling::WithoutReplacement);
    let outputs = simulate(&without, &histogram, RUNS, &mut ChaCha20Rng::seed_from_u64(1));
    assert!(p_value(&outputs, &OutputDistribution::of(&with, &histogram)) < LEVEL);
}
