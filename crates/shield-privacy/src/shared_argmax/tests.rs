//! The law and the accounting of both noises.

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use shield_core::engine::ClearEngine;
use shield_core::engine::{ClearKey, Engine, MemoryBallotBox};
use shield_core::parameters::{Delta, Noise};
use shield_core::shared_noise::skellam::law_with;
use shield_core::{Class, Classes, Election, Seed, Setting};
use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::*;
use crate::calibrate::shared_noise_within;
use crate::noisy_argmax::NoisyArgmax;

fn histogram(counts: &[u32]) -> Histogram {
    Histogram::new(counts.to_vec()).unwrap()
}

fn laplace(scale: f64, teachers: u32, dropouts: u32) -> SharedArgmax {
    let noise = SharedNoise::new(Noise::new(scale).unwrap(), teachers, dropouts).unwrap();
    SharedArgmax::of_votes(&noise, 3)
}

/// The epsilon of one query with Laplace noise, and the law of the difference of two noises.
fn pure(argmax: &SharedArgmax) -> (f64, &NoiseLaw) {
    match &argmax.query {
        Query::Laplace { epsilon, difference } => (*epsilon, difference),
        Query::Shifts(_) => panic!("this noise is Laplace noise"),
    }
}

#[test]
fn the_law_by_brute_force() {
    let argmax = laplace(1.5, 9, 3);
    let counts = [3_i64, 4, 2];
    let mut expected = [0.0; 3];
    let range = -60..=60_i64;
    for x in range.clone() {
        for y in range.clone() {
            for z in range.clone() {
                let noisy = [counts[0] + x, counts[1] + y, counts[2] + z];
                let top = *noisy.iter().max().unwrap();
                let winner = noisy.iter().position(|&n| n == top).unwrap();
                expected[winner] +=
                    [x, y, z].map(|z| argmax.everyone.probability(z)).iter().product::<f64>();
            }
        }
    }
    let law = argmax.law(&histogram(&[3, 4, 2]));
    for (found, expected) in law.probabilities().zip(expected) {
        assert!((found - expected).abs() < 1e-9, "{found} {expected}");
    }
}

#[test]
fn the_laplace_accounting_bounds_the_true_moments() {
    for argmax in [laplace(20.0, 100, 0), laplace(20.0, 100, 30), laplace(3.0, 100, 0)] {
        let (epsilon, difference) = pure(&argmax);
        for (counts, moved) in [([90, 8, 2], [89, 9, 2]), ([40, 35, 25], [39, 35, 26])] {
            let wrong = SharedArgmax::error_bound(difference, &histogram(&counts));
            let (p, q) = (argmax.law(&histogram(&counts)), argmax.law(&histogram(&moved)));
            for (p, q) in [(&p, &q), (&q, &p)] {
                let largest = p.probabilities().zip(q.probabilities()).map(|(p, q)| (p / q).ln());
                assert!(largest.fold(0.0, f64::max) <= epsilon + 1e-9);
            }
            for order in [1.0, 4.0, 12.0] {
                let pairs = p.probabilities().zip(q.probabilities());
                let moment: f64 = pairs.map(|(p, q)| p * (p / q).powf(order)).sum();
                let bound = laplace_bound(epsilon, wrong, order).min(argmax.moment(order));
                assert!(moment.ln() <= bound + 1e-12, "{order}: {} {bound}", moment.ln());
            }
            let error = 1.0 - p.probabilities().next().unwrap();
            assert!(error <= wrong);
        }
    }
}

#[test]
fn as_lnmax_where_the_scale_is_large() {
    let continuous = NoisyArgmax::Laplace(Noise::new(40.0).unwrap());
    let discrete = laplace(40.0, 250, 0);
    let usage = Usage::default();
    let a = Proven::by_moments(usage, 0.0, |order| continuous.log_moment(order)).get();
    let b = Proven::by_moments(usage, 0.0, |order| discrete.moment(order)).get();
    assert!(b >= a && b / a - 1.0 < 1e-6, "{a} {b}");
    let votes = histogram(&[150, 60, 40]);
    let laws = continuous.law(&votes);
    for (p, q) in laws.probabilities().zip(discrete.law(&votes).probabilities()) {
        assert!((p - q).abs() < 0.01, "{p} {q}");
    }
    // Ties count against the discrete law, so its bound on errors is the larger one, but not by
    // much.
    let lead = 90.0 / 40.0_f64;
    let continuous = (2.0 + lead) / (4.0 * lead.exp());
    let tail = pure(&discrete).1.at_least(90);
    assert!(tail > continuous && tail / continuous < 1.03, "{tail} {continuous}");
}

#[test]
fn more_noise_than_promised_does_not_cheapen_the_promise() {
    let usage = Usage::default();
    let none = laplace(40.0, 250, 0);
    let some = laplace(40.0, 250, 50);
    let cost = |argmax: &SharedArgmax| argmax.by_moments(usage).get();
    assert!((cost(&none) / cost(&some) - 1.0).abs() < 1e-6);
    let votes = histogram(&[150, 60, 40]);
    let best = |argmax: &SharedArgmax| argmax.law(&votes).probabilities().next().unwrap();
    assert!(best(&some) < best(&none));
}

#[test]
fn labels_of_the_clear_operator_follow_the_law() {
    let (samples, teachers) = (500, 9_u32);
    let noise = SharedNoise::new(Noise::new(3.0).unwrap(), teachers, 3).unwrap();
    let classes = Classes::new(3).unwrap();
    let election = Election::new(teachers as usize, classes, samples, Setting::default());
    let engine = ClearEngine::noisy_argmax(election.unwrap(), noise);
    let key = ClearKey::default();
    let mut seen = [0.0; 3];
    let runs = 20;
    for run in 0..runs {
        let mut rng = ChaCha20Rng::seed_from_u64(run);
        let ballots = (0..teachers)
            .map(|teacher| {
                // Five votes for class 0, three for class 1, and one abstains.
                let vote = [0, 0, 0, 0, 0, 1, 1, 1].get(teacher as usize).map(|&k| Class(k));
                engine.encrypt(&key, 0, &vec![vote; samples], &mut rng).ok()
            })
            .collect();
        let ballots = MemoryBallotBox::new(samples, ballots);
        let release = engine.aggregate(&key, 0, &ballots, &Seed::from_number(0)).unwrap();
        for class in engine.decrypt(&key, 0, &release).unwrap().iter().flatten() {
            seen[class.index()] += 1.0;
        }
    }
    let law = SharedArgmax::of_votes(&noise, 3).law(&histogram(&[5, 3, 0]));
    let total = (samples as u64 * runs) as f64;
    let cells = law.probabilities().zip(seen);
    let chi: f64 = cells.map(|(p, s)| (s - total * p).powi(2) / (total * p)).sum();
    let p = ChiSquared::new(2.0).unwrap().sf(chi);
    assert!(p > 1e-3, "p = {p}: {seen:?} {law:?}");
}

fn noise(deviation: f64, teachers: u32, dropouts: u32) -> SharedNoise {
    let amount = Noise::new(deviation).unwrap();
    SharedNoise::of(NoiseFamily::Skellam, amount, teachers, dropouts).unwrap()
}

fn argmax(deviation: f64) -> SharedArgmax {
    SharedArgmax::of_votes(&noise(deviation, 100, 0), 3)
}

fn shifts(argmax: &SharedArgmax) -> &Shifts {
    match &argmax.query {
        Query::Shifts(shifts) => shifts,
        Query::Laplace { .. } => panic!("this noise is Skellam noise"),
    }
}

fn usage(queries: u64, delta: f64) -> Usage {
    Usage { queries: Queries::new(queries).unwrap(), delta: Delta::new(delta).unwrap() }
}

/// The least epsilon of two noisy counts, each shifted by one, over all pairs of values.
fn by_brute_force(argmax: &SharedArgmax, delta: f64) -> f64 {
    let reach = 60_i64;
    let p = |z: i64| shifts(argmax).promised.probability(z);
    let spent = |epsilon: f64| {
        let mut sum = 0.0;
        for x in -reach..=reach {
            for y in -reach..=reach {
                sum += (p(x) * p(y) - epsilon.exp() * p(x + 1) * p(y - 1)).max(0.0);
            }
        }
        sum
    };
    let (mut low, mut high) = (0.0, 20.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if spent(middle) <= delta {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

#[test]
fn one_query_by_brute_force() {
    for (deviation, delta) in [(1.5, 1e-3), (3.0, 1e-5), (3.0, 0.05)] {
        let argmax = argmax(deviation);
        let expected = by_brute_force(&argmax, delta);
        let found = argmax.of_counts(usage(1, delta)).get();
        assert!(found >= expected - 1e-7 && found < expected * 1.003 + 1e-4, "{found} {expected}");
        assert!(argmax.tight(usage(1, delta)).get() <= found);
    }
}

#[test]
fn many_queries_are_as_cheap_as_gaussian_noise() {
    let usage = usage(100, 1e-5);
    for deviation in [15.0, 40.0] {
        let argmax = argmax(deviation);
        let gaussian = NoisyArgmax::Gaussian(Noise::new(deviation).unwrap());
        let gaussian = Proven::by_moments(usage, 0.0, |order| gaussian.log_moment(order));
        let moments = Proven::by_moments(usage, 0.0, |order| argmax.moment(order));
        let (tight, label) = (argmax.tight(usage), argmax.by_moments(usage));
        assert!(tight < label && label < moments, "{tight} {label} {moments}");
        assert!((moments.get() / gaussian.get() - 1.0).abs() < 0.01, "{moments} {gaussian}");
    }
}

#[test]
fn the_accounting_bounds_the_laws_of_the_output() {
    let argmax = argmax(6.0);
    for (counts, moved) in [([90, 8, 2], [89, 9, 2]), ([34, 33, 33], [33, 33, 34])] {
        let (p, q) = (argmax.law(&histogram(&counts)), argmax.law(&histogram(&moved)));
        for order in [1.0, 5.0, 30.0] {
            let pairs = p.probabilities().zip(q.probabilities());
            let moment: f64 = pairs.map(|(p, q)| p * (p / q).powf(order)).sum();
            // A higher order's moment is no smaller.
            let of_label = argmax.log_moment(order * 1.02).1.get();
            assert!(moment.ln() <= argmax.moment(order).min(of_label), "{order}");
        }
    }
}

#[test]
fn histograms_cost_what_their_largest_change_does() {
    let votes = argmax(20.0);
    let noise = noise(20.0, 100, 0);
    let counts = |bound| SharedArgmax::new(&noise, 3, Sensitivity::Counts(bound)).unwrap();
    let five = counts(5);
    for order in [0.5, 3.0, 20.0] {
        // Every way to share out five votes on each side costs no more.
        for parts in [vec![5], vec![4, 1], vec![3, 2], vec![2, 2, 1], vec![1; 5]] {
            let sum: f64 = parts.iter().map(|&d| 2.0 * shifts(&votes).shift_moment(d, order)).sum();
            assert!(sum <= five.moment(order) * (1.0 + 1e-9), "{parts:?}");
        }
        // Nearly Gaussian: the square of the bound.
        let ratio = five.moment(order) / votes.moment(order);
        assert!((20.0..30.0).contains(&ratio), "{order}: {ratio}");
        assert!((counts(1).moment(order) / votes.moment(order) - 1.0).abs() < 1e-9);
    }
}

#[test]
fn moments_of_large_shifts_by_the_definition() {
    let noise = noise(3.0, 10, 0);
    let argmax = SharedArgmax::new(&noise, 3, Sensitivity::Counts(30)).unwrap();
    let wide = law_with(9.0, 200);
    for (shift, order) in [(1, 2.0), (4, 1.5), (12, 0.5), (30, 0.2)] {
        let direct: f64 = (-150..=150_i64)
            .map(|z| {
                let (p, q) = (wide.probability(z), wide.probability(z - shift));
                if p > 1e-200 { p * (p / q).powf(order) } else { 0.0 }
            })
            .sum();
        let found = shifts(&argmax).shift_moment(u32::try_from(shift).unwrap(), order);
        assert!(found >= direct.ln() * (1.0 - 1e-9), "{shift} {order}: {found} {}", direct.ln());
        assert!(found <= direct.ln() * 1.01 + 1e-6, "{shift} {order}: {found} {}", direct.ln());
    }
}

#[test]
fn the_promise_holds_whoever_is_missing() {
    let usage = Usage::default();
    let all = SharedArgmax::of_votes(&noise(20.0, 100, 0), 3);
    let some = SharedArgmax::of_votes(&noise(20.0, 100, 40), 3);
    assert!((all.tight(usage).get() / some.tight(usage).get() - 1.0).abs() < 1e-4);
    let votes = Histogram::new(vec![60, 25, 15]).unwrap();
    let right = |argmax: &SharedArgmax| argmax.law(&votes).probabilities().next().unwrap();
    assert!(right(&some) < right(&all));
}

#[test]
fn the_least_noise_within_a_budget() {
    let usage = usage(100, 1e-5);
    let budget = Epsilon::new(4.0).unwrap();
    for family in [NoiseFamily::Skellam, NoiseFamily::Laplace] {
        let (noise, price) = shared_noise_within(budget, usage, family, 100, 20, 10).unwrap();
        let cost = SharedArgmax::of_votes(&noise, 10).tight(usage);
        assert_eq!(cost, price);
        assert!(cost <= budget && cost.get() > 3.97, "{cost}");
        assert_eq!((noise.family(), noise.dropouts()), (family, 20));
    }
}

#[test]
fn what_counts_cost_is_known_for_skellam_noise_alone() {
    let laplace = SharedNoise::new(Noise::new(3.0).unwrap(), 10, 0).unwrap();
    assert!(SharedArgmax::new(&laplace, 3, Sensitivity::Counts(2)).is_err());
}

/// The shipped votes of 250 teachers, 100 queries, delta 1e-5: the share of right labels.
#[test]
fn right_labels_on_the_shipped_votes() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/mnist");
    let votes = shield_data::read_votes(&folder.join("paper-votes.npy.gz"), None).unwrap();
    let labels = shield_data::read_labels(&folder.join("digits.npy.gz")).unwrap();
    let usage = usage(100, 1e-5);
    for (epsilon, least) in [(1.0, 0.878), (2.0, 0.931), (4.0, 0.943)] {
        let budget = Epsilon::new(epsilon).unwrap();
        let skellam = NoiseFamily::Skellam;
        let (noise, _) = shared_noise_within(budget, usage, skellam, 250, 0, 10).unwrap();
        let argmax = SharedArgmax::of_votes(&noise, 10);
        // Every fourth sample says the same, in a quarter of the time.
        let samples = votes.histograms().zip(labels.as_slice()).step_by(4);
        let right: Vec<f64> = samples
            .filter_map(|(histogram, label)| {
                let law: Vec<f64> = argmax.law(&histogram).probabilities().collect();
                label.map(|class| law[class.index()])
            })
            .collect();
        let share = right.iter().sum::<f64>() / right.len() as f64;
        println!("epsilon {epsilon}: deviation {:.2}, {:.2}%", noise.scale().get(), 100.0 * share);
        assert!(share >= least, "{epsilon}: {share}");
    }
}
