//! A budget that holds whatever is asked next: a Renyi filter at one order, fixed beforehand.
//!
//! A group of teachers answers election after election, and whoever asks for the next one has seen
//! the labels of those before. Moments of releases add up, order by order. But the order at which
//! the sum is turned into an epsilon must not be chosen afterwards: an asker that saw the first
//! labels can choose the next election such that one order is best in one case and another order in
//! the other, and each case looks affordable at its own order. The test below builds such an asker:
//! with delta = 1e-5 promised, its true delta is 1.97e-5.
//!
//! # Theorem
//!
//! Fix an order l > 0. Let releases be asked for one after another, each chosen by any rule from
//! all outputs so far, where release i, given those outputs, has `ln E_P[(P/Q)^l] <= m_i` for all
//! pairs of neighbours, and m_i is known before it is made. If releases stop before the sum of the
//! m_i exceeds M, then all outputs together have `ln E_P[(P/Q)^l] <= M`.
//!
//! # Proof
//!
//! (After Feldman and Zrnic, "Individual privacy accounting via a Renyi filter", 2021.) Let L_i be
//! the ratio P/Q of release i given the outputs before, and let S_i be the sum of m_1 to m_i. Put
//! `W_i = (product of L_1 to L_i)^l exp(-S_i)`. Given the outputs before, m_i is a constant and the
//! mean of L_i^l is at most exp(m_i), so the mean of W_i is at most what W was before: W is a
//! supermartingale that starts at 1, and its mean is at most 1 whenever one stops. At the end the
//! sum is at most M in every run, so the whole ratio to the power l is at most `W e^M`, and its
//! mean at most e^M. [] The proof uses one exponent l for all outputs: with another l in other
//! runs there is no such W.
//!
//! By [`Conversion::Renyi`] the outputs then have (epsilon, delta) for the epsilon of (l, M).
//!
//! # Releases that are only simulated
//!
//! An encrypted release is private because it can be simulated from the labels, up to a statistical
//! distance eta (flooding). If the simulations have (epsilon, delta) and every release is within
//! eta_i of its simulation given what came before, the releases together are within eta = sum of
//! eta_i, on either of two neighbours: `P(S) <= P'(S) + eta <= e^epsilon Q'(S) + delta + eta <=
//! e^epsilon Q(S) + delta + (1 + e^epsilon) eta`. [`with_simulations`] states that price, and the
//! filter sets it aside from its delta.

use rayon::prelude::*;
use thiserror::Error;

use super::conversion::Conversion;
use super::data_independent::DataIndependent;
use crate::parameters::{Classes, Delta, Epsilon, ParameterError, Voters};
use crate::setting::Setting;

/// A release that the budget does not cover.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
#[error(
    "the budget of epsilon {epsilon} does not cover this release: {left:.4} of its moments are \
     left and {asked:.4} are needed; ask about fewer samples, or with a larger offset"
)]
pub struct OverBudget {
    /// The budget.
    pub epsilon: f64,
    /// Moments that are left.
    pub left: f64,
    /// Moments that the release costs.
    pub asked: f64,
}

/// What one release costs at the filter's order.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Price {
    /// `ln E[(P/Q)^l]` is at most this.
    pub log_moment: f64,
    /// Statistical distance between the release and its simulation from the labels.
    pub distance: f64,
}

/// What a group has spent of a budget (epsilon, delta), at an order that never changes.
#[derive(Clone, Debug, PartialEq)]
pub struct RenyiFilter {
    order: f64,
    epsilon: f64,
    delta: Delta,
    allowed: Price,
    spent: Price,
}

/// Floats are added with this much to spare.
const ROUND_UP: f64 = 1.0 + 1e-12;

impl RenyiFilter {
    /// A filter for a budget, at an order l (that of `(P/Q)^l`), with a part of delta for
    /// simulations: their distances may add up to `distance` in all.
    pub fn new(
        order: f64,
        epsilon: Epsilon,
        delta: Delta,
        distance: f64,
    ) -> Result<Self, ParameterError> {
        let rest = delta.get() - with_simulations(0.0, epsilon.get(), distance);
        let rest = Delta::new(rest)?;
        // The conversion is linear in the moment: what the order and delta cost comes off.
        let fixed = order_cost(order, rest);
        let log_moment = ((epsilon.get() - fixed) * order).max(0.0);
        let allowed = Price { log_moment, distance };
        let epsilon = epsilon.get();
        Ok(Self { order, epsilon, delta: rest, allowed, spent: Price::default() })
    }

    /// The order at which the most releases of one kind fit into a budget: to be asked before the
    /// first release, about the releases that are expected. `log_moment` is the moment of one.
    pub fn best_order(
        epsilon: Epsilon,
        delta: Delta,
        mut log_moment: impl FnMut(f64) -> (f64, f64),
    ) -> f64 {
        let mut best = (1.0, 0.0);
        for step in 0..=80 {
            let (order, cost) = log_moment(1.12_f64.powi(step - 10));
            let allowed = (epsilon.get() - order_cost(order, delta)) * order;
            let releases = allowed / cost;
            if releases > best.1 {
                best = (order, releases);
            }
        }
        best.0
    }

    /// The order.
    pub fn order(&self) -> f64 {
        self.order
    }

    /// Whether a release is covered.
    pub fn covers(&self, price: Price) -> Result<(), OverBudget> {
        let moments = (self.spent.log_moment + price.log_moment) * ROUND_UP;
        let distance = (self.spent.distance + price.distance) * ROUND_UP;
        // Written so that what is not a number is not covered.
        if moments <= self.allowed.log_moment && distance <= self.allowed.distance * ROUND_UP {
            return Ok(());
        }
        let left = self.allowed.log_moment - self.spent.log_moment;
        Err(OverBudget { epsilon: self.epsilon, left, asked: price.log_moment })
    }

    /// Spends the price of a release, if it is covered. Ask before the release is made.
    pub fn spend(&mut self, price: Price) -> Result<(), OverBudget> {
        self.covers(price)?;
        self.spent.log_moment += price.log_moment;
        self.spent.distance += price.distance;
        Ok(())
    }

    /// The epsilon of what was spent, for the filter's delta.
    pub fn spent(&self) -> Epsilon {
        if self.spent == Price::default() {
            return Epsilon::ZERO;
        }
        let epsilon = Conversion::Renyi.epsilon(self.order, self.spent.log_moment, self.delta);
        Epsilon::new(epsilon * ROUND_UP).unwrap_or(Epsilon::INFINITE)
    }
}

/// The epsilon that an order and a delta cost before anything is released; may be negative.
fn order_cost(order: f64, delta: Delta) -> f64 {
    // The conversion is at least 0: a moment that lifts it well above shows what is under it.
    let lift = 1e3 * order;
    Conversion::Renyi.epsilon(order, lift, delta) - lift / order
}

/// The delta of releases that are simulated up to a statistical distance, if the simulations have
/// (epsilon, delta): delta + (1 + e^epsilon) distance.
pub fn with_simulations(delta: f64, epsilon: f64, distance: f64) -> f64 {
    // Without simulations nothing is added, even to an infinite epsilon.
    if distance == 0.0 { delta } else { delta + (1.0 + epsilon.exp()) * distance }
}

/// The largest moment of one query over every turnout from the quorum to all teachers, and the
/// order (on the accountant's grid) that it is stated for: what to set aside before anyone votes.
///
/// The cost is not monotone in the number of voters, so neither end of the range is a bound.
pub fn reservation(
    setting: &Setting,
    classes: Classes,
    turnouts: std::ops::RangeInclusive<u32>,
    order: f64,
) -> Result<(f64, f64), ParameterError> {
    let moments = turnouts
        .into_par_iter()
        .map(|voters| {
            let voters = Voters::new(voters)?;
            Ok(DataIndependent::new(setting, classes, voters).log_moment(order))
        })
        .collect::<Result<Vec<(f64, f64)>, ParameterError>>()?;
    let largest = |a: (f64, f64), b: (f64, f64)| if b.1 > a.1 { b } else { a };
    Ok(moments.into_iter().fold((order, 0.0), largest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELTA: f64 = 1e-5;

    fn delta() -> Delta {
        Delta::new(DELTA).unwrap()
    }

    /// A release by the losses ln(P/Q) of its outputs and their probabilities under P.
    #[derive(Clone, Debug)]
    struct Toy(Vec<(f64, f64)>);

    impl Toy {
        /// One output has probability `p` and loss `x`; what is left has a loss that makes Q sum to
        /// 1.
        fn new(p: f64, x: f64) -> Self {
            let rest = ((1.0 - p) / (1.0 - p * (-x).exp())).ln();
            Self(vec![(p, x), (1.0 - p, rest)])
        }

        fn log_moment(&self, order: f64) -> f64 {
            self.0.iter().map(|&(p, x)| p * (order * x).exp()).sum::<f64>().ln()
        }

        /// How much of P lies above e^epsilon Q.
        fn hockey_stick(&self, epsilon: f64) -> f64 {
            self.0.iter().map(|&(p, x)| p * (1.0 - (epsilon - x).exp()).max(0.0)).sum()
        }
    }

    /// The asker: a first release with a rare output, and for each of its outputs another second
    /// release, whose conversion is tight at an order of its own.
    struct Asker {
        first: Toy,
        second: [Toy; 2],
    }

    impl Asker {
        fn new(epsilon: f64) -> Self {
            let first = Toy::new(3e-4, 2.0);
            // At order l the conversion is tight for outputs with a loss of epsilon + ln(1 + 1/l)
            // in all and a probability of (l + 1) delta, but for a little room.
            let second = |branch: usize, order: f64| {
                let (chance, loss) = first.0[branch];
                let p = 0.97 * (order + 1.0) * DELTA / chance;
                Toy::new(p, epsilon + (1.0 / order).ln_1p() - loss)
            };
            let second = [second(0, 8.0), second(1, 2.0)];
            Self { first, second }
        }

        /// What the rule "best order afterwards" says of a branch.
        fn best_afterwards(&self, branch: usize) -> f64 {
            let moments =
                |order: f64| self.first.log_moment(order) + self.second[branch].log_moment(order);
            Conversion::Renyi.minimise(delta(), moments).epsilon
        }

        /// The true delta at an epsilon, if the branches that `granted` says are asked.
        fn true_delta(&self, epsilon: f64, granted: [bool; 2]) -> f64 {
            (0..2)
                .map(|branch| {
                    let (p, x) = self.first.0[branch];
                    if granted[branch] {
                        p * self.second[branch].hockey_stick(epsilon - x)
                    } else {
                        p * (1.0 - (epsilon - x).exp()).max(0.0)
                    }
                })
                .sum()
        }
    }

    #[test]
    fn an_adaptive_asker_outruns_the_best_order_chosen_afterwards() {
        let asker = Asker::new(8.0);
        let budget = asker.best_afterwards(0).max(asker.best_afterwards(1));
        let found = asker.true_delta(budget, [true, true]);
        assert!(found > 1.95e-5, "{found} at epsilon {budget}");
    }

    #[test]
    fn the_filter_stops_that_asker_at_every_order() {
        let asker = Asker::new(8.0);
        let budget = asker.best_afterwards(0).max(asker.best_afterwards(1));
        let mut refused = 0;
        for step in 0..60 {
            let order = 1.1_f64.powi(step - 5);
            let epsilon = Epsilon::new(budget).unwrap();
            let mut filter = RenyiFilter::new(order, epsilon, delta(), 0.0).unwrap();
            let price = |toy: &Toy| Price { log_moment: toy.log_moment(order), distance: 0.0 };
            if filter.spend(price(&asker.first)).is_err() {
                continue;
            }
            let granted = [0, 1].map(|b| filter.covers(price(&asker.second[b])).is_ok());
            refused += granted.iter().filter(|&&granted| !granted).count();
            let found = asker.true_delta(budget, granted);
            assert!(found <= DELTA, "{found} at order {order}: {granted:?}");
        }
        assert!(refused > 0);
    }

    #[test]
    fn the_filter_allows_what_the_conversion_says() {
        for order in [0.5, 3.0, 40.0] {
            let epsilon = Epsilon::new(4.0).unwrap();
            let mut filter = RenyiFilter::new(order, epsilon, delta(), 0.0).unwrap();
            let mut spent = 0;
            let price = Price { log_moment: 0.01, distance: 0.0 };
            while filter.spend(price).is_ok() {
                spent += 1;
            }
            let at = |count: f64| Conversion::Renyi.epsilon(order, 0.01 * count, delta());
            if spent > 0 {
                assert!(at(f64::from(spent)) <= 4.0 && filter.spent().get() <= 4.0 + 1e-9);
            }
            assert!(at(f64::from(spent) + 1.0) > 4.0 - 1e-9, "order {order}: {spent}");
        }
    }

    #[test]
    fn simulations_are_paid_for_on_both_sides() {
        assert!((with_simulations(1e-5, 1.0, 1e-7) - (1e-5 + 3.718_281_828e-7)).abs() < 1e-15);
        assert_eq!(with_simulations(1e-5, f64::INFINITY, 0.0), 1e-5);
        let epsilon = Epsilon::new(2.0).unwrap();
        assert!(RenyiFilter::new(10.0, epsilon, delta(), 1e-5).is_err(), "more than delta");
        let mut filter = RenyiFilter::new(10.0, epsilon, delta(), 2e-12).unwrap();
        let price = Price { log_moment: 0.0, distance: 1e-12 };
        assert!(filter.spend(price).is_ok() && filter.spend(price).is_ok());
        assert!(filter.spend(price).is_err(), "distances add up, too");
        assert!(filter.spend(Price { log_moment: f64::NAN, distance: 0.0 }).is_err());
    }

    #[test]
    fn a_reservation_covers_the_turnouts_between() {
        let setting = Setting {
            polynomial: "1000X^8+X".parse().unwrap(),
            offset: crate::parameters::Offset::new(5).unwrap(),
            ..Setting::default()
        };
        let classes = Classes::new(3).unwrap();
        let (order, reserved) = reservation(&setting, classes, 1..=10, 4.0).unwrap();
        let at = |n| {
            let voters = Voters::new(n).unwrap();
            DataIndependent::new(&setting, classes, voters).log_moment(order).1
        };
        assert!((1..=10).all(|n| at(n) <= reserved * ROUND_UP));
        // Neither end of the range is the largest.
        assert!(at(1) < reserved && at(10) < reserved, "{} {} {reserved}", at(1), at(10));
    }

    #[test]
    fn the_best_order_beforehand_is_close_to_the_best_afterwards() {
        let toy = Toy::new(0.5, 0.02);
        let epsilon = Epsilon::new(1.0).unwrap();
        let order = RenyiFilter::best_order(epsilon, delta(), |o| (o, toy.log_moment(o)));
        let count = |order: f64| (1.0 - order_cost(order, delta())) * order / toy.log_moment(order);
        for other in [order / 1.5, order * 1.5] {
            assert!(count(order) > count(other), "{order} {other}");
        }
    }
}
