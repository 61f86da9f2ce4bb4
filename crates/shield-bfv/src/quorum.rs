//! How many trustees hold the secret, how many of them open, and what that costs in noise.
//!
//! Where all trustees are needed, the secret is the sum of what they hold. Where t of n are enough,
//! every trustee shares its summand s out (Shamir): it takes a uniform polynomial P of degree t - 1
//! with `P(0) = D s` and gives P(x) to the trustee at point x. The points are 1, -1, 2, -2, ...,
//! which keeps all integers below small.
//!
//! # Why D
//!
//! Given t - 1 values of P, any other one is `c s` plus what follows from them, where c is D times
//! a fraction. Shares of an opening can be checked only while each is seen by itself, with its own
//! flooding; if c were no integer, say 1/3, then three times that share would show the noise modulo
//! 3. D makes every c an integer, so the noise enters every share as a multiple of itself, which
//! the flooding hides: `Trustees::shift` is the norm of all these multiples together.

use std::fmt;

use thiserror::Error;

use crate::flooding;
use crate::noise::{Noise, Ring};
use crate::scheme::COINS;

/// The most trustees.
pub const MOST_TRUSTEES: u32 = 10;

/// How often a trustee opens one release at most, each time with another set of trustees.
pub const MOST_OPENINGS: usize = 8;

/// How many trustees hold the secret, and how many of them open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trustees {
    count: u32,
    threshold: u32,
}

/// Numbers of trustees that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "{threshold} of {count} trustees cannot be; take 1 to {MOST_TRUSTEES} trustees, and either all \
     of them or more than half and at least 2 to open"
)]
pub struct TrusteesError {
    /// How many trustees there were to be.
    pub count: u32,
    /// How many of them were to open.
    pub threshold: u32,
}

/// A secret key that nobody has: the trustees hold shares of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "the key of this election is held by its trustees; they make it and open releases together, \
     and nobody has it whole"
)]
pub struct HeldByTrustees;

/// Refuses to make or use a secret key where trustees hold it.
pub(crate) fn check_single_key(trustees: Option<Trustees>) -> Result<(), HeldByTrustees> {
    trustees.map_or(Ok(()), |_| Err(HeldByTrustees))
}

/// Binds a digest to the trustees, if there are any.
pub(crate) fn bind(hasher: &mut blake3::Hasher, trustees: Option<Trustees>) {
    if let Some(Trustees { count, threshold }) = trustees {
        hasher.update(b"trustees").update(&count.to_le_bytes()).update(&threshold.to_le_bytes());
    }
}

impl Trustees {
    /// So many trustees, `threshold` of whom open.
    pub fn new(count: u32, threshold: u32) -> Result<Self, TrusteesError> {
        let majority = threshold >= 2 && 2 * u64::from(threshold) > u64::from(count);
        let possible = (1..=MOST_TRUSTEES).contains(&count)
            && (threshold == count || (majority && threshold < count));
        possible.then_some(Self { count, threshold }).ok_or(TrusteesError { count, threshold })
    }

    /// So many trustees: all of up to three open, otherwise more than half.
    pub fn default_of(count: u32) -> Result<Self, TrusteesError> {
        Self::new(count, if count <= 3 { count } else { count / 2 + 1 })
    }

    /// How many trustees there are.
    pub fn count(self) -> usize {
        self.count as usize
    }

    /// How many of them open.
    pub fn threshold(self) -> usize {
        self.threshold as usize
    }

    /// Whether fewer than all open.
    pub fn shares(self) -> bool {
        self.threshold < self.count
    }

    /// Where a trustee's share lies on the polynomial.
    pub(crate) fn point(trustee: usize) -> i128 {
        let distance = (trustee / 2 + 1) as i128;
        if trustee.is_multiple_of(2) { distance } else { -distance }
    }

    /// Every set of so many trustees.
    pub(crate) fn sets(self, size: usize) -> impl Iterator<Item = Vec<usize>> {
        let all = 0..1_u32 << self.count;
        let sets = all.filter(move |set| set.count_ones() as usize == size);
        sets.map(move |set| (0..self.count()).filter(|i| set >> i & 1 == 1).collect())
    }

    /// D times each factor with which the secret enters the share of somebody outside a set of t -
    /// 1, as a fraction.
    fn factors(self, set: &[usize], scale: i128) -> impl Iterator<Item = (i128, i128)> {
        let others = (0..self.count()).filter(|trustee| !set.contains(trustee));
        others.map(move |trustee| {
            let x = Self::point(trustee);
            let product = |of: fn(i128, i128) -> i128| {
                set.iter().map(|&i| of(Self::point(i), x)).product::<i128>()
            };
            reduced(scale * product(|c, x| c - x), product(|c, _| c))
        })
    }

    /// D.
    pub(crate) fn scale(self) -> i128 {
        if !self.shares() {
            return 1;
        }
        self.sets(self.threshold() - 1).fold(1, |scale, set| {
            self.factors(&set, 1).fold(scale, |scale, (_, denominator)| lcm(scale, denominator))
        })
    }

    /// The largest Euclidean norm of the multiples of the noise in the shares of honest trustees.
    pub(crate) fn shift(self) -> f64 {
        let scale = self.scale();
        let squares = |set: Vec<usize>| {
            self.factors(&set, scale).map(|(c, _)| (c as f64).powi(2)).sum::<f64>()
        };
        self.sets(self.threshold() - 1).map(squares).fold(0.0, f64::max).sqrt()
    }

    /// Integers w and K with `sum w_j P(x_j) = K P(0)` over a set of t trustees.
    pub(crate) fn weights(set: &[usize]) -> (Vec<i128>, i128) {
        let fractions: Vec<(i128, i128)> = set
            .iter()
            .map(|&j| {
                let others = || set.iter().filter(move |&&i| i != j).map(|&i| Self::point(i));
                let below = others().map(|x| x - Self::point(j)).product();
                reduced(others().product(), below)
            })
            .collect();
        let common = fractions.iter().fold(1, |common, &(_, denominator)| lcm(common, denominator));
        (fractions.iter().map(|(n, d)| n * (common / d)).collect(), common)
    }

    /// Integer vectors, one entry for the secret and one for each trustee, that span everything
    /// orthogonal to `(P(0), P(x_1), ..., P(x_n))` for all P of degree t - 1.
    pub(crate) fn dual(self) -> Vec<Vec<i128>> {
        let points: Vec<i128> =
            std::iter::once(0).chain((0..self.count()).map(Self::point)).collect();
        let below: Vec<i128> = (0..points.len())
            .map(|j| {
                let others = points.iter().enumerate().filter(|(i, _)| *i != j);
                others.map(|(_, x)| points[j] - x).product()
            })
            .collect();
        let common = below.iter().fold(1, |common, &b| lcm(common, b));
        (0..=self.count() - self.threshold())
            .map(|power| {
                let entry = |(b, x): (&i128, &i128)| common / b * x.pow(power as u32);
                below.iter().zip(&points).map(entry).collect()
            })
            .collect()
    }

    /// The largest coefficient of a dual vector applied to the errors of an honest deal.
    pub(crate) fn dual_bound(self, vector: &[i128]) -> i128 {
        let sum: i128 = vector[1..].iter().map(|v| v.abs()).sum();
        i128::from(COINS) * (vector[0].abs() * self.scale() + sum)
    }
}

impl fmt::Display for Trustees {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.threshold, self.count)
    }
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}

fn lcm(a: i128, b: i128) -> i128 {
    (a / gcd(a, b) * b).abs()
}

/// A fraction in lowest terms, with a positive denominator.
fn reduced(numerator: i128, denominator: i128) -> (i128, i128) {
    let common = gcd(numerator, denominator) * denominator.signum();
    (numerator / common, denominator / common)
}

/// How trustees open the releases of a plan: part of the plan, with a proven noise bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct OpeningPlan {
    pub(crate) trustees: Trustees,
    /// The level of a release.
    pub(crate) limbs: usize,
    /// Ciphertexts of a release.
    pub(crate) ciphertexts: usize,
    /// Bits of each uniform integer that floods a coefficient.
    pub(crate) flooding: u32,
    /// The same where every trustee's share is seen, and checked, by itself.
    pub(crate) checked: u32,
    /// Bits of room that are left.
    pub(crate) margin: f64,
}

impl OpeningPlan {
    /// For releases with this noise; `None` if there is no room for it.
    pub(crate) fn new(
        trustees: Trustees,
        ring: Ring,
        released: Noise,
        ciphertexts: usize,
    ) -> Option<Self> {
        let (bound, limbs) = (released.bound(), released.limbs());
        let threshold = trustees.threshold();
        let limit = ring.limit(limbs);
        let width = |bits: u32| 2_f64.powf(flooding::magnitude(bits));
        // Every set opens a release once, and no trustee with more than so many sets.
        let sets = trustees.sets(threshold).count().min(trustees.count() * MOST_OPENINGS);
        let flooding = flooding::bits(bound, ciphertexts * sets);
        let mut margin = limit - (threshold as f64 * width(flooding) + bound).log2();
        let mut checked = 0;
        if trustees.shares() {
            checked = flooding::bits(bound * trustees.shift(), ciphertexts);
            let sets = trustees.sets(threshold).map(|set| Trustees::weights(&set));
            let total = sets.map(|(weights, common)| {
                let weight: i128 = weights.iter().map(|w| w.abs()).sum();
                let scaled = (common * trustees.scale()) as f64;
                scaled * (bound + 1.0) + weight as f64 * width(checked)
            });
            margin = margin.min(limit - total.fold(0.0, f64::max).log2());
            // No share but the right one is consistent with two short errors: see `dealing`.
            let duals = trustees.dual();
            let short = duals.iter().map(|v| trustees.dual_bound(v) as f64).fold(0.0, f64::max);
            if ring.log_q(limbs) < 2.0 * (2.0 * short + 1.0).log2() + 2.0 {
                return None;
            }
        }
        (margin >= 0.0).then_some(Self { trustees, limbs, ciphertexts, flooding, checked, margin })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = Trustees> {
        let pairs = (1..=MOST_TRUSTEES).flat_map(|n| (1..=n).map(move |t| (n, t)));
        pairs.filter_map(|(n, t)| Trustees::new(n, t).ok())
    }

    /// A polynomial of degree t - 1 at 0 and at every trustee's point.
    fn values(trustees: Trustees) -> Vec<i128> {
        let at =
            |x: i128| (0..trustees.threshold()).map(move |i| (i as i128 * 7 - 3) * x.pow(i as u32));
        let points = (0..trustees.count()).map(Trustees::point);
        std::iter::once(0).chain(points).map(|x| at(x).sum()).collect()
    }

    #[test]
    fn only_majorities_open() {
        for (count, threshold) in [(0, 0), (11, 6), (4, 2), (2, 1), (3, 4), (1, 0), (3, 1)] {
            assert_eq!(Trustees::new(count, threshold), Err(TrusteesError { count, threshold }));
        }
        for (count, threshold) in [(1, 1), (2, 2), (3, 3), (4, 3), (5, 3), (10, 6)] {
            assert_eq!(Trustees::default_of(count), Trustees::new(count, threshold));
        }
    }

    #[test]
    fn sets_read_the_secret_and_dual_vectors_vanish() {
        for trustees in all() {
            let values = values(trustees);
            for set in trustees.sets(trustees.threshold()) {
                let (weights, common) = Trustees::weights(&set);
                let sum: i128 = weights.iter().zip(&set).map(|(w, &j)| w * values[1 + j]).sum();
                assert_eq!(sum, common * values[0], "{trustees}, {set:?}");
            }
            let dual = trustees.dual();
            assert_eq!(dual.len(), trustees.count() - trustees.threshold() + 1);
            for vector in dual {
                let sum: i128 = vector.iter().zip(&values).map(|(v, x)| v * x).sum();
                assert_eq!(sum, 0, "{trustees}, {vector:?}");
            }
        }
    }

    #[test]
    fn the_secret_enters_every_share_as_an_integer() {
        for trustees in all().filter(|trustees| trustees.shares()) {
            let scale = trustees.scale();
            for set in trustees.sets(trustees.threshold() - 1) {
                assert!(trustees.factors(&set, scale).all(|(_, denominator)| denominator == 1));
            }
            let half = scale / (2..=scale).find(|p| scale % p == 0).expect("a factor");
            let mut sets = trustees.sets(trustees.threshold() - 1);
            assert!(sets.any(|set| trustees.factors(&set, half).any(|(_, d)| d != 1)));
        }
        assert_eq!(Trustees::new(10, 6).map(Trustees::scale), Ok(7_200));
        assert_eq!(Trustees::new(5, 3).map(Trustees::scale), Ok(12));
    }
}
