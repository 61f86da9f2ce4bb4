//! Draws are not shared: not between samples, not between the rounds of a sample, not between the
//! draws of a round. Each label would keep its law if they were, and composition would silently
//! break.

use shield_core::{Classes, Drawn, Draws, Offset, Seed, Setting, Urn};

const SAMPLES: u64 = 2_000;
const TEACHERS: u32 = 240;

fn places(setting: &Setting, seed: &Seed, sample: u64) -> Vec<Drawn> {
    let urn = Urn::of_all(TEACHERS, Classes::new(10).unwrap(), Offset::new(1).unwrap());
    let draws = Draws::seeded(setting, &urn, seed, sample);
    draws.rounds().flat_map(|(_, drawn)| drawn.to_vec()).collect()
}

/// How often two places that should be independent agree, in standard deviations from 1/250.
fn excess(agreements: usize, trials: usize) -> f64 {
    let (trials, chance) = (trials as f64, 1.0 / f64::from(TEACHERS + 10));
    (agreements as f64 - trials * chance) / (trials * chance * (1.0 - chance)).sqrt()
}

fn agreements(left: &[Drawn], right: &[Drawn]) -> usize {
    left.iter().zip(right).filter(|(left, right)| left == right).count()
}

#[test]
fn two_samples_share_no_draws() {
    let setting = Setting::default();
    let seed = Seed::from_number(5);
    let all: Vec<_> = (0..SAMPLES).map(|sample| places(&setting, &seed, sample)).collect();
    let mut found = 0;
    for pair in all.windows(2) {
        assert_ne!(pair[0], pair[1]);
        found += agreements(&pair[0], &pair[1]);
    }
    let trials = (all.len() - 1) * all[0].len();
    // 6 standard deviations: chance alone exceeds it once in 500 million runs.
    assert!(excess(found, trials).abs() < 6.0, "{found} of {trials}");
    // The same sample with the same seed agrees everywhere: this is what sharing would look like.
    let again = places(&setting, &seed, 0);
    assert!(excess(agreements(&all[0], &again), again.len()) > 6.0);
}

#[test]
fn two_seeds_share_no_draws() {
    let setting = Setting::default();
    let (mut found, mut trials) = (0, 0);
    for sample in 0..SAMPLES {
        let left = places(&setting, &Seed::from_number(1), sample);
        let right = places(&setting, &Seed::from_number(2), sample);
        found += agreements(&left, &right);
        trials += left.len();
    }
    assert!(excess(found, trials).abs() < 6.0, "{found} of {trials}");
}

#[test]
fn rounds_and_draws_of_one_sample_share_nothing() {
    let setting = Setting::default();
    let seed = Seed::from_number(6);
    for distance in [1, 2, 3, 4, 5, 13] {
        let (mut found, mut trials) = (0, 0);
        for sample in 0..SAMPLES {
            let drawn = places(&setting, &seed, sample);
            found += agreements(&drawn, &drawn[distance..]);
            trials += drawn.len() - distance;
        }
        assert!(excess(found, trials).abs() < 6.0, "distance {distance}: {found} of {trials}");
    }
}
