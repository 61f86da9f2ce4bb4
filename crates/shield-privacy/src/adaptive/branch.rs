//! Branch and bound: the largest value of an objective over all pairs of a family.
//!
//! Cells wait in a heap, the one with the largest bound first. It is cut along the axis that helps
//! most, until the largest bound left is within the tolerance of the worst pair met. Whenever it
//! stops, the largest bound left (or the worst pair met) is proven, however far the tolerance was.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::family::Family;
use crate::moments::ROUND_UP;

/// What is largest somewhere: a number for every pair, and a bound for every cell.
pub(crate) trait Objective<F: Family> {
    /// At least the value of every pair of the cell.
    fn bound(&self, family: &mut F, cell: &F::Cell) -> f64;

    /// The value of a pair, in its worse direction.
    fn value(&self, family: &F, pair: &F::Pair) -> f64;
}

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tolerance {
    /// The bound may exceed the worst pair met by this part of it ...
    pub(crate) relative: f64,
    /// ... or by this much.
    pub(crate) absolute: f64,
    /// Stop after so many splits, wherever the bound is.
    pub(crate) splits: usize,
}

/// The answer.
#[derive(Clone, Debug)]
pub(crate) struct Maximum<P> {
    /// No pair has more than this.
    pub(crate) upper: f64,
    /// The worst pair met.
    pub(crate) worst: Option<P>,
}

struct Waiting<C> {
    bound: f64,
    cell: C,
}

impl<C> PartialEq for Waiting<C> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl<C> Eq for Waiting<C> {}
impl<C> PartialOrd for Waiting<C> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<C> Ord for Waiting<C> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bound.total_cmp(&other.bound)
    }
}

/// The largest value of the objective over all pairs. `hints` are pairs worth trying first.
pub(crate) fn maximise<F: Family>(
    family: &mut F,
    objective: &impl Objective<F>,
    tolerance: Tolerance,
    hints: &[F::Pair],
) -> Maximum<F::Pair> {
    let (mut lower, mut worst) = (0.0, None);
    let mut meet = |family: &F, pair: &F::Pair| {
        let value = objective.value(family, pair);
        if value > lower || worst.is_none() {
            (lower, worst) = (value, Some(pair.clone()));
        }
        lower
    };
    let mut known = 0.0;
    for hint in hints {
        known = meet(family, hint);
    }
    let mut heap = BinaryHeap::new();
    for cell in family.roots() {
        heap.push(Waiting { bound: objective.bound(family, &cell), cell });
    }
    let (mut splits, mut upper) = (0, 0.0);
    while let Some(Waiting { bound, cell }) = heap.pop() {
        let enough = known * (1.0 + tolerance.relative) + tolerance.absolute;
        if bound <= enough || splits >= tolerance.splits {
            upper = bound;
            break;
        }
        splits += 1;
        // Where only a few pairs are left, all of them are met instead of bounded.
        let few = family.few(&cell);
        let is_exact = few.is_some();
        for pair in few.unwrap_or_else(|| family.samples(&cell)) {
            known = meet(family, &pair);
        }
        if is_exact {
            continue;
        }
        let Some(parts) = closest_cut(family, objective, &cell, bound) else {
            // As small as a cell can be, and looser than we would like: proven all the same.
            upper = bound;
            break;
        };
        heap.extend(parts);
    }
    // A pair's own value is rounded, too.
    Maximum { upper: f64::max(upper, lower * ROUND_UP), worst }
}

/// The parts of a cell along the axis that leaves the smallest bounds.
fn closest_cut<F: Family>(
    family: &mut F,
    objective: &impl Objective<F>,
    cell: &F::Cell,
    bound: f64,
) -> Option<Vec<Waiting<F::Cell>>> {
    let mut best: Option<(f64, Vec<Waiting<F::Cell>>)> = None;
    for cut in family.cuts(cell) {
        let part = |cell| Waiting { bound: objective.bound(family, &cell).min(bound), cell };
        let parts: Vec<Waiting<F::Cell>> = cut.parts.into_iter().map(part).collect();
        let top = parts.iter().map(|part| part.bound).fold(0.0, f64::max);
        let sum: f64 = parts.iter().map(|part| part.bound).sum();
        // Bounds first; where they are infinite, the longest axis.
        let crude = 1e300 * (1.0 + 1.0 / (1.0 + cut.stretch));
        let score = if sum.is_finite() { top + 0.3 * sum } else { crude };
        if best.as_ref().is_none_or(|(least, _)| score < *least) {
            best = Some((score, parts));
        }
    }
    best.map(|(_, parts)| parts)
}
