//! Two copies of a board: the same, one longer than the other, or proof that the operator showed
//! two boards.

use serde::Serialize;

use crate::folder::Folder;
use crate::line::Line;
use crate::parties::Parties;

/// What two copies of a board have in common.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// How many lines they share.
    pub common: usize,
    /// How many lines the first has.
    pub first: usize,
    /// How many lines the second has.
    pub second: usize,
    /// Two lines with one number that the operator countersigned both.
    pub fork: Option<[Line; 2]>,
    /// Why one of two different lines proves nothing: it is not the operator's.
    pub unproven: Option<String>,
}

/// Compares two copies of the board of one election.
pub fn compare(first: &Folder, second: &Folder, parties: &Parties) -> Comparison {
    let lines = || first.lines().iter().zip(second.lines());
    let common = lines().take_while(|(one, other)| is_same(one, other)).count();
    let mut comparison = Comparison {
        common,
        first: first.lines().len(),
        second: second.lines().len(),
        fork: None,
        unproven: None,
    };
    let Some((one, other)) = lines().nth(common) else { return comparison };
    for (board, line) in [(first, one), (second, other)] {
        let sound = line.statement().election == parties.election()
            && line.n == common as u64
            && line.check_head(parties).is_ok();
        if !sound {
            comparison.unproven = Some(format!(
                "line {common} of {} is not countersigned by the operator of this election",
                board.path().display()
            ));
            return comparison;
        }
    }
    comparison.fork = Some([one.clone(), other.clone()]);
    comparison
}

/// The same line, under whatever signatures: Ed25519 lets an author make several for one text.
fn is_same(one: &Line, other: &Line) -> bool {
    one.n == other.n && one.hash() == other.hash()
}
