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
//! e^epsilon Q(S) + delta + (1 + e^epsilon) eta`. [`with_simulations`] states that price, and half
//! of a budget's delta is for it.

use super::conversion::Conversion;
use super::price::{LogMoment, Proven};
use shield_core::parameters::Delta;

/// What a release costs at a filter's order.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Price {
    /// ln E[(P/Q)^l] is at most this.
    pub log_moment: LogMoment,
    /// Statistical distance between the release and its simulation from the labels.
    pub distance: f64,
}

/// A group's budget, and the order at which its moments add up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupBudget {
    /// The most that all releases together may cost.
    pub epsilon: f64,
    /// The failure probability for which it is stated.
    pub delta: Delta,
    /// The order of the group's moments, fixed for ever.
    pub order: f64,
}

/// What some releases cost a group together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sum {
    /// What their moments prove at the group's order.
    pub epsilon: Proven,
    /// What their distances take of delta.
    pub simulated: f64,
    /// Whether the budget covers both.
    pub covered: bool,
}

/// The largest budget that the releases' distances are held against.
pub const MOST_PRICED: f64 = 14.0;

/// Floats are added with this much to spare.
const ROUND_UP: f64 = 1.0 + 1e-12;

impl GroupBudget {
    /// Half of delta: the other half is for what is only simulated.
    fn half(&self) -> Delta {
        Delta::new(self.delta.get() / 2.0).unwrap_or(self.delta)
    }

    /// What some releases come to. Ask before the last of them is made.
    pub fn add_up(&self, prices: &[Price]) -> Sum {
        let log_moment =
            prices.iter().fold(LogMoment::default(), |sum, price| sum + price.log_moment);
        let distance: f64 = prices.iter().map(|price| price.distance).sum();
        if log_moment == LogMoment::default() && distance == 0.0 {
            return Sum { epsilon: Proven::free(self.delta), simulated: 0.0, covered: true };
        }
        // The conversion is linear in the moment: what the order and delta cost comes off.
        let fixed = order_cost(self.order, self.half());
        let allowed = ((self.epsilon - fixed) * self.order).max(0.0);
        // Written so that what is not a number is not covered.
        let covered = log_moment.get() * ROUND_UP <= allowed;
        let epsilon = Proven::new(log_moment.at(self.order, self.half()).epsilon(), self.delta);
        let simulated = with_simulations(0.0, self.epsilon, distance);
        let hidden = self.epsilon > MOST_PRICED || simulated <= self.delta.get() / 2.0;
        Sum { epsilon, simulated, covered: covered && hidden }
    }

    /// The order at which the most releases of one kind fit into a budget: to be asked before the
    /// first release, about the releases that are expected. `log_moment` is the moment of one.
    pub fn best_order(
        epsilon: f64,
        delta: Delta,
        mut log_moment: impl FnMut(f64) -> (f64, LogMoment),
    ) -> f64 {
        let half = GroupBudget { epsilon, delta, order: 1.0 }.half();
        let mut best = (1.0, 0.0);
        for step in 0..=80 {
            let (order, cost) = log_moment(1.12_f64.powi(step - 10));
            let allowed = (epsilon - order_cost(order, half)) * order;
            let releases = allowed / cost.get();
            if releases > best.1 {
                best = (order, releases);
            }
        }
        best.0
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

#[cfg(test)]
mod tests {
    use super::*;

    const DELTA: f64 = 1e-5;

    fn delta() -> Delta {
        Delta::new(DELTA).unwrap()
    }

    /// A budget whose moments have the whole of that delta.
    fn budget(order: f64, epsilon: f64) -> GroupBudget {
        GroupBudget { epsilon, delta: Delta::new(2.0 * DELTA).unwrap(), order }
    }

    fn price(log_moment: f64) -> Price {
        Price { log_moment: LogMoment::new(log_moment), distance: 0.0 }
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
        let most = asker.best_afterwards(0).max(asker.best_afterwards(1));
        let mut refused = 0;
        for step in 0..60 {
            let order = 1.1_f64.powi(step - 5);
            let price = |toy: &Toy| price(toy.log_moment(order));
            let covers = |prices: &[Price]| budget(order, most).add_up(prices).covered;
            if !covers(&[price(&asker.first)]) {
                continue;
            }
            let both = |b: usize| [price(&asker.first), price(&asker.second[b])];
            let granted = [0, 1].map(|b| covers(&both(b)));
            refused += granted.iter().filter(|&&granted| !granted).count();
            let found = asker.true_delta(most, granted);
            assert!(found <= DELTA, "{found} at order {order}: {granted:?}");
        }
        assert!(refused > 0);
    }

    #[test]
    fn the_filter_allows_what_the_conversion_says() {
        for order in [0.5, 3.0, 40.0] {
            let budget = budget(order, 4.0);
            let sum = |count: usize| budget.add_up(&vec![price(0.01); count]);
            let spent = (1..=1_000_000).take_while(|&count| sum(count).covered).count();
            let at = |count: f64| Conversion::Renyi.epsilon(order, 0.01 * count, delta());
            if spent > 0 {
                assert!(at(spent as f64) <= 4.0 && sum(spent).epsilon.get() <= 4.0 + 1e-9);
            }
            assert!(at(spent as f64 + 1.0) > 4.0 - 1e-9, "order {order}: {spent}");
        }
    }

    #[test]
    fn simulations_are_paid_for_on_both_sides() {
        assert!((with_simulations(1e-5, 1.0, 1e-7) - (1e-5 + 3.718_281_828e-7)).abs() < 1e-15);
        assert_eq!(with_simulations(1e-5, f64::INFINITY, 0.0), 1e-5);
        let budget = budget(10.0, 2.0);
        let apart = |distance| Price { distance, ..price(0.0) };
        assert!(!budget.add_up(&[apart(1e-5)]).covered, "more than delta");
        let half = apart(0.499 * DELTA / (1.0 + 2_f64.exp()));
        assert!(budget.add_up(&[half; 2]).covered);
        assert!(!budget.add_up(&[half; 3]).covered, "distances add up, too");
        assert!(!budget.add_up(&[price(f64::NAN)]).covered);
    }

    #[test]
    fn the_best_order_beforehand_is_close_to_the_best_afterwards() {
        let toy = Toy::new(0.5, 0.02);
        let twice = Delta::new(2.0 * DELTA).unwrap();
        let moment = |order: f64| (order, LogMoment::new(toy.log_moment(order)));
        let order = GroupBudget::best_order(1.0, twice, moment);
        let count = |order: f64| (1.0 - order_cost(order, delta())) * order / toy.log_moment(order);
        for other in [order / 1.5, order * 1.5] {
            assert!(count(order) > count(other), "{order} {other}");
        }
    }
}
