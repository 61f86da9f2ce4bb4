//! From moments of the privacy loss to (epsilon, delta).

use shield_core::parameters::{Delta, Epsilon};

/// How a moment becomes an epsilon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// The tail bound of the moments accountant (Abadi et al., 2016), over whole orders only:
    /// epsilon = (alpha + ln(1/delta)) / l. What the paper's accountant does.
    TailBound,
    /// The conversion of Renyi differential privacy by Canonne, Kamath and Steinke (2020), over
    /// real orders: with lambda = l + 1, alpha/l + ln(1 - 1/lambda) - (ln delta + ln lambda)/l.
    Renyi,
}

impl Conversion {
    /// The epsilon that the moment of one order proves; at least 0.
    pub fn epsilon(self, order: f64, log_moment: f64, delta: Delta) -> f64 {
        let tail = -delta.get().ln() / order;
        let bound = match self {
            Self::TailBound => log_moment / order + tail,
            Self::Renyi => {
                let saved = (-1.0 / (order + 1.0)).ln_1p() - (order + 1.0).ln() / order;
                log_moment / order + tail + saved
            }
        };
        // A NaN could only come from an infinite moment, which proves nothing.
        if bound.is_nan() { f64::INFINITY } else { bound.max(0.0) }
    }

    /// The best epsilon over the orders, and the order that gives it.
    ///
    /// `log_moment` is convex in the order and 0 at 0, as every log-moment is; then epsilon falls
    /// and rises again, and a search that closes in on the lowest point finds it. Were it not so,
    /// the answer would still be proven: each order proves its own epsilon.
    pub fn minimise(self, delta: Delta, mut log_moment: impl FnMut(f64) -> f64) -> Best {
        let mut best = Best { epsilon: f64::INFINITY, order: 1.0 };
        let mut at = |order: f64| {
            let epsilon = self.epsilon(order, log_moment(order), delta);
            if epsilon < best.epsilon {
                best = Best { epsilon, order };
            }
            epsilon
        };
        match self {
            Self::TailBound => descend_whole(&mut at),
            Self::Renyi => descend_real(&mut at),
        }
        best
    }
}

/// The lowest epsilon found and its order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Best {
    /// The epsilon.
    pub epsilon: f64,
    /// The order.
    pub order: f64,
}

impl Best {
    /// The epsilon, rounded up against what floating-point conversion may lose.
    pub fn rounded_up(self) -> Epsilon {
        Epsilon::new(self.epsilon * (1.0 + 1e-12)).unwrap_or(Epsilon::INFINITE)
    }
}

const MAX_ORDER: f64 = 1e7;

/// Doubles the order while epsilon falls, then bisects on the sign of the slope.
fn descend_whole(at: &mut impl FnMut(f64) -> f64) {
    let (mut low, mut high, mut value) = (1.0, 2.0, at(1.0));
    loop {
        let next = at(high);
        if next >= value || next.is_nan() || high > MAX_ORDER {
            break;
        }
        (low, high, value) = (high, 2.0 * high, next);
    }
    // The lowest point lies between low/2 and high.
    let (mut low, mut high) = ((low / 2.0f64).floor().max(1.0), high);
    while high - low > 1.0 {
        let middle = f64::midpoint(low, high).floor();
        if at(middle + 1.0) < at(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    at(low);
    at(high);
}

/// A coarse walk over a geometric grid, then a golden section around its lowest point.
fn descend_real(at: &mut impl FnMut(f64) -> f64) {
    const GRID: f64 = 1.6;
    let (mut order, mut value) = (1.0, at(1.0));
    for factor in [GRID, 1.0 / GRID] {
        loop {
            let candidate = order * factor;
            if !(1e-3..MAX_ORDER).contains(&candidate) {
                break;
            }
            let next = at(candidate);
            // An infinite moment says nothing about which way to go but down.
            let fell = next < value || (value.is_infinite() && factor < 1.0);
            if !fell {
                break;
            }
            (order, value) = (candidate, next);
        }
    }
    let golden = (5f64.sqrt() - 1.0) / 2.0;
    let (mut low, mut high) = ((order / GRID).ln(), (order * GRID).ln());
    let mut left = high - golden * (high - low);
    let mut right = low + golden * (high - low);
    let (mut at_left, mut at_right) = (at(left.exp()), at(right.exp()));
    while high - low > 2e-3 {
        if at_left <= at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - golden * (high - low);
            at_left = at(left.exp());
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + golden * (high - low);
            at_right = at(right.exp());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_lowest_order() {
        let delta = Delta::default();
        for scale in [1e-8, 1e-4, 0.01, 0.5, 3.0] {
            let moment = |order: f64| scale * order * (order + 1.0);
            for conversion in [Conversion::TailBound, Conversion::Renyi] {
                let best = conversion.minimise(delta, moment);
                let whole = conversion == Conversion::TailBound;
                let by_hand = (1..200_000)
                    .map(|i| if whole { f64::from(i) } else { f64::from(i) * 0.01 })
                    .chain((1..2000).map(|i| f64::from(i) * 100.0))
                    .map(|order| conversion.epsilon(order, moment(order), delta))
                    .fold(f64::INFINITY, f64::min);
                assert!(
                    best.epsilon <= by_hand * (1.0 + 1e-5),
                    "{scale} {conversion:?} {best:?} {by_hand}"
                );
                let same = conversion.epsilon(best.order, moment(best.order), delta);
                assert!((same - best.epsilon).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn the_gaussian_by_the_known_formula() {
        // For alpha(l) = v l(l+1) the tail bound's best real order gives v + 2 sqrt(v ln(1/delta));
        // whole orders come within a hair when they are many.
        let v = 1e-6;
        let best = Conversion::TailBound.minimise(Delta::default(), |l| v * l * (l + 1.0));
        let expected = v + 2.0 * (v * 1e5f64.ln()).sqrt();
        assert!((best.epsilon / expected - 1.0).abs() < 1e-6);
    }

    #[test]
    fn infinite_moments_give_an_infinite_epsilon() {
        for conversion in [Conversion::TailBound, Conversion::Renyi] {
            let best = conversion.minimise(Delta::default(), |_| f64::INFINITY);
            assert!(best.rounded_up() == Epsilon::INFINITE);
            let cut =
                conversion.minimise(Delta::default(), |l| if l > 0.9 { f64::INFINITY } else { l });
            assert_eq!(cut.epsilon.is_finite(), conversion == Conversion::Renyi);
        }
    }
}
