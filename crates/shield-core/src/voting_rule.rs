//! SHIELD as a voting rule: what is fair about it, and how much a voter or a coalition can do.
//!
//! In the notation of `shield_privacy::data_independent`: class k wins with probability P_k, which
//! depends on the votes through the histogram only.
//!
//! - **Anonymous**: draws do not know who voted what; P is a function of the histogram.
//! - **Neutral**: every class has the same dummies, and unanimity does not know classes; renaming
//!   classes renames P.
//! - **Monotone**: a vote that moves to class k never makes k less likely, and never makes the
//!   class that it left more likely. Proof: step 2 of that module. For a move from a larger class
//!   to one that is no larger, every B_p grows, so the gainer becomes more likely and, all others
//!   growing too, the loser less. For a move from a smaller class to a larger one read the move
//!   backwards: the larger class is then the loser.
//! - **A voter's favourite**: by monotonicity nothing that a voter can do makes its favourite
//!   likelier than voting for it. A voter who cares about more than its favourite may still gain by
//!   voting for its second choice ([`gain_from_insincerity`]). Exactly one kind of polynomial rules
//!   that out, that of degree 1: a random ballot. Others pay for their accuracy with a gain that is
//!   at most the total variation between neighbours, so at most what privacy allows anyone to move.
//! - **Coalitions**: t voters move the law by at most t such steps ([`influence`]).

use crate::distribution::OutputDistribution;
use crate::setting::Setting;

/// How much a voter gains by not voting for its favourite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// The class it votes for instead: its own favourite if nothing else is better.
    pub vote: usize,
    /// What it gains in expected utility; at least 0.
    pub gain: f64,
}

/// The best vote of one more voter, given the votes of all others and what every class is worth to
/// it, from 0 to 1. "No label" is worth 0.
pub fn gain_from_insincerity(setting: &Setting, others: &[u32], utilities: &[f64]) -> Gain {
    let expected = |vote: usize| {
        let mut counts = others.to_vec();
        counts[vote] += 1;
        let law = OutputDistribution::of_counts(setting, &counts);
        law.probabilities().zip(utilities).map(|(p, utility)| p * utility).sum::<f64>()
    };
    let favourite =
        (0..utilities.len()).max_by(|&a, &b| utilities[a].total_cmp(&utilities[b])).unwrap_or(0);
    let sincere = expected(favourite);
    let mut best = Gain { vote: favourite, gain: 0.0 };
    for vote in (0..others.len().min(utilities.len())).filter(|&vote| vote != favourite) {
        let gain = expected(vote) - sincere;
        // Rounding errors are not worth a lie.
        if gain > best.gain.max(1e-14) {
            best = Gain { vote, gain };
        }
    }
    best
}

/// By how much a coalition can raise the probability of a class: all its members vote for it,
/// instead of for `otherwise`.
pub fn influence(
    setting: &Setting,
    others: &[u32],
    coalition: u32,
    class: usize,
    otherwise: usize,
) -> f64 {
    let probability = |vote: usize| {
        let mut counts = others.to_vec();
        counts[vote] += coalition;
        OutputDistribution::of_counts(setting, &counts).log_classes()[class].exp()
    };
    probability(class) - probability(otherwise)
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    use super::*;
    use crate::parameters::{Offset, Sampling};

    const POLYNOMIALS: [&str; 5] =
        ["X", "2X^3+3X^2+X", "8X^4+6X^3+4X^2+X", "3X^2", "12X^5+23X^4+20X^3+8X^2+X"];

    fn settings() -> impl Iterator<Item = Setting> {
        POLYNOMIALS.into_iter().flat_map(|polynomial| {
            [Sampling::WithReplacement, Sampling::WithoutReplacement].into_iter().flat_map(
                move |sampling| {
                    [0, 1, 5].into_iter().map(move |offset| Setting {
                        polynomial: polynomial.parse().unwrap(),
                        offset: Offset::new(offset).unwrap(),
                        sampling,
                    })
                },
            )
        })
    }

    fn random_counts(rng: &mut StdRng, classes: usize) -> Vec<u32> {
        let most = rng.random_range(1..60);
        (0..classes).map(|_| rng.random_range(0..=most)).collect()
    }

    fn law(setting: &Setting, counts: &[u32]) -> Vec<f64> {
        let law = OutputDistribution::of_counts(setting, counts);
        law.probabilities().chain([law.failure()]).collect()
    }

    #[test]
    fn a_vote_never_hurts_the_class_it_is_for() {
        let mut rng = StdRng::seed_from_u64(1);
        for setting in settings() {
            for _ in 0..60 {
                let counts = random_counts(&mut rng, 4);
                let (from, to) = (rng.random_range(0..4), rng.random_range(0..4));
                if from == to || counts[from] == 0 {
                    continue;
                }
                let mut moved = counts.clone();
                moved[from] -= 1;
                moved[to] += 1;
                let (before, after) = (law(&setting, &counts), law(&setting, &moved));
                assert!(after[to] >= before[to] - 1e-13, "{setting:?} {counts:?} {from} {to}");
                assert!(after[from] <= before[from] + 1e-13, "{setting:?} {counts:?} {from} {to}");
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

    #[test]
    fn only_a_random_ballot_is_safe_from_insincerity() {
        let mut rng = StdRng::seed_from_u64(3);
        let mut largest = [0.0f64; POLYNOMIALS.len()];
        for (polynomial, largest) in POLYNOMIALS.iter().zip(&mut largest) {
            let setting = Setting { polynomial: polynomial.parse().unwrap(), ..Setting::default() };
            for _ in 0..200 {
                let others = random_counts(&mut rng, 4);
                let utilities = [1.0, 0.9, rng.random(), 0.0];
                let gain = gain_from_insincerity(&setting, &others, &utilities);
                *largest = largest.max(gain.gain);
                // No more than what the vote moves at all.
                let with = |vote: usize| {
                    let mut counts = others.clone();
                    counts[vote] += 1;
                    law(&setting, &counts)
                };
                let moved: f64 = with(gain.vote)
                    .iter()
                    .zip(with(0))
                    .map(|(lie, truth)| (lie - truth).max(0.0))
                    .sum();
                assert!(gain.gain <= moved + 1e-12, "{polynomial} {others:?}");
            }
        }
        assert!(largest[0] == 0.0, "{largest:?}");
        assert!(largest[1..].iter().all(|&gain| gain > 1e-4), "{largest:?}");
    }

    #[test]
    fn a_coalition_does_what_its_members_do_one_after_another() {
        let setting = Setting::default();
        let others = [100, 80, 30, 20];
        let mut sum = 0.0;
        for member in 0..20 {
            let mut others = others.to_vec();
            others[1] += member;
            others[0] += 19 - member;
            sum += influence(&setting, &others, 1, 1, 0);
        }
        let together = influence(&setting, &others, 20, 1, 0);
        assert!((together - sum).abs() < 1e-12, "{together} {sum}");
        assert!(together > influence(&setting, &others, 10, 1, 0));
    }
}
