//! What the recursion must know of a mechanism: its pairs of neighbouring laws, in cells.

use crate::hockey_stick::Dominating;
use crate::moments::LawPair;

/// All pairs of neighbouring laws of a mechanism, in cells that can be cut.
pub(crate) trait Family {
    /// Some of the pairs.
    type Cell: Clone;
    /// One of them, of which laws can be computed.
    type Pair: Clone + PartialEq;

    /// How many pairs are remembered that were not the worst anywhere.
    const REMEMBERED: usize;

    /// Cells that together hold every pair, or a pair that is its reverse.
    fn roots(&self) -> Vec<Self::Cell>;

    /// Pairs of laws such that every pair of the cell, in either direction, is dominated by one of
    /// them, or by one of those of the cell with its reverse.
    fn dominating(&mut self, cell: &Self::Cell) -> Vec<Dominating>;

    /// The ways to cut a cell in two.
    fn cuts(&self, cell: &Self::Cell) -> Vec<Cut<Self::Cell>>;

    /// All pairs of a cell, where they are so few that none needs a bound.
    fn few(&self, cell: &Self::Cell) -> Option<Vec<Self::Pair>>;

    /// Some pairs of a cell that may be bad.
    fn samples(&self, cell: &Self::Cell) -> Vec<Self::Pair>;

    /// The laws of a pair, in every direction that is not that of another pair.
    fn laws(&self, pair: &Self::Pair) -> Vec<LawPair>;
}

/// One way to cut a cell.
#[derive(Clone, Debug)]
pub(crate) struct Cut<C> {
    /// The parts, without those that hold nothing.
    pub(crate) parts: Vec<C>,
    /// How wide the cell is across the cut: what to go by where no bound says anything yet.
    pub(crate) stretch: f64,
}
