//! The largest moment over all pairs of three outcomes, by branch and bound.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::family::{Cell, Outcomes, Pair};
use crate::adaptive::Family;
use crate::hockey_stick::Dominating;
use crate::moments::{ROUND_UP, bregman};

/// The bound may exceed the worst pair met by this part of it.
const CLOSE: f64 = 0.01;

/// Stop after so many cuts: what is left is a bound all the same.
const MOST_CUTS: usize = 20_000;

struct Waiting {
    bound: f64,
    cell: Cell,
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Waiting {}
impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bound.total_cmp(&other.bound)
    }
}

/// E[(P/Q)^l] - 1 of a pair that dominates others: at least that of each of them.
///
/// Both laws sum to one, so it is the sum of Q b(P/Q) with b as in [`crate::moments`]; where P is 0
/// that is Q l.
fn excess(pair: &Dominating, order: f64) -> f64 {
    if pair.infinite > 0.0 {
        return f64::INFINITY;
    }
    let (mut sum, mut left) = (0.0, 1.0);
    for &(loss, mass) in &pair.losses {
        let under_q = mass * (-loss).exp();
        left -= under_q;
        sum += under_q * bregman(order, loss);
    }
    sum + order * left.max(0.0)
}

impl Outcomes {
    fn bound(&mut self, cell: &Cell, order: f64) -> f64 {
        self.dominating(cell).iter().map(|pair| excess(pair, order)).fold(0.0, f64::max)
    }

    fn of_pair(&self, pair: &Pair, order: f64) -> f64 {
        let laws = self.laws(pair);
        laws.iter().map(|laws| laws.log_moment(order).exp_m1()).fold(0.0, f64::max)
    }

    /// ln E[(P/Q)^l] is at most this for every pair. `hint` is a pair that may be bad, and becomes
    /// the worst that was met.
    pub(super) fn log_moment(&mut self, order: f64, hint: &mut Pair) -> f64 {
        let mut worst = self.of_pair(hint, order);
        let mut heap: BinaryHeap<Waiting> =
            self.roots().into_iter().map(|cell| Waiting { bound: f64::INFINITY, cell }).collect();
        let (mut cuts, mut upper) = (0, 0.0);
        while let Some(Waiting { bound, cell }) = heap.pop() {
            if bound <= worst * (1.0 + CLOSE) || cuts >= MOST_CUTS {
                upper = bound;
                break;
            }
            cuts += 1;
            let few = self.few(&cell);
            for pair in few.iter().flatten().chain(&self.samples(&cell)) {
                let found = self.of_pair(pair, order);
                if found > worst {
                    (worst, *hint) = (found, *pair);
                }
            }
            if few.is_some() {
                continue;
            }
            let Some(parts) = self.closest_cut(&cell, bound, order) else {
                // As small as a cell can be.
                upper = bound;
                break;
            };
            heap.extend(parts);
        }
        (f64::max(upper, worst) * ROUND_UP).ln_1p()
    }

    /// The parts of a cell along the axis that leaves the smallest bounds.
    fn closest_cut(&mut self, cell: &Cell, bound: f64, order: f64) -> Option<Vec<Waiting>> {
        let mut best: Option<(f64, Vec<Waiting>)> = None;
        for cut in self.cuts(cell) {
            let parts: Vec<Waiting> = cut
                .parts
                .into_iter()
                .map(|cell| Waiting { bound: self.bound(&cell, order).min(bound), cell })
                .collect();
            let sum: f64 = parts.iter().map(|part| part.bound).sum();
            let top = parts.iter().map(|part| part.bound).fold(0.0, f64::max);
            // Bounds first; where they are infinite, the longest axis.
            let crude = 1e300 * (1.0 + 1.0 / (1.0 + cut.stretch));
            let score = if sum.is_finite() { top + 0.3 * sum } else { crude };
            if best.as_ref().is_none_or(|(least, _)| score < *least) {
                best = Some((score, parts));
            }
        }
        best.map(|(_, parts)| parts)
    }
}
