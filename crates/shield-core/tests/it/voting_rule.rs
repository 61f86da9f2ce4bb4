//! The operator as a voting rule: what docs/voting-rule.md says of it.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use shield_core::{Offset, OutputDistribution, Sampling, Setting};

const POLYNOMIALS: [&str; 5] =
    ["X", "2X^3+3X^2+X", "8X^4+6X^3+4X^2+X", "3X^2", "12X^5+23X^4+20X^3+8X^2+X"];

fn settings() -> impl Iterator<Item = Setting> {
    let rules = [Sampling::WithReplacement, Sampling::WithoutReplacement];
    let all =
        POLYNOMIALS.into_iter().flat_map(move |polynomial| rules.map(|rule| (polynomial, rule)));
    let all = all.flat_map(|(polynomial, rule)| [0, 1, 5].map(|offset| (polynomial, rule, offset)));
    all.map(|(polynomial, sampling, offset)| Setting {
        polynomial: polynomial.parse().unwrap(),
        offset: Offset::new(offset).unwrap(),
        sampling,
    })
}

fn random_counts(rng: &mut StdRng, classes: usize) -> Vec<u32> {
    let most = rng.random_range(1..60);
    (0..classes).map(|_| rng.random_range(0..=most)).collect()
}

/// The law of every class, and of no label.
fn law(setting: &Setting, counts: &[u32]) -> Vec<f64> {
    let law = OutputDistribution::of_counts(setting, counts);
    law.probabilities().chain([law.failure()]).collect()
}

/// The law with so many votes more for a class.
fn law_with(setting: &Setting, counts: &[u32], votes: u32, class: usize) -> Vec<f64> {
    let mut counts = counts.to_vec();
    counts[class] += votes;
    law(setting, &counts)
}

#[test]
fn a_vote_never_hurts_the_class_it_is_for() {
    let mut rng = StdRng::seed_from_u64(1);
    for setting in settings() {
        for _ in 0..60 {
            let others = random_counts(&mut rng, 4);
            let (from, to) = (rng.random_range(0..4), rng.random_range(0..4));
            let before = law_with(&setting, &others, 1, from);
            let after = law_with(&setting, &others, 1, to);
            assert!(after[to] >= before[to] - 1e-13, "{setting:?} {others:?} {from} {to}");
            assert!(after[from] <= before[from] + 1e-13, "{setting:?} {others:?} {from} {to}");
        }
    }
}

#[test]
fn renaming_classes_renames_the_law() {
    let mut rng = StdRng::seed_from_u64(2);
    for setting in settings() {
        let counts = random_counts(&mut rng, 5);
        let order = [3, 0, 4, 1, 2];
        let renamed: Vec<u32> = order.iter().map(|&class| counts[class]).collect();
        let (law_of, law_of_renamed) = (law(&setting, &counts), law(&setting, &renamed));
        for (place, &class) in order.iter().enumerate() {
            assert!((law_of_renamed[place] - law_of[class]).abs() < 1e-12, "{setting:?}");
        }
    }
}

/// What one more voter gains in expected worth by its best vote, instead of that for its favourite,
/// class 0. Nothing it can do gains more than what its vote moves at all.
#[test]
fn only_a_random_ballot_is_safe_from_insincerity() {
    let mut rng = StdRng::seed_from_u64(3);
    for polynomial in POLYNOMIALS {
        let setting = Setting { polynomial: polynomial.parse().unwrap(), ..Setting::default() };
        let mut largest = 0.0_f64;
        for _ in 0..200 {
            let others = random_counts(&mut rng, 4);
            let worths = [1.0, 0.9, rng.random(), 0.0];
            let laws = [0, 1, 2, 3].map(|vote| law_with(&setting, &others, 1, vote));
            let worth = |law: &Vec<f64>| law.iter().zip(worths).map(|(p, worth)| p * worth).sum();
            let sincere: f64 = worth(&laws[0]);
            for lie in &laws[1..] {
                let gain = worth(lie) - sincere;
                let moved = lie.iter().zip(&laws[0]).map(|(lie, truth)| (lie - truth).max(0.0));
                assert!(gain <= moved.sum::<f64>() + 1e-12, "{polynomial} {others:?}");
                largest = largest.max(gain);
            }
        }
        // Rounding errors are no gain.
        assert_eq!(largest > 1e-4, polynomial != "X", "{polynomial}: {largest}");
        assert!(largest < if polynomial == "X" { 1e-14 } else { 0.1 }, "{polynomial}: {largest}");
    }
}

#[test]
fn a_coalition_does_what_its_members_do_one_after_another() {
    let setting = Setting::default();
    // The runner-up, if so many voters vote for it instead of for the leader.
    let influence = |others: &[u32], coalition: u32| {
        let probability = |class| law_with(&setting, others, coalition, class)[1];
        probability(1) - probability(0)
    };
    let step = |member: u32| influence(&[119 - member, 80 + member, 30, 20], 1);
    let sum: f64 = (0..20).map(step).sum();
    let [all, half] = [20, 10].map(|coalition| influence(&[100, 80, 30, 20], coalition));
    assert!((all - sum).abs() < 1e-12 && all > half, "{all} {sum} {half}");
}
