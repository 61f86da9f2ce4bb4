//! The paper's exponential operator: every vote is sampled independently.
//!
//! The paper (section 4.4) asks whether SHIELD could sample each vote on its own, and whether it
//! would not fail too often. Let a round draw every entry of the urn a Poisson number of times,
//! with rate lambda, and succeed with class k if it drew something and nothing but k. With f_k =
//! n_k + w entries of class k and F in all, that has the probability
//!
//! ```text
//! e^(-lambda (F - f_k)) (1 - e^(-lambda f_k)) = e^(-lambda F) (e^(lambda f_k) - 1)
//! ```
//!
//! which is exponential in the votes, as in the exponential mechanism, less a constant. A round
//! fails with the rest, and the next one draws anew, with its own rate: a [schedule](Round) of
//! rates takes the place of SHIELD's polynomial. No round always succeeds, as SHIELD's last one of
//! degree 1 does, so some samples stay without a label.
//!
//! The rates fall from round to round, so that the cost over all votes is proven like SHIELD's
//! ([`ExponentialOperator::worst_case`]; the proof is that of
//! [`data_independent`](crate::data_independent)). Nothing is proven for other schedules: they are
//! refused.

use serde::Serialize;

use crate::data_independent::DataIndependent;
use crate::rounds::Rounds;
use shield_core::distribution::{OutputDistribution, Stage};
use shield_core::histogram::Histogram;
use shield_core::parameters::{Classes, Offset, ParameterError, Voters};

/// Rounds with one rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Round {
    /// lambda: how often each entry of the urn is drawn, on average.
    pub rate: f64,
    /// How many rounds have this rate.
    pub rounds: u32,
}

/// The operator with its schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct ExponentialOperator {
    schedule: Vec<Round>,
    offset: Offset,
}

impl ExponentialOperator {
    /// Rounds in the order in which they run, and the dummies of each class.
    pub fn new(schedule: Vec<Round>, offset: Offset) -> Result<Self, ParameterError> {
        let good = |round: &Round| {
            round.rate > 0.0 && round.rate <= 100.0 && (1..=100_000).contains(&round.rounds)
        };
        let falls = schedule.windows(2).all(|pair| pair[0].rate >= pair[1].rate);
        if schedule.is_empty() || schedule.len() > 64 || !schedule.iter().all(good) || !falls {
            return Err(ParameterError {
                parameter: "the schedule",
                value: text(&schedule),
                allowed: "it must be 1 to 64 pairs of rounds and rate, such as 8x0.1,8x0.05; \
                          rates are positive, at most 100, and must not rise from round to round; \
                          rounds are 1 to 100,000",
            });
        }
        // Rounds of one rate in a row are one kind of round.
        let mut merged: Vec<Round> = Vec::with_capacity(schedule.len());
        for round in schedule {
            match merged.last_mut() {
                #[allow(clippy::float_cmp, reason = "the same number, typed twice")]
                Some(last) if last.rate == round.rate => last.rounds += round.rounds,
                _ => merged.push(round),
            }
        }
        Ok(Self { schedule: merged, offset })
    }

    /// Reads a schedule as in `8x0.1,8x0.05`: rounds x rate, in the order in which they run.
    pub fn parse(schedule: &str, offset: Offset) -> Result<Self, ParameterError> {
        let round = |part: &str| {
            let (rounds, rate) = part.trim().split_once('x')?;
            Some(Round { rounds: rounds.trim().parse().ok()?, rate: rate.trim().parse().ok()? })
        };
        let rounds: Option<Vec<Round>> = schedule.split(',').map(round).collect();
        Self::new(rounds.unwrap_or_default(), offset)
    }

    /// The rounds, in the order in which they run.
    pub fn schedule(&self) -> &[Round] {
        &self.schedule
    }

    /// The dummies of each class.
    pub fn offset(&self) -> Offset {
        self.offset
    }

    /// The schedule as text.
    pub fn text(&self) -> String {
        text(&self.schedule)
    }

    /// The output law on one sample.
    pub fn law(&self, histogram: &Histogram) -> OutputDistribution {
        let offset = f64::from(self.offset.dummies());
        let entries: Vec<f64> =
            histogram.counts().iter().map(|&count| f64::from(count) + offset).collect();
        let size: f64 = entries.iter().sum();
        let stages = self.schedule.iter().map(|round| {
            let log = |&own: &f64| {
                let nothing = -(-round.rate * own).exp_m1();
                -round.rate * (size - own) + nothing.ln()
            };
            Stage { rounds: round.rounds, log_unanimity: entries.iter().map(log).collect() }
        });
        OutputDistribution::of_stages(histogram.classes(), stages)
    }

    /// The worst case over all votes.
    pub fn worst_case(&self, classes: Classes, voters: Voters) -> DataIndependent {
        let rounds: Vec<(f64, u32)> =
            self.schedule.iter().rev().map(|round| (round.rate, round.rounds)).collect();
        let offset = self.offset.dummies();
        DataIndependent::of_rounds(Rounds::poisson(&rounds, offset, classes, voters.count()))
    }
}

fn text(schedule: &[Round]) -> String {
    let rounds = schedule.iter().map(|round| format!("{}x{}", round.rounds, round.rate));
    rounds.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Usage;
    use crate::moments::LawPair;
    use crate::price::FromVotes;
    use crate::queries::pair_of_laws;
    use rand::{Rng, SeedableRng, rngs::StdRng};
    use shield_core::parameters::Queries;

    fn operator(schedule: &str, offset: u32) -> ExponentialOperator {
        ExponentialOperator::parse(schedule, Offset::new(offset).unwrap()).unwrap()
    }

    #[test]
    fn the_law_by_simulation() {
        let operator = operator("2x0.4,3x0.15", 1);
        let counts = [5u32, 2, 0];
        let law = operator.law(&Histogram::new(counts.to_vec()).unwrap());
        let mut rng = StdRng::seed_from_u64(3);
        let (runs, mut outputs) = (200_000, [0u32; 4]);
        for _ in 0..runs {
            let rounds = operator
                .schedule()
                .iter()
                .flat_map(|r| std::iter::repeat_n(r.rate, usize::try_from(r.rounds).unwrap()));
            let label = rounds.into_iter().find_map(|rate| {
                // An entry is drawn at all with probability 1 - e^-rate: how often does not matter.
                let mut drawn = counts
                    .iter()
                    .map(|&count| (0..=count).any(|_| rng.random::<f64>() < -(-rate).exp_m1()));
                let drawn: Vec<bool> = drawn.by_ref().collect();
                let classes: Vec<usize> = (0..3).filter(|&k| drawn[k]).collect();
                (classes.len() == 1).then(|| classes[0])
            });
            outputs[label.unwrap_or(3)] += 1;
        }
        let expected: Vec<f64> = law.probabilities().chain([law.failure()]).collect();
        assert!((expected.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        for (&found, expected) in outputs.iter().zip(expected) {
            let share = f64::from(found) / f64::from(runs);
            let deviation = (expected * (1.0 - expected) / f64::from(runs)).sqrt();
            assert!((share - expected).abs() < 4.5 * deviation, "{share} {expected}");
        }
    }

    #[test]
    fn one_round_is_the_exponential_mechanism_less_a_constant() {
        let law = operator("1x0.3", 2).law(&Histogram::new(vec![6, 1]).unwrap());
        let ratio = law.probabilities().next().unwrap() / law.probabilities().last().unwrap();
        let expected = (0.3f64 * 8.0).exp_m1() / (0.3f64 * 3.0).exp_m1();
        assert!((ratio / expected - 1.0).abs() < 1e-12);
    }

    #[test]
    fn bad_schedules_are_refused() {
        let words = ["", "8", "8x", "x0.1", "0x0.1", "8x0", "8x-1", "8xinf", "8xnan", "8x0.1,,"];
        for bad in words.into_iter().chain(["2x0.1,2x0.2"]) {
            let offset = Offset::new(1).unwrap();
            assert!(ExponentialOperator::parse(bad, offset).is_err(), "{bad}");
        }
        assert_eq!(operator("8x0.1, 2x0.05", 1).text(), "8x0.1,2x0.05");
    }

    /// Every pair of neighbours of every histogram, and every adaptive choice is no better than the
    /// worst of them by moments.
    #[test]
    fn the_proven_cost_is_that_of_the_worst_pair() {
        // Few queries: exact costs of many take long.
        let usage = Usage { queries: Queries::new(10).unwrap(), ..Usage::default() };
        // The laws before and after a vote moves from the first class to the second.
        let move_of = |operator: &ExponentialOperator, mut counts: Vec<u32>| {
            let before = operator.law(&Histogram::new(counts.clone()).unwrap());
            counts[0] -= 1;
            counts[1] += 1;
            pair_of_laws(&before, &operator.law(&Histogram::new(counts).unwrap()))
        };
        for (schedule, offset, classes, voters) in
            [("4x0.3,4x0.1", 2, 3, 6u32), ("3x0.5", 1, 3, 5), ("2x1.5,9x0.2,5x0.01", 3, 4, 7)]
        {
            let operator = operator(schedule, offset);
            let (k, n) = (Classes::new(classes).unwrap(), Voters::new(voters).unwrap());
            let mut figure = operator.worst_case(k, n);
            let counts = all_counts(voters, classes).into_iter().filter(|c| c[0] > 0);
            let pairs: Vec<_> = counts.map(|counts| move_of(&operator, counts)).collect();
            for order in [1.5, 6.0, 25.0] {
                let (order, proven) = figure.log_moment(order);
                let proven = proven.get();
                let both =
                    |pair: &LawPair| pair.log_moment(order).max(pair.reversed().log_moment(order));
                let largest = pairs.iter().map(both).fold(0.0, f64::max);
                let close = proven >= largest && proven <= 1.011 * largest;
                assert!(close, "{schedule} {order}: {proven} {largest}");
            }
            let exact = |pair: &LawPair| FromVotes::tight(pair, usage).get();
            let worst = pairs.iter().map(exact).fold(0.0, f64::max);
            let tight = figure.exact(usage).get();
            assert!(tight >= worst * (1.0 - 1e-3) && tight < 1.1 * worst, "{tight} {worst}");
        }
    }

    fn all_counts(voters: u32, classes: usize) -> Vec<Vec<u32>> {
        if classes == 1 {
            return vec![vec![voters]];
        }
        let with = |first: u32| {
            let rest = all_counts(voters - first, classes - 1).into_iter();
            rest.map(move |rest| [&[first][..], &rest].concat())
        };
        (0..=voters).flat_map(with).collect()
    }
}
