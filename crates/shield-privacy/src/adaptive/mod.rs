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
//! # Samples that differ
//!
//! Where queries are of several kinds, as samples with different numbers of voters are, each has
//! its own sup. Which sample is of which kind is public and fixed beforehand, so the recursion runs
//! through the kinds in an order of its own ([`Mixture`]). Where a sample may be of any of several
//! kinds, the sup runs over the pairs of all of them.
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
use grid::{Grid, Shifts, Value};
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
        Grid::of(self.usage.queries.count(), deviation, below, above)
    }

    /// The proven epsilon.
    pub(crate) fn prove(&mut self) -> Proven<F::Pair> {
        let grid = self.grid();
        let partition = Partition::new(&mut *self.family, grid.step, self.starts);
        let queries = self.usage.queries.count();
        let mut stages = [Queries { partitions: vec![partition], queries }];
        let care = Care { delta: self.usage.delta.get(), close: self.close, splits: self.splits };
        let value = before_all(grid, &mut stages, care, self.watch);
        let [Queries { partitions, .. }] = &stages;
        Proven {
            epsilon: value.epsilon(care.delta).unwrap_or(f64::INFINITY),
            pairs: partitions.iter().flat_map(Partition::worst).cloned().collect(),
        }
    }

    /// What an adversary achieves who chooses among some pairs.
    pub(crate) fn achieve(&self, pairs: &[F::Pair]) -> Achieved {
        let laws: Vec<Vec<LawPair>> = pairs.iter().map(|pair| self.family.laws(pair)).collect();
        strategy::best(&self.grid(), &laws, self.usage.queries.count(), self.usage.delta.get())
    }
}

/// Queries whose pairs are all of any of some families.
struct Queries<'a, F: Family> {
    partitions: Vec<Partition<'a, F>>,
    queries: u64,
}

/// How closely cells must enclose the worst pairs.
#[derive(Clone, Copy, Debug)]
struct Care {
    delta: f64,
    close: f64,
    splits: usize,
}

/// The value before all queries, stage after stage; the last query is of the first stage.
fn before_all<F: Family>(
    grid: Grid,
    stages: &mut [Queries<'_, F>],
    care: Care,
    watch: &Watch,
) -> Value {
    const SAMPLES: usize = 64;
    let all: u64 = stages.iter().map(|stage| stage.queries).sum();
    let mut value = Value::last(grid, (0, 0));
    let mut left = 0;
    for Queries { partitions, queries } in stages {
        value = value.widened(reach(partitions));
        let mut next = left + 1;
        for _ in 0..*queries {
            left += 1;
            // The value changes less and less: the cells that were right for it stay so for long.
            if left == next {
                next = (left + 1).max(left * 5 / 4);
                for partition in &mut *partitions {
                    partition.restart();
                    for node in (0..grid.nodes).step_by((grid.nodes / SAMPLES).max(1)) {
                        let share = 1.0 / all as f64;
                        let close = Closeness {
                            // A step that is one of many need not be as close as the others
                            // together.
                            relative: care.close * (1.0 + 0.1 / (share * left as f64)),
                            absolute: share * (0.005 * value.nodes()[node] + 0.0025 * care.delta),
                            splits: care.splits,
                        };
                        partition.refine(&value, node, close);
                    }
                }
                value = value.widened(reach(partitions));
            }
            let choices: Vec<&Shifts> = partitions.iter().flat_map(Partition::choices).collect();
            value = value.before(&choices);
            watch.tell(left, all);
        }
    }
    value
}

/// How far a query can move the loss, in steps down and up.
fn reach<F: Family>(partitions: &[Partition<'_, F>]) -> (usize, usize) {
    let reach = partitions.iter().map(Partition::reach);
    reach.fold((0, 0), |(down, up), (lower, higher)| (down.max(lower), up.max(higher)))
}

/// Queries of a [`Mixture`]: each has a pair of any of some families.
pub(crate) struct Stage<'a, F: Family> {
    /// The families, each with pairs that may be bad.
    pub(crate) families: Vec<(F, &'a [F::Pair])>,
    pub(crate) queries: u64,
}

/// Queries of several kinds, composed in a known order.
pub(crate) struct Mixture<'a, F: Family> {
    pub(crate) stages: Vec<Stage<'a, F>>,
    pub(crate) delta: f64,
    /// An epsilon that is known to be enough.
    pub(crate) enough: f64,
    pub(crate) watch: &'a Watch,
}

impl<F: Family> Mixture<'_, F> {
    /// The proven epsilon; infinite if none was found on the grid.
    pub(crate) fn prove(&mut self) -> f64 {
        let care = Care { delta: self.delta, close: 0.008, splits: 300 };
        let queries: u64 = self.stages.iter().map(|stage| stage.queries).sum();
        let squares = self.stages.iter().map(|stage| {
            let families = stage.families.iter();
            let laws = families.flat_map(|(family, starts)| {
                starts.iter().flat_map(|pair| family.laws(pair)).collect::<Vec<_>>()
            });
            let deviation = laws.map(|laws| deviation(&laws)).fold(0.0, f64::max);
            stage.queries as f64 * deviation * deviation
        });
        // A few samples that cost much must not make the grid coarse for the many.
        let typical = (squares.sum::<f64>() / queries.max(1) as f64).sqrt();
        let grid = Grid::of(queries, typical, 1.3 * self.enough, 0.5 * self.enough);
        let mut stages: Vec<Queries<'_, F>> = self
            .stages
            .iter_mut()
            .map(|stage| {
                let families = stage.families.iter_mut();
                let partitions =
                    families.map(|(family, starts)| Partition::new(family, grid.step, starts));
                Queries { partitions: partitions.collect(), queries: stage.queries }
            })
            .collect();
        let value = before_all(grid, &mut stages, care, self.watch);
        value.epsilon(self.delta).unwrap_or(f64::INFINITY)
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
