//! Tight composition: the distribution of the privacy loss, convolved with itself.
//!
//! Moments lose what a tail bound loses. The privacy-loss distribution loses nothing but the grid
//! it is put on, and that only upwards: an output of probability p under P and q under Q, whose
//! loss ln(p/q) lies between two grid points, is split into two outputs at the grid points that
//! keep both p and q ("connecting the dots", Doroshenko et al., 2022). The two can be merged back
//! into the one, so the split pair is at least as easy to tell apart, for any number of queries.
//!
//! Convolution is by FFT of the masses tilted by e^(lambda loss), with lambda such that the bulk of
//! the tilted mass lies where epsilon will be. So rounding errors, which are relative to the bulk,
//! are relative to delta too, and every one of them is counted:
//!
//! - what wraps around the FFT's circle is added where it lands, never taken away;
//! - losses above the window are bounded by Chernoff's bound, and count to delta in full;
//! - the FFT's own error is bounded element by element, and counts to delta in full;
//! - infinite losses count to delta in full.

use rustfft::algorithm::Radix4;
use rustfft::num_complex::Complex64;
use rustfft::{Fft, FftDirection};

use super::moments::LawPair;
use shield_core::parameters::{Delta, Epsilon};

/// Larger losses count as infinite: e^40 is beyond any use.
pub(crate) const LARGEST_LOSS: f64 = 40.0;

/// The most grid points of a sum: 128 MiB of complex numbers. A window that is cut off there counts
/// what lies beyond it to delta, as any window does: what is stated may be larger, never smaller.
const MOST_POINTS: usize = 1 << 23;

/// A privacy-loss distribution on a grid.
#[derive(Clone, Debug)]
pub struct LossDistribution {
    step: f64,
    /// The grid index of the first mass.
    first: i64,
    /// Mass under P of the losses `step * (first + i)`.
    masses: Vec<f64>,
    /// Mass under P of an infinite loss.
    infinite: f64,
}

impl LossDistribution {
    /// From masses on a grid: `masses[i]` at the loss `step * (first + i)`.
    pub(crate) fn new(step: f64, first: i64, masses: Vec<f64>, infinite: f64) -> Self {
        Self { step, first, masses, infinite }
    }

    /// The distribution of ln(P/Q) under P, on a grid with this step. Losses beyond 40 count as
    /// infinite.
    pub fn of(pair: &LawPair, step: f64) -> Self {
        let losses: Vec<(f64, f64, f64)> = pair
            .outcomes()
            .iter()
            .map(|o| (o.copies * o.log_p.exp(), o.copies * o.log_q.exp(), o.log_p - o.log_q))
            .collect();
        let finite = losses.iter().map(|&(_, _, loss)| loss).filter(|loss| *loss <= LARGEST_LOSS);
        let top = finite.clone().fold(0.0, f64::max);
        let bottom = finite.filter(|loss| *loss >= -LARGEST_LOSS).fold(0.0, f64::min);
        let first = (bottom / step).floor() as i64 - 1;
        let length = (top / step).ceil() as i64 + 2 - first;
        let mut distribution = Self::new(step, first, vec![0.0; length as usize], 0.0);
        for (p, q, loss) in losses {
            if loss > LARGEST_LOSS {
                distribution.infinite += p;
            } else if p > 0.0 {
                // Rounding a very negative loss up to the grid's lowest only adds to it.
                let index = ((loss / step).floor() as i64).max(first);
                let (low, high) = ((index as f64 * step).exp(), ((index + 1) as f64 * step).exp());
                let upper = ((p - q * low) / (1.0 - low / high)).clamp(0.0, p);
                let at = (index - first) as usize;
                distribution.masses[at] += p - upper;
                distribution.masses[at + 1] += upper;
            }
        }
        distribution
    }

    fn losses(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let loss = |i: usize| self.step * (self.first + i as i64) as f64;
        self.masses
            .iter()
            .enumerate()
            .filter(|(_, mass)| **mass > 0.0)
            .map(move |(i, &mass)| (loss(i), mass))
    }

    /// ln E[e^(lambda loss)] over the finite losses.
    fn log_mgf(&self, lambda: f64) -> f64 {
        let top = self.losses().map(|(loss, _)| lambda * loss).fold(f64::NEG_INFINITY, f64::max);
        top + self.losses().map(|(loss, mass)| mass * (lambda * loss - top).exp()).sum::<f64>().ln()
    }

    /// The least epsilon, up to the grid, for which `queries` queries are (epsilon, delta)-private.
    /// Never below the true one.
    pub fn epsilon(&self, queries: u64, delta: Delta) -> Epsilon {
        let infinite = queries as f64 * self.infinite;
        if infinite >= delta.get() {
            return Epsilon::INFINITE;
        }
        let (bottom, top) = self
            .losses()
            .fold((0.0, 0.0), |(low, high): (f64, f64), (loss, _)| (low.min(loss), high.max(loss)));
        if top == 0.0 {
            return Epsilon::new(0.0).unwrap_or(Epsilon::INFINITE);
        }
        let budget = delta.get() - infinite;
        let (mut tilt, mut best) = (self.best_tilt(queries as f64, budget), f64::INFINITY);
        // The best tilt for a tail bound may be so steep that the FFT's error counts: with few
        // queries the sum is bounded, and a steep tilt sees nothing but its top. A gentler one then
        // does better.
        loop {
            let (epsilon, error) =
                self.epsilon_at(queries, budget, tilt, queries as f64 * (top - bottom));
            best = best.min(epsilon);
            if error <= 1e-6 * budget || tilt < 1e-3 {
                break;
            }
            tilt /= 2.0;
        }
        Epsilon::new(best * (1.0 + 1e-12)).unwrap_or(Epsilon::INFINITE)
    }

    /// The epsilon found with one tilt, and how much of delta went to the FFT's error.
    fn epsilon_at(&self, queries: u64, budget: f64, tilt: f64, range: f64) -> (f64, f64) {
        let mut reach = 10.0;
        loop {
            let composed = self.compose(queries, tilt, reach);
            // A window that holds every possible sum cannot be left.
            let everything = range <= composed.span();
            let beyond =
                if everything { 0.0 } else { self.chernoff(queries as f64, tilt, composed.high()) };
            let widest = reach > 1e3 || composed.masses.len() >= MOST_POINTS;
            if beyond <= 1e-3 * budget || widest {
                let epsilon = composed.solve(budget - beyond);
                return (epsilon, composed.error_at(epsilon));
            }
            reach *= 2.0;
        }
    }

    /// The tilt whose Chernoff bound proves the smallest epsilon.
    fn best_tilt(&self, queries: f64, delta: f64) -> f64 {
        let bound =
            |log_tilt: f64| (queries * self.log_mgf(log_tilt.exp()) - delta.ln()) / log_tilt.exp();
        lowest(bound, -7.0, 9.0).exp()
    }

    /// P[sum of losses >= `level`] is at most this.
    fn chernoff(&self, queries: f64, tilt: f64, level: f64) -> f64 {
        let exponent =
            |log_tilt: f64| queries * self.log_mgf(log_tilt.exp()) - log_tilt.exp() * level;
        let best = lowest(exponent, tilt.ln(), tilt.ln() + 6.0);
        exponent(best).min(exponent(tilt.ln())).exp().min(1.0)
    }

    /// The tilted distribution of the sum of `queries` losses, on a window of `reach` standard
    /// deviations around its mean.
    fn compose(&self, queries: u64, tilt: f64, reach: f64) -> Composed {
        let log_mgf = self.log_mgf(tilt);
        let tilted: Vec<f64> = (self.first..)
            .zip(&self.masses)
            .map(|(index, &mass)| {
                // No mass stays none, even where the tilt is too steep for a float.
                let factor = || (tilt * self.step * index as f64 - log_mgf).exp();
                if mass > 0.0 { mass * factor() } else { 0.0 }
            })
            .collect();
        let index = |i: usize| (self.first + i as i64) as f64;
        let mean: f64 = tilted.iter().enumerate().map(|(i, mass)| mass * index(i)).sum();
        let variance: f64 =
            tilted.iter().enumerate().map(|(i, mass)| mass * (index(i) - mean).powi(2)).sum();
        let q = queries as f64;
        let wanted = 2.0 * (reach * (q * variance).sqrt() + tilted.len() as f64);
        let whole = q * (tilted.len() as f64 - 1.0) + 1.0;
        let wanted = wanted.min(whole).min(MOST_POINTS as f64).max(tilted.len() as f64);
        let length = (wanted as usize).next_power_of_two();

        let circle = |index: i64| index.rem_euclid(length as i64) as usize;
        let mut buffer = vec![Complex64::default(); length];
        for (index, mass) in (self.first..).zip(tilted) {
            buffer[circle(index)].re += mass;
        }
        // A planner would weigh every algorithm for every length, all of them compiled, to choose
        // little better than this for a power of two.
        let transform = Radix4::new(length, FftDirection::Forward);
        transform.process(&mut buffer);
        for z in &mut buffer {
            *z = power(*z, queries).conj();
        }
        // The way back is the same transform of the conjugates, and the result is real.
        transform.process(&mut buffer);
        // The window: where the whole sum fits, all of it; else around the tilted mean.
        let low = if (length as f64) >= whole {
            self.first * queries as i64
        } else {
            (q * mean).round() as i64 - length as i64 / 2
        };
        let scale = 1.0 / length as f64;
        let masses =
            (0..length as i64).map(|i| buffer[circle(low + i)].re.max(0.0) * scale).collect();
        Composed {
            step: self.step,
            low,
            masses,
            tilt,
            log_scale: q * log_mgf,
            // Each spectrum value is right to log2(length) units in the last place, its power to as
            // many times `queries`, and a transform back averages such errors.
            error: f64::EPSILON * (q + 1.0) * (2.0 + f64::from(length.ilog2())),
        }
    }
}

/// z^n by squaring.
fn power(mut z: Complex64, mut n: u64) -> Complex64 {
    let mut result = Complex64::new(1.0, 0.0);
    while n > 0 {
        if n & 1 == 1 {
            result *= z;
        }
        z *= z;
        n >>= 1;
    }
    result
}

/// Where a function that falls and then rises is lowest: a golden section.
fn lowest(f: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    let golden = (5f64.sqrt() - 1.0) / 2.0;
    while high - low > 1e-2 {
        let (left, right) = (high - golden * (high - low), low + golden * (high - low));
        if f(left) <= f(right) {
            high = right;
        } else {
            low = left;
        }
    }
    f64::midpoint(low, high)
}

/// The sum of all losses: tilted masses from the grid index `low` on.
struct Composed {
    step: f64,
    low: i64,
    masses: Vec<f64>,
    tilt: f64,
    log_scale: f64,
    error: f64,
}

impl Composed {
    fn loss(&self, i: usize) -> f64 {
        self.step * (self.low + i as i64) as f64
    }

    fn high(&self) -> f64 {
        self.loss(self.masses.len())
    }

    fn span(&self) -> f64 {
        self.step * self.masses.len() as f64
    }

    /// At least E[(1 - e^(epsilon - loss))_+] over the window.
    fn delta(&self, epsilon: f64) -> f64 {
        let start = ((epsilon / self.step).floor() as i64 - self.low).max(0) as usize;
        let tilted: f64 = self
            .masses
            .iter()
            .enumerate()
            .skip(start)
            .map(|(i, mass)| {
                let above = self.loss(i) - epsilon;
                if above <= 0.0 {
                    0.0
                } else {
                    mass * (-self.tilt * above).exp() * -(-above).exp_m1()
                }
            })
            .sum();
        (self.log_scale - self.tilt * epsilon).exp() * tilted * (1.0 + 1e-9)
            + self.error_at(epsilon)
    }

    /// What the FFT's error can add up to above epsilon.
    fn error_at(&self, epsilon: f64) -> f64 {
        if epsilon.is_infinite() {
            return f64::INFINITY;
        }
        let elements = -1.0 / (-self.tilt * self.step).exp_m1();
        (self.log_scale - self.tilt * epsilon).exp() * self.error * elements
    }

    /// The least epsilon >= 0 of the window whose delta is at most `budget`.
    fn solve(&self, budget: f64) -> f64 {
        let (mut low, mut high) = (self.loss(0).max(0.0), self.high().max(0.0));
        if self.delta(low) <= budget {
            return low;
        }
        if self.delta(high) > budget {
            return f64::INFINITY;
        }
        while high - low > 1e-7 * high {
            let middle = f64::midpoint(low, high);
            if self.delta(middle) <= budget {
                high = middle;
            } else {
                low = middle;
            }
        }
        high
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The epsilon of all sequences of outputs, one by one.
    fn by_brute_force(p: &[f64], q: &[f64], queries: u32, delta: f64) -> f64 {
        let mut laws = vec![(1.0, 1.0)];
        for _ in 0..queries {
            laws = laws
                .iter()
                .flat_map(|&(a, b)| p.iter().zip(q).map(move |(x, y)| (a * x, b * y)))
                .collect();
        }
        let spent = |e: f64| laws.iter().map(|(a, b)| f64::max(a - e.exp() * b, 0.0)).sum::<f64>();
        let (mut low, mut high) = (0.0, 100.0);
        for _ in 0..100 {
            let middle = f64::midpoint(low, high);
            if spent(middle) <= delta {
                high = middle;
            } else {
                low = middle;
            }
        }
        high
    }

    #[test]
    fn agrees_with_brute_force_and_never_lies_below() {
        let laws = [
            (vec![0.6, 0.4], vec![0.5, 0.5]),
            (vec![0.30, 0.25, 0.45], vec![0.28, 0.31, 0.41]),
            (vec![0.901, 0.0989, 1e-4], vec![0.92, 0.07999, 1e-5]),
        ];
        for (p, q) in &laws {
            for queries in [1, 2, 5, 10] {
                for delta in [0.1, 1e-2, 1e-5] {
                    let expected = by_brute_force(p, q, queries, delta);
                    let found = LossDistribution::of(&LawPair::of(p, q), 1e-4)
                        .epsilon(queries.into(), Delta::new(delta).unwrap())
                        .get();
                    assert!(found >= expected - 1e-12, "{found} < {expected}, {queries} {delta}");
                    assert!(
                        found <= expected * 1.001 + 1e-4,
                        "{found} > {expected}, {queries} {delta}"
                    );
                }
            }
        }
    }

    #[test]
    fn many_queries_and_a_tiny_delta() {
        // Randomised response: the sum of losses is binomial, and delta a finite sum of logarithms.
        let (p, queries, delta) = (0.52f64, 1000u32, 1e-15);
        let loss = (p / (1.0 - p)).ln();
        let log_choose = {
            let mut table = vec![0.0; queries as usize + 1];
            for k in 0..queries {
                table[k as usize + 1] =
                    table[k as usize] + (f64::from(queries - k) / f64::from(k + 1)).ln();
            }
            table
        };
        let spent = |epsilon: f64| {
            (0..=queries)
                .map(|k| {
                    let total = (2.0 * f64::from(k) - f64::from(queries)) * loss;
                    let log = log_choose[k as usize]
                        + f64::from(k) * p.ln()
                        + f64::from(queries - k) * (1.0 - p).ln();
                    if total > epsilon { log.exp() * -(epsilon - total).exp_m1() } else { 0.0 }
                })
                .sum::<f64>()
        };
        let found = LossDistribution::of(&LawPair::of(&[p, 1.0 - p], &[1.0 - p, p]), 1e-3)
            .epsilon(queries.into(), Delta::new(delta).unwrap())
            .get();
        assert!(spent(found) <= delta, "{found} spends {}", spent(found));
        assert!(spent(found * 0.998) > delta, "{found} is far above");
    }

    #[test]
    fn infinite_losses_count_to_delta() {
        let leaks = LawPair::of(&[0.5, 0.499_999, 1e-6], &[0.5, 0.5, 0.0]);
        let distribution = LossDistribution::of(&leaks, 1e-4);
        let epsilon = |queries, delta| distribution.epsilon(queries, Delta::new(delta).unwrap());
        assert!(epsilon(5, 1e-5).is_finite());
        assert!(!epsilon(10, 1e-5).is_finite());
        assert_eq!(epsilon(1, 0.5).get(), 0.0);
    }

    #[test]
    fn equal_laws_cost_nothing() {
        let same = LossDistribution::of(&LawPair::of(&[0.3, 0.7], &[0.3, 0.7]), 1e-3);
        assert!(same.epsilon(100, Delta::default()).get() < 1e-9);
    }
}
