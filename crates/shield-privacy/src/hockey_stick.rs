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

/// The ratio P/Q of an output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Ratio {
    /// Its natural logarithm.
    Log(f64),
    /// Q never gives the output.
    Infinite,
}

/// A pair of laws, as what matters of it: the privacy loss and how likely it is under P.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Dominating {
    /// (ln(P/Q), mass under P), in increasing order.
    pub(crate) losses: Vec<(f64, f64)>,
    /// Mass under P of an infinite loss.
    pub(crate) infinite: f64,
}

impl Dominating {
    /// A pair that dominates every pair with (P - tQ)_+ <= sum of m (r - t)_+ over the parts with
    /// ratio r > 1, for t >= 1, and (tQ - P)_+ <= sum of m (t - r)_+ over those with r < 1, for
    /// t <= 1. A part is its mass m under Q and its ratio; where the ratio is infinite, its mass
    /// under P.
    ///
    /// The hockey stick h(t) is at most the first sum for t >= 1, and at most 1 - t plus the second
    /// for t <= 1. Both bounds are convex but need not meet at t = 1. As h is convex, it lies below
    /// the lower convex hull of what bounds it, which is the hockey stick of the pair returned.
    pub(crate) fn of_parts(parts: impl IntoIterator<Item = (f64, Ratio)>) -> Self {
        // (t - 1, ln t, mass)
        let (mut below, mut above, mut infinite) = (Vec::new(), Vec::new(), 0.0);
        for (mass, ratio) in parts {
            match ratio {
                Ratio::Infinite => infinite += mass,
                Ratio::Log(x) if x < 0.0 => below.push((x.exp_m1(), x, mass)),
                Ratio::Log(x) => above.push((x.exp_m1(), x, mass)),
            }
        }
        let everything = |parts: &[(f64, f64, f64)]| parts.iter().map(|p| p.2 * p.0.abs()).sum();
        let (down, up): (f64, f64) = (everything(&below), everything(&above));
        let at_one = down.min(up + infinite);
        // `min` would drop a NaN: what is not known could be anything.
        let unknown = down.is_nan() || up.is_nan();
        if unknown || !(at_one < 1.0 && infinite < 1.0) {
            return Self { losses: Vec::new(), infinite: 1.0 };
        }
        let by_ratio = |a: &(f64, f64, f64), b: &(f64, f64, f64)| a.0.total_cmp(&b.0);
        below.sort_unstable_by(by_ratio);
        above.sort_unstable_by(by_ratio);
        let mut points = vec![Point { s: -1.0, x: f64::NEG_INFINITY, height: 1.0 }];
        for &(s, x, _) in &below {
            let beyond: f64 = below.iter().map(|p| p.2 * (s - p.0).max(0.0)).sum();
            points.push(Point { s, x, height: (beyond - s).min(1.0) });
        }
        points.push(Point { s: 0.0, x: 0.0, height: at_one });
        for &(s, x, _) in &above {
            let beyond: f64 = above.iter().map(|p| p.2 * (p.0 - s).max(0.0)).sum();
            points.push(Point { s, x, height: (infinite + beyond).min(1.0) });
        }
        points.dedup_by(|next, kept| next.s <= kept.s);
        Self::of_curve(&points, infinite)
    }

    /// The pair whose hockey stick is the lower convex hull of the points, flat beyond the last.
    fn of_curve(points: &[Point], infinite: f64) -> Self {
        let mut hull: Vec<Point> = Vec::with_capacity(points.len());
        for &point in points {
            while let [.., a, b] = hull[..] {
                if a.slope(b) < b.slope(point) {
                    break;
                }
                hull.pop();
            }
            hull.push(point);
        }
        // Where the slope of a hockey stick rises, Q has an output with the ratio P/Q = t.
        let mut losses = Vec::with_capacity(hull.len());
        for i in 1..hull.len() {
            let right = hull.get(i + 1).map_or(0.0, |&next| hull[i].slope(next));
            let under_q = right - hull[i - 1].slope(hull[i]);
            losses.push((hull[i].x, (1.0 + hull[i].s) * under_q.max(0.0)));
        }
        Self { losses, infinite }
    }
}

/// A point of a hockey stick at the threshold t = 1 + s = e^x.
#[derive(Clone, Copy, Debug)]
struct Point {
    s: f64,
    x: f64,
    height: f64,
}

impl Point {
    fn slope(self, next: Self) -> f64 {
        (next.height - self.height) / (next.s - self.s)
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
    use crate::moments::LawPair;
    use shield_core::parameters::Delta;

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
    fn a_pair_dominates_itself_and_what_its_parts_bound() {
        let parts = [(0.2, Ratio::Log(0.3)), (0.1, Ratio::Log(-0.5)), (0.4, Ratio::Log(-0.05))];
        let bounds = |t: f64| {
            let sum = |sign: f64| {
                parts.iter().map(move |&(mass, ratio)| match ratio {
                    Ratio::Log(x) if x * sign > 0.0 => mass * (sign * (x.exp() - t)).max(0.0),
                    _ => 0.0,
                })
            };
            let (above, below): (f64, f64) = (sum(1.0).sum(), sum(-1.0).sum());
            if t > 1.0 { above } else { 1.0 - t + below }
        };
        let pair = Dominating::of_parts(parts);
        let height = |t: f64| -> f64 {
            pair.losses.iter().map(|(x, mass)| mass * (1.0 - t * (-x).exp()).max(0.0)).sum()
        };
        let total: f64 = pair.losses.iter().map(|loss| loss.1).sum();
        assert!((total - 1.0).abs() < 1e-14, "{total}");
        // Both sides bound the total variation: the smaller counts, and the hull lies below both.
        assert!((height(1.0) - bounds(1.0).min(bounds(1.0 + 1e-12))).abs() < 1e-9);
        for i in 1..40 {
            let t = f64::from(i) / 20.0;
            assert!(height(t) <= bounds(t) + 1e-12, "{t}");
        }
        // A pair that the parts describe exactly comes back.
        let (p, q) = ([0.5, 0.3, 0.2], [0.4, 0.25, 0.35f64]);
        let exact = (0..3).map(|i| (q[i], Ratio::Log(f64::ln(p[i] / q[i]))));
        let same = Dominating::of_parts(exact);
        for (&(x, mass), i) in same.losses.iter().filter(|loss| loss.1 > 1e-12).zip([2, 1, 0]) {
            assert!((x - f64::ln(p[i] / q[i])).abs() < 1e-12 && (mass - p[i]).abs() < 1e-12);
        }
    }

    #[test]
    fn parts_that_say_nothing_dominate_everything() {
        let nothing = Dominating::of_parts([(1.0, Ratio::Infinite)]);
        assert_eq!(nothing, Dominating { losses: Vec::new(), infinite: 1.0 });
        assert_eq!(Dominating::of_parts([(f64::NAN, Ratio::Log(1.0))]).infinite, 1.0);
    }

    #[test]
    fn a_symmetric_pair_is_recovered() {
        let response = LawPair::of(&[0.6, 0.4], &[0.4, 0.6]);
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
            LawPair::of(&[0.50, 0.30, 0.20], &[0.48, 0.33, 0.19]),
            LawPair::of(&[0.90, 0.06, 0.04], &[0.90, 0.05, 0.05]),
            LawPair::of(&[0.2, 0.8], &[0.21, 0.79]),
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
        let response = LawPair::of(&[0.55, 0.45], &[0.45, 0.55]);
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
