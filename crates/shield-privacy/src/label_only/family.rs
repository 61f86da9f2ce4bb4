//! Pairs of three outcomes in cells, with a pair of laws that dominates each cell.

use super::table::{Table, Values};
use crate::adaptive::{Cut, Family};
use crate::hockey_stick::{Dominating, Ratio};
use crate::loss_distribution::LARGEST_LOSS;
use crate::moments::{LawPair, Outcome};

/// Rounding errors of masses: sums of positive terms, each right to about 1e-11.
const MASS_UP: f64 = 1.0 + 1e-8;

/// Rounding errors of losses: logarithms of probabilities are right to about 1e-13.
const LOSS_UP: f64 = 1e-12;

/// Who wins a tie among the old class a, the new class b and the best of the others, J: what is
/// added to the arguments of the three outcomes' probabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ties {
    a: (i64, i64),
    b: (i64, i64),
    others: (i64, i64),
}

/// The orders a b J, a J b, b a J and b J a, the first wins. "J before both" is the first order
/// with another threshold.
const ORDERS: [Ties; 4] = [
    Ties { a: (0, 0), b: (0, 1), others: (-1, -1) },
    Ties { a: (0, 0), b: (-1, 0), others: (-1, 0) },
    Ties { a: (0, 1), b: (0, 0), others: (-1, -1) },
    Ties { a: (-1, 0), b: (0, 0), others: (0, -1) },
];

/// Real numbers do not tie.
const NO_TIES: Ties = Ties { a: (0, 0), b: (0, 0), others: (0, 0) };

/// A pair: how far the counts of a and b are above the largest other noisy count, in lattice
/// points, before the vote moves from a to b; and the order that breaks ties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    order: usize,
    a: i64,
    b: i64,
}

impl Pair {
    pub(super) fn new(order: usize, a: i64, b: i64) -> Self {
        Self { order, a, b }
    }
}

/// A parallelogram of pairs: of some orders, with a - b and b in ranges. Points of the lattice for
/// whole numbers; all numbers between the ends for real ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    orders: (usize, usize),
    lead: (i64, i64),
    b: (i64, i64),
}

/// The probabilities of the outcomes a, b, J, and their logarithms.
#[derive(Clone, Copy, Debug)]
struct Law {
    chances: [f64; 3],
    logs: [f64; 3],
}

/// What holds of one outcome over a cell: the range of its loss ln(P/Q), and its largest
/// probabilities under both laws.
#[derive(Clone, Copy, Debug)]
struct Known {
    low: f64,
    high: f64,
    p: f64,
    q: f64,
}

/// All pairs of three outcomes of one noise.
#[derive(Clone, Debug)]
pub(super) struct Outcomes {
    table: Table,
}

impl Outcomes {
    pub(super) fn new(table: Table) -> Self {
        Self { table }
    }

    /// Pairs that are worst where there are many queries: three outcomes at 0.72 deviations, where
    /// Gaussian noise tells the most, and two outcomes that are as likely.
    pub(super) fn starts(&self) -> [Pair; 2] {
        let likely = (0.72 * self.table.deviation).round() as i64;
        let (likely, far) = (likely.min(self.table.span), self.table.span);
        [Pair::new(0, likely, likely), Pair::new(0, far, far)]
    }

    /// The standard deviation of the noise, in votes.
    pub(super) fn deviation(&self) -> f64 {
        self.table.deviation / self.table.vote as f64
    }

    fn orders(&self) -> usize {
        match self.table.values {
            Values::Whole => ORDERS.len(),
            Values::Real => 1,
        }
    }

    fn ties(&self, order: usize) -> Ties {
        match self.table.values {
            Values::Whole => ORDERS[order],
            Values::Real => NO_TIES,
        }
    }

    /// The law of the winner with a and b so far above the best of the others.
    fn law(&self, ties: Ties, a: i64, b: i64) -> Law {
        let edge = self.table.edge();
        // A(x, y): noise on x wins from threshold 0 on, and against noise on y.
        let wins = |x: i64, y: i64| {
            let diagonal = self.table.diagonal(x - y);
            let place = (edge - x) as usize;
            (diagonal.sums[place], diagonal.logs[place])
        };
        let of_a = wins(a + ties.a.0, b + ties.a.1);
        let of_b = wins(b + ties.b.0, a + ties.b.1);
        let (one, two) =
            (self.table.at_most(ties.others.0 - a), self.table.at_most(ties.others.1 - b));
        Law { chances: [of_a.0, of_b.0, one.0 * two.0], logs: [of_a.1, of_b.1, one.1 + two.1] }
    }

    /// What is known of the outcomes over a cell: the bounds of the proof's cells, for one order.
    fn known(&self, cell: &Cell, order: usize) -> Option<[Known; 3]> {
        let (ties, vote, span) = (self.ties(order), self.table.vote, self.table.span);
        let (lead, b) = (cell.lead, cell.b);
        // The box around what the parallelogram has in common with the lattice.
        let a = ((lead.0 + b.0).max(-span), (lead.1 + b.1).min(span));
        let within = (b.0.max(-span - lead.1), b.1.min(span - lead.0));
        if a.0 > a.1 || within.0 > within.1 {
            return None;
        }
        let before = |a: i64, b: i64| self.law(ties, a, b);
        let after = |a: i64, b: i64| self.law(ties, a - vote, b + vote);
        // Losses fall with a and rise with b; a wins more often with a, b with b, J with neither.
        let (p_top, q_top) = (before(a.0, within.1), after(a.0, within.1));
        let (p_end, q_end) = (before(a.1, within.0), after(a.1, within.0));
        let (p_few, q_few) = (before(a.0, within.0), after(a.0, within.0));
        let most = |a_wins: Law, b_wins: Law, neither: Law| {
            [a_wins.chances[0], b_wins.chances[1], neither.chances[2]]
        };
        let (p, q) = (most(p_end, p_top, p_few), most(q_end, q_top, q_few));
        let boxed = [0, 1, 2].map(|k| Known {
            low: p_end.logs[k] - q_end.logs[k],
            high: p_top.logs[k] - q_top.logs[k],
            p: p[k],
            q: q[k],
        });
        if lead.0 + b.0 < -span || lead.1 + b.1 > span {
            return Some(boxed);
        }
        // Along a diagonal a loss is the difference of two functions that fall with b.
        let corners = [(lead.0, b.0), (lead.0, b.1), (lead.1, b.0), (lead.1, b.1)];
        let [start, up, across, end] = corners.map(|(lead, b)| {
            let a = lead + b;
            let (here, half, there) = (before(a, b), before(a - vote, b), after(a, b));
            let part = |k: usize| (here.logs[k] - half.logs[k], there.logs[k] - half.logs[k]);
            ([0, 1, 2].map(part), here, there)
        });
        let (p, q) = (most(end.1, up.1, start.1), most(end.2, up.2, start.2));
        Some([0, 1, 2].map(|k| Known {
            low: boxed[k].low.max(end.0[k].0 - across.0[k].1),
            high: boxed[k].high.min(start.0[k].0 - up.0[k].1),
            p: boxed[k].p.min(p[k]),
            q: boxed[k].q.min(q[k]),
        }))
    }

    /// The two halves of a range: of the whole numbers, or of all numbers between its ends.
    fn halves(&self, range: (i64, i64)) -> Option<[(i64, i64); 2]> {
        let middle = (range.0 + range.1).div_euclid(2);
        match self.table.values {
            Values::Whole if range.0 < range.1 => Some([(range.0, middle), (middle + 1, range.1)]),
            Values::Real if range.1 - range.0 > 1 => Some([(range.0, middle), (middle, range.1)]),
            _ => None,
        }
    }
}

impl Known {
    /// What holds of either of two sets of pairs holds of both together.
    fn or(self, other: Self) -> Self {
        // A bound that is not a number says nothing, and must stay so.
        let either = |one: f64, other: f64, pick: fn(f64, f64) -> f64| {
            if one.is_nan() || other.is_nan() { f64::NAN } else { pick(one, other) }
        };
        Self {
            low: either(self.low, other.low, f64::min),
            high: either(self.high, other.high, f64::max),
            p: self.p.max(other.p),
            q: self.q.max(other.q),
        }
    }

    /// Its parts, as [`Dominating::of_parts`] takes them.
    fn parts(self) -> impl Iterator<Item = (f64, Ratio)> {
        let unknown = |bound: f64, instead: f64| if bound.is_nan() { instead } else { bound };
        let high = unknown(self.high, f64::INFINITY) + LOSS_UP;
        let low = unknown(self.low, f64::NEG_INFINITY) - LOSS_UP;
        let more = if high > LARGEST_LOSS {
            Some((self.p * MASS_UP, Ratio::Infinite))
        } else if high > 0.0 {
            Some((self.q.min(self.p * (-high).exp()) * MASS_UP, Ratio::Log(high)))
        } else {
            None
        };
        let less = (low < 0.0).then_some((self.q * MASS_UP, Ratio::Log(low)));
        more.into_iter().chain(less)
    }
}

impl Family for Outcomes {
    type Cell = Cell;
    type Pair = Pair;

    const REMEMBERED: usize = 512;

    fn roots(&self) -> Vec<Cell> {
        let span = self.table.span;
        let whole =
            Cell { orders: (0, self.orders() - 1), lead: (-2 * span, 2 * span), b: (-span, span) };
        vec![whole]
    }

    fn dominating(&mut self, cell: &Cell) -> Vec<Dominating> {
        let orders = cell.orders.0..=cell.orders.1;
        let known = orders.filter_map(|order| self.known(cell, order));
        let both = known.reduce(|one, other| [0, 1, 2].map(|k| one[k].or(other[k])));
        let parts = both.into_iter().flatten().flat_map(Known::parts);
        vec![Dominating::of_parts(parts)]
    }

    fn cuts(&self, cell: &Cell) -> Vec<Cut<Cell>> {
        let span = self.table.span;
        let is_on_lattice =
            |part: &Cell| part.lead.1 + part.b.1 >= -span && part.lead.0 + part.b.0 <= span;
        let cut = |width: i64, parts: [Cell; 2]| Cut {
            parts: parts.into_iter().filter(is_on_lattice).collect(),
            stretch: width as f64,
        };
        let mut cuts = Vec::with_capacity(3);
        if let Some(leads) = self.halves(cell.lead) {
            let width = cell.lead.1 - cell.lead.0;
            cuts.push(cut(width, leads.map(|lead| Cell { lead, ..*cell })));
        }
        if let Some(halves) = self.halves(cell.b) {
            let width = 2 * (cell.b.1 - cell.b.0);
            cuts.push(cut(width, halves.map(|b| Cell { b, ..*cell })));
        }
        if let (first, last @ 1..) = cell.orders
            && first < last
        {
            let middle = usize::midpoint(first, last);
            let orders = [(first, middle), (middle + 1, last)];
            cuts.push(cut(0, orders.map(|orders| Cell { orders, ..*cell })));
        }
        cuts
    }

    fn few(&self, cell: &Cell) -> Option<Vec<Pair>> {
        let point = cell.lead.0 == cell.lead.1 && cell.b.0 == cell.b.1;
        let one = cell.orders.0 == cell.orders.1 && self.table.values == Values::Whole;
        (point && one).then(|| vec![Pair::new(cell.orders.0, cell.lead.0 + cell.b.0, cell.b.0)])
    }

    fn samples(&self, cell: &Cell) -> Vec<Pair> {
        let middle = |range: (i64, i64)| (range.0 + range.1).div_euclid(2);
        let (lead, b, span) = (middle(cell.lead), middle(cell.b), self.table.span);
        let pair = Pair::new(cell.orders.0, lead + b, b);
        if (-span..=span).contains(&pair.a) { vec![pair] } else { Vec::new() }
    }

    fn laws(&self, pair: &Pair) -> Vec<LawPair> {
        let (ties, vote) = (self.ties(pair.order), self.table.vote);
        let before = self.law(ties, pair.a, pair.b).logs;
        let after = self.law(ties, pair.a - vote, pair.b + vote).logs;
        let outcome = |k: usize| Outcome { log_p: before[k], log_q: after[k], copies: 1.0 };
        vec![LawPair::new([0, 1, 2].map(outcome))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label_only::NoisyArgmax;
    use proptest::prelude::*;
    use shield_core::parameters::Noise;
    use shield_core::shared_noise::{NoiseFamily, SharedNoise};

    fn whole(family: NoiseFamily) -> Outcomes {
        let noise = SharedNoise::of(family, Noise::new(3.0).unwrap(), 9, 0).unwrap();
        Outcomes::new(Table::whole(&noise.law(9)).unwrap())
    }

    /// The winner among three, one noise after the other.
    fn by_definition(noise: &shield_core::shared_noise::NoiseLaw, pair: &Pair) -> [f64; 3] {
        let rank = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [2, 0, 1]][pair.order];
        let mut law = [0.0; 3];
        let reach = noise.reach();
        for one in -reach..=reach {
            for two in -reach..=reach {
                let values = [pair.a + one, pair.b + two, 0];
                let wins = |k: &usize| (values[*k], -rank[*k]);
                let winner = (0..3).max_by_key(wins).unwrap();
                law[winner] += noise.probability(one) * noise.probability(two);
            }
        }
        law
    }

    #[test]
    fn tables_have_the_law_of_the_winner_for_all_four_orders() {
        let noise =
            SharedNoise::of(NoiseFamily::Skellam, Noise::new(1.5).unwrap(), 9, 0).unwrap().law(9);
        let outcomes = Outcomes::new(Table::whole(&noise).unwrap());
        for order in 0..4 {
            for (a, b) in [(0, 0), (2, -1), (-3, 1), (1, 4), (-5, -4)] {
                let pair = Pair::new(order, a, b);
                let expected = by_definition(&noise, &pair);
                let found = outcomes.law(outcomes.ties(order), a, b);
                for ((p, log), expected) in found.chances.iter().zip(found.logs).zip(expected) {
                    assert!((p - expected).abs() < 1e-12, "{pair:?}: {p} {expected}");
                    assert!((log.exp() - p).abs() < 1e-12);
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn no_cell_is_below_a_pair_in_it(
            kind in 0..3_usize,
            lead in -40_i64..40, across in 0_i64..9,
            b in -22_i64..14, up in 0_i64..9,
            (first, last) in (0..4_usize).prop_flat_map(|first| (Just(first), first..4)),
            loss in 0.001_f64..0.9,
        ) {
            let mut outcomes = match kind {
                0 => whole(NoiseFamily::Skellam),
                1 => whole(NoiseFamily::Laplace),
                _ => {
                    let noise = NoisyArgmax::Gaussian(Noise::new(16.0).unwrap());
                    Outcomes::new(Table::real(noise).unwrap())
                }
            };
            let orders = if kind < 2 { (first, last) } else { (0, 0) };
            let cell = Cell { orders, lead: (lead, lead + across), b: (b, b + up) };
            let dominating = outcomes.dominating(&cell).remove(0);
            let bound = |t: f64| {
                let gain = |(x, mass): &(f64, f64)| mass * (1.0 - t * (-x).exp()).max(0.0);
                dominating.losses.iter().map(gain).sum::<f64>() + dominating.infinite
            };
            let span = outcomes.table.span;
            for order in orders.0..=orders.1 {
                for (lead, b) in (cell.lead.0..=cell.lead.1)
                    .flat_map(|lead| (cell.b.0..=cell.b.1).map(move |b| (lead, b)))
                    .filter(|(lead, b)| (lead + b).abs() <= span && b.abs() <= span)
                {
                    let laws = outcomes.laws(&Pair::new(order, lead + b, b)).remove(0);
                    for t in [loss.exp(), (-loss).exp(), 1.0] {
                        let (found, bound) = (laws.hockey_stick(t), bound(t));
                        prop_assert!(found <= bound + 1e-13, "{cell:?} {lead} {b} {found} {bound}");
                    }
                }
            }
        }
    }
}
