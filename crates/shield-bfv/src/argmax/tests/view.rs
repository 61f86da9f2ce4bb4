//! What the student sees: 0 at the winner, uniform residues that are not 0 elsewhere, and noise
//! that says nothing.
//!
//! Chi-square tests at level 1e-6 with fixed seeds; the same tests fail when the mask or the
//! flooding is left out.

use super::*;
use crate::argmax::aggregation::Safeguards;
use crate::release::Release;
use crate::scheme::Ciphertext;
use crate::tests::noise::measured;
use statrs::distribution::{ChiSquared, ContinuousCDF};

const LEVEL: f64 = 1e-6;
const BINS: u64 = 64;

/// The chance of a chi-square statistic at least as large, all counts being equally likely.
fn p_value(counts: &[u64]) -> f64 {
    let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    let statistic: f64 =
        counts.iter().map(|&count| (count as f64 - expected).powi(2) / expected).sum();
    ChiSquared::new(counts.len() as f64 - 1.0).expect("degrees of freedom").sf(statistic)
}

/// Releases of close and of clear results, and what a student counts in them.
struct View {
    /// Residues of the losers, in bins, for close and for clear results.
    junk: [Vec<u64>; 2],
}

fn view(safeguards: Safeguards) -> View {
    let (classes, samples) = (4, 256);
    let mut engine = tiny(2, classes, samples, skellam(3.0, 2, 1));
    engine.safeguards = safeguards;
    let mut rng = ChaCha20Rng::seed_from_u64(11);
    let keys = engine.generate_keys(&mut rng).expect("keys");
    let range = engine.plan().range() as i64;
    let mut view = View { junk: [vec![0; 64], vec![0; 64]] };
    for number in 0..4 {
        for (kind, gap) in [(0, 1), (1, range)] {
            let counts: Vec<i64> =
                (0..samples * classes).map(|i| if i % classes == 1 { gap } else { 0 }).collect();
            let first = engine.encrypt_numbers(&keys.public, 0, &counts, &mut rng);
            let other = engine.encrypt_numbers(&keys.public, 0, &vec![0; counts.len()], &mut rng);
            let seed = Seed::from_number(number);
            let ballots = Padded { first, other };
            let release: Release =
                engine.aggregate(&keys.evaluation, 0, &ballots, &seed).expect("a release");
            let secret = &keys.secret.secret;
            let slots = crate::release::slots(&engine.context, secret, &release).concat();
            for run in engine.class_slots(&slots, samples) {
                assert_eq!(run[1], 0, "the winner");
                for loser in [0, 2, 3] {
                    assert_ne!(run[loser], 0, "a loser");
                    view.junk[kind][(run[loser] * BINS / 65_537) as usize] += 1;
                }
            }
            // Whatever is no class's slot is 0, always.
            let filled = slots.iter().filter(|slot| **slot != 0).count();
            assert_eq!(filled, samples * (classes - 1));
        }
    }
    view
}

#[test]
fn the_view_follows_from_the_label() {
    let view = view(Safeguards::Whole);
    for junk in &view.junk {
        assert_eq!(junk.iter().sum::<u64>(), 4 * 256 * 3);
        assert!(p_value(junk) > LEVEL, "{junk:?}");
    }
}

#[test]
fn a_missing_mask_is_noticed() {
    let view = view(Safeguards::WithoutMask);
    assert!(view.junk.iter().all(|junk| p_value(junk) < LEVEL));
}

/// Bits of the noise before and after it is covered.
fn noise(safeguards: Safeguards) -> (f64, f64) {
    let mut engine = tiny(2, 4, 100, skellam(3.0, 2, 1));
    engine.safeguards = safeguards;
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let keys = engine.generate_keys(&mut rng).expect("keys");
    let ballot = engine.encrypt_numbers(&keys.public, 0, &vec![1; 400], &mut rng);
    let ballots = Padded { other: ballot.clone(), first: ballot };
    let seed = Seed::from_number(1);
    let aggregation = engine.aggregation(&keys.evaluation, 0, &seed);
    let tally = aggregation.tally(&ballots).expect("a sum");
    let released = aggregation.reveal(&aggregation.signs(aggregation.differences(&tally)), &seed);
    let measure = |c: &Ciphertext| measured(&engine.context, &keys.secret.secret, c);
    (measure(&released), measure(&aggregation.cover(released, &seed)))
}

#[test]
fn missing_flooding_is_noticed() {
    let (before, after) = noise(Safeguards::Whole);
    println!("{before:.1} bits of noise under {after:.1}");
    assert!(after > before + 40.0, "{before} {after}");
    let (before, after) = noise(Safeguards::WithoutFlooding);
    assert!(after < before + 5.0, "{before} {after}");
}

#[test]
fn one_seed_on_two_sets_of_ballots_masks_them_differently() {
    let engine = tiny(2, 4, 100, skellam(3.0, 2, 1));
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let keys = engine.generate_keys(&mut rng).expect("keys");
    let counts: Vec<i64> = (0..400).map(|i| i64::from(i % 4 == 2)).collect();
    let mut slots = || {
        let first = engine.encrypt_numbers(&keys.public, 0, &counts, &mut rng);
        let ballots = Padded { other: first.clone(), first };
        let release =
            engine.aggregate(&keys.evaluation, 0, &ballots, &Seed::from_number(1)).unwrap();
        let slots = crate::release::slots(&engine.context, &keys.secret.secret, &release);
        engine.class_slots(&slots.concat(), 100).concat()
    };
    let (before, after) = (slots(), slots());
    let same = before.iter().zip(&after).filter(|(a, b)| a == b && **a != 0).count();
    assert!(same < 5, "{same}");
}
