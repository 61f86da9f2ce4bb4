//! The price of a label, not of a histogram: what a noisy argmax costs where the winner is all
//! that is seen.
//!
//! A noisy argmax adds independent noise to every count and releases the class of the largest.
//! Priced as if all noisy counts were released, a vote that moves shifts two of them by one. But a
//! label is one of K classes, and a vote matters only near a tie. The same label with the same
//! epsilon takes a fifth less Gaussian or Skellam noise, and two fifths less Laplace noise.
//!
//! # Setting
//!
//! Classes k have counts n_k and noises Z_k, independent and of one law with mass or density f and
//! distribution function F. Released is the class of the largest X_k = n_k + Z_k, of the lowest
//! number where several are largest, and nothing else. A class may also be a *threshold*: nobody
//! votes for it, its count is a public constant, and its noise has any law, also none. Neighbours
//! differ in one vote that moves from class a to class b, or that appears or vanishes.
//!
//! # Three outcomes
//!
//! **Theorem.** Let T be the pairs (P, Q) of laws of the winner among three,
//!
//! ```text
//! P: x + Z_a, y + Z_b, 0        Q: x - 1 + Z_a, y + 1 + Z_b, 0
//! ```
//!
//! over all x and y and all strict orders that break ties, with the limits where x, y or both are
//! infinite. For every adaptive sequence of q queries, each with noise of its own, delta(epsilon)
//! <= V_q(0), where V_0(z) = (1 - e^(epsilon - z))_+ and V_j(z) is the supremum over T of
//! E_P[V_(j-1)(z + ln(P/Q))].
//!
//! **Proof.** Let M be the largest noisy count of the classes other than a and b, and J its class.
//! Neither depends on the vote that moves, so (M, J) has the same law for both neighbours, and it
//! is independent of Z_a and Z_b. The label is a, b or J. Suppose that (M, J) is released beside
//! the label: the label alone is computed from that, and V is convex in e^-z, so it gains no more
//! (merging outputs cannot raise a sum of terms p V(ln(p/q)), which are convex and homogeneous).
//! The loss of what is released is that of the label given (M, J), so `E[V]` is a mean, over M = m
//! and J = j, of `E[V]` given these; a mean is at most the supremum. Given m and j, the label is
//! the winner among n_a + Z_a, n_b + Z_b and m: a pair of T with x = n_a - m and y = n_b - m, whose
//! ties are broken in the order of the numbers a, b and j. Without another class M is minus
//! infinity; if a vote appears, class a is not involved, and x is. Composition is induction over j
//! as in `adaptive`: the adversary may choose all votes and classes by the labels so far, and the
//! votes and the shares of noise that colluders know are constants in the counts. []
//!
//! Nothing was assumed of f, and neither the number of classes nor that of votes enters: T has two
//! parameters. With a and b exchanged, (Q, P) at (x, y) is the pair at (y + 1, x - 1), so T is its
//! own reverse, and one direction over all of T is both. The same holds for moments: those of
//! conditional laws add up, so the largest ln E_P[(P/Q)^l] over T, times q, is that of q labels.
//!
//! **No single pair would do.** At threshold t = e^s the binary pair with the best cut is the
//! likelihood-ratio test between X_a - X_b before and after, so a pair that dominates all of T in
//! the sense of Zhu, Dong and Wang (2022) is no better than the noisy counts themselves. The gain
//! is there because the cut has to be chosen before each query: it takes the recursion, or the
//! supremum of each moment.
//!
//! # Ties
//!
//! For whole numbers let A(x, y) be the sum over u >= 0 of f(u - x) F(u - y). That a class wins
//! ties against J only shifts its threshold, which leaves four orders:
//!
//! | first wins | P_a | P_b | P_J |
//! |---|---|---|---|
//! | a b J | A(x, y) | A(y, x + 1) | F(-1-x) F(-1-y) |
//! | a J b | A(x, y) | A(y - 1, x) | F(-1-x) F(-y) |
//! | b a J | A(x, y + 1) | A(y, x) | F(-1-x) F(-1-y) |
//! | b J a | A(x - 1, y) | A(y, x) | F(-x) F(-1-y) |
//!
//! Real numbers do not tie: P_a = A(x, y) with an integral, P_b = A(y, x), P_J = F(-x) F(-y).
//! A(x, y) is the sum over z >= -x of f(z) F(z + x - y), a running sum along each diagonal x - y.
//!
//! # Cells
//!
//! Let f be log-concave; the table of every law of whole numbers is checked for it, and one that
//! is not gets no price here. A vote is c lattice points, and l_k(x, y) = ln P_k(x, y) - ln P_k(x -
//! c, y + c).
//!
//! **Lemma 1.** No l_k rises with x or falls with y. *Proof.* P_a is the sum over u >= m of f(u -
//! x) F(u - y), with a threshold m. Its factors are totally positive of order 2 in each two of u,
//! x, y, m, so the sum over u is, too (Karlin and Rinott, 1980): ln P_a has mixed differences >= 0
//! in (x, y), (x, m) and (y, m). As a convolution of log-concave functions it is log-concave in x
//! alone and in y alone. Now l_a is [ln P_a(x, y) - ln P_a(x - c, y)] - [ln P_a(x - c, y + c) - ln
//! P_a(x - c, y)]. The first bracket falls with x by concavity and rises with y by the mixed
//! difference, the second rises with x and falls with y. P_b has the same form with x and y
//! exchanged, and l_b splits in the same way. For J, ln F(m - x) - ln F(m - x + c) falls with x, ln
//! F(m - y) - ln F(m - y - c) rises with y. []
//!
//! **Lemma 2.** Where x - y is fixed, both brackets fall as x and y rise together. *Proof.* That is
//! to raise x, y by lowering m: the mixed differences in (x, m) and (y, m). []
//!
//! So over a parallelogram of pairs, with ranges of x - y and of y, each loss has bounds from the
//! corners of the box around it, by Lemma 1, and from its own corners, the first bracket at one
//! less the second at another; the closer ones count. The probabilities are monotone: a wins more
//! often as x rises or y falls, and as both rise; b likewise; J as both fall. These are the parts
//! of a pair that dominates all of the cell (`Dominating::of_parts`). A cell of a single point is
//! its own pair.
//!
//! **What is cut off.** Noise is beyond the table with a chance of at most tau = 1e-18 on either
//! side. A pair outside of it is within 2 tau, in total variation, of one at its edge (where x or y
//! is at the upper edge, J wins as rarely). The terms of the recursion have slopes of at most 1 in
//! P and e^epsilon in Q, so q queries lose at most 4 q tau (1 + e^epsilon) of delta, which is taken
//! off. Likewise for anything else that may be released: if with a chance of eta per query more
//! than the label shows, it costs at most q eta (1 + e^epsilon) of delta. Priced by the noisy
//! counts, it was free.
//!
//! # What is not covered
//!
//! - Ballots of several votes per sample: a vote moved by c lattice points is a pair like those
//!   above, but several votes may move between many classes, and no reduction is proven. They keep
//!   the price of [`mod@crate::skellam`].
//! - Anything else that is released: margins, the second class, counts.
//! - Two labels from one draw of noise.
//!
//! # How much is left
//!
//! [`LabelOnly::strategy`] is what an adversary achieves: what is proven is less than one percent
//! above it. For many queries the worst pair tends to that with the most Fisher information for
//! the move, for Gaussian noise 1.2796/sigma^2 at x = y = 0.72 sigma. Two classes alone have 4/pi
//! = 1.2732, and noisy counts have 2: the deviation shrinks by the root of 0.64.
//!
//! # What is close to this
//!
//! Dong, Durfee and Rogers (2020) compose exponential mechanisms against adversaries who choose a
//! cut for every query. Lebensold, Precup and Balle (2024) price one selection with Gaussian noise
//! by its label; Koskela, Redberg and Wang (2024) privatise the selection itself; Chadha et al.
//! (2024) account per histogram, for votes that are known. That many noisy argmaxes, over all
//! votes, reduce to three outcomes seems to be new.

mod family;
mod moments;
mod table;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use crate::Usage;
use crate::adaptive::{MOST_ADAPTIVE, Task};
use crate::noisy_argmax::NoisyArgmax;
use crate::price::{LogMoment, Proven};
use family::{Outcomes, Pair};
use shield_core::Watch;
use shield_core::parameters::{Delta, Epsilon};
use shield_core::shared_noise::{NoiseFamily, SharedNoise};
use table::{TAIL, Table};

/// Ratio of neighbouring orders whose moments are proven: that of all ledgers.
const ORDER_GRID: f64 = 1.02;

/// Log-moments that were proven, by law and order. They depend on nothing else, and ledgers and
/// pages ask for the same ones again and again.
static PROVEN: Mutex<BTreeMap<(Law, i32), f64>> = Mutex::new(BTreeMap::new());

/// The most of them that are kept: a few megabytes.
const MOST_KEPT: usize = 1 << 16;

/// A law by its name and the bits of its scale.
type Law = (&'static str, u64);

/// The accounting of one noise on every count, where the label alone is released.
#[derive(Clone, Debug)]
pub struct LabelOnly {
    /// None where moments are not kept.
    law: Option<Law>,
    outcomes: Outcomes,
    /// The worst pair met by moments: where the next search starts.
    hint: Pair,
    /// What tight composition has proven last, and the pairs that were worst on its way.
    tight: Option<(Usage, Proven)>,
    chosen: Vec<Pair>,
    watch: Watch,
}

/// What an adversary achieves who chooses votes and classes for every query.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Strategy {
    /// No accountant could ever prove less than this.
    pub epsilon: Epsilon,
    /// How many pairs of neighbours it chooses from, as the labels come in.
    pub pairs: usize,
}

impl LabelOnly {
    /// The accounting of noise in shares, with no more shares than were promised. `None` where none
    /// is known: for noise that is not log-concave, and noise too wide for a table.
    pub fn of_shares(noise: &SharedNoise) -> Option<Self> {
        let law = match noise.family() {
            NoiseFamily::Laplace => Some("discrete Laplace"),
            NoiseFamily::Skellam => Some("Skellam"),
            NoiseFamily::Bits(_) => None,
        };
        let table = Table::whole(&noise.law(noise.shares()))?;
        Some(Self::of_table(law.map(|law| (law, noise.scale().get().to_bits())), table))
    }

    /// The accounting of Gaussian or Laplace noise. `None` where it is too wide for a table.
    pub fn of(noise: NoisyArgmax) -> Option<Self> {
        let (law, scale) = match noise {
            NoisyArgmax::Laplace(scale) => ("Laplace", scale),
            NoisyArgmax::Gaussian(sigma) => ("Gaussian", sigma),
        };
        Some(Self::of_table(Some((law, scale.get().to_bits())), Table::real(noise)?))
    }

    fn of_table(law: Option<Law>, table: Table) -> Self {
        let outcomes = Outcomes::new(table);
        let [hint, _] = outcomes.starts();
        let watch = Watch::default();
        Self { law, outcomes, hint, tight: None, chosen: Vec::new(), watch }
    }

    /// Says how far tight composition is, in percent.
    pub fn watch(&mut self, watch: &Watch) -> &mut Self {
        self.watch = watch.clone();
        self
    }

    /// How far, as a statistical distance, the law of a label is from one that the proof is about.
    pub const DISTANCE: f64 = 4.0 * TAIL;

    /// ln E[(P/Q)^l] is at most this for every pair of neighbours; `order` is rounded to a grid
    /// first, and the order used is returned beside the bound.
    pub fn log_moment(&mut self, order: f64) -> (f64, LogMoment) {
        let key = (order.ln() / ORDER_GRID.ln()).round() as i32;
        let order = ORDER_GRID.powi(key);
        let proven = || PROVEN.lock().unwrap_or_else(PoisonError::into_inner);
        let place = self.law.map(|law| (law, key));
        let known = place.and_then(|place| proven().get(&place).copied());
        let moment = known.unwrap_or_else(|| {
            let moment = self.outcomes.log_moment(order, &mut self.hint);
            let Some(place) = place else { return moment };
            let mut proven = proven();
            if proven.len() >= MOST_KEPT {
                proven.clear();
            }
            // Should another have proven it meanwhile, all have the same figure from now on.
            *proven.entry(place).or_insert(moment)
        });
        (order, LogMoment::new(moment))
    }

    /// The same usage with what is left of delta, where no epsilon above `enough` is asked about.
    fn rest(usage: Usage, enough: f64) -> Option<Usage> {
        let lost = usage.queries.count() as f64 * Self::DISTANCE * (1.0 + enough.exp());
        let delta = Delta::new(usage.delta.get() - lost).ok()?;
        Some(Usage { delta, ..usage })
    }

    /// The proven epsilon by moments, where `enough` is another proof.
    pub fn by_moments(&mut self, usage: Usage, enough: Proven) -> Proven {
        let Some(rest) = Self::rest(usage, enough.get()) else { return enough };
        let count = usage.queries.count();
        let found = Proven::of_moments(rest.delta, 0.0, |order| {
            let (order, moment) = self.log_moment(order);
            (order, moment.times(count))
        });
        enough.smaller(Proven::new(found.epsilon(), usage.delta))
    }

    fn task<'a>(
        outcomes: &'a mut Outcomes,
        usage: Usage,
        enough: f64,
        starts: &'a [Pair],
        watch: &'a Watch,
    ) -> Task<'a, Outcomes> {
        // A few queries may each lose much.
        let one = (2.0 / outcomes.deviation()).min(enough);
        let (below, above) = (1.1 * enough, 0.4 * enough + one);
        Task { family: outcomes, usage, below, above, starts, close: 0.006, splits: 3_000, watch }
    }

    /// The proven epsilon by tight composition, where `enough` is another proof; by moments above
    /// [`MOST_ADAPTIVE`] queries.
    pub fn tight(&mut self, usage: Usage, enough: Proven) -> Proven {
        if usage.queries.count() > MOST_ADAPTIVE {
            return self.by_moments(usage, enough);
        }
        if let Some((_, known)) = self.tight.filter(|(known, _)| *known == usage) {
            return known.smaller(enough);
        }
        let rest = Self::rest(usage, enough.get()).filter(|_| enough.get() > 0.0);
        let Some(rest) = rest else { return enough };
        let starts = self.outcomes.starts();
        let outcomes = &mut self.outcomes;
        let proven = Self::task(outcomes, rest, enough.get(), &starts, &self.watch).prove();
        self.chosen = proven.pairs;
        let epsilon = Epsilon::new(proven.epsilon).unwrap_or(Epsilon::INFINITE);
        let found = enough.smaller(Proven::new(epsilon, usage.delta));
        self.tight = Some((usage, found));
        found
    }

    /// The worst adaptive strategy found: what an adversary achieves who chooses a pair of
    /// neighbours for every query, knowing all labels so far. A lower bound of every proof, in
    /// floats rounded down. `None` above [`MOST_ADAPTIVE`] queries, or if no finite bound is known.
    pub fn strategy(&mut self, usage: Usage, enough: Proven) -> Option<Strategy> {
        if usage.queries.count() > MOST_ADAPTIVE {
            return None;
        }
        let proven = self.tight(usage, enough).get();
        if !proven.is_finite() || proven == 0.0 {
            return None;
        }
        let starts = self.outcomes.starts();
        let (outcomes, watch) = (&mut self.outcomes, Watch::default());
        let task = Self::task(outcomes, usage, proven, &starts, &watch);
        let achieved = task.achieve(&self.chosen);
        Some(Strategy { epsilon: Epsilon::new(achieved.epsilon).ok()?, pairs: achieved.pairs })
    }
}
