//! The exact law of the operator's output.
//!
//! With f_k = (n_k + w)/(n + wK), a round of degree p succeeds with class k with probability
//! f_k^p, and at all with s_p = sum_k f_k^p. Without replacement f_k^p becomes a ratio of falling
//! factorials. A term of a rounds contributes, to class k,
//!
//! ```text
//! (what survived all earlier terms) * f_k^p * (1 - (1 - s_p)^a) / s_p
//! ```
//!
//! and lets (1 - s_p)^a of what reached it through to the next: the paper's recursion summed up
//! over a term, so that the cost does not depend on the coefficients. Everything is positive and
//! nothing is subtracted but 1 - s_p, so sums of logarithms keep their relative precision where
//! probabilities themselves would vanish (1,000 classes, degree 64, thousands of rounds).

use crate::histogram::Histogram;
use crate::parameters::{Class, Sampling};
use crate::setting::Setting;

/// The probability of each class and of "no label", as natural logarithms.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputDistribution {
    log_classes: Vec<f64>,
    log_failure: f64,
}

impl OutputDistribution {
    /// The law of the mechanism's output on one sample.
    pub fn of(setting: &Setting, histogram: &Histogram) -> Self {
        Self::of_counts(setting, histogram.counts())
    }

    /// The same, from bare counts: one per class.
    pub fn of_counts(setting: &Setting, counts: &[u32]) -> Self {
        let urn = UrnShares::new(setting, counts);
        let rows = setting.polynomial.terms().iter().map(|term| {
            let mut row = vec![f64::NEG_INFINITY; counts.len()];
            urn.log_unanimity(term.degree, &mut row);
            let success = urn.success(term.degree, &row);
            (term.rounds, row, success)
        });
        Self::of_rows(counts.len(), rows)
    }

    /// The law of any operator that outputs the class of the first round that succeeds.
    pub fn of_stages(classes: usize, stages: impl Iterator<Item = Stage>) -> Self {
        let rows = stages.map(|stage| {
            let success = Success::of(&stage.log_unanimity);
            (stage.rounds, stage.log_unanimity, success)
        });
        Self::of_rows(classes, rows)
    }

    fn of_rows(classes: usize, rows: impl Iterator<Item = (u32, Vec<f64>, Success)>) -> Self {
        // One row a term: the logarithms of what the term contributes to each class.
        let mut contributions = Vec::new();
        let mut log_survival = 0.0;
        for (rounds, mut row, success) in rows {
            let log_gain = success.log_gain(rounds) + log_survival;
            for contribution in &mut row {
                *contribution += log_gain;
            }
            contributions.append(&mut row);
            log_survival += success.log_all_fail(rounds);
            if log_survival == f64::NEG_INFINITY {
                break;
            }
        }
        let log_classes = (0..classes)
            .map(|class| log_sum_exp(contributions[class..].iter().step_by(classes)))
            .collect();
        Self { log_classes, log_failure: log_survival }
    }

    /// A law from the logarithms of its probabilities.
    pub fn from_logs(classes: impl IntoIterator<Item = f64>, log_failure: f64) -> Self {
        Self { log_classes: classes.into_iter().collect(), log_failure }
    }

    /// A law from the probabilities of the classes, where something always wins.
    pub fn from_probabilities(classes: impl IntoIterator<Item = f64>) -> Self {
        Self {
            log_classes: classes.into_iter().map(f64::ln).collect(),
            log_failure: f64::NEG_INFINITY,
        }
    }

    /// The natural logarithm of the probability of each class.
    pub fn log_classes(&self) -> &[f64] {
        &self.log_classes
    }

    /// The natural logarithm of the probability of "no label".
    pub fn log_failure(&self) -> f64 {
        self.log_failure
    }

    /// The probability of one class.
    pub fn probability(&self, class: Class) -> f64 {
        self.log_classes[class.index()].exp()
    }

    /// The probability of each class.
    pub fn probabilities(&self) -> impl ExactSizeIterator<Item = f64> + '_ {
        self.log_classes.iter().map(|log| log.exp())
    }

    /// The probability of "no label": 0 with a term of degree 1 and a vote in the urn.
    pub fn failure(&self) -> f64 {
        self.log_failure.exp()
    }
}

/// The urn of one histogram: how many entries each class has, and how many there are.
struct UrnShares {
    entries: Vec<f64>,
    log_shares: Vec<f64>,
    size: f64,
    sampling: Sampling,
}

/// Rounds that are alike.
pub struct Stage {
    /// How many there are.
    pub rounds: u32,
    /// For each class, the logarithm of the probability that a round is unanimous about it.
    pub log_unanimity: Vec<f64>,
}

/// How likely a single round of some degree is to succeed and to fail.
struct Success {
    log_success: f64,
    log_failure: f64,
}

impl UrnShares {
    fn new(setting: &Setting, counts: &[u32]) -> Self {
        let offset = f64::from(setting.offset.dummies());
        let entries: Vec<f64> = counts.iter().map(|&count| f64::from(count) + offset).collect();
        let size: f64 = entries.iter().sum();
        let log_shares = entries.iter().map(|&entries| (entries / size).ln()).collect();
        Self { entries, log_shares, size, sampling: setting.sampling }
    }

    /// For each class, the logarithm of the probability that a round is unanimous about it.
    fn log_unanimity(&self, degree: u32, row: &mut [f64]) {
        if self.size == 0.0 || self.sampling == Sampling::WithReplacement {
            for (log, &log_share) in row.iter_mut().zip(&self.log_shares) {
                *log = if self.size == 0.0 {
                    f64::NEG_INFINITY
                } else {
                    f64::from(degree) * log_share
                };
            }
            return;
        }
        for (log, &entries) in row.iter_mut().zip(&self.entries) {
            *log = (0..degree)
                .map(f64::from)
                .map(|taken| {
                    if entries > taken {
                        ((entries - taken) / (self.size - taken)).ln()
                    } else {
                        f64::NEG_INFINITY
                    }
                })
                .sum();
        }
    }

    /// How likely one round of this degree is to succeed, given [`Self::log_unanimity`].
    fn success(&self, degree: u32, log_unanimity: &[f64]) -> Success {
        if degree == 1 && self.size > 0.0 {
            return Success { log_success: 0.0, log_failure: f64::NEG_INFINITY };
        }
        Success::of(log_unanimity)
    }
}

impl Success {
    fn of(log_unanimity: &[f64]) -> Self {
        let top = log_unanimity.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if top == f64::NEG_INFINITY {
            return Success { log_success: top, log_failure: 0.0 };
        }
        // 1 - s = (1 - the leader's part) - the others' parts. The first bracket is computed
        // without cancellation even when one class holds nearly the whole urn; the others are then
        // tiny.
        let leader = log_unanimity.iter().position(|&log| log >= top).unwrap_or(0);
        let others: f64 = (0..)
            .zip(log_unanimity)
            .map(|(k, log)| if k == leader { 0.0 } else { log.exp() })
            .sum();
        let failure = (-top.exp_m1() - others).max(0.0);
        let success = top.exp() + others;
        Success {
            // Where every part is below the smallest number, their logarithms still have a sum.
            log_success: if success > f64::MIN_POSITIVE {
                success.ln()
            } else {
                log_sum_exp(log_unanimity.iter())
            },
            log_failure: if failure > 0.5 { (-success).ln_1p() } else { failure.ln() },
        }
    }

    /// log((1 - (1 - s)^a) / s): how much more likely a term of a rounds is to have a first success
    /// in some class than one single round is to succeed there.
    fn log_gain(&self, rounds: u32) -> f64 {
        if rounds == 1 || self.log_success == f64::NEG_INFINITY {
            return 0.0;
        }
        let rounds = f64::from(rounds);
        let exponent = rounds * self.log_failure;
        if exponent > -1e-12 {
            // 1 - (1 - s)^a = a s (1 - O(a s)) where a s is below the precision of the rest.
            return rounds.ln();
        }
        (-exponent.exp_m1()).ln() - self.log_success
    }

    /// log (1 - s)^a.
    fn log_all_fail(&self, rounds: u32) -> f64 {
        f64::from(rounds) * self.log_failure
    }
}

/// log(sum of exp), where the largest exponent decides.
fn log_sum_exp<'a>(logs: impl Iterator<Item = &'a f64> + Clone) -> f64 {
    let top = logs.clone().copied().fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        return top;
    }
    top + logs.map(|log| (log - top).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Offset;

    fn setting(polynomial: &str, offset: u32, sampling: Sampling) -> Setting {
        Setting {
            polynomial: polynomial.parse().unwrap(),
            offset: Offset::new(offset).unwrap(),
            sampling,
        }
    }

    /// The paper's recursion, round by round, in plain probabilities.
    fn by_recursion(setting: &Setting, counts: &[u32]) -> (Vec<f64>, f64) {
        let entries: Vec<f64> =
            counts.iter().map(|&n| f64::from(n + setting.offset.dummies())).collect();
        let size: f64 = entries.iter().sum();
        let mut law = vec![0.0; counts.len()];
        let mut failure = 1.0;
        let rounds: Vec<u32> = setting.polynomial.rounds().collect();
        for &degree in rounds.iter().rev() {
            let unanimous: Vec<f64> = entries
                .iter()
                .map(|&entries| {
                    (0..degree)
                        .map(|i| match setting.sampling {
                            Sampling::WithReplacement => entries / size,
                            Sampling::WithoutReplacement => {
                                (entries - f64::from(i)).max(0.0) / (size - f64::from(i))
                            }
                        })
                        .product()
                })
                .collect();
            let fail = 1.0 - unanimous.iter().sum::<f64>();
            for (probability, unanimous) in law.iter_mut().zip(&unanimous) {
                *probability = unanimous + fail * *probability;
            }
            failure *= fail;
        }
        (law, failure)
    }

    #[test]
    fn agrees_with_the_recursion_round_by_round() {
        for sampling in [Sampling::WithReplacement, Sampling::WithoutReplacement] {
            for polynomial in ["X", "X^2", "3X^2", "2X^3+3X^2+X", "8X^4+6X^3+4X^2+X", "5X^7+2X^5"] {
                for offset in [0, 1, 5] {
                    for counts in [&[7, 2, 0][..], &[250, 0], &[20, 20, 20, 20], &[9, 0, 1, 40, 3]]
                    {
                        let setting = setting(polynomial, offset, sampling);
                        let law = OutputDistribution::of_counts(&setting, counts);
                        let (expected, failure) = by_recursion(&setting, counts);
                        for (found, expected) in law.probabilities().zip(expected) {
                            assert!((found - expected).abs() < 1e-12, "{setting:?} {counts:?}");
                        }
                        assert!((law.failure() - failure).abs() < 1e-12, "{setting:?} {counts:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn stays_a_distribution_at_the_extremes() {
        let mut counts = vec![0; 1000];
        counts[3] = 90_000;
        counts[500] = 10_000;
        let spread = vec![100; 1000];
        for sampling in [Sampling::WithReplacement, Sampling::WithoutReplacement] {
            for polynomial in ["5000X^64+4000X^9+3X^2+X", "100000X^128", "X^64+X"] {
                for counts in [&counts, &spread] {
                    let law =
                        OutputDistribution::of_counts(&setting(polynomial, 1, sampling), counts);
                    let total: f64 = law.probabilities().sum::<f64>() + law.failure();
                    assert!((total - 1.0).abs() < 1e-9, "{polynomial}: {total}");
                    assert!(law.log_classes().iter().all(|log| !log.is_nan() && *log <= 1e-12));
                }
            }
        }
    }

    #[test]
    fn vanishing_probabilities_keep_their_logarithm() {
        // f^64 = (1/101,000)^64 is below the smallest f64, its logarithm is an ordinary number.
        let mut counts = vec![0; 1000];
        counts[0] = 100_000;
        let law =
            OutputDistribution::of_counts(&setting("X^64", 1, Sampling::WithReplacement), &counts);
        let expected = -64.0 * 101_000f64.ln();
        assert!((law.log_classes()[1] - expected).abs() < 1e-9);
    }

    #[test]
    fn an_empty_urn_gives_no_label() {
        let law =
            OutputDistribution::of_counts(&setting("X", 0, Sampling::WithReplacement), &[0, 0]);
        assert_eq!((law.failure(), law.probability(Class(0))), (1.0, 0.0));
    }

    #[test]
    fn one_class_alone_always_wins() {
        let law =
            OutputDistribution::of_counts(&setting("2X^4", 0, Sampling::WithReplacement), &[9, 0]);
        assert_eq!((law.failure(), law.probability(Class(0))), (0.0, 1.0));
    }
}
