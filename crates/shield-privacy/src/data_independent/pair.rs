//! Pairs of neighbouring histograms.

use super::cell::Cell;
use crate::moments::LawPair;
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
        rounds.laws_of_move(groups)
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
