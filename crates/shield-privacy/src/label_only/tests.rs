//! The bound against every strategy there is, where they can be tried one by one.

use std::collections::BTreeSet;

use super::*;
use crate::shared_argmax::SharedArgmax;
use shield_core::parameters::{Noise, Queries};
use shield_core::shared_noise::NoiseLaw;
use shield_core::shared_noise::bits::WeightedBits;

fn usage(queries: u64, delta: f64) -> Usage {
    Usage { queries: Queries::new(queries).unwrap(), delta: Delta::new(delta).unwrap() }
}

fn noise(family: NoiseFamily, scale: f64) -> SharedNoise {
    SharedNoise::of(family, Noise::new(scale).unwrap(), 250, 0).unwrap()
}

/// The accounting of a noise, and the price of its noisy counts.
fn both(noise: &SharedNoise, usage: Usage) -> (LabelOnly, Proven) {
    (LabelOnly::of_shares(noise).unwrap(), SharedArgmax::of_votes(noise, 10).of_counts(usage))
}

/// All ways to share votes among classes.
fn histograms(votes: i64, classes: usize) -> Vec<Vec<i64>> {
    if classes == 1 {
        return vec![vec![votes]];
    }
    let rest = |first: i64| histograms(votes - first, classes - 1).into_iter();
    let with = |first: i64| rest(first).map(move |rest| [vec![first], rest].concat());
    (0..=votes).flat_map(with).collect()
}

/// The law of the label by its definition: a class wins at x if the classes before it are below,
/// and those behind it not above.
fn law(noise: &NoiseLaw, counts: &[i64]) -> Vec<f64> {
    let at_most = |z: i64| noise.at_least(-z);
    let wins = |class: usize| {
        let at = |x: i64| {
            let others = counts.iter().enumerate().filter(|&(other, _)| other != class);
            let below = others.map(|(other, n)| at_most(x - n - i64::from(other < class)));
            noise.probability(x - counts[class]) * below.product::<f64>()
        };
        (-noise.reach()..=noise.reach() + 9).map(at).sum::<f64>()
    };
    (0..counts.len()).map(wins).collect()
}

/// The laws of all neighbours, in both directions: votes that move, appear and vanish. Pairs that
/// differ in the order of the classes alone are one.
fn pairs(noise: &NoiseLaw, votes: i64, classes: usize) -> Vec<Vec<(f64, f64)>> {
    let mut found = BTreeSet::new();
    let mut pairs = Vec::new();
    for counts in histograms(votes, classes) {
        let before = law(noise, &counts);
        let mut add = |from: Option<usize>, to: Option<usize>| {
            let mut moved = counts.clone();
            if let Some(from) = from {
                moved[from] -= 1;
            }
            if let Some(to) = to {
                moved[to] += 1;
            }
            let after = law(noise, &moved);
            for (p, q) in [(&before, &after), (&after, &before)] {
                let mut pair: Vec<(f64, f64)> = p.iter().copied().zip(q.iter().copied()).collect();
                pair.sort_by(|a, b| a.0.total_cmp(&b.0));
                let key = |x: f64| (x * 1e12).round() as i64;
                if found.insert(pair.iter().map(|&(p, q)| (key(p), key(q))).collect::<Vec<_>>()) {
                    pairs.push(pair);
                }
            }
        };
        for from in (0..classes).filter(|&class| counts[class] > 0) {
            add(Some(from), None);
            (0..classes).filter(|&to| to != from).for_each(|to| add(Some(from), Some(to)));
        }
    }
    pairs
}

/// delta of the best adaptive strategy, by recursion over all pairs and labels.
fn worst_delta(pairs: &[Vec<(f64, f64)>], left: u64, p: f64, q: f64, threshold: f64) -> f64 {
    if left == 0 {
        return (p - threshold * q).max(0.0);
    }
    let after = |&(a, b): &(f64, f64)| worst_delta(pairs, left - 1, p * a, q * b, threshold);
    pairs.iter().map(|pair| pair.iter().map(after).sum()).fold(0.0, f64::max)
}

#[test]
fn no_strategy_of_all_there_are_exceeds_the_bound() {
    use NoiseFamily::{Laplace, Skellam};
    // Classes, votes, queries.
    let cases = [(2, 6, 3), (3, 3, 3), (3, 6, 2), (4, 2, 3), (4, 6, 1)];
    let mut close = 0;
    for (family, scale) in [(Skellam, 1.2), (Skellam, 3.0), (Laplace, 0.9)] {
        let noise = noise(family, scale);
        let law = noise.law(noise.shares());
        for (classes, votes, queries) in cases {
            let pairs = pairs(&law, votes, classes);
            for delta in [1e-1, 1e-3] {
                let usage = usage(queries, delta);
                let (mut label, enough) = both(&noise, usage);
                let proven = label.tight(usage, enough).get();
                let spent = |epsilon: f64| worst_delta(&pairs, queries, 1.0, 1.0, epsilon.exp());
                let place = format!("{family} {scale}: {classes} {votes} {queries} {delta}");
                let most = spent(proven);
                assert!(most <= delta * (1.0 + 1e-9), "{place}: {most} at {proven}");
                close += usize::from(spent(0.9 * proven) > delta);
            }
        }
    }
    // Even these few votes often achieve nearly all of what is proven: none of it is slack.
    assert!(close >= 10, "{close}");
}

#[test]
fn proven_is_close_to_what_an_adversary_achieves() {
    // Deviations, and what was asked of the proof.
    let usage = usage(100, 1e-5);
    for (deviation, most) in [(80.6, 0.505), (42.75, 1.005), (22.86, 2.01), (12.42, 4.02)] {
        let (mut label, enough) = both(&noise(NoiseFamily::Skellam, deviation), usage);
        let proven = label.tight(usage, enough).get();
        let achieved = label.strategy(usage, enough).unwrap().epsilon.get();
        assert!(
            achieved <= proven && proven <= 1.01 * achieved,
            "{deviation}: {proven} {achieved}"
        );
        assert!(proven <= most && proven < 0.81 * enough.get(), "{deviation}: {proven} {enough}");
        let moments = label.by_moments(usage, enough).get();
        assert!(proven <= moments && moments < 1.1 * proven, "{deviation}: {moments}");
    }
}

#[test]
fn gaussian_noise_costs_what_skellam_noise_does() {
    let usage = usage(30, 1e-5);
    let (mut skellam, enough) = both(&noise(NoiseFamily::Skellam, 20.0), usage);
    let amount = Noise::new(20.0).unwrap();
    let mut gaussian = LabelOnly::of(NoisyArgmax::Gaussian(amount)).unwrap();
    let (one, two) = (skellam.tight(usage, enough).get(), gaussian.tight(usage, enough).get());
    assert!((one / two - 1.0).abs() < 0.01, "{one} {two}");
    let (mut laplace, enough) = both(&noise(NoiseFamily::Laplace, 20.0), usage);
    let mut continuous = LabelOnly::of(NoisyArgmax::Laplace(amount)).unwrap();
    let (one, two) = (laplace.tight(usage, enough).get(), continuous.tight(usage, enough).get());
    assert!((one / two - 1.0).abs() < 0.02, "{one} {two}");
    assert!(one < 0.65 * enough.get(), "{one} {enough}");
}

#[test]
fn weighted_bits_cost_what_skellam_noise_of_their_deviation_does() {
    let usage = usage(20, 1e-5);
    let of = |weights: &[u32], teachers, dropouts| {
        SharedNoise::of_bits(WeightedBits::new(weights).unwrap(), teachers, dropouts).unwrap()
    };
    let bits = of(&[1, 2, 4], 110, 10);
    let (mut label, enough) = both(&bits, usage);
    let found = label.tight(usage, enough).get();
    assert!(found < 0.9 * enough.get(), "{found} {enough}");
    let (mut skellam, enough) = both(&noise(NoiseFamily::Skellam, bits.scale().get()), usage);
    let expected = skellam.tight(usage, enough).get();
    assert!((found / expected - 1.0).abs() < 0.01, "{found} {expected}");
    let moments = label.by_moments(usage, enough).get();
    assert!(found <= moments && moments < 1.1 * found, "{moments} {found}");
    assert!(LabelOnly::of_shares(&of(&[2], 20, 0)).is_none());
}

#[test]
fn every_moment_is_bounded_by_that_of_the_family() {
    for family in [NoiseFamily::Skellam, NoiseFamily::Laplace] {
        let noise = noise(family, 2.0);
        let law = noise.law(noise.shares());
        let mut label = LabelOnly::of_shares(&noise).unwrap();
        for wanted in [0.5, 3.0, 20.0] {
            let (order, bound) = label.log_moment(wanted);
            let moment = |pair: &Vec<(f64, f64)>| {
                pair.iter().map(|(p, q)| p * (p / q).powf(order)).sum::<f64>().ln()
            };
            let worst = pairs(&law, 6, 3).iter().map(moment).fold(0.0, f64::max);
            assert!(worst <= bound.get(), "{family} {order}: {worst} {bound}");
            // Six votes do not reach all pairs.
            let near = worst >= 0.7 * bound.get() || order > 5.0;
            assert!(near, "{family} {order}: {worst} {bound}");
        }
    }
}
