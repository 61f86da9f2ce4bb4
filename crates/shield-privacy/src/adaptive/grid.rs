//! Functions of the accumulated loss on a grid, from above.

use rayon::prelude::*;

use crate::hockey_stick::Dominating;
use crate::loss_distribution::LARGEST_LOSS;
use crate::moments::LawPair;

/// A grid of accumulated losses, relative to epsilon: z = step * index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Grid {
    pub(super) step: f64,
    /// Index of the first node: a negative number.
    pub(super) first: i64,
    pub(super) nodes: usize,
}

impl Grid {
    /// A grid with the node 0, from at most `-below` to at least `above`.
    pub(super) fn new(step: f64, below: f64, above: f64) -> Self {
        let (first, last) = (-(below / step).ceil() as i64, (above / step).ceil() as i64);
        Self { step, first, nodes: (last - first + 1) as usize }
    }

    /// A grid for that many queries of a typical loss: fine enough for it, and not too many nodes.
    pub(super) fn of(queries: u64, deviation: f64, below: f64, above: f64) -> Self {
        let queries = queries as f64;
        // Grids grow with the root of the number of queries; coarser steps keep them in bounds.
        let parts = (160.0 / queries.sqrt()).clamp(6.0, 16.0);
        let nodes = (200_000.0 / queries).clamp(1024.0, 8192.0);
        let step = (deviation / parts).min((below + above) / nodes);
        Self::new(step.max((below + above) / 32_768.0), below, above)
    }

    pub(super) fn place(&self, node: usize) -> f64 {
        self.step * (self.first + node as i64) as f64
    }
}

/// Mass moved from any outcome to the next grid point: far above the rounding errors of its share.
const OUTWARDS: f64 = 1e-11;

/// What a loss is raised by: logarithms of probabilities are right to about 1e-13.
const LOSS_UP: f64 = 1e-12;

/// What an expectation is raised by: it is a sum of positive terms, each right to about 1e-13.
const ROUND_UP: f64 = 1.0 + 1e-11;

/// What one query does to the accumulated loss: it moves by a whole number of steps.
///
/// A loss between two grid points is split between them so that E[e^-loss] stays: an upper bound
/// for every function that is convex in e^-z.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shifts {
    /// (steps, probability).
    pub(super) finite: Vec<(i32, f64)>,
    /// The probability of an infinite loss.
    pub(super) infinite: f64,
}

impl Shifts {
    pub(super) fn new(
        losses: impl IntoIterator<Item = (f64, f64)>,
        infinite: f64,
        step: f64,
    ) -> Self {
        let mut shifts = Self { finite: Vec::with_capacity(16), infinite };
        for (loss, mass) in losses {
            if loss > LARGEST_LOSS {
                shifts.infinite += mass;
                continue;
            }
            let loss = loss.max(-LARGEST_LOSS) + LOSS_UP;
            let steps = (loss / step).floor();
            let part = (-(loss - steps * step)).exp_m1() / (-step).exp_m1();
            let upper = mass * (part + OUTWARDS).clamp(0.0, 1.0);
            shifts.add(steps as i32, mass - upper);
            shifts.add(steps as i32 + 1, upper);
        }
        shifts
    }

    pub(super) fn of_laws(laws: &LawPair, step: f64) -> Self {
        let likely = laws.outcomes().iter().filter(|o| o.log_p > f64::NEG_INFINITY);
        let losses = likely.map(|o| (o.log_p - o.log_q, o.copies * o.log_p.exp()));
        Self::new(losses, 0.0, step)
    }

    pub(super) fn of_dominating(pair: &Dominating, step: f64) -> Self {
        Self::new(pair.losses.iter().copied(), pair.infinite, step)
    }

    fn add(&mut self, steps: i32, mass: f64) {
        if mass <= 0.0 {
            return;
        }
        match self.finite.iter_mut().find(|shift| shift.0 == steps) {
            Some(shift) => shift.1 += mass,
            None => self.finite.push((steps, mass)),
        }
    }

    /// The largest number of steps down, and up.
    pub(super) fn reach(&self) -> (usize, usize) {
        let steps = || self.finite.iter().map(|shift| shift.0);
        (
            steps().min().map_or(0, |low| low.min(0).unsigned_abs() as usize),
            steps().max().map_or(0, |high| high.max(0) as usize),
        )
    }
}

/// An upper bound, at every node, of a function of the accumulated loss that does not fall, is at
/// most 1, and is convex in e^-z.
#[derive(Clone, Debug)]
pub(super) struct Value {
    grid: Grid,
    /// Values from `margin.0` steps below the first node to `margin.1` steps above the last.
    values: Vec<f64>,
    margin: (usize, usize),
}

impl Value {
    /// Where no query is left: (1 - e^-z)_+.
    pub(super) fn last(grid: Grid, margin: (usize, usize)) -> Self {
        let nodes = (0..grid.nodes).map(|node| (-(-grid.place(node)).exp_m1()).max(0.0));
        Self::from_nodes(grid, margin, &nodes.collect::<Vec<_>>())
    }

    /// Continues the values at the nodes on both sides: downwards by the lowest, since the function
    /// does not fall; upwards by the chord (in e^-z) to infinity, where it is at most 1.
    fn from_nodes(grid: Grid, margin: (usize, usize), nodes: &[f64]) -> Self {
        let (lowest, highest) =
            (nodes.first().copied().unwrap_or(1.0), nodes.last().copied().unwrap_or(1.0));
        let mut values = vec![lowest; margin.0];
        values.extend_from_slice(nodes);
        let above = (1..=margin.1).map(|i| 1.0 - (1.0 - highest) * (-grid.step * i as f64).exp());
        values.extend(above);
        Self { grid, values, margin }
    }

    /// The same function with room for longer shifts.
    pub(super) fn widened(&self, margin: (usize, usize)) -> Self {
        Self::from_nodes(self.grid, margin, self.nodes())
    }

    pub(super) fn nodes(&self) -> &[f64] {
        &self.values[self.margin.0..self.margin.0 + self.grid.nodes]
    }

    /// The expectation after one query, from a node. The margin must be wide enough.
    pub(super) fn after(&self, shifts: &Shifts, node: usize) -> f64 {
        let at = (self.margin.0 + node) as i64;
        let finite = shifts.finite.iter().map(|&(steps, mass)| {
            mass * self.values.get((at + i64::from(steps)) as usize).copied().unwrap_or(1.0)
        });
        finite.sum::<f64>() + shifts.infinite
    }

    /// The largest expectation over all choices of a query, at every node, rounded up.
    pub(super) fn before(&self, choices: &[&Shifts]) -> Self {
        const BLOCK: usize = 128;
        let mut nodes = vec![0.0f64; self.grid.nodes];
        nodes.par_chunks_mut(BLOCK).enumerate().for_each(|(block, best)| {
            let start = (self.margin.0 + block * BLOCK) as i64;
            let mut sum = [0.0f64; BLOCK];
            for shifts in choices {
                let sum = &mut sum[..best.len()];
                sum.fill(shifts.infinite);
                for &(steps, mass) in &shifts.finite {
                    let from = (start + i64::from(steps)) as usize;
                    let values = &self.values[from..from + sum.len()];
                    for (sum, value) in sum.iter_mut().zip(values) {
                        *sum += mass * value;
                    }
                }
                for (best, sum) in best.iter_mut().zip(&*sum) {
                    *best = best.max(*sum);
                }
            }
        });
        for value in &mut nodes {
            *value = (*value * ROUND_UP).min(1.0);
        }
        Self::from_nodes(self.grid, self.margin, &nodes)
    }

    /// The least epsilon whose value, at z = -epsilon, is at most `delta`; none in the window.
    pub(super) fn epsilon(&self, delta: f64) -> Option<f64> {
        let nodes = self.nodes();
        let node = nodes.iter().rposition(|&value| value <= delta)?;
        let z = self.grid.place(node);
        let Some(&above) = nodes.get(node + 1) else {
            return Some(0.0);
        };
        // Along the chord in e^-z, which lies above the function.
        let part = (delta - nodes[node]) / (above - nodes[node]);
        let beyond = -(-part * -(-self.grid.step).exp_m1()).ln_1p();
        let epsilon = -(z + beyond.clamp(0.0, self.grid.step));
        Some((epsilon * (1.0 + 1e-9)).max(0.0))
    }
}
