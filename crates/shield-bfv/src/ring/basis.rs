//! Conversions between residue number systems, centred and in integer arithmetic only.
//!
//! With Q the product of the source primes and y_i = x_i (Q/q_i)^-1 mod q_i, an integer is `sum_i
//! y_i Q/q_i - v Q` for the integer nearest to `sum_i y_i / q_i`, which 40 fractional bits find.
//! (Halevi, Polyakov and Shoup take floating point for `v`; fixed point keeps results the same on
//! every processor.) Where the sum lies within 2^-35 of a half, `v` may be off by one: the result
//! is then a representative just outside [-Q/2, Q/2], which every use here tolerates.

use super::dispatch::{dispatch, native_form};
use super::lanes::{Arithmetic, Kernel, Lanes, TILE};
use super::modulus::{Factor, Modulus};

/// Fractional bits of the fixed-point quotient.
const FRACTION: u32 = 40;

/// One target prime: what each source digit, the wrap count and the own residue are multiplied
/// with, in the form of this processor.
#[derive(Clone, Debug)]
struct Target {
    modulus: Modulus,
    /// Those of the digits, that of the wrap count, and in a division that of the own residue.
    weights: Vec<Factor>,
}

impl Target {
    fn new(modulus: Modulus, weights: impl Iterator<Item = u64>) -> Self {
        let form = native_form();
        Self { modulus, weights: weights.map(|w| form.weight(modulus, w)).collect() }
    }
}

/// A map from residues modulo the source primes to residues modulo the target primes.
#[derive(Clone, Debug)]
pub(crate) struct Conversion {
    sources: Vec<(Modulus, Factor, u64)>,
    targets: Vec<Target>,
}

/// Product of all but one of `primes`, modulo `m`.
fn cofactor(primes: &[Modulus], but: usize, m: Modulus) -> u64 {
    primes
        .iter()
        .enumerate()
        .filter(|&(i, _)| i != but)
        .fold(1, |product, (_, q)| m.mul(product, q.value() % m.value()))
}

impl Conversion {
    fn new(
        from: &[Modulus],
        to: &[Modulus],
        factor: u64,
        target: impl Fn(Modulus) -> Target,
    ) -> Self {
        let sources = from
            .iter()
            .enumerate()
            .map(|(i, &q)| {
                let y = q.mul(factor % q.value(), q.inv(cofactor(from, i, q)));
                let theta = ((1_u128 << (52 + FRACTION)) / u128::from(q.value())) as u64;
                (q, q.factor(y), theta)
            })
            .collect();
        Self { sources, targets: to.iter().map(|&p| target(p)).collect() }
    }

    /// The same centred integer, modulo other primes.
    pub(crate) fn exact(from: &[Modulus], to: &[Modulus]) -> Self {
        Self::new(from, to, 1, |p| {
            let weights = (0..from.len()).map(|i| cofactor(from, i, p));
            let wrap = p.sub(0, cofactor(from, usize::MAX, p));
            Target::new(p, weights.chain([wrap]))
        })
    }

    /// `round(t x / Q)` modulo the primes of P, for x known modulo Q and modulo P.
    ///
    /// `t x - [t x]_Q` is a multiple of Q; dividing it by Q modulo p turns the weight Q/q_i into
    /// -1/q_i.
    pub(crate) fn divide(q: &[Modulus], p: &[Modulus], t: u64) -> Self {
        Self::new(q, p, t, |p| {
            let weights = q.iter().map(|q| p.sub(0, p.inv(q.value() % p.value())));
            let own = p.mul(t, p.inv(cofactor(q, usize::MAX, p)));
            Target::new(p, weights.chain([1, own]))
        })
    }

    /// Converts polynomials of `n` coefficients: `from` and `to` hold one limb a prime, `own` is
    /// added with its factor where the conversion is a division and `to` already holds the residues
    /// modulo P.
    pub(crate) fn apply(&self, from: &[u64], to: &mut [u64], n: usize) {
        debug_assert_eq!(from.len(), n * self.sources.len());
        debug_assert_eq!(to.len(), n * self.targets.len());
        dispatch(Apply { conversion: self, from, to, n });
    }
}

struct Apply<'a> {
    conversion: &'a Conversion,
    from: &'a [u64],
    to: &'a mut [u64],
    n: usize,
}

impl Kernel for Apply<'_> {
    type Output = ();
    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let Conversion { sources, targets } = self.conversion;
        let from = self.from.as_chunks().0;
        let to = self.to.as_chunks_mut().0;
        let stride = self.n / super::lanes::LANES;
        let zero = l.splat(0);
        // Some blocks at a time: their digits stay in the nearest cache for every target. After the
        // digits the wrap count, and last the own residue.
        let (wrap, count) = (sources.len(), sources.len() + 2);
        let mut operands = vec![zero; TILE * count];
        for start in (0..stride).step_by(TILE) {
            let width = TILE.min(stride - start);
            let mut quotient = [l.splat(1 << (FRACTION - 1)); TILE];
            for (i, &(modulus, factor, theta)) in sources.iter().enumerate() {
                let a = L::Arithmetic::new(l, modulus);
                let factor = a.splat(factor);
                let theta = a.operand(l.splat(theta));
                let limb = from[i * stride + start..][..width].iter();
                let digits = operands[i * TILE..].iter_mut();
                for ((x, digit), q) in limb.zip(digits).zip(&mut quotient) {
                    *digit = a.digit(l.load(x), factor);
                    *q = a.quotient(*q, *digit, theta);
                }
            }
            for (j, target) in targets.iter().enumerate() {
                let a = L::Arithmetic::new(l, target.modulus);
                let limb = &mut to[j * stride + start..][..width];
                let (wraps, own) = operands[wrap * TILE..].split_at_mut(TILE);
                if j == 0 {
                    for (wrap, &q) in wraps.iter_mut().zip(&quotient) {
                        *wrap = a.operand(l.shr::<FRACTION>(q));
                    }
                }
                if target.weights.len() == count {
                    for (own, x) in own.iter_mut().zip(&*limb) {
                        *own = a.operand(l.load(x));
                    }
                }
                a.linear(&operands, &target.weights, limb);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::primes;
    use num_bigint::BigInt;

    fn moduli(count: usize, but: &[u64]) -> Vec<Modulus> {
        primes::largest(51, 65_536, count, but).into_iter().map(Modulus::new).collect()
    }

    fn product(moduli: &[Modulus]) -> BigInt {
        moduli.iter().map(|m| BigInt::from(m.value())).product()
    }

    fn residue(x: &BigInt, m: Modulus) -> u64 {
        let p = BigInt::from(m.value());
        u64::try_from((x % &p + &p) % &p).expect("a residue")
    }

    /// Centred integers of every size below half of `bound`.
    fn integers(bound: &BigInt) -> Vec<BigInt> {
        let step: BigInt = bound / 129 * 2;
        (0..64).map(|i| (&step * (i - 32) + 12_345 * i) * 32 / 33).collect()
    }

    fn limbs(integers: &[BigInt], moduli: &[Modulus]) -> Vec<u64> {
        moduli.iter().flat_map(|&m| integers.iter().map(move |x| residue(x, m))).collect()
    }

    #[test]
    fn an_exact_conversion_keeps_the_centred_integer() {
        let from = moduli(4, &[]);
        let to = moduli(5, &from.iter().map(|m| m.value()).collect::<Vec<_>>());
        let integers = integers(&product(&from));
        let mut found = vec![0; 64 * to.len()];
        Conversion::exact(&from, &to).apply(&limbs(&integers, &from), &mut found, 64);
        assert_eq!(found, limbs(&integers, &to));
    }

    #[test]
    fn a_division_rounds_to_the_nearest_integer() {
        let q = moduli(4, &[]);
        let p = moduli(5, &q.iter().map(|m| m.value()).collect::<Vec<_>>());
        let t = 65_537;
        let (big_q, half) = (product(&q), product(&q) / 2);
        let integers = integers(&(product(&q) * product(&p) / (4 * t)));
        let mut found = limbs(&integers, &p);
        Conversion::divide(&q, &p, t).apply(&limbs(&integers, &q), &mut found, 64);
        let rounded: Vec<BigInt> = integers
            .iter()
            .map(|x| {
                let shifted: BigInt = x * t + &half;
                // Rounded towards minus infinity, whatever the sign.
                let quotient: BigInt = &shifted / &big_q;
                if &quotient * &big_q > shifted { quotient - 1 } else { quotient }
            })
            .collect();
        assert_eq!(found, limbs(&rounded, &p));
    }
}
