//! Branch and bound: the largest value of an objective over all pairs of neighbours.
//!
//! Cells wait in a heap, the one with the largest bound first. It is split along the axis that
//! helps most, until the largest bound left is within the tolerance of the worst pair met. Whenever
//! it stops, the largest bound left (or the worst pair met) is proven, however far the tolerance
//! was.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::cell::{Axis, Cell, Counts};
use super::envelope::{Envelope, Objective};
use crate::moments::{LawPair, Outcome, ROUND_UP};
use crate::rounds::Rounds;

/// One pair of neighbours, classes known by their entries before the vote moves.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pair {
    /// Entries of the class that loses the vote.
    pub(crate) loser: f64,
    /// Entries of the class that gains it.
    pub(crate) gainer: f64,
    /// Bystanders: (entries, how many classes have that many).
    pub(crate) bystanders: Vec<(f64, f64)>,
}

impl Pair {
    /// A pair whose bystanders share what is left as evenly as whole numbers allow, but for the
    /// first, which has `first` entries where that is given. `None` where entries do not suffice.
    pub(crate) fn new(
        rounds: &Rounds,
        loser: f64,
        gainer: f64,
        first: Option<f64>,
    ) -> Option<Self> {
        let least = f64::from(rounds.offset);
        let mut left = rounds.size - loser - gainer;
        let mut classes = Cell::bystanders(rounds);
        let mut bystanders = Vec::with_capacity(3);
        if let Some(first) = first {
            if first < least || classes < 1.0 {
                return None;
            }
            (left, classes) = (left - first, classes - 1.0);
            bystanders.push((first, 1.0));
        }
        if left < classes * least
            || loser <= least
            || gainer < least
            || (classes == 0.0 && left > 0.0)
        {
            return None;
        }
        if classes > 0.0 {
            let (each, larger) = ((left / classes).floor(), left % classes);
            bystanders.extend([(each, classes - larger), (each + 1.0, larger)]);
            bystanders.retain(|&(_, copies)| copies > 0.0);
        }
        Some(Self { loser, gainer, bystanders })
    }

    /// The output laws before and after the move.
    pub(crate) fn laws(&self, rounds: &Rounds) -> LawPair {
        let mut groups = vec![(self.loser, 1.0), (self.gainer, 1.0)];
        groups.extend_from_slice(&self.bystanders);
        let before = rounds.law(&groups);
        (groups[0].0, groups[1].0) = (self.loser - 1.0, self.gainer + 1.0);
        let after = rounds.law(&groups);
        let classes = before.classes.iter().zip(&after.classes).zip(&groups);
        let classes =
            classes.map(|((&log_p, &log_q), &(_, copies))| Outcome { log_p, log_q, copies });
        let failure = Outcome { log_p: before.failure, log_q: after.failure, copies: 1.0 };
        LawPair::new(classes.chain([failure]))
    }

    /// The objective of this pair, in its worse direction.
    pub(crate) fn value(&self, rounds: &Rounds, objective: Objective) -> f64 {
        let laws = self.laws(rounds);
        let back = laws.reversed();
        match objective {
            Objective::Moment(order) => laws.log_moment(order).max(back.log_moment(order)).exp_m1(),
            Objective::HockeyStick(t) => laws.hockey_stick(t).max(back.hockey_stick(t)) * ROUND_UP,
        }
    }

    /// Votes of each class before the move: the loser first, then the gainer, then the bystanders.
    pub(crate) fn votes(&self, rounds: &Rounds) -> Vec<u32> {
        let mut votes = vec![self.loser, self.gainer];
        for &(entries, copies) in &self.bystanders {
            votes.extend(std::iter::repeat_n(entries, copies as usize));
        }
        votes.into_iter().map(|entries| entries as u32 - rounds.offset).collect()
    }
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
pub(crate) struct Maximum {
    /// No pair has more than this.
    pub(crate) upper: f64,
    /// The worst pair met.
    pub(crate) worst: Option<Pair>,
}

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

/// One search for the worst pair.
struct Search<'a> {
    rounds: &'a Rounds,
    objective: Objective,
    envelope: Envelope<'a>,
    worst: Option<Pair>,
    lower: f64,
}

/// The largest value of the objective over all pairs of neighbours. `hints` are pairs worth trying
/// first.
pub(crate) fn maximise(
    rounds: &Rounds,
    objective: Objective,
    tolerance: Tolerance,
    hints: &[Pair],
) -> Maximum {
    let envelope = Envelope::new(rounds, objective);
    let mut search = Search { rounds, objective, envelope, worst: None, lower: 0.0 };
    for hint in hints {
        search.meet(hint.clone());
    }
    search.run(tolerance)
}

impl Search<'_> {
    fn run(mut self, tolerance: Tolerance) -> Maximum {
        let mut heap = BinaryHeap::new();
        if let Some(cell) = Cell::all(self.rounds) {
            heap.push(Waiting { bound: self.envelope.bound(&cell), cell });
        }
        let mut splits = 0;
        let mut upper = 0.0;
        while let Some(Waiting { bound, cell }) = heap.pop() {
            let enough = self.lower * (1.0 + tolerance.relative) + tolerance.absolute;
            if bound <= enough || splits >= tolerance.splits {
                upper = bound;
                break;
            }
            splits += 1;
            if self.enumerate(&cell) {
                continue;
            }
            self.probe(&cell);
            let Some(parts) = self.best_split(&cell, bound) else {
                // As small as a cell can be, and looser than we would like: proven all the same.
                upper = bound;
                break;
            };
            heap.extend(parts);
        }
        // A pair's own value is rounded, too.
        Maximum { upper: upper.max(self.lower * ROUND_UP), worst: self.worst }
    }

    fn meet(&mut self, pair: Pair) {
        let value = pair.value(self.rounds, self.objective);
        if value > self.lower || self.worst.is_none() {
            (self.lower, self.worst) = (value, Some(pair));
        }
    }

    /// Tries some pairs of the cell, so that the search knows early what is worth beating.
    fn probe(&mut self, cell: &Cell) {
        self.meet_all(cell.samples(self.rounds));
    }

    fn meet_all(&mut self, pairs: impl IntoIterator<Item = Pair>) {
        for pair in pairs {
            self.meet(pair);
        }
    }

    /// Where only a few pairs are left, meets them all instead of bounding them: the bound is then
    /// exact.
    fn enumerate(&mut self, cell: &Cell) -> bool {
        // Real counts are never few.
        if Counts::of(self.rounds) == Counts::Real {
            return false;
        }
        let Some(pairs) = few_pairs(self.rounds, cell) else {
            return false;
        };
        self.meet_all(pairs);
        true
    }

    /// Splits along the axis that leaves the smallest bounds.
    fn best_split(&mut self, cell: &Cell, bound: f64) -> Option<Vec<Waiting>> {
        let mut best: Option<(f64, Vec<Waiting>)> = None;
        for axis in Axis::ALL {
            let Some(parts) = cell.split(axis, Counts::of(self.rounds)) else {
                continue;
            };
            let parts: Vec<Waiting> = parts
                .into_iter()
                .filter_map(|part| part.tightened(self.rounds))
                .map(|cell| Waiting { bound: self.envelope.bound(&cell).min(bound), cell })
                .collect();
            let worst = parts.iter().map(|part| part.bound).fold(0.0, f64::max);
            let sum: f64 = parts.iter().map(|part| part.bound).sum();
            // Bounds first; where they are infinite, the longest axis.
            let score = if sum.is_finite() {
                worst + 0.3 * sum
            } else {
                1e300 * (1.0 + 1.0 / (1.0 + cell.stretch(axis)))
            };
            if best.as_ref().is_none_or(|(least, _)| score < *least) {
                best = Some((score, parts));
            }
        }
        best.map(|(_, parts)| parts)
    }
}

impl Cell {
    /// Some pairs of the cell, their bystanders as equal as they can be.
    pub(crate) fn samples(&self, rounds: &Rounds) -> impl Iterator<Item = Pair> {
        let middle = |low: f64, high: f64| f64::midpoint(low, high).floor();
        let corners = [
            (self.loser.low, self.gainer.low),
            (middle(self.loser.low, self.loser.high), middle(self.gainer.low, self.gainer.high)),
        ];
        corners
            .into_iter()
            .filter(|(loser, gainer)| loser > gainer)
            .filter_map(|(loser, gainer)| Pair::new(rounds, loser, gainer, None))
    }
}

/// All pairs with the cell's loser and gainer, where both are single numbers and the pairs are few.
pub(crate) fn few_pairs(rounds: &Rounds, cell: &Cell) -> Option<Vec<Pair>> {
    const FEW: usize = 24;
    if !(cell.loser.is_point() && cell.gainer.is_point()) {
        return None;
    }
    let (loser, gainer) = (cell.loser.low, cell.gainer.low);
    let least = f64::from(rounds.offset);
    let bystanders = rounds.classes - 2;
    let votes = rounds.size - loser - gainer - bystanders as f64 * least;
    let mut parts = Vec::new();
    if !(0.0..=200.0).contains(&votes) || !partitions(votes as u32, bystanders, FEW, &mut parts) {
        return None;
    }
    let pair = |part: Vec<u32>| {
        let mut bystanders: Vec<(f64, f64)> = Vec::new();
        for votes in part {
            let entries = f64::from(votes) + least;
            match bystanders.last_mut() {
                Some(last) if last.0 == entries => last.1 += 1.0,
                _ => bystanders.push((entries, 1.0)),
            }
        }
        Pair { loser, gainer, bystanders }
    };
    Some(parts.into_iter().map(pair).collect())
}

/// All ways to share `votes` among `classes`, largest first; `false` if there are more than `few`.
fn partitions(votes: u32, classes: usize, few: usize, found: &mut Vec<Vec<u32>>) -> bool {
    fn extend(
        left: u32,
        most: u32,
        room: usize,
        few: usize,
        part: &mut Vec<u32>,
        found: &mut Vec<Vec<u32>>,
    ) -> bool {
        if room == 0 {
            if left == 0 {
                found.push(part.clone());
            }
            return found.len() <= few;
        }
        let least = left.div_ceil(u32::try_from(room).unwrap_or(u32::MAX));
        for votes in (least..=left.min(most)).rev() {
            part.push(votes);
            let go_on = extend(left - votes, votes, room - 1, few, part, found);
            part.pop();
            if !go_on {
                return false;
            }
        }
        true
    }
    // So many classes that each sharing is long: leave it to the bounds.
    classes <= 64 && extend(votes, votes, classes, few, &mut Vec::new(), found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_all_there() {
        let mut found = Vec::new();
        assert!(partitions(5, 3, 99, &mut found));
        assert_eq!(found, [[5, 0, 0], [4, 1, 0], [3, 2, 0], [3, 1, 1], [2, 2, 1]]);
        assert!(!partitions(50, 3, 99, &mut Vec::new()));
        let mut nobody = Vec::new();
        assert!(partitions(0, 0, 9, &mut nobody) && nobody.len() == 1);
        assert!(partitions(3, 0, 9, &mut nobody) && nobody.len() == 1);
    }
}
