//! What labels cost, as types: a price that holds for all votes there could be is not of the type
//! of one that was computed from the votes at hand.
//!
//! A figure that depends on the votes says something about them. So a ledger, a release or a page
//! takes [`Proven`]; [`FromVotes`] stays with whoever has the votes. Only the functions of this
//! crate that prove a price make a [`Proven`], and nothing makes one of a [`FromVotes`]:
//!
//! ```
//! use shield_core::{Histogram, Setting, Watch};
//! use shield_privacy::mechanism::Observed;
//! use shield_privacy::{Mechanism, Proven, Usage};
//!
//! fn publish(price: Proven) -> String {
//!     format!("epsilon {price:.3} at delta {:e}", price.delta().get())
//! }
//!
//! let histograms = [Histogram::new(vec![3, 1])?];
//! let observed = Observed { histograms: &histograms, votes: None };
//! let shield = Mechanism::Shield(Setting::default());
//! let costs = shield.costs(observed, Usage::default(), &Watch::default());
//! publish(costs.moments.data_independent);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The paper's figure depends on the votes, and the compiler refuses to publish it:
//!
//! ```compile_fail,E0308
//! use shield_core::{Histogram, Setting, Watch};
//! use shield_privacy::mechanism::Observed;
//! use shield_privacy::{Mechanism, Proven, Usage};
//!
//! fn publish(price: Proven) -> String {
//!     format!("epsilon {price:.3} at delta {:e}", price.delta().get())
//! }
//!
//! let histograms = [Histogram::new(vec![3, 1])?];
//! let observed = Observed { histograms: &histograms, votes: None };
//! let shield = Mechanism::Shield(Setting::default());
//! let costs = shield.costs(observed, Usage::default(), &Watch::default());
//! publish(costs.published);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::cmp::Ordering;
use std::fmt;
use std::ops::Add;

use serde::{Deserialize, Serialize, Serializer};

use super::Usage;
use super::conversion::Conversion;
use super::loss_distribution::{LARGEST_LOSS, LossDistribution};
use super::moments::{LawPair, Outcome, ROUND_UP};
use shield_core::parameters::{Delta, Epsilon};

/// An epsilon with its delta, for all votes there could be: may be booked and published.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Proven {
    epsilon: Epsilon,
    delta: Delta,
}

impl Proven {
    pub(crate) fn new(epsilon: Epsilon, delta: Delta) -> Self {
        Self { epsilon, delta }
    }

    pub(crate) fn free(delta: Delta) -> Self {
        Self::new(Epsilon::ZERO, delta)
    }

    pub(crate) fn infinite(delta: Delta) -> Self {
        Self::new(Epsilon::INFINITE, delta)
    }

    /// What some labels cost together, which take so much of delta besides, and whose moment at an
    /// order is told with the order that it was proven for. Each order proves an epsilon; the least
    /// of them counts.
    pub fn of_moments(
        delta: Delta,
        lost: f64,
        mut moment: impl FnMut(f64) -> (f64, LogMoment),
    ) -> Self {
        let mut best = Epsilon::INFINITE;
        let Ok(rest) = Delta::new(delta.get() - lost) else { return Self::infinite(delta) };
        Conversion::Renyi.minimise(rest, |wanted| {
            let (order, moment) = moment(wanted);
            // Without a moment both laws are the same.
            let free = moment == LogMoment::default();
            let epsilon = if free { Epsilon::ZERO } else { moment.at(order, rest).epsilon };
            best = if epsilon < best { epsilon } else { best };
            moment.get()
        });
        Self::new(best, delta)
    }

    /// The same labels, each of which has this log-moment and takes so much of delta besides.
    pub(crate) fn by_moments(usage: Usage, lost: f64, log_moment: impl Fn(f64) -> f64) -> Self {
        let Some(Usage { queries, delta }) = usage.after(lost) else {
            return Self::infinite(usage.delta);
        };
        let count = queries.count() as f64;
        let best = Conversion::Renyi.minimise(delta, |order| count * log_moment(order));
        Self::new(best.rounded_up(), usage.delta)
    }

    /// Labels that are each purely private, composed tightly: randomised response dominates every
    /// such query, whoever chooses it (Kairouz, Oh and Viswanath, 2015).
    pub(crate) fn of_pure(epsilon: f64, usage: Usage) -> Self {
        let total = epsilon.exp().ln_1p();
        let pair = LawPair::new([
            Outcome { log_p: epsilon - total, log_q: -total, copies: 1.0 },
            Outcome { log_p: -total, log_q: epsilon - total, copies: 1.0 },
        ]);
        Self::new(composed(&pair, usage), usage.delta)
    }

    /// The cost.
    pub fn epsilon(self) -> Epsilon {
        self.epsilon
    }

    /// The failure probability that it is stated for.
    pub fn delta(self) -> Delta {
        self.delta
    }

    /// The cost as a number.
    pub fn get(self) -> f64 {
        self.epsilon.get()
    }

    /// Of two proofs about the same labels, the one that says more.
    #[must_use]
    pub fn smaller(self, other: Self) -> Self {
        if other.epsilon < self.epsilon { other } else { self }
    }

    /// The worse of two cases.
    #[must_use]
    pub fn larger(self, other: Self) -> Self {
        if other.epsilon > self.epsilon { other } else { self }
    }
}

impl PartialEq<Epsilon> for Proven {
    fn eq(&self, budget: &Epsilon) -> bool {
        self.epsilon == *budget
    }
}

impl PartialOrd<Epsilon> for Proven {
    fn partial_cmp(&self, budget: &Epsilon) -> Option<Ordering> {
        self.epsilon.partial_cmp(budget)
    }
}

impl fmt::Display for Proven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.epsilon.fmt(f)
    }
}

impl Serialize for Proven {
    /// As its epsilon: documents state their delta once.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.epsilon.serialize(serializer)
    }
}

/// An epsilon that was computed from the votes at hand: says something about them, so it must not
/// be published.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct FromVotes(Epsilon);

impl FromVotes {
    pub(crate) fn new(epsilon: Epsilon) -> Self {
        Self(epsilon)
    }

    /// What queries cost whose log-moments are averaged over some samples.
    pub(crate) fn averaged<T>(
        samples: &[T],
        usage: Usage,
        conversion: Conversion,
        log_moment: impl Fn(&T, f64) -> f64,
    ) -> Self {
        let scale = usage.queries.count() as f64 / samples.len().max(1) as f64 * ROUND_UP;
        let sum = |order: f64| samples.iter().map(|one| log_moment(one, order)).sum::<f64>();
        Self(conversion.minimise(usage.delta, |order| scale * sum(order)).rounded_up())
    }

    /// What every query costs that is answered from this one pair of laws, in its worse direction,
    /// by moments.
    pub fn by_moments(pair: &LawPair, usage: Usage) -> Self {
        let back = pair.reversed();
        let queries = usage.queries.count() as f64;
        let moment = |order: f64| queries * pair.log_moment(order).max(back.log_moment(order));
        Self(Conversion::Renyi.minimise(usage.delta, moment).rounded_up())
    }

    /// The same, composed tightly.
    pub fn tight(pair: &LawPair, usage: Usage) -> Self {
        Self(composed(pair, usage))
    }

    /// The cost as a number.
    pub fn get(self) -> f64 {
        self.0.get()
    }

    /// Of two figures about the same labels, the one that says more.
    #[must_use]
    pub(crate) fn smaller(self, other: Self) -> Self {
        if other < self { other } else { self }
    }
}

impl From<Proven> for FromVotes {
    /// What holds for all votes holds for those at hand.
    fn from(price: Proven) -> Self {
        Self(price.epsilon)
    }
}

impl fmt::Display for FromVotes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A log-moment ln E[(P/Q)^l] for all votes there could be: what ledgers add up, order by order.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct LogMoment(f64);

impl LogMoment {
    /// Of what is not proven yet: it may be anything.
    pub const UNKNOWN: Self = Self(f64::INFINITY);

    pub(crate) fn new(log_moment: f64) -> Self {
        Self(log_moment)
    }

    /// A moment that a ledger has: it was proven when it was booked.
    pub fn booked(log_moment: f64) -> Self {
        Self(log_moment)
    }

    /// The number, to be booked.
    pub fn get(self) -> f64 {
        self.0
    }

    /// That of so many labels.
    #[must_use]
    pub fn times(self, labels: u64) -> Self {
        Self(labels as f64 * self.0)
    }

    /// Of two bounds of the same moment, the closer one.
    #[must_use]
    pub fn smaller(self, other: Self) -> Self {
        Self(self.0.min(other.0))
    }

    /// The worse of two cases.
    #[must_use]
    pub fn larger(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }

    /// The price that it proves at its order.
    pub fn at(self, order: f64, delta: Delta) -> Proven {
        let epsilon = Conversion::Renyi.epsilon(order, self.0, delta) * (1.0 + 1e-12);
        Proven::new(Epsilon::new(epsilon).unwrap_or(Epsilon::INFINITE), delta)
    }
}

impl fmt::Display for LogMoment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Add for LogMoment {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

/// The cost of answering every query from one pair of laws, in its worse direction, composed
/// tightly.
pub(crate) fn composed(pair: &LawPair, usage: Usage) -> Epsilon {
    let one_way = |pair: &LawPair| {
        let likely = pair.outcomes().iter().filter(|o| o.log_p > f64::NEG_INFINITY);
        let losses = likely.map(|o| (o.copies * o.log_p.exp(), (o.log_p - o.log_q).abs()));
        let losses = losses.map(|(mass, loss)| (mass, loss.min(LARGEST_LOSS)));
        let (mut variance, mut largest) = (0.0, 0.0f64);
        for (mass, loss) in losses {
            variance += mass * loss * loss;
            largest = largest.max(loss);
        }
        // Steps far below the typical loss, so that what the grid adds is far below what is there;
        // but no more of them than a transform handles in no time.
        let step = (variance.sqrt() / 64.0).clamp(1e-7, 1e-3).max(largest / 5e4);
        LossDistribution::of(pair, step).epsilon(usage.queries.count(), usage.delta)
    };
    let (there, back) = (one_way(pair), one_way(&pair.reversed()));
    if there >= back { there } else { back }
}
