//! All histograms as a [`Family`]: what branch and bound, and tight composition, ask of them.

use super::cell::{Axis, Cell, Counts};
use super::envelope::{Envelope, Objective};
use super::pair::{Pair, few_pairs};
use crate::adaptive::branch::{self, Maximum, Tolerance};
use crate::adaptive::{Cut, Family};
use crate::hockey_stick::Dominating;
use crate::moments::{LawPair, ROUND_UP};
use crate::rounds::Rounds;

/// Pairs of neighbouring histograms.
#[derive(Debug)]
pub(super) struct Histograms<'a> {
    rounds: &'a Rounds,
    envelope: Envelope<'a>,
}

impl<'a> Histograms<'a> {
    /// To be dominated; `order` is that of a moment that stands for all that will matter.
    pub(super) fn new(rounds: &'a Rounds, order: f64) -> Self {
        Self::of(rounds, Objective::Moment(order))
    }

    /// To be bounded by an objective.
    pub(super) fn of(rounds: &'a Rounds, objective: Objective) -> Self {
        Self { rounds, envelope: Envelope::new(rounds, objective) }
    }
}

/// The largest value of the objective over all pairs of neighbours. `hints` are pairs worth trying
/// first.
pub(super) fn maximise(
    rounds: &Rounds,
    objective: Objective,
    tolerance: Tolerance,
    hints: &[Pair],
) -> Maximum<Pair> {
    branch::maximise(&mut Histograms::of(rounds, objective), &objective, tolerance, hints)
}

impl branch::Objective<Histograms<'_>> for Objective {
    fn bound(&self, family: &mut Histograms<'_>, cell: &Cell) -> f64 {
        family.envelope.bound(cell)
    }

    fn value(&self, family: &Histograms<'_>, pair: &Pair) -> f64 {
        let laws = pair.laws(family.rounds);
        let back = laws.reversed();
        match *self {
            Self::Moment(order) => laws.log_moment(order).max(back.log_moment(order)).exp_m1(),
            Self::HockeyStick(t) => laws.hockey_stick(t).max(back.hockey_stick(t)) * ROUND_UP,
        }
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
            let parts = cell.split(axis, Counts::of(self.rounds))?.into_iter();
            let parts = parts.filter_map(|part| part.tightened(self.rounds)).collect();
            Some(Cut { parts, stretch: cell.stretch(axis) })
        };
        Axis::ALL.into_iter().filter_map(cut).collect()
    }

    fn few(&self, cell: &Cell) -> Option<Vec<Pair>> {
        // Real counts are never few.
        if Counts::of(self.rounds) == Counts::Real { None } else { few_pairs(self.rounds, cell) }
    }

    /// With bystanders as equal as they can be.
    fn samples(&self, cell: &Cell) -> Vec<Pair> {
        let Cell { loser, gainer, .. } = cell;
        let middle = |low: f64, high: f64| f64::midpoint(low, high).floor();
        let corners = [
            (loser.low, gainer.low),
            (middle(loser.low, loser.high), middle(gainer.low, gainer.high)),
        ];
        let pairs = corners.into_iter().filter(|(loser, gainer)| loser > gainer);
        pairs.filter_map(|(loser, gainer)| Pair::new(self.rounds, loser, gainer, None)).collect()
    }

    fn laws(&self, pair: &Pair) -> Vec<LawPair> {
        let laws = pair.laws(self.rounds);
        let back = laws.reversed();
        vec![laws, back]
    }
}
