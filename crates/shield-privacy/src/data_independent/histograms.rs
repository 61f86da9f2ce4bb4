//! All histograms as a [`Family`]: what tight composition asks of them.

use super::branch::{Pair, few_pairs};
use super::cell::{Axis, Cell, Counts};
use super::envelope::{Envelope, Objective};
use crate::adaptive::{Cut, Family};
use crate::hockey_stick::Dominating;
use crate::moments::LawPair;
use crate::rounds::Rounds;

/// Pairs of neighbouring histograms.
#[derive(Debug)]
pub(super) struct Histograms<'a> {
    rounds: &'a Rounds,
    envelope: Envelope<'a>,
}

impl<'a> Histograms<'a> {
    /// `order` is that of a moment that stands for all that will matter.
    pub(super) fn new(rounds: &'a Rounds, order: f64) -> Self {
        Self { rounds, envelope: Envelope::new(rounds, Objective::Moment(order)) }
    }
}

impl Family for Histograms<'_> {
    type Cell = Cell;
    type Pair = Pair;

    const REMEMBERED: usize = usize::MAX;

    fn roots(&self) -> Vec<Cell> {
        Cell::all(self.rounds).into_iter().collect()
    }

    fn dominating(&mut self, cell: &Cell) -> Vec<Dominating> {
        self.envelope.dominating(cell).into()
    }

    fn cuts(&self, cell: &Cell) -> Vec<Cut<Cell>> {
        let cut = |axis| {
            let parts = cell.split(axis, Counts::Whole)?.into_iter();
            let parts = parts.filter_map(|part| part.tightened(self.rounds)).collect();
            Some(Cut { parts, stretch: cell.stretch(axis) })
        };
        Axis::ALL.into_iter().filter_map(cut).collect()
    }

    fn few(&self, cell: &Cell) -> Option<Vec<Pair>> {
        few_pairs(self.rounds, cell)
    }

    fn samples(&self, cell: &Cell) -> Vec<Pair> {
        cell.samples(self.rounds).collect()
    }

    fn laws(&self, pair: &Pair) -> Vec<LawPair> {
        let laws = pair.laws(self.rounds);
        let back = laws.reversed();
        vec![laws, back]
    }
}
