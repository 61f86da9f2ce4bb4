//! SPEED's noisy argmax, with noise that the teachers add in shares: its output law and its
//! accounting, whichever law the noise has.
//!
//! **Votes.** Where everybody has one vote per sample, a label has the price of
//! [`label_only`](super::label_only): of the label, with the law of the noise that was promised.
//! What follows is the price of the noisy counts, which counts of several voters keep, and which
//! the other is never above.
//!
//! **Skellam noise**: [`skellam`](super::skellam) has the accounting. No analysis that depends on
//! the votes is known: what holds for all votes holds for these. The same for **weighted fair
//! bits**, where everybody has one vote.
//!
//! **Discrete Laplace noise** of scale b, or more where fewer teachers are missing than were
//! allowed for (see [`shield_core::shared_noise::polya`]). The noisy counts are (2/b)-private, up
//! to the precision of the draws, so LNMax's accounting holds as it stands: alpha(l) <= min(2
//! gamma^2 l (l+1), 2 gamma l) with gamma = 1/b follows from 2 gamma-privacy alone, and so does
//! Theorem 3 of Papernot et al. (2017), given q. What LNMax's formulas for the continuous law
//! cannot be used for is q itself, at least the probability that the output is not the leader, and
//! the law of the output: counts can tie now. Here
//!
//! - q is at most the sum over the others of P(Z' - Z >= d), d being the leader's lead, with the
//!   exact law of the difference of two noises; for b large it tends to LNMax's (2 + d/b)/4
//!   e^(-d/b);
//! - the output law sums over the integers, and ties go to the lowest class.
//!
//! Both are those of all teachers taking part. The data-independent figure holds for any number of
//! them from n - D on.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

use super::Usage;
use super::conversion::Conversion;
use super::filter::{MOST_PRICED, with_simulations};
use super::label_only::{LabelOnly, Strategy};
use super::moments::ROUND_UP;
use super::noisy_argmax::{error_bound, laplace_bound, pure_log_moment};
use super::price::{FromVotes, LogMoment, Proven, composed};
use super::skellam::{Sensitivity, Shifts};
use shield_core::Watch;
use shield_core::distribution::OutputDistribution;
use shield_core::histogram::Histogram;
use shield_core::parameters::{Epsilon, ParameterError, Queries};
use shield_core::shared_noise::{Imprecision, NoiseFamily, NoiseLaw, SharedNoise};

/// The chance per label, at most, that an encrypted release shows more than the label: that noise
/// takes a difference of counts out of the range that the engine compares. Engines plan for it, and
/// the price of a label pays for it, as [`label_only`](super::label_only) says.
pub const SHOWN: f64 = 1.0 / (1_u64 << 50) as f64;

/// The argmax of counts with noise in shares.
#[derive(Clone, Debug)]
pub struct SharedArgmax {
    query: Query,
    imprecision: Imprecision,
    /// The law with all shares.
    everyone: NoiseLaw,
    /// What the label alone costs, where it is known: shared by all that price the same noise.
    label: Option<Arc<Mutex<LabelOnly>>>,
}

/// What one query reveals at most.
#[derive(Clone, Debug)]
enum Query {
    /// It is purely private. The law is that of the difference of two noises.
    Laplace { epsilon: f64, difference: NoiseLaw },
    /// One vote shifts two counts by one; counts of several voters, for Skellam noise alone, more.
    Shifts(Shifts),
}

impl SharedArgmax {
    /// The accounting of some noise on each of so many classes, and of what one participant can
    /// change of their counts. What several counts of one participant cost is proven for Skellam
    /// noise alone.
    pub fn new(
        noise: &SharedNoise,
        classes: usize,
        sensitivity: Sensitivity,
    ) -> Result<Self, ParameterError> {
        let imprecision = noise.imprecision(classes);
        let query = match (noise.family(), sensitivity) {
            (NoiseFamily::Skellam, _) | (NoiseFamily::Bits(_), Sensitivity::Vote) => {
                Query::Shifts(Shifts::new(noise, sensitivity))
            }
            (NoiseFamily::Laplace, Sensitivity::Vote) => Query::Laplace {
                epsilon: 2.0 / noise.scale().get() + imprecision.epsilon,
                difference: noise.difference_law(noise.teachers()),
            },
            (law, Sensitivity::Counts(_)) => {
                return Err(ParameterError {
                    parameter: "the law of the noise",
                    value: law.to_string(),
                    allowed: "what counts of several voters cost is proven for skellam noise alone",
                });
            }
        };
        let label = match sensitivity {
            Sensitivity::Vote => LabelOnly::of_shares(noise),
            Sensitivity::Counts(_) => None,
        };
        let label = label.map(|label| Arc::new(Mutex::new(label)));
        Ok(Self { query, imprecision, everyone: noise.law(noise.teachers()), label })
    }

    /// The same where everybody has one vote per sample, which is known for every noise.
    pub fn of_votes(noise: &SharedNoise, classes: usize) -> Self {
        Self::new(noise, classes, Sensitivity::Vote).expect("votes are known for every noise")
    }

    /// Says how far tight composition is, in percent.
    #[must_use]
    pub fn watched(self, watch: &Watch) -> Self {
        if let Some(mut label) = self.label() {
            label.watch(watch);
        }
        self
    }

    /// The data-independent log-moment of one query, and the order that it is for: the next on a
    /// grid.
    pub fn log_moment(&self, order: f64) -> (f64, LogMoment) {
        let (order, of_label) = match self.label() {
            Some(mut label) => label.log_moment(order),
            None => (order, LogMoment::UNKNOWN),
        };
        let drawn = LogMoment::new(of_label.get() + self.imprecision.epsilon * order);
        (order, drawn.smaller(LogMoment::new(self.moment(order))))
    }

    fn label(&self) -> Option<MutexGuard<'_, LabelOnly>> {
        Some(self.label.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The log-moment of the noisy counts of one query.
    fn moment(&self, order: f64) -> f64 {
        match &self.query {
            Query::Laplace { epsilon, .. } => pure_log_moment(*epsilon, order),
            Query::Shifts(shifts) => shifts.log_moment(order) + self.imprecision.epsilon * order,
        }
    }

    /// How far, as a statistical distance, what one query shows is from what its moment is about:
    /// half of it on either side costs e^epsilon times as much.
    pub fn distance(&self) -> f64 {
        let beyond = match &self.query {
            Query::Laplace { .. } => 0.0,
            Query::Shifts(shifts) => shifts.beyond(),
        };
        let label = self.label.as_ref().map_or(0.0, |_| LabelOnly::DISTANCE + SHOWN);
        self.imprecision.delta + beyond + label
    }

    /// What one query takes of delta beside its moment, where epsilon is at most [`MOST_PRICED`].
    pub fn lost_delta(&self) -> f64 {
        with_simulations(0.0, MOST_PRICED, self.distance())
    }

    /// What one query takes of delta where all noisy counts are seen.
    fn lost_of_counts(&self) -> f64 {
        match &self.query {
            Query::Laplace { .. } => self.imprecision.delta,
            Query::Shifts(shifts) => self.imprecision.delta + shifts.beyond(),
        }
    }

    /// The data-independent cost by moments.
    pub fn by_moments(&self, usage: Usage) -> Proven {
        self.of_label(usage, self.counts_by_moments(usage), LabelOnly::by_moments)
    }

    /// The data-independent cost, composed tightly where one vote is protected; by moments where a
    /// whole histogram is, because no single pair of laws dominates all its changes.
    pub fn tight(&self, usage: Usage) -> Proven {
        self.of_label(usage, self.of_counts(usage), LabelOnly::tight)
    }

    /// The smaller of a price of the noisy counts and of what is proven for the label.
    fn of_label(
        &self,
        usage: Usage,
        of_counts: Proven,
        prove: impl Fn(&mut LabelOnly, Usage, Proven) -> Proven,
    ) -> Proven {
        let (Some(mut label), Some(rest)) = (self.label(), self.rest(usage, of_counts)) else {
            return of_counts;
        };
        let label = prove(&mut label, rest, Proven::new(of_counts.epsilon(), rest.delta)).get();
        let total = label + usage.queries.count() as f64 * self.imprecision.epsilon;
        let found = Epsilon::new(total).unwrap_or(Epsilon::INFINITE);
        of_counts.smaller(Proven::new(found, usage.delta))
    }

    /// The same usage with what is left of delta where the price is that of the label, and another
    /// is known to be enough: without what the draws' precision and [`SHOWN`] take. Precision may
    /// make each of a label's probabilities larger by a factor of e^epsilon, too.
    fn rest(&self, usage: Usage, enough: Proven) -> Option<Usage> {
        let Imprecision { epsilon, delta } = self.imprecision;
        let shown = with_simulations(delta, enough.get(), SHOWN);
        usage.after(shown + epsilon * usage.delta.get())
    }

    /// What an adversary achieves, at least, where the label alone is seen. `None` where the price
    /// is not that of the label, or infinite.
    pub fn strategy(&self, usage: Usage) -> Option<Strategy> {
        let of_counts = self.of_counts(usage);
        let rest = self.rest(usage, of_counts)?;
        self.label()?.strategy(rest, Proven::new(of_counts.epsilon(), rest.delta))
    }

    /// The data-independent cost of the noisy counts by moments.
    fn counts_by_moments(&self, usage: Usage) -> Proven {
        Proven::by_moments(usage, self.lost_of_counts(), |order| self.moment(order))
    }

    /// The data-independent cost of the noisy counts, were they all released.
    pub fn of_counts(&self, usage: Usage) -> Proven {
        let Some(rest) = usage.after(self.lost_of_counts()) else {
            return Proven::infinite(usage.delta);
        };
        let epsilon = match &self.query {
            Query::Laplace { epsilon, .. } => Proven::of_pure(*epsilon, rest).epsilon(),
            Query::Shifts(shifts) if shifts.sensitivity == Sensitivity::Vote => {
                let count = usage.queries.count();
                let Ok(queries) = Queries::new(count.saturating_mul(2)) else {
                    return Proven::infinite(usage.delta);
                };
                let epsilon = composed(&shifts.pair(), Usage { queries, ..rest }).get();
                let total = epsilon + count as f64 * self.imprecision.epsilon;
                Epsilon::new(total).unwrap_or(Epsilon::INFINITE)
            }
            Query::Shifts(_) => return self.counts_by_moments(usage),
        };
        Proven::new(epsilon, usage.delta)
    }

    /// At least the probability that the output is not the leader.
    fn error_bound(difference: &NoiseLaw, histogram: &Histogram) -> f64 {
        let sum = error_bound(histogram, |lead| difference.at_least(i64::from(lead)));
        (sum * ROUND_UP).min(1.0)
    }

    /// The cost of the votes at hand, where it is known to be less than that of all votes.
    pub(crate) fn data_dependent(
        &self,
        histograms: &[Histogram],
        usage: Usage,
        conversion: Conversion,
    ) -> FromVotes {
        let Some(usage) = usage.after(self.lost_of_counts()) else {
            return FromVotes::new(Epsilon::INFINITE);
        };
        match &self.query {
            Query::Laplace { epsilon, difference } => {
                let error = |histogram| Self::error_bound(difference, histogram);
                let errors: Vec<f64> = histograms.par_iter().map(error).collect();
                FromVotes::averaged(&errors, usage, conversion, |&q, order| {
                    laplace_bound(*epsilon, q, order).min(self.moment(order))
                })
            }
            Query::Shifts(_) => {
                let count = usage.queries.count() as f64;
                let best = conversion.minimise(usage.delta, |order| count * self.moment(order));
                FromVotes::new(best.rounded_up())
            }
        }
    }

    /// The output law with everyone's shares.
    pub fn law(&self, histogram: &Histogram) -> OutputDistribution {
        self.law_from(histogram, None)
    }

    /// The same where samples have no label whose largest noisy count is below a threshold.
    pub fn law_from(&self, histogram: &Histogram, threshold: Option<u32>) -> OutputDistribution {
        law_of(&self.everyone, histogram, threshold.map(i64::from))
    }

    /// The chance that the largest noisy count reaches a threshold.
    pub fn answered(&self, histogram: &Histogram, threshold: u32) -> f64 {
        1.0 - below(&self.everyone, histogram, i64::from(threshold))
    }
}

/// The chance that all noisy counts are below a threshold.
fn below(noise: &NoiseLaw, histogram: &Histogram, threshold: i64) -> f64 {
    let counts = histogram.counts().iter().map(|&count| i64::from(count));
    counts.map(|count| 1.0 - noise.at_least(threshold - count)).product()
}

/// The output law: class k wins at x if its noisy count is x, all before it are below and all
/// behind it not above; nobody wins below the threshold.
fn law_of(noise: &NoiseLaw, histogram: &Histogram, threshold: Option<i64>) -> OutputDistribution {
    let counts: Vec<i64> = histogram.counts().iter().map(|&count| i64::from(count)).collect();
    let top = counts.iter().copied().max().unwrap_or(0);
    let reach = noise.reach();
    let mut law = vec![0.0; counts.len()];
    let mut behind = vec![1.0; counts.len() + 1];
    for x in threshold.unwrap_or(i64::MIN).max(top - reach)..=top + reach {
        for (class, &count) in counts.iter().enumerate().rev() {
            let not_above = 1.0 - noise.at_least(x - count + 1);
            behind[class] = behind[class + 1] * not_above;
        }
        let mut before = 1.0;
        for (class, &count) in counts.iter().enumerate() {
            law[class] += before * noise.probability(x - count) * behind[class + 1];
            before *= 1.0 - noise.at_least(x - count);
        }
    }
    let silent = threshold.map_or(0.0, |threshold| below(noise, histogram, threshold));
    let total = law.iter().sum::<f64>() + silent;
    OutputDistribution::from_logs(law.iter().map(|p| (p / total).ln()), (silent / total).ln())
}

#[cfg(test)]
mod tests;
