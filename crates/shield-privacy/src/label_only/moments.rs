//! The largest moment over all pairs of three outcomes.

use super::family::{Cell, Outcomes, Pair};
use crate::adaptive::Family;
use crate::adaptive::branch::{Objective, Tolerance, maximise};
use crate::hockey_stick::Dominating;
use crate::moments::{ROUND_UP, bregman};

/// How close the bound must be, and how long that may take.
const CLOSE: Tolerance = Tolerance { relative: 0.01, absolute: 0.0, splits: 20_000 };

/// E[(P/Q)^l] - 1 for an order l.
struct Moment(f64);

impl Moment {
    /// Of a pair that dominates others: at least that of each of them.
    ///
    /// Both laws sum to one, so it is the sum of Q b(P/Q) with b as in [`crate::moments`]; where P
    /// is 0 that is Q l.
    fn of_dominating(&self, pair: &Dominating) -> f64 {
        if pair.infinite > 0.0 {
            return f64::INFINITY;
        }
        let (mut sum, mut left) = (0.0, 1.0);
        for &(loss, mass) in &pair.losses {
            let under_q = mass * (-loss).exp();
            left -= under_q;
            sum += under_q * bregman(self.0, loss);
        }
        (sum + self.0 * left.max(0.0)) * ROUND_UP
    }
}

impl Objective<Outcomes> for Moment {
    fn bound(&self, family: &mut Outcomes, cell: &Cell) -> f64 {
        let pairs = family.dominating(cell);
        pairs.iter().map(|pair| self.of_dominating(pair)).fold(0.0, f64::max)
    }

    fn value(&self, family: &Outcomes, pair: &Pair) -> f64 {
        let laws = family.laws(pair);
        laws.iter().map(|laws| laws.log_moment(self.0).exp_m1()).fold(0.0, f64::max)
    }
}

impl Outcomes {
    /// ln E[(P/Q)^l] is at most this for every pair. `hint` is a pair that may be bad, and becomes
    /// the worst that was met.
    pub(super) fn log_moment(&mut self, order: f64, hint: &mut Pair) -> f64 {
        let maximum = maximise(self, &Moment(order), CLOSE, &[*hint]);
        *hint = maximum.worst.unwrap_or(*hint);
        maximum.upper.ln_1p()
    }
}
