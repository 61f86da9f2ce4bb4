//! Moments and hockey sticks of the privacy loss between two output laws.
//!
//! For laws P and Q and an order l > 0, alpha(l) = ln E_P[(P/Q)^l]. Written out it is a sum near 1
//! whose distance from 1 is the privacy loss, so rounding would eat it. Since both laws sum to 1,
//!
//! ```text
//! E_P[(P/Q)^l] - 1 = sum over outputs of Q * b(P/Q),   b(r) = r^(l+1) - 1 - (l+1)(r - 1)
//! ```
//!
//! and b is not negative, is zero at r = 1 only, and grows with the distance of r from 1 on either
//! side. Every term can thus be bounded on its own, with a relative error, and nothing cancels.

/// One output, or several alike: the logarithms of its probability under both laws.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// ln P.
    pub log_p: f64,
    /// ln Q.
    pub log_q: f64,
    /// How many outputs share these probabilities.
    pub copies: f64,
}

/// Two output laws on the same outputs.
#[derive(Clone, Debug, PartialEq)]
pub struct LawPair {
    outcomes: Vec<Outcome>,
}

impl LawPair {
    /// A pair from its outcomes. Outputs that neither law ever gives are dropped.
    pub fn new(outcomes: impl IntoIterator<Item = Outcome>) -> Self {
        let possible = |outcome: &Outcome| outcome.log_p.max(outcome.log_q) > f64::NEG_INFINITY;
        Self { outcomes: outcomes.into_iter().filter(possible).collect() }
    }

    /// A pair of laws by their probabilities.
    #[cfg(test)]
    pub(crate) fn of(p: &[f64], q: &[f64]) -> Self {
        let logs = p.iter().zip(q).map(|(p, q)| (p.ln(), q.ln()));
        Self::new(logs.map(|(log_p, log_q)| Outcome { log_p, log_q, copies: 1.0 }))
    }

    /// The outcomes.
    pub fn outcomes(&self) -> &[Outcome] {
        &self.outcomes
    }

    /// The same pair read backwards.
    #[must_use]
    pub fn reversed(&self) -> Self {
        let swap = |o: &Outcome| Outcome { log_p: o.log_q, log_q: o.log_p, copies: o.copies };
        Self { outcomes: self.outcomes.iter().map(swap).collect() }
    }

    /// alpha(l) = ln E_P[(P/Q)^l] for an order l > 0, rounded up.
    pub fn log_moment(&self, order: f64) -> f64 {
        let mut excess = 0.0;
        for outcome in &self.outcomes {
            excess += outcome.copies * excess_of(order, outcome.log_p, outcome.log_q);
        }
        if excess.is_finite() {
            return excess.ln_1p() * ROUND_UP;
        }
        // Too large for a float, not for its logarithm; or truly infinite.
        let logs = self.outcomes.iter().map(|o| {
            if o.log_p == f64::NEG_INFINITY {
                f64::NEG_INFINITY
            } else {
                o.copies.ln() + o.log_p + order * (o.log_p - o.log_q)
            }
        });
        let top = logs.clone().fold(f64::NEG_INFINITY, f64::max);
        if top == f64::INFINITY {
            return top;
        }
        (top + logs.map(|log| (log - top).exp()).sum::<f64>().ln()) * ROUND_UP
    }

    /// The hockey stick sum (P - t Q)_+ for t = e^epsilon.
    pub fn hockey_stick(&self, t: f64) -> f64 {
        self.outcomes.iter().map(|o| o.copies * (o.log_p.exp() - t * o.log_q.exp()).max(0.0)).sum()
    }
}

/// The losses come from differences of logarithms that are right to about 1e-13; what that can do
/// to a moment stays far below this factor.
pub(crate) const ROUND_UP: f64 = 1.0 + 1e-9;

/// Q b(P/Q) for one output.
fn excess_of(order: f64, log_p: f64, log_q: f64) -> f64 {
    if log_q == f64::NEG_INFINITY {
        return if log_p == f64::NEG_INFINITY { 0.0 } else { f64::INFINITY };
    }
    (log_q + log_bregman(order, log_p - log_q)).exp()
}

/// ln b(r) for x = ln r, where b(r) = r^(l+1) - 1 - (l+1)(r - 1).
pub(crate) fn log_bregman(order: f64, x: f64) -> f64 {
    let exponent = (order + 1.0) * x;
    // Beyond that, r^(l+1) outweighs the rest by far more than a float can tell.
    if exponent > 600.0 { exponent } else { bregman(order, x).ln() }
}

/// b(r) itself; infinite where it is too large for a float.
#[inline]
pub(crate) fn bregman(order: f64, x: f64) -> f64 {
    let power = order + 1.0;
    let exponent = power * x;
    if exponent.abs() < 1e-2 {
        // The series sum over j >= 2 of ((l+1)^j - (l+1)) x^j / j!, whose first terms do not
        // cancel; what is left out is below 1e-18 of the first.
        let (mut term, mut powers, mut sum) = (x, power, 0.0);
        for j in 2..9 {
            term *= x / f64::from(j);
            powers *= power;
            sum += (powers - power) * term;
        }
        return sum;
    }
    exponent.exp_m1() - power * x.exp_m1()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_by_the_definition() {
        let (p, q) = ([0.5, 0.3, 0.2, 0.0], [0.4, 0.25, 0.3, 0.05]);
        for order in [0.3, 1.0, 2.0, 17.0, 40.5] {
            let expected: f64 = p.iter().zip(q).map(|(p, q)| p * f64::powf(p / q, order)).sum();
            let found = LawPair::of(&p, &q).log_moment(order);
            assert!(found >= expected.ln() && found < expected.ln() * (1.0 + 1e-8), "{order}");
        }
    }

    #[test]
    fn tiny_losses_keep_their_precision() {
        // With P/Q = 1 +- h, alpha(l) = l(l+1) h^2 / 2 up to h^4.
        let h = 1e-7;
        let found = LawPair::of(&[0.5 * (1.0 + h), 0.5 * (1.0 - h)], &[0.5, 0.5]).log_moment(4.0);
        assert!((found / (10.0 * h * h) - 1.0).abs() < 1e-6, "{found}");
    }

    #[test]
    fn infinite_only_where_it_is_infinite() {
        assert!(LawPair::of(&[0.5, 0.5], &[1.0, 0.0]).log_moment(1.0).is_infinite());
        assert!(LawPair::of(&[1.0, 0.0], &[0.5, 0.5]).log_moment(1.0).is_finite());
        let huge = LawPair::of(&[1.0 - 1e-9, 1e-9], &[1.0 - 1e-30, 1e-30]).log_moment(200.0);
        assert!((huge - (1e-9f64.ln() + 200.0 * 1e21f64.ln())).abs() < 1e-3);
        assert!(LawPair::of(&[0.3, 0.7], &[0.3, 0.7]).log_moment(3.0).abs() < 1e-30);
    }
}
