//! All pairs of neighbours in cells, each with pairs of laws that dominate what is in it.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::family::Family;
use super::grid::{Shifts, Value};

/// Some pairs of neighbours.
#[derive(Clone, Debug)]
struct Leaf<C> {
    /// The cell they are in; none where it cannot be split any more.
    cell: Option<C>,
    /// What a query can do to the loss, at worst: every direction of the cell, or of every pair.
    choices: Vec<Shifts>,
}

/// Parts of a cell, with their bounds.
type Parts<C> = Vec<(f64, Leaf<C>)>;

impl<C> Leaf<C> {
    fn worst(&self, value: &Value, node: usize) -> f64 {
        self.choices.iter().map(|choice| value.after(choice, node)).fold(0.0, f64::max)
    }
}

/// A pair that was met, with its directions.
#[derive(Clone, Debug)]
struct Met<P> {
    pair: P,
    directions: Vec<Shifts>,
    /// Whether it was the worst somewhere.
    chosen: bool,
}

impl<P> Met<P> {
    fn worst(&self, value: &Value, node: usize) -> f64 {
        self.directions.iter().map(|shifts| value.after(shifts, node)).fold(0.0, f64::max)
    }
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
pub(super) struct Partition<'a, F: Family> {
    family: &'a mut F,
    step: f64,
    leaves: Vec<Leaf<F::Cell>>,
    met: Vec<Met<F::Pair>>,
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

impl<'a, F: Family> Partition<'a, F> {
    /// The roots of a family.
    pub(super) fn new(family: &'a mut F, step: f64, starts: &[F::Pair]) -> Self {
        let mut partition = Self { family, step, leaves: Vec::new(), met: Vec::new() };
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
        for cell in self.family.roots() {
            let leaf = self.leaf(cell);
            self.leaves.push(leaf);
        }
    }

    /// The pairs that were the worst of those met, for some value from some node on.
    pub(super) fn worst(&self) -> impl Iterator<Item = &F::Pair> {
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

    fn leaf(&mut self, cell: F::Cell) -> Leaf<F::Cell> {
        let step = self.step;
        let choices = self.family.dominating(&cell);
        Leaf {
            cell: Some(cell),
            choices: choices.iter().map(|pair| Shifts::of_dominating(pair, step)).collect(),
        }
    }

    fn meet(&mut self, pair: F::Pair) -> usize {
        if let Some(known) = self.met.iter().position(|met| met.pair == pair) {
            return known;
        }
        let step = self.step;
        let laws = self.family.laws(&pair);
        let directions = laws.iter().map(|laws| Shifts::of_laws(laws, step)).collect();
        self.met.push(Met { pair, directions, chosen: false });
        self.met.len() - 1
    }

    /// Splits cells until they are close enough for this value, from this node on.
    pub(super) fn refine(&mut self, value: &Value, node: usize, close: Closeness) {
        let mut splits = 0;
        let now = value.nodes()[node];
        let mut best = (0, now);
        for (i, met) in self.met.iter().enumerate() {
            let worst = met.worst(value, node);
            if worst > best.1 {
                best = (i, worst);
            }
        }
        let waiting = |(leaf, what): (usize, &Leaf<F::Cell>)| Waiting {
            worst: what.worst(value, node),
            leaf,
        };
        let mut heap: BinaryHeap<Waiting> = self.leaves.iter().enumerate().map(waiting).collect();
        while let Some(Waiting { worst, leaf }) = heap.pop() {
            let enough = (1.0 + close.relative) * (best.1 - now) + close.absolute;
            if worst - now <= enough || splits >= close.splits {
                break;
            }
            let Some(cell) = self.leaves[leaf].cell.clone() else {
                continue;
            };
            splits += 1;
            let mut found = Vec::new();
            if let Some(pairs) = self.family.few(&cell) {
                let mut choices = Vec::new();
                for pair in pairs {
                    let met = self.meet(pair);
                    choices.extend_from_slice(&self.met[met].directions);
                    found.push(met);
                }
                self.leaves[leaf] = Leaf { cell: None, choices };
                heap.push(Waiting { worst: self.leaves[leaf].worst(value, node), leaf });
            } else {
                for pair in self.family.samples(&cell) {
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
                let worst = self.met[met].worst(value, node);
                if worst > best.1 {
                    best = (met, worst);
                }
            }
        }
        if let Some(met) = self.met.get_mut(best.0) {
            met.chosen = true;
        }
        if self.met.len() > F::REMEMBERED {
            self.met.retain(|met| met.chosen);
        }
    }

    /// The parts of a cell along the axis that leaves the smallest bounds, with those bounds.
    fn best_split(&mut self, cell: &F::Cell, value: &Value, node: usize) -> Option<Parts<F::Cell>> {
        let now = value.nodes()[node];
        let mut best: Option<(f64, Parts<F::Cell>)> = None;
        for cut in self.family.cuts(cell) {
            let mut leaves = Vec::with_capacity(2);
            for part in cut.parts {
                let leaf = self.leaf(part);
                leaves.push((leaf.worst(value, node), leaf));
            }
            if leaves.is_empty() {
                continue;
            }
            let worst = leaves.iter().map(|leaf| leaf.0).fold(0.0, f64::max);
            let sum: f64 = leaves.iter().map(|leaf| leaf.0 - now).sum();
            let crude = if worst >= 1.0 { 1.0 / (1.0 + cut.stretch) } else { 0.0 };
            let score = worst - now + 0.3 * sum + crude;
            if best.as_ref().is_none_or(|(least, _)| score < *least) {
                best = Some((score, leaves));
            }
        }
        best.map(|(_, leaves)| leaves)
    }
}
