//! A strategy for the adversary, and what it certainly achieves: the value from below.

use rayon::prelude::*;

use super::grid::Grid;
use crate::loss_distribution::LARGEST_LOSS;
use crate::moments::LawPair;

/// What an expectation is lowered by: it is a sum of positive terms, each right to about 1e-13.
const ROUND_DOWN: f64 = 1.0 - 1e-11;

/// Nodes that are worked on together.
const BLOCK: usize = 128;

/// One outcome of a query: its probability, and its loss as whole steps and a rest.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    mass: f64,
    steps: i64,
    /// 1 - e^-rest: how far along the tangent at the node below.
    along: f64,
    /// e^(step - rest) - 1: how far back along the tangent at the node above.
    back: f64,
}

/// One direction of a pair of neighbours.
#[derive(Clone, Debug)]
struct Choice {
    outcomes: Vec<Outcome>,
    infinite: f64,
}

impl Choice {
    fn new(laws: &LawPair, step: f64) -> Self {
        let mut choice = Self { outcomes: Vec::new(), infinite: 0.0 };
        for outcome in laws.outcomes() {
            let (mass, loss) =
                (outcome.copies * outcome.log_p.exp(), outcome.log_p - outcome.log_q);
            if loss > LARGEST_LOSS {
                choice.infinite += mass;
            } else if loss >= -LARGEST_LOSS {
                // An outcome with a smaller loss adds nothing that is worth counting.
                let steps = (loss / step).floor();
                let rest = loss - steps * step;
                choice.outcomes.push(Outcome {
                    mass,
                    steps: steps as i64,
                    along: -(-rest).exp_m1(),
                    back: (step - rest).exp_m1(),
                });
            }
        }
        choice
    }
}

/// Lines below a function that is convex in e^-z: one for each node, by its value there and its
/// slope in -e^-z times e^-z.
#[derive(Clone, Debug)]
struct Tangents {
    heights: Vec<f64>,
    slopes: Vec<f64>,
}

impl Tangents {
    /// Those of (1 - e^-z)_+.
    fn last(grid: &Grid) -> Self {
        let height = |node| (-(-grid.place(node)).exp_m1()).max(0.0);
        let slope = |node| if grid.place(node) < 0.0 { 0.0 } else { (-grid.place(node)).exp() };
        Self {
            heights: (0..grid.nodes).map(height).collect(),
            slopes: (0..grid.nodes).map(slope).collect(),
        }
    }

    /// The line of a node, or, outside of the grid, a line that is certainly below: 0 on the left,
    /// the last node's line on the right. As (height, slope) at that place.
    fn at(&self, step: f64, node: i64) -> (f64, f64) {
        let last = self.heights.len() as i64 - 1;
        if node < 0 {
            (0.0, 0.0)
        } else if node <= last {
            (self.heights[node as usize], self.slopes[node as usize])
        } else {
            let far = (-step * (node - last) as f64).exp();
            let (height, slope) = (self.heights[last as usize], self.slopes[last as usize]);
            (height + slope * (1.0 - far), slope * far)
        }
    }

    /// The expectation after a query, and its slope.
    fn after(&self, step: f64, choice: &Choice, node: usize) -> (f64, f64) {
        let (mut height, mut slope) = (choice.infinite, 0.0);
        for outcome in &choice.outcomes {
            let below = node as i64 + outcome.steps;
            let ((low, low_slope), (high, high_slope)) =
                (self.at(step, below), self.at(step, below + 1));
            let (from_low, from_high) =
                (low + low_slope * outcome.along, high - high_slope * outcome.back);
            if from_low >= from_high {
                height += outcome.mass * from_low;
                slope += outcome.mass * low_slope * (1.0 - outcome.along);
            } else {
                height += outcome.mass * from_high;
                slope += outcome.mass * high_slope * (1.0 + outcome.back);
            }
        }
        (height.max(0.0), slope)
    }

    /// The same lines with room on both sides, so that no choice leads out of them.
    fn widened(&self, step: f64, (down, up): (usize, usize)) -> Self {
        let places = -(down as i64)..(self.heights.len() + up) as i64;
        let (heights, slopes) = places.map(|node| self.at(step, node)).unzip();
        Self { heights, slopes }
    }

    /// For the nodes from `start` on, the largest expectation after a query and the choice that has
    /// it. The lines must have room of `down` nodes below the first.
    fn choose(&self, choices: &[Choice], down: usize, start: usize, best: &mut [Chosen]) {
        let mut sum = vec![0.0f64; best.len()];
        for (i, choice) in choices.iter().enumerate() {
            sum.fill(choice.infinite);
            for outcome in &choice.outcomes {
                let below = (down as i64 + start as i64 + outcome.steps) as usize;
                let low = &self.heights[below..=below + best.len()];
                let slope = &self.slopes[below..=below + best.len()];
                for (j, sum) in sum.iter_mut().enumerate() {
                    let from_low = low[j] + slope[j] * outcome.along;
                    let from_high = low[j + 1] - slope[j + 1] * outcome.back;
                    *sum += outcome.mass * from_low.max(from_high);
                }
            }
            for (best, &sum) in best.iter_mut().zip(&sum) {
                if sum > best.height {
                    *best = Chosen { height: sum, choice: Some(i) };
                }
            }
        }
    }

    /// The largest epsilon for which the function at -epsilon certainly exceeds `delta`.
    fn epsilon(&self, grid: &Grid, delta: f64) -> f64 {
        let Some(node) = self.heights.iter().position(|&height| height > delta) else {
            return 0.0;
        };
        let beyond = ((self.heights[node] - delta) / self.slopes[node]).ln_1p();
        let beyond = if node > 0 && beyond > 0.0 { beyond.min(grid.step) } else { 0.0 };
        ((beyond - grid.place(node)) * (1.0 - 1e-9)).max(0.0)
    }
}

/// The best choice at a node.
#[derive(Clone, Copy, Debug, Default)]
struct Chosen {
    height: f64,
    choice: Option<usize>,
}

/// What the best strategy over some pairs achieves.
#[derive(Clone, Debug)]
pub(crate) struct Achieved {
    pub(crate) epsilon: f64,
    /// The pair it starts with: an index into the pairs given.
    pub(crate) first: Option<usize>,
    /// How many different pairs it chooses from on its way.
    pub(crate) pairs: usize,
}

/// The best strategy that chooses among these pairs, query by query. Each comes with its laws in
/// some directions.
pub(super) fn best(grid: &Grid, pairs: &[Vec<LawPair>], queries: u64, delta: f64) -> Achieved {
    let owners: Vec<usize> =
        pairs.iter().enumerate().flat_map(|(pair, laws)| vec![pair; laws.len()]).collect();
    let choices: Vec<Choice> =
        pairs.iter().flatten().map(|laws| Choice::new(laws, grid.step)).collect();
    let steps = || choices.iter().flat_map(|choice| &choice.outcomes).map(|outcome| outcome.steps);
    let down = steps().min().unwrap_or(0).min(0).unsigned_abs() as usize;
    let up = steps().max().unwrap_or(0).max(0).unsigned_abs() as usize + 1;
    let mut tangents = Tangents::last(grid);
    let mut used = vec![false; pairs.len()];
    let mut chosen = vec![Chosen::default(); grid.nodes];
    for _ in 0..queries {
        let wide = tangents.widened(grid.step, (down, up));
        for (best, &height) in chosen.iter_mut().zip(&tangents.heights) {
            *best = Chosen { height, choice: None };
        }
        chosen
            .par_chunks_mut(BLOCK)
            .enumerate()
            .for_each(|(block, best)| wide.choose(&choices, down, block * BLOCK, best));
        let lines: Vec<(f64, f64)> = (0..grid.nodes)
            .map(|node| match chosen[node].choice {
                Some(choice) => tangents.after(grid.step, &choices[choice], node),
                None => tangents.at(grid.step, node as i64),
            })
            .collect();
        for (node, (height, slope)) in lines.into_iter().enumerate() {
            tangents.heights[node] = height * ROUND_DOWN;
            tangents.slopes[node] = slope * ROUND_DOWN;
            // States from which delta is still worth something.
            if let Some(choice) = chosen[node].choice.filter(|_| height > delta && height < 0.5) {
                used[owners[choice]] = true;
            }
        }
    }
    let epsilon = tangents.epsilon(grid, delta);
    let start = ((-epsilon / grid.step).round() as i64 - grid.first).max(0) as usize;
    Achieved {
        epsilon,
        first: chosen.get(start).and_then(|chosen| chosen.choice).map(|choice| owners[choice]),
        pairs: used.into_iter().filter(|used| *used).count(),
    }
}
