//! All pairs of neighbours in cells, each with pairs of laws that dominate what is in it.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::grid::{Shifts, Value};
use crate::privacy::data_independent::branch::{Pair, few_pairs};
use crate::privacy::data_independent::cell::{Axis, Cell, Counts};
use crate::privacy::data_independent::envelope::{Envelope, Objective};
use crate::privacy::rounds::Rounds;

/// Some pairs of neighbours.
#[derive(Clone, Debug)]
struct Leaf {
    /// The cell they are in; none where it cannot be split any more.
    cell: Option<Cell>,
    /// What a query can do to the loss, at worst: both directions of the cell, or of every pair.
    choices: Vec<Shifts>,
}

impl Leaf {
    fn worst(&self, value: &Value, node: usize) -> f64 {
        self.choices.iter().map(|choice| value.after(choice, node)).fold(0.0, f64::max)
    }
}

/// A pair that was met, with both directions.
#[derive(Clone, Debug)]
struct Met {
    pair: Pair,
    directions: [Shifts; 2],
    /// Whether it was the worst somewhere.
    chosen: bool,
}

/// How closely the cells must enclose the worst pair, from one node on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Closeness {
    /// No cell may move the value by more than this part beyond what some pair does ...
    pub(super) relative: f64,
    /// ... and this much.
    pub(super) absolute: f64,
    /// But stop after so many splits.
    pub(super) splits: usize,
}

/// A partition of all pairs of neighbours, refined where it matters.
pub(super) struct Partition<'a> {
    rounds: &'a Rounds,
    envelope: Envelope<'a>,
    step: f64,
    leaves: Vec<Leaf>,
    met: Vec<Met>,
}

#[derive(PartialEq)]
struct Waiting {
    worst: f64,
    leaf: usize,
}
impl Eq for Waiting {}
impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        self.worst.total_cmp(&other.worst).then(self.leaf.cmp(&other.leaf))
    }
}

impl<'a> Partition<'a> {
    /// One cell with everything. `order` is that of a moment that stands for all that will matter.
    pub(super) fn new(rounds: &'a Rounds, order: f64, step: f64, starts: &[Pair]) -> Self {
        let envelope = Envelope::new(rounds, Objective::Moment(order));
        let mut partition = Self { rounds, envelope, step, leaves: Vec::new(), met: Vec::new() };
        partition.restart();
        for start in starts {
            partition.meet(start.clone());
        }
        partition
    }

    /// What a query can do to the loss, at worst, over all cells.
    pub(super) fn choices(&self) -> Vec<&Shifts> {
        self.leaves.iter().flat_map(|leaf| &leaf.choices).collect()
    }

    /// Forgets all cells; not the pairs that were met.
    pub(super) fn restart(&mut self) {
        self.leaves.clear();
        if let Some(cell) = Cell::all(self.rounds) {
            let leaf = self.leaf(cell);
            self.leaves.push(leaf);
        }
    }

    /// The pairs that were the worst of those met, for some value from some node on.
    pub(super) fn worst(&self) -> impl Iterator<Item = &Pair> {
        self.met.iter().filter(|met| met.chosen).map(|met| &met.pair)
    }

    /// How far a query can move the loss, in steps down and up.
    pub(super) fn reach(&self) -> (usize, usize) {
        let met = self.met.iter().flat_map(|met| &met.directions);
        self.choices()
            .into_iter()
            .chain(met)
            .map(Shifts::reach)
            .fold((0, 0), |(down, up), (lower, higher)| (down.max(lower), up.max(higher)))
    }

    fn leaf(&mut self, cell: Cell) -> Leaf {
        let step = self.step;
        let choices = self.envelope.dominating(&cell);
        Leaf {
            cell: Some(cell),
            choices: choices.iter().map(|pair| Shifts::of_dominating(pair, step)).collect(),
        }
    }

    fn meet(&mut self, pair: Pair) -> usize {
        if let Some(known) = self.met.iter().position(|met| met.pair == pair) {
            return known;
        }
        let directions = Shifts::of_pair(&pair.laws(self.rounds), self.step);
        self.met.push(Met { pair, directions, chosen: false });
        self.met.len() - 1
    }

    /// Splits cells until they are close enough for this value, from this node on.
    pub(super) fn refine(&mut self, value: &Value, node: usize, close: Closeness) {
        let mut splits = 0;
        let now = value.nodes()[node];
        let of_met = |met: &Met| {
            let [there, back] = &met.directions;
            value.after(there, node).max(value.after(back, node))
        };
        let mut best = (0, now);
        for (i, met) in self.met.iter().enumerate() {
            let worst = of_met(met);
            if worst > best.1 {
                best = (i, worst);
            }
        }
        let waiting =
            |(leaf, what): (usize, &Leaf)| Waiting { worst: what.worst(value, node), leaf };
        let mut heap: BinaryHeap<Waiting> = self.leaves.iter().enumerate().map(waiting).collect();
        while let Some(Waiting { worst, leaf }) = heap.pop() {
            let enough = (1.0 + close.relative) * (best.1 - now) + close.absolute;
            if worst - now <= enough || splits >= close.splits {
                break;
            }
            let Some(cell) = self.leaves[leaf].cell else {
                continue;
            };
            splits += 1;
            let mut found = Vec::new();
            if let Some(pairs) = few_pairs(self.rounds, &cell) {
                let mut choices = Vec::new();
                for pair in pairs {
                    let met = self.meet(pair);
                    choices.extend_from_slice(&self.met[met].directions);
                    found.push(met);
                }
                self.leaves[leaf] = Leaf { cell: None, choices };
                heap.push(Waiting { worst: self.leaves[leaf].worst(value, node), leaf });
            } else {
                for pair in cell.samples(self.rounds) {
                    found.push(self.meet(pair));
                }
                match self.best_split(&cell, value, node) {
                    None => self.leaves[leaf].cell = None,
                    Some(parts) => {
                        let mut places = vec![leaf];
                        places.extend(self.leaves.len()..self.leaves.len() + parts.len() - 1);
                        self.leaves.resize_with(self.leaves.len() + parts.len() - 1, || Leaf {
                            cell: None,
                            choices: Vec::new(),
                        });
                        for (place, (worst, part)) in places.into_iter().zip(parts) {
                            self.leaves[place] = part;
                            heap.push(Waiting { worst, leaf: place });
                        }
                    }
                }
            }
            for met in found {
                let worst = of_met(&self.met[met]);
                if worst > best.1 {
                    best = (met, worst);
                }
            }
        }
        if let Some(met) = self.met.get_mut(best.0) {
            met.chosen = true;
        }
    }

    /// The parts of a cell along the axis that leaves the smallest bounds, with those bounds.
    fn best_split(&mut self, cell: &Cell, value: &Value, node: usize) -> Option<Vec<(f64, Leaf)>> {
        let now = value.nodes()[node];
        let mut best: Option<(f64, Vec<(f64, Leaf)>)> = None;
        for axis in Axis::ALL {
            let Some(parts) = cell.split(axis, Counts::Whole) else {
                continue;
            };
            let mut leaves = Vec::with_capacity(2);
            for part in parts.into_iter().filter_map(|part| part.tightened(self.rounds)) {
                let leaf = self.leaf(part);
                leaves.push((leaf.worst(value, node), leaf));
            }
            if leaves.is_empty() {
                continue;
            }
            let worst = leaves.iter().map(|leaf| leaf.0).fold(0.0, f64::max);
            let sum: f64 = leaves.iter().map(|leaf| leaf.0 - now).sum();
            let crude = if worst >= 1.0 { 1.0 / (1.0 + cell.stretch(axis)) } else { 0.0 };
            let score = worst - now + 0.3 * sum + crude;
            if best.as_ref().is_none_or(|(least, _)| score < *least) {
                best = Some((score, leaves));
            }
        }
        best.map(|(_, leaves)| leaves)
    }
}
