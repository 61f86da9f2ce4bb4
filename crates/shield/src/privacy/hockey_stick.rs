//! Hockey-stick curves: how much of one law lies above e^epsilon times another, for every epsilon.
//!
//! A pair of laws is dominated by another exactly if its curve lies nowhere above the other's, and
//! domination survives composition (Zhu, Dong and Wang, 2022). The pointwise maximum of the curves
//! of many pairs is convex again, so it is the curve of a pair that dominates them all: a single
//! pair to compose.

use super::loss_distribution::LossDistribution;

/// Where a curve is known: points of a fine grid of losses, from 0 up, denser near 0.
#[derive(Clone, Debug)]
pub(crate) struct Nodes {
    step: f64,
    indices: Vec<u32>,
}

impl Nodes {
    const FINE: u32 = 2048;

    /// About `count` nodes from 0 to `top`.
    pub(crate) fn new(top: f64, count: u32) -> Self {
        let place = |i: u32| {
            let along = f64::from(i) / f64::from(count);
            (along.powf(1.6) * f64::from(Self::FINE)).round() as u32
        };
        let mut indices: Vec<u32> = (0..=count).map(place).collect();
        indices.dedup();
        Self { step: top / f64::from(Self::FINE), indices }
    }

    /// e^epsilon at each node.
    pub(crate) fn thresholds(&self) -> impl ExactSizeIterator<Item = f64> + '_ {
        self.indices.iter().map(|&index| (self.step * f64::from(index)).exp())
    }

    /// The loss distribution of a pair that dominates every pair whose curve, in both directions,
    /// lies at or below `values` at the nodes.
    ///
    /// A convex curve lies below its chords, so straight lines (in e^epsilon) between bounds at
    /// nodes are bounds in between, and the lower convex hull of the bounds still lies above: it is
    /// the largest convex curve through or below them, and the true curve is one. Beyond the last
    /// node the curve is taken as constant, which makes its last value the mass of an infinite
    /// loss. Read backwards, a curve h(t) becomes 1 - t + t h(1/t); the bound holds in both
    /// directions, so it is continued to t < 1 that way, and the pair it belongs to is its own
    /// reverse: the mass at -x is e^-x times that at x.
    pub(crate) fn dominating(&self, values: &[f64]) -> LossDistribution {
        let upper: Vec<(f64, f64)> = self.thresholds().zip(values.iter().copied()).collect();
        let mirrored = upper.iter().skip(1).rev().map(|&(t, h)| (1.0 / t, 1.0 - 1.0 / t + h / t));
        let hull = lower_hull(mirrored.chain(upper.iter().copied()));

        let fine = *self.indices.last().unwrap_or(&0) as usize;
        let mut masses = vec![0.0; 2 * fine + 1];
        let index = |t: f64| (t.ln() / self.step).round();
        let mut total = 0.0;
        let infinite = hull.last().map_or(0.0, |last| last.1);
        // Slopes change only at hull points. Right of the last one the curve is flat.
        for (i, &(t, h)) in hull.iter().enumerate() {
            let place = index(t);
            if place < 1.0 {
                continue;
            }
            let slope = |a: (f64, f64), b: (f64, f64)| (b.1 - a.1) / (b.0 - a.0);
            let left = if i == 0 { 0.0 } else { slope(hull[i - 1], (t, h)) };
            let right = hull.get(i + 1).map_or(0.0, |&next| slope((t, h), next));
            let under_q = (right - left).max(0.0);
            let place = place as usize;
            masses[fine + place] = t * under_q;
            masses[fine - place] = under_q;
            total += (t + 1.0) * under_q;
        }
        masses[fine] = (1.0 - total - infinite).max(0.0);
        LossDistribution::new(self.step, -(fine as i64), masses, infinite)
    }
}

/// The lower convex hull of points in increasing order of their first coordinate.
fn lower_hull(points: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let mut hull: Vec<(f64, f64)> = Vec::new();
    for point in points {
        while let [.., a, b] = hull[..] {
            let turns_up = (b.0 - a.0) * (point.1 - a.1) > (b.1 - a.1) * (point.0 - a.0);
            if turns_up {
                break;
            }
            hull.pop();
        }
        hull.push(point);
    }
    hull
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Delta;
    use crate::privacy::moments::{LawPair, Outcome};

    fn pair(p: &[f64], q: &[f64]) -> LawPair {
        LawPair::new(p.iter().zip(q).map(|(p, q)| Outcome {
            log_p: p.ln(),
            log_q: q.ln(),
            copies: 1.0,
        }))
    }

    fn curve(nodes: &Nodes, pairs: &[LawPair]) -> Vec<f64> {
        let worst = |t: f64| {
            pairs
                .iter()
                .map(|pair| pair.hockey_stick(t).max(pair.reversed().hockey_stick(t)))
                .fold(0.0, f64::max)
        };
        nodes.thresholds().map(worst).collect()
    }

    #[test]
    fn a_symmetric_pair_is_recovered() {
        let response = pair(&[0.6, 0.4], &[0.4, 0.6]);
        let nodes = Nodes::new(0.5, 400);
        let dominating = nodes.dominating(&curve(&nodes, std::slice::from_ref(&response)));
        for queries in [1, 10, 100] {
            let exact =
                LossDistribution::of(&response, 1e-4).epsilon(queries, Delta::default()).get();
            let found = dominating.epsilon(queries, Delta::default()).get();
            assert!(found >= exact * 0.9999 && found < exact * 1.002, "{queries}: {found} {exact}");
        }
    }

    #[test]
    fn one_pair_dominates_them_all() {
        let pairs = [
            pair(&[0.50, 0.30, 0.20], &[0.48, 0.33, 0.19]),
            pair(&[0.90, 0.06, 0.04], &[0.90, 0.05, 0.05]),
            pair(&[0.2, 0.8], &[0.21, 0.79]),
        ];
        let nodes = Nodes::new(0.4, 100);
        let dominating = nodes.dominating(&curve(&nodes, &pairs));
        for queries in [1, 7, 100, 1000] {
            let found = dominating.epsilon(queries, Delta::default()).get();
            for pair in &pairs {
                for pair in [pair.clone(), pair.reversed()] {
                    let one = LossDistribution::of(&pair, 1e-4).epsilon(queries, Delta::default());
                    assert!(found >= one.get() * 0.9999, "{queries}: {found} {one}");
                }
            }
        }
    }

    #[test]
    fn bumps_in_the_bounds_are_cut_off() {
        let response = pair(&[0.55, 0.45], &[0.45, 0.55]);
        let nodes = Nodes::new(0.3, 60);
        let mut values = curve(&nodes, std::slice::from_ref(&response));
        let smooth = nodes.dominating(&values).epsilon(50, Delta::default()).get();
        for (i, value) in values.iter_mut().enumerate() {
            *value *= if i % 3 == 0 { 1.01 } else { 1.0 };
        }
        let bumpy = nodes.dominating(&values).epsilon(50, Delta::default()).get();
        assert!(bumpy >= smooth && bumpy < smooth * 1.01, "{bumpy} {smooth}");
    }
}
