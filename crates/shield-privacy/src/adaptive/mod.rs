//! Tight composition against an adversary who chooses a pair of neighbours for every query, knowing
//! all labels so far.
//!
//! # What is computed
//!
//! Let x be the loss that has accumulated, ln(P/Q) of all labels so far. With no query left, what
//! the adversary has gained is its part of the hockey stick; with j left, it is what the worst
//! choice of a pair makes of it:
//!
//! ```text
//! V_0(x) = (1 - e^(epsilon - x))_+,
//! V_j(x) = sup over pairs (P, Q) of E_P[V_(j-1)(x + ln(P/Q))].
//! ```
//!
//! The sup runs over all pairs of neighbours in both directions. The delta of q queries is V_q(0),
//! whatever the adversary does (by induction over j; pairs that do not differ gain nothing). Only
//! z = x - epsilon matters, so one recursion gives delta for every epsilon: it is V_q at z =
//! -epsilon.
//!
//! # The proof that what is computed is never below
//!
//! 1. **Convexity.** W_j(p, q) = p V_j(ln(p/q)) obeys W_0 = (p - e^epsilon q)_+ and W_j(p, q) = sup
//!    of the sum over outputs of W_(j-1)(p P_k, q Q_k). So it is convex and homogeneous, and V_j is
//!    a convex function of e^-z that does not fall with z and is at most 1.
//! 2. **Domination.** For a function f(P/Q) that is convex, E_Q[f(P/Q)] is linear terms plus a
//!    mixture of hockey sticks with weights >= 0. So if the hockey stick of one pair lies nowhere
//!    above that of another, no V_j can gain more from it.
//! 3. **Cells.** A [`Family`] bounds, over a cell, each output's mass and ratio, so the
//!    parts (P - tQ)_+ for t >= 1 and (tQ - P)_+ for t <= 1, and with them the hockey stick for
//!    every t at once. It is convex, so it lies below the lower convex hull of these bounds, which
//!    is the hockey stick of a pair: that pair dominates every pair in the cell
//!    (`Dominating::of_parts`). The sup over all pairs is at most the maximum over the cells of any
//!    partition, so every step may use its own: cells are cut where they are looser than a pair
//!    that was met, for the value at hand.
//! 4. **Grid.** Values are kept at the nodes z = i h. Between nodes a function that is convex in
//!    e^-z lies below its chord, and taking the chord is the same as splitting a loss between the
//!    two grid points around it. Above the last node it lies below the chord to e^-z = 0, where it
//!    is at most 1; below the first node it is at most what it is there. So if the values at all
//!    nodes are at least V_(j-1), one step of the recursion makes them at least V_j.
//! 5. **Epsilon.** The least epsilon whose V_q(-epsilon) is at most delta is read off the chord
//!    between two nodes, which is above the function.
//! 6. **Rounding.** All sums are of positive terms. Parts of cells are raised by 1e-8 of
//!    themselves, losses by 1e-12, every expectation by 1e-11 of itself: each far more than what
//!    floats lose.
//!
//! # The strategy
//!
//! From below, the same recursion runs over the pairs that were worst somewhere, with tangents
//! instead of chords: a convex function lies above its tangents, the slope of the new value comes
//! with it, and the larger of the two tangents around a loss is right up to the square of the step.
//! What comes out is achieved by an adversary who chooses among those pairs, so it is a lower bound
//! of what any proof could ever state.

pub(crate) mod branch;
mod family;
mod grid;
mod partition;
mod strategy;

pub(crate) use family::{Cut, Family};
use grid::{Grid, Value};
use partition::{Closeness, Partition};
pub(crate) use strategy::Achieved;

use crate::Usage;
use crate::moments::LawPair;
use shield_core::Watch;

/// The most queries for which adaptive strategies are followed: some seconds of work.
pub const MOST_ADAPTIVE: u64 = 1000;

/// What is to be composed, and what is known of it beforehand.
#[derive(Debug)]
pub(crate) struct Task<'a, F: Family> {
    pub(crate) family: &'a mut F,
    pub(crate) usage: Usage,
    /// How far the grid goes below 0: more than epsilon is expected to be.
    pub(crate) below: f64,
    /// How far it goes above 0.
    pub(crate) above: f64,
    /// Pairs that may be bad.
    pub(crate) starts: &'a [F::Pair],
    /// By what part cells may move a value beyond what some pair does.
    pub(crate) close: f64,
    /// The most cuts from one node on.
    pub(crate) splits: usize,
    pub(crate) watch: &'a Watch,
}

/// A proven epsilon, and the pairs that were worst on the way.
#[derive(Clone, Debug)]
pub(crate) struct Proven<P> {
    /// Infinite if none was found on the grid.
    pub(crate) epsilon: f64,
    pub(crate) pairs: Vec<P>,
}

impl<F: Family> Task<'_, F> {
    /// Steps of a fraction of a typical loss, over a window that the loss rarely leaves: neither
    /// costs more than a few thousandths of epsilon.
    fn grid(&self) -> Grid {
        let (below, above) = (self.below, self.above);
        let laws = self.starts.iter().flat_map(|pair| self.family.laws(pair));
        let deviation = laws.map(|laws| deviation(&laws)).fold(0.0, f64::max);
        let queries = self.usage.queries.count() as f64;
        // Grids grow with the root of the number of queries; coarser steps keep them in bounds.
        let parts = (160.0 / queries.sqrt()).clamp(6.0, 16.0);
        let nodes = (200_000.0 / queries).clamp(1024.0, 8192.0);
        let step = (deviation / parts).min((below + above) / nodes);
        Grid::new(step.max((below + above) / 32_768.0), below, above)
    }

    /// The proven epsilon.
    pub(crate) fn prove(&mut self) -> Proven<F::Pair> {
        const SAMPLES: usize = 64;
        let grid = self.grid();
        let (delta, queries) = (self.usage.delta.get(), self.usage.queries.count());
        let mut partition = Partition::new(&mut *self.family, grid.step, self.starts);
        let mut value = Value::last(grid, partition.reach());
        let mut next = 1;
        for left in 1..=queries {
            // The value changes less and less: the cells that were right for it stay so for long.
            if left == next {
                next = (left + 1).max(left * 5 / 4);
                partition.restart();
                for node in (0..grid.nodes).step_by((grid.nodes / SAMPLES).max(1)) {
                    let share = 1.0 / queries as f64;
                    let close = Closeness {
                        // A step that is one of many need not be as close as the others together.
                        relative: self.close * (1.0 + 0.1 / (share * left as f64)),
                        absolute: share * (0.005 * value.nodes()[node] + 0.0025 * delta),
                        splits: self.splits,
                    };
                    partition.refine(&value, node, close);
                }
                value = value.widened(partition.reach());
            }
            value = value.before(&partition.choices());
            self.watch.tell(left, queries);
        }
        Proven {
            epsilon: value.epsilon(delta).unwrap_or(f64::INFINITY),
            pairs: partition.worst().cloned().collect(),
        }
    }

    /// What an adversary achieves who chooses among some pairs.
    pub(crate) fn achieve(&self, pairs: &[F::Pair]) -> Achieved {
        let laws: Vec<Vec<LawPair>> = pairs.iter().map(|pair| self.family.laws(pair)).collect();
        strategy::best(&self.grid(), &laws, self.usage.queries.count(), self.usage.delta.get())
    }
}

/// The root of E[loss^2], where losses above 1 count as 1.
fn deviation(laws: &LawPair) -> f64 {
    let squares = laws.outcomes().iter().filter(|o| o.log_p > f64::NEG_INFINITY).map(|o| {
        let loss = (o.log_p - o.log_q).clamp(-1.0, 1.0);
        o.copies * o.log_p.exp() * loss * loss
    });
    squares.sum::<f64>().sqrt()
}
