//! The data-independent figure: the worst case over **all** histograms of n votes, proven.
//!
//! In a deployment nobody sees the votes in clear, so this is the figure that can be computed
//! beforehand and published. For each order l it needs the largest E[(P/Q)^l] over all pairs of
//! neighbours, and for tight composition the largest hockey stick for each epsilon. There are far
//! too many histograms to try them all, so the maximum is enclosed by branch and bound:
//! `adaptive::branch` cuts the set of pairs into cells, an upper bound holds for every pair in a
//! cell, and cells are cut until the largest bound is within a percent or less of a pair that was
//! found. What follows is the proof that the bound is one.
//!
//! # Notation
//!
//! Class k has c_k of the urn's M entries (votes and w dummies), phi_p(c) is the chance that a
//! round of degree p is unanimous about a class with c entries, u_p = 1 - sum_k phi_p(c_k) the
//! chance that it fails. Both sampling rules have: phi_p is convex and does not fall in c, and
//! phi_q(c)/phi_p(c) does not fall in c for q > p ("higher degrees like larger classes"). With a_p
//! rounds of degree p and G_a(u) = 1 + u + ... + u^(a-1),
//!
//! ```text
//! P_k = sum over degrees p of phi_p(c_k) B_p,
//! B_p = G_{a_p}(u_p) * product over q > p of u_q^{a_q}.
//! ```
//!
//! "No label" is one more output of degree 0, with phi_0 = 1. Primes are the values after the vote
//! moved.
//!
//! # The proof
//!
//! 1. **Orientation.** Neighbours differ by one vote that moves from one class (the *loser*) to
//!    another (the *gainer*). Read in the other direction the two swap roles. So it suffices to
//!    look at moves with c_loser - 1 >= c_gainer, and at both directions of the ratio for each.
//! 2. **One sign.** phi_p is convex, so such a move does not raise sum phi_p: u'_p = u_p + d_p,
//!    where d_p is the step of phi_p that the loser gives up minus the one that the gainer gets,
//!    and d_p >= 0 for *all* degrees at once. Every B_p grows with every u, so B_p <= B'_p. Gainer,
//!    bystanders and "no label" become more likely, hence the loser less. A hockey stick with
//!    epsilon >= 0 thus has a single term in one direction: the loser's.
//! 3. **Order of degrees.** For neighbouring degrees p < q of the polynomial, B_p/B_q =
//!    G_{a_p}(u_p) / (u_q^-1 + ... + u_q^-a_q) grows with both u. So rho_p = B_p/B'_p does not fall
//!    with p, and is at most 1: lower degrees feel the move more.
//! 4. **Terms that cannot cancel.** E[(P/Q)^l] - 1 = sum of Q b(P/Q) with b as in
//!    [`moments`](crate::moments): each term grows with its mass and with |ln(P/Q)|. The
//!    same holds for (P - tQ)_+. An upper bound of every mass and every log-ratio therefore gives
//!    an upper bound of the sum. (Where P >= Q the term is also P b(r)/r, with b(r)/r growing: the
//!    smaller of the two counts.)
//! 5. **Ratios are means.** P_k/P'_k of the loser is the mean over degrees of phi_p(c)/phi_p(c-1) *
//!    rho_p, weighted with phi_p(c-1) B'_p. Those values grow with p (step 3), so the mean is
//!    largest for the weights that lean most to high degrees: largest c, smallest u (again step 3).
//!    A bystander's P'_k/P_k is the mean of 1/rho_p, which falls with p, so it is largest for the
//!    smallest bystander and the largest u. The gainer's P'_k/P_k is the mean of
//!    phi_p(c+1)/phi_p(c)/rho_p, which need not be monotone: its values are replaced by their least
//!    monotone majorant, rising or falling, or the weights are maximised one by one within their
//!    ranges; the smallest of the three bounds counts. Without replacement, a class may need its
//!    last entry to be unanimous at all; such degrees are added on top, over the least that the
//!    denominator can be.
//! 6. **Bystanders without their histogram.** Only the sums of phi_p over the bystanders enter u_p,
//!    and those are C/M times the mean of g_p(c) = phi_p(c)/(c/M) over the bystanders' C entries.
//!    The mean of c itself is the *concentration* kappa = sum c^2 / sum c, the third coordinate of
//!    a [cell](self). g_p is convex, so by Jensen its mean is at least g_p(kappa), and at most the
//!    chord of g_p over the range of bystanders at kappa; that range follows from kappa too:
//!    squared deviations add up to C (kappa - C/b). Both bounds meet where all bystanders are
//!    equal, and where one has everything: there the worst pairs are. All of this holds for real
//!    counts, so for whole ones.
//! 7. **Bystanders' part.** Either all of them get the ratio of the smallest (step 5), or the
//!    output is refined: it also says which degree a bystander won with. The output is a function
//!    of the refined one, so neither moments nor hockey sticks are larger for it (data processing),
//!    and the refined ratio is rho_p. The smaller of the two counts.
//! 8. **Cells.** Over a cell, c_loser, c_gainer and kappa have ranges. Everything above is monotone
//!    in each, or bounded by a chord, or by a slope times d_p; the ends of the ranges give the
//!    bounds. At a single pair with equal bystanders the bound is the value itself, so cutting
//!    cells closes the gap.
//! 9. **Small cells.** Where loser and gainer are fixed and few histograms of bystanders are left,
//!    they are all tried.
//! 10. **Rounding.** u_p, d_p and log-ratios are computed without subtracting nearly equal numbers,
//!     so what is left are relative errors of about 1e-11; every bound is raised by 1e-8 of itself.
//!     The epsilon is rounded up again.
//!
//! Each order l proves its own epsilon, so the order may be picked by any means. Tight composition
//! uses the same cells against an adversary who chooses anew for every query: the proof is in
//! `adaptive`. Beyond a thousand queries a single dominating pair is composed
//! instead, for which bounds of hockey sticks at some epsilons are enough: see `hockey_stick`.
//!
//! # The paper's exponential operator
//!
//! A round of the exponential operator with rate lambda has phi(c) = e^(-lambda M) (e^(lambda c) -
//! 1), with M the same for all histograms. All that the proof asks of phi holds: it is convex and
//! grows, (e^(lambda c) - 1)/c is convex, phi(c)/phi(c-1) falls in c, the chances of the classes
//! sum up to at most 1, and for rates mu > lambda the ratio of their phi grows in c, because
//! x / (1 - e^(-x c)) grows in x. So rates take the place of degrees, where the rounds run from the
//! highest rate to the lowest.
//!
//! # Infinite, and zero
//!
//! With replacement the cost is infinite exactly if w = 0: a class with a single vote can win, and
//! loses every chance with it. Without replacement a class needs at least as many entries as the
//! lowest degree, d, so moments are infinite exactly if w < d <= w + n; the mass of that infinite
//! loss may still fit into delta, and then the tight composition is finite. If d > w + n nothing
//! can ever win: the output is always "no label", and costs nothing.

mod cell;
mod envelope;
mod histograms;
mod log_sum;
mod mixed;
mod pair;
mod suspects;
mod worst;

#[cfg(test)]
mod adaptive_tests;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use serde::Serialize;

use envelope::Objective;
use histograms::{Histograms, maximise};
pub(crate) use mixed::Mixed;
use pair::Pair;
pub(crate) use suspects::Suspects;

use super::Usage;
pub use super::adaptive::MOST_ADAPTIVE;
use super::adaptive::Task;
use super::adaptive::branch::{Maximum, Tolerance};
use super::conversion::{Best, Conversion};
use super::hockey_stick::Nodes;
use super::loss_distribution::{LARGEST_LOSS, LossDistribution};
use super::price::{LogMoment, Proven, composed};
use super::rounds::Rounds;
use shield_core::Watch;
use shield_core::histogram::Histogram;
use shield_core::parameters::{Classes, Epsilon, Voters};
use shield_core::setting::Setting;

/// The worst case over all histograms, for one mechanism, number of classes and number of voters.
///
/// Remembers what it has proven, so asking for several budgets costs little more than asking for
/// one.
#[derive(Clone, Debug)]
pub struct DataIndependent {
    rounds: Rounds,
    regime: Regime,
    /// Proven log-moments by order, on a geometric grid of orders.
    log_moments: BTreeMap<i32, f64>,
    /// The worst pairs met so far: where the next search starts.
    hints: Vec<Pair>,
    /// What moments have proven last.
    by_moments: Option<(Usage, Best)>,
    /// What tight composition has proven last.
    tight: Option<(Usage, Proven)>,
    /// The pairs that were worst somewhere on its way.
    chosen: Vec<Pair>,
    watch: Watch,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Regime {
    Ordinary,
    /// Moments are infinite.
    Infinite,
    /// The output says nothing.
    Free,
}

/// The worst pair of neighbours found, and what it would cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorstFound {
    /// What it costs if every query has this histogram.
    #[serde(rename = "worst_found")]
    pub epsilon: Epsilon,
    /// Votes for each class: one vote moves from the first class to the second.
    #[serde(rename = "worst_histogram")]
    pub histogram: Vec<u32>,
}

/// The worst adaptive strategy found, and what it achieves.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorstStrategy {
    /// No accountant could ever prove less than this.
    pub epsilon: Epsilon,
    /// The histogram of its first query: one vote moves between the first two classes.
    #[serde(rename = "first_histogram")]
    pub first: Vec<u32>,
    /// How many pairs of neighbours it chooses from, as the labels come in.
    pub pairs: usize,
}

/// Ratio of neighbouring orders on the grid. An order that is off by this much costs a few
/// hundred-thousandths of epsilon.
const ORDER_GRID: f64 = 1.02;

impl DataIndependent {
    /// The worst case of a mechanism over all histograms of that many votes.
    pub fn new(setting: &Setting, classes: Classes, voters: Voters) -> Self {
        Self::of_rounds(Rounds::new(setting, classes, voters.count()))
    }

    /// The worst case of any rounds that have what the proof needs.
    pub(crate) fn of_rounds(rounds: Rounds) -> Self {
        let (least, most) =
            (f64::from(rounds.offset), f64::from(rounds.offset) + f64::from(rounds.voters));
        // The lowest degree decides: whoever cannot win a round of it cannot win any.
        let lowest = rounds.terms[0].degree;
        let possible = |entries: f64| rounds.log_unanimous(lowest, entries) > f64::NEG_INFINITY;
        let regime = match (possible(most), possible(least)) {
            (false, _) => Regime::Free,
            (true, false) => Regime::Infinite,
            (true, true) => Regime::Ordinary,
        };
        Self {
            rounds,
            regime,
            log_moments: BTreeMap::new(),
            hints: Vec::new(),
            by_moments: None,
            tight: None,
            chosen: Vec::new(),
            watch: Watch::default(),
        }
    }

    /// Says how far tight composition is, in percent.
    #[must_use]
    pub fn watched(self, watch: Watch) -> Self {
        Self { watch, ..self }
    }

    /// ln E[(P/Q)^l] is at most this, for every pair of neighbours; `order` is rounded to a grid
    /// first, and the order used is returned beside the bound.
    pub fn log_moment(&mut self, order: f64) -> (f64, LogMoment) {
        let tolerance = Tolerance { relative: 0.01, absolute: 0.0, splits: 3_000 };
        let key = (order.ln() / ORDER_GRID.ln()).round() as i32;
        let order = ORDER_GRID.powi(key);
        let known = match (self.regime, self.log_moments.get(&key)) {
            (Regime::Free, _) => 0.0,
            (Regime::Infinite, _) => f64::INFINITY,
            (Regime::Ordinary, Some(&known)) => known,
            (Regime::Ordinary, None) => self.prove(key, order, tolerance),
        };
        (order, LogMoment::new(known))
    }

    fn prove(&mut self, key: i32, order: f64, tolerance: Tolerance) -> f64 {
        let maximum = maximise(&self.rounds, Objective::Moment(order), tolerance, &self.hints);
        self.remember(maximum.worst);
        let proven = maximum.upper.ln_1p();
        let best = self.log_moments.get(&key).copied().unwrap_or(f64::INFINITY).min(proven);
        self.log_moments.insert(key, best);
        best
    }

    /// Keeps a few of the latest worst pairs.
    fn remember(&mut self, pair: Option<Pair>) {
        const KEPT: usize = 16;
        if let Some(pair) = pair.filter(|pair| !self.hints.contains(pair)) {
            self.hints.push(pair);
            if self.hints.len() > KEPT {
                self.hints.remove(0);
            }
        }
    }

    /// The proven epsilon by moments.
    pub fn epsilon(&mut self, usage: Usage) -> Proven {
        Proven::new(self.best(usage).rounded_up(), usage.delta)
    }

    fn best(&mut self, usage: Usage) -> Best {
        if let Some((_, known)) = self.by_moments.filter(|(known, _)| *known == usage) {
            return known;
        }
        let best = self.least(usage);
        self.by_moments = Some((usage, best));
        best
    }

    /// The least epsilon over all orders, proven.
    fn least(&mut self, usage: Usage) -> Best {
        let queries = usage.queries.count() as f64;
        let best = Conversion::Renyi
            .minimise(usage.delta, |order| queries * self.log_moment(order).1.get());
        if self.regime != Regime::Ordinary || best.epsilon.is_infinite() {
            return best;
        }
        // The order is off the grid by up to a percent: state the epsilon of the one that was
        // proven, and prove that one more closely.
        let fine = Tolerance { relative: 0.002, absolute: 0.0, splits: 30_000 };
        let key = (best.order.ln() / ORDER_GRID.ln()).round() as i32;
        let order = ORDER_GRID.powi(key);
        let log_moment = self.prove(key, order, fine);
        Best { epsilon: Conversion::Renyi.epsilon(order, queries * log_moment, usage.delta), order }
    }

    /// The proven epsilon by tight composition.
    ///
    /// Up to [`MOST_ADAPTIVE`] queries this is the recursion over all that an adversary can choose,
    /// query by query, within a few percent of what one achieves
    /// ([`worst_strategy`](Self::worst_strategy)). Its work grows with the power 3/2 of the number
    /// of queries; beyond, one pair that dominates all others is composed, which takes the worst of
    /// each. Moments are proven as well, so the smallest counts.
    pub fn exact(&mut self, usage: Usage) -> Proven {
        if let Some((_, known)) = self.tight.filter(|(known, _)| *known == usage) {
            return known;
        }
        self.chosen.clear();
        let epsilon = if self.regime == Regime::Free {
            Proven::free(usage.delta)
        } else if usage.queries.count() > MOST_ADAPTIVE {
            self.quick(usage)
        } else {
            self.adaptive(usage)
        };
        self.tight = Some((usage, epsilon));
        epsilon
    }

    fn adaptive(&mut self, usage: Usage) -> Proven {
        let (enough, order) = self.enough(usage);
        if !enough.get().is_finite() || enough == Epsilon::ZERO {
            return enough;
        }
        let starts = &self.starts();
        let family = &mut Histograms::new(&self.rounds, order);
        let proven = task(family, usage, enough.get(), starts, &self.watch).prove();
        self.chosen = proven.pairs;
        let epsilon = Epsilon::new(proven.epsilon).unwrap_or(Epsilon::INFINITE);
        enough.smaller(Proven::new(epsilon, usage.delta))
    }

    /// The smaller of what moments prove and of the composition of one pair that dominates all.
    fn quick(&mut self, usage: Usage) -> Proven {
        let by_moments = self.epsilon(usage);
        let composed = self.dominating(usage).map_or(Epsilon::INFINITE, |distribution| {
            distribution.epsilon(usage.queries.count(), usage.delta)
        });
        by_moments.smaller(Proven::new(composed, usage.delta))
    }

    /// An epsilon that is known to be enough before the recursion starts, and an order to tell
    /// pairs apart with. Where moments are infinite, the composition of a dominating pair may not
    /// be.
    fn enough(&mut self, usage: Usage) -> (Proven, f64) {
        match self.regime {
            Regime::Infinite => (self.quick(usage), 1.0),
            Regime::Ordinary | Regime::Free => (self.epsilon(usage), self.best(usage).order),
        }
    }

    /// The worst adaptive strategy found: what an adversary achieves who chooses a pair of
    /// neighbours for every query, knowing all labels so far. A lower bound of every proof, in
    /// floats rounded down. `None` above [`MOST_ADAPTIVE`] queries, or if no finite bound is known.
    pub fn worst_strategy(&mut self, usage: Usage) -> Option<WorstStrategy> {
        if usage.queries.count() > MOST_ADAPTIVE || self.regime == Regime::Free {
            return None;
        }
        self.exact(usage);
        let (enough, order) = self.enough(usage);
        if !enough.get().is_finite() || enough == Epsilon::ZERO {
            return None;
        }
        let starts = &self.starts();
        let family = &mut Histograms::new(&self.rounds, order);
        let watch = &Watch::default();
        let achieved = task(family, usage, enough.get(), starts, watch).achieve(&self.chosen);
        let first = achieved.first.map(|first| self.chosen[first].votes(&self.rounds));
        Some(WorstStrategy {
            epsilon: Epsilon::new(achieved.epsilon).ok()?,
            first: first.unwrap_or_default(),
            pairs: achieved.pairs,
        })
    }

    /// A loss distribution that dominates every pair of neighbours; `None` if its infinite part
    /// alone exceeds delta.
    fn dominating(&mut self, usage: Usage) -> Option<LossDistribution> {
        let delta = usage.delta.get() / usage.queries.count() as f64;
        let negligible = 1e-3 * delta;
        // Tight where it is cheap: what a node's bound has too much of costs little.
        let tolerance = Tolerance { relative: 0.004, absolute: negligible, splits: 2_500 };
        let (rounds, hints) = (&self.rounds, &self.hints);
        let search = |t: f64| maximise(rounds, Objective::HockeyStick(t), tolerance, hints);
        let height = |t: f64| search(t).upper.min(1.0);
        // How far up the curve is worth following: to where it vanishes, or falls no more.
        let far = height(LARGEST_LOSS.exp());
        if far >= delta {
            return None;
        }
        let mut top = 2e-4;
        while top < LARGEST_LOSS && height(f64::exp(top)) > far + negligible {
            top *= 1.5;
        }
        let nodes = Nodes::new(top, 72);
        let thresholds: Vec<f64> = nodes.thresholds().collect();
        let maxima: Vec<Maximum<Pair>> = thresholds.into_par_iter().map(search).collect();
        let values: Vec<f64> = maxima.iter().map(|maximum| maximum.upper.min(1.0)).collect();
        for maximum in maxima.into_iter().step_by(8) {
            self.remember(maximum.worst);
        }
        Some(nodes.dominating(&values))
    }

    /// The worst pair of neighbours that a search finds, by moments.
    pub fn worst_found(&mut self, usage: Usage) -> WorstFound {
        if self.hints.is_empty() {
            self.best(usage);
        }
        let starts = self.starts();
        let found = worst::climb(&self.rounds, &starts, usage.queries, usage.delta);
        // What is proven for all pairs holds for this one, whatever its last digits say.
        let proven = self.epsilon(usage).get();
        self.describe(found.map(|(pair, cost)| (pair, cost.min(proven))))
    }

    /// The worst of the pairs met so far, by tight composition.
    ///
    /// The cost of a pair is rounded up by its grid. Where that of the bound is finer, the pair
    /// costs no more than what is proven for all of them, and that is what is stated.
    pub fn worst_found_exact(&mut self, usage: Usage) -> WorstFound {
        let proven = self.exact(usage);
        let costs = self.starts().into_iter().map(|pair| {
            let cost = composed(&pair.laws(&self.rounds), usage).get();
            (pair, cost)
        });
        let found = costs.max_by(|a, b| a.1.total_cmp(&b.1));
        self.describe(found.map(|(pair, cost)| (pair, cost.min(proven.get()))))
    }

    /// Pairs to start a search from: what was met so far, and the usual suspects.
    fn starts(&self) -> Vec<Pair> {
        let (least, voters) = (f64::from(self.rounds.offset), f64::from(self.rounds.voters));
        let half = ((voters / 2.0).ceil(), (voters / 2.0).floor());
        let mut corners = vec![(1.0, 0.0), (voters, 0.0), half];
        // Without replacement, one entry more may be the first that can win a round of some degree.
        for term in &self.rounds.terms {
            let short_of_one = f64::from(term.degree) - 1.0 - least;
            corners.push((voters - short_of_one, short_of_one));
        }
        let mut starts = self.hints.clone();
        starts.extend(corners.iter().filter_map(|&(loser, gainer)| {
            Pair::new(&self.rounds, least + loser, least + gainer, None)
        }));
        starts
    }

    fn describe(&self, found: Option<(Pair, f64)>) -> WorstFound {
        let (histogram, epsilon) =
            found.map_or((Vec::new(), 0.0), |(pair, cost)| (pair.votes(&self.rounds), cost));
        WorstFound { histogram, epsilon: Epsilon::new(epsilon).unwrap_or(Epsilon::INFINITE) }
    }
}

/// What there is to compose, where an epsilon is known that is enough.
fn task<'a, 'b>(
    family: &'a mut Histograms<'b>,
    usage: Usage,
    enough: f64,
    starts: &'a [Pair],
    watch: &'a Watch,
) -> Task<'a, Histograms<'b>> {
    let (below, above) = (1.3 * enough, 0.5 * enough);
    Task { family, usage, below, above, starts, close: 0.008, splits: 300, watch }
}

/// The numbers of voters that occur in some histograms: who takes part is public, so the worst of
/// their figures is data-independent.
pub fn voters(histograms: &[Histogram]) -> Vec<Voters> {
    let counts: BTreeSet<u32> =
        histograms.iter().filter_map(|histogram| u32::try_from(histogram.voters()).ok()).collect();
    counts.into_iter().filter_map(|count| Voters::new(count).ok()).collect()
}
