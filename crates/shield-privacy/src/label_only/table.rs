//! The law of one count's noise on a lattice: what every outcome's probability is looked up from.
//!
//! All of them are sums of f(z) F(z + d) over z from some point on, with f the mass or density of
//! the noise and F its distribution function: class a wins from a threshold on with noise z if its
//! rival's noise is at most z + d. So one *diagonal* d of running sums serves all thresholds. Sums
//! are of positive terms, from the far end on, so small probabilities keep their digits; diagonals
//! are computed where they are asked for.

use std::cell::OnceCell;

use crate::noisy_argmax::{GAUSS, NoisyArgmax};
use shield_core::shared_noise::NoiseLaw;

/// How likely noise leaves the lattice on either side, at most: such events count to delta.
pub(super) const TAIL: f64 = 1e-18;

/// The longest half of a lattice: tables grow with its square.
const MOST_SPAN: i64 = 8_192;

/// Neighbouring probabilities are right to about 1e-13, so much may a log-concave law seem not to
/// be.
const ROUNDING: f64 = 1e-11;

/// What the values of noise are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values {
    /// Whole numbers: counts can tie.
    Whole,
    /// Real numbers: they cannot.
    Real,
}

/// The mass of noise on the points of a lattice, or on as many places between them, and the chance
/// that noise is at most there.
#[derive(Clone, Debug)]
struct Row {
    mass: Vec<f64>,
    at_most: Vec<f64>,
}

/// Running sums of f(z) F(z + d) from the top, and their logarithms.
#[derive(Clone, Debug)]
pub(super) struct Diagonal {
    pub(super) sums: Vec<f64>,
    pub(super) logs: Vec<f64>,
}

/// The law of one count's noise.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) values: Values,
    /// Lattice points in a vote.
    pub(super) vote: i64,
    /// Noise is between -span and span, but for a chance of [`TAIL`] on either side.
    pub(super) span: i64,
    /// The standard deviation, in lattice points.
    pub(super) deviation: f64,
    /// Rows go from -reach to reach.
    reach: i64,
    rows: Vec<Row>,
    /// F at the lattice points, and its logarithms.
    at_most: Vec<f64>,
    log_at_most: Vec<f64>,
    /// By d, from `-2 edge` on.
    diagonals: Vec<OnceCell<Diagonal>>,
}

impl Table {
    /// Noise of whole numbers. `None` if it is not log-concave, or too wide for a table.
    pub(super) fn whole(law: &NoiseLaw) -> Option<Self> {
        let reach = law.reach();
        let mass: Vec<f64> = (-reach..=reach).map(|z| law.probability(z)).collect();
        let mut below = 0.0;
        let at_most: Vec<f64> = mass
            .iter()
            .map(|mass| {
                below += mass;
                below
            })
            .collect();
        let squares = (-reach..=reach).zip(&mass).map(|(z, mass)| (z * z) as f64 * mass);
        let deviation = squares.sum::<f64>().sqrt();
        let rows = vec![Row { mass, at_most: at_most.clone() }];
        Self::of(Values::Whole, 1, deviation, reach, rows, at_most)
    }

    /// Noise of real numbers: Gaussian or Laplace noise, both of which are log-concave. `None` if
    /// it is too wide for a table.
    pub(super) fn real(noise: NoisyArgmax) -> Option<Self> {
        // Cells are cut no smaller than a point, so points must be fine; long tails make many.
        let (scale, reach, spread, fineness) = match noise {
            NoisyArgmax::Gaussian(sigma) => (sigma.get(), 12.0, 1.0, 160.0),
            NoisyArgmax::Laplace(scale) => (scale.get(), 65.0, 2f64.sqrt(), 60.0),
        };
        let vote = (fineness / scale).ceil().max(1.0);
        // The reach is half a table's at most: no table of more could be taken.
        if reach * scale * vote > 4.0 * MOST_SPAN as f64 {
            return None;
        }
        let reach = (reach * scale * vote).ceil() as i64;
        let row = |(place, weight): (f64, f64)| {
            let at = |point: i64| (point as f64 + place) / vote;
            Row {
                mass: (-reach..=reach).map(|z| weight * noise.density(at(z)) / vote).collect(),
                at_most: (-reach..=reach).map(|z| noise.cumulative(at(z))).collect(),
            }
        };
        let sides = GAUSS.iter().flat_map(|&(node, weight)| [(-node, weight), (node, weight)]);
        let rows = sides.map(|(node, weight)| row((0.5 + node / 2.0, weight / 2.0))).collect();
        let at_most = (-reach..=reach).map(|z| noise.cumulative(z as f64 / vote)).collect();
        Self::of(Values::Real, vote as i64, spread * scale * vote, reach, rows, at_most)
    }

    fn of(
        values: Values,
        vote: i64,
        deviation: f64,
        reach: i64,
        rows: Vec<Row>,
        at_most: Vec<f64>,
    ) -> Option<Self> {
        // P(Z > s) is about P(Z < -s): all laws are the same on both sides of their middle, which
        // may be half a point off.
        let beyond = |s: i64| at_most[(reach - s + 1) as usize];
        let span = (1..reach).find(|&s| beyond(s) <= TAIL).unwrap_or(reach);
        if span > MOST_SPAN || (values == Values::Whole && !is_log_concave(&rows[0].mass, span)) {
            return None;
        }
        let log_at_most = at_most.iter().map(|chance| chance.ln()).collect();
        let mut table = Self {
            values,
            vote,
            span,
            deviation,
            reach,
            rows,
            at_most,
            log_at_most,
            diagonals: Vec::new(),
        };
        table.diagonals = vec![OnceCell::new(); 4 * table.edge() as usize + 1];
        Some(table)
    }

    /// The furthest point that is asked for: a vote, and the tie, beyond the span.
    pub(super) fn edge(&self) -> i64 {
        self.span + self.vote + 2
    }

    /// Running sums along a diagonal: entry `edge + i` is the sum over z >= i.
    pub(super) fn diagonal(&self, d: i64) -> &Diagonal {
        let edge = self.edge();
        self.diagonals[(d + 2 * edge) as usize].get_or_init(|| {
            let mut sums = vec![0.0; 2 * edge as usize + 1];
            let mut sum = 0.0;
            for z in (-edge..=self.reach.max(edge)).rev() {
                sum += self.rows.iter().map(|row| row.product(z, d, self.reach)).sum::<f64>();
                if z <= edge {
                    sums[(z + edge) as usize] = sum;
                }
            }
            let logs = sums.iter().map(|sum| sum.ln()).collect();
            Diagonal { sums, logs }
        })
    }

    /// F at a point, and its logarithm.
    pub(super) fn at_most(&self, z: i64) -> (f64, f64) {
        let last = self.at_most.len() as i64 - 1;
        let place = z + self.reach;
        if place < 0 {
            (0.0, f64::NEG_INFINITY)
        } else if place > last {
            (1.0, 0.0)
        } else {
            (self.at_most[place as usize], self.log_at_most[place as usize])
        }
    }
}

impl Row {
    /// f(z) F(z + d).
    fn product(&self, z: i64, d: i64, reach: i64) -> f64 {
        let Some(mass) = usize::try_from(z + reach).ok().and_then(|z| self.mass.get(z)) else {
            return 0.0;
        };
        let place = z + d + reach;
        match usize::try_from(place) {
            Err(_) => 0.0,
            Ok(place) => mass * self.at_most.get(place).copied().unwrap_or(1.0),
        }
    }
}

/// Whether f(z)^2 >= f(z-1) f(z+1) for every z of the span, and no gap is in it.
fn is_log_concave(mass: &[f64], span: i64) -> bool {
    let middle = (mass.len() / 2) as i64;
    let inside = &mass[(middle - span).max(0) as usize..=(middle + span) as usize];
    inside.windows(3).all(|three| {
        three[1] * three[1] >= three[0] * three[2] * (1.0 - ROUNDING) && three[1] > 0.0
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use shield_core::shared_noise::SharedNoise;
    use shield_core::shared_noise::bits::WeightedBits;

    #[test]
    fn gaps_and_bumps_are_not_log_concave() {
        assert!(is_log_concave(&[0.1, 0.2, 0.4, 0.2, 0.1], 2));
        assert!(!is_log_concave(&[0.1, 0.3, 0.2, 0.3, 0.1], 2));
        assert!(!is_log_concave(&[0.3, 0.0, 0.4, 0.0, 0.3], 2));
        // Bits of weights 1 and 3: a gap at 2, which more shares close; odd numbers stay a gap of
        // even weights.
        let known = |weights: &[u32], teachers| {
            let bits = WeightedBits::new(weights).unwrap();
            let noise = SharedNoise::of_bits(bits, teachers, 0).unwrap();
            Table::whole(&noise.law(teachers)).is_some()
        };
        assert!(!known(&[1, 3], 1) && known(&[1, 3], 20));
        assert!(!known(&[2, 4], 20) && known(&[1, 2, 4], 20));
    }
}
