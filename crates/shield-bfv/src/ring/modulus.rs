//! Prime moduli below 2^51 and arithmetic modulo one of them, for one number and for eight lanes.

use super::lanes::{LOW, Lanes};

/// Bits of the widest modulus: operands up to twice a modulus must fit in 52 bits.
pub(crate) const MAX_BITS: u32 = 51;

/// A prime modulus with the constants its reductions need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Modulus {
    p: u64,
    /// Inverse of `p` modulo 2^52, for Montgomery reduction.
    inverse: u64,
}

/// A constant factor with its precomputed quotient `floor(value * 2^52 / p)` (Shoup's trick).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Factor {
    pub(crate) value: u64,
    pub(crate) quotient: u64,
}

impl Modulus {
    /// The modulus `p`: odd and below 2^51.
    pub(crate) fn new(p: u64) -> Self {
        debug_assert!(p % 2 == 1 && p >> MAX_BITS == 0);
        let mut inverse = 1_u64;
        for _ in 0..6 {
            inverse = inverse.wrapping_mul(2_u64.wrapping_sub(p.wrapping_mul(inverse)));
        }
        Self { p, inverse: inverse & LOW }
    }

    pub(crate) fn value(self) -> u64 {
        self.p
    }

    pub(crate) fn add(self, a: u64, b: u64) -> u64 {
        let s = a + b;
        s.min(s.wrapping_sub(self.p))
    }

    pub(crate) fn sub(self, a: u64, b: u64) -> u64 {
        let d = a.wrapping_sub(b);
        d.min(d.wrapping_add(self.p))
    }

    pub(crate) fn mul(self, a: u64, b: u64) -> u64 {
        (u128::from(a) * u128::from(b) % u128::from(self.p)) as u64
    }

    pub(crate) fn pow(self, base: u64, mut exponent: u64) -> u64 {
        let (mut result, mut square) = (1, base % self.p);
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = self.mul(result, square);
            }
            square = self.mul(square, square);
            exponent >>= 1;
        }
        result
    }

    /// Inverse of a residue that is not zero.
    pub(crate) fn inv(self, a: u64) -> u64 {
        self.pow(a, self.p - 2)
    }

    /// The residue of a signed integer of absolute value at most p: no division, no branch.
    pub(crate) fn signed(self, x: i64) -> u64 {
        let x = x.cast_unsigned();
        x.min(x.wrapping_add(self.p))
    }

    /// The representative in (-p/2, p/2] of a residue.
    pub(crate) fn centred(self, a: u64) -> i64 {
        if a > self.p / 2 { a.cast_signed() - self.p.cast_signed() } else { a.cast_signed() }
    }

    pub(crate) fn factor(self, value: u64) -> Factor {
        Factor { value, quotient: ((u128::from(value) << 52) / u128::from(self.p)) as u64 }
    }

    /// `a * 2^52`, which [`Arithmetic::fold`] turns back into a plain product.
    pub(crate) fn montgomery(self, a: u64) -> u64 {
        ((u128::from(a) << 52) % u128::from(self.p)) as u64
    }

    /// A primitive root of unity of order `order`, a power of two that divides `p - 1`: always the
    /// same one.
    pub(crate) fn root(self, order: u64) -> u64 {
        let exponent = (self.p - 1) / order;
        (2..self.p)
            .map(|g| self.pow(g, exponent))
            .find(|&w| self.pow(w, order / 2) == self.p - 1)
            .unwrap_or(1)
    }
}

/// Arithmetic modulo one prime on eight lanes. "Lazy" values are below twice the modulus.
#[derive(Clone, Copy)]
pub(crate) struct Arithmetic<L: Lanes> {
    pub(crate) lanes: L,
    p: L::V,
    twice: L::V,
    /// 2^52 - p.
    negated: L::V,
    inverse: L::V,
    low: L::V,
    /// 2^31 modulo p, to fold sums of products.
    fold: (L::V, L::V),
}

impl<L: Lanes> Arithmetic<L> {
    #[inline(always)]
    pub(crate) fn new(lanes: L, modulus: Modulus) -> Self {
        let fold = modulus.factor((1 << 31) % modulus.p);
        Self {
            lanes,
            p: lanes.splat(modulus.p),
            twice: lanes.splat(2 * modulus.p),
            negated: lanes.splat((1 << 52) - modulus.p),
            inverse: lanes.splat(modulus.inverse),
            low: lanes.splat(LOW),
            fold: (lanes.splat(fold.value), lanes.splat(fold.quotient)),
        }
    }

    /// From below 2p to below p.
    #[inline(always)]
    pub(crate) fn reduce(self, x: L::V) -> L::V {
        self.lanes.min(x, self.lanes.sub(x, self.p))
    }

    /// From below 4p to below 2p.
    #[inline(always)]
    pub(crate) fn halve(self, x: L::V) -> L::V {
        self.lanes.min(x, self.lanes.sub(x, self.twice))
    }

    #[inline(always)]
    pub(crate) fn add(self, a: L::V, b: L::V) -> L::V {
        self.reduce(self.lanes.add(a, b))
    }

    #[inline(always)]
    pub(crate) fn sub(self, a: L::V, b: L::V) -> L::V {
        let d = self.lanes.sub(a, b);
        self.lanes.min(d, self.lanes.add(d, self.p))
    }

    /// `x * factor`, lazy, for any `x` below 2^52.
    #[inline(always)]
    pub(crate) fn scale(self, x: L::V, value: L::V, quotient: L::V) -> L::V {
        let l = self.lanes;
        let zero = l.splat(0);
        let q = l.mul_high(zero, x, quotient);
        // x * value - q * p modulo 2^52, the subtraction as an addition.
        l.and(l.mul_low(l.mul_low(zero, x, value), q, self.negated), self.low)
    }

    #[inline(always)]
    pub(crate) fn splat(self, factor: Factor) -> (L::V, L::V) {
        (self.lanes.splat(factor.value), self.lanes.splat(factor.quotient))
    }

    /// `x - y` of lazy values, lazy: where it is negative it wraps to something huge, and 2p more
    /// is the least.
    #[inline(always)]
    fn lazy_difference(self, x: L::V, y: L::V) -> L::V {
        let d = self.lanes.sub(x, y);
        self.lanes.min(d, self.lanes.add(d, self.twice))
    }

    /// Forward butterfly on lazy values: `(x + w y, x - w y)`.
    #[inline(always)]
    pub(crate) fn forward(self, x: L::V, y: L::V, w: (L::V, L::V)) -> (L::V, L::V) {
        let l = self.lanes;
        let t = self.scale(y, w.0, w.1);
        (self.halve(l.add(x, t)), self.lazy_difference(x, t))
    }

    /// Inverse butterfly on lazy values: `(x + y, (x - y) w)`.
    #[inline(always)]
    pub(crate) fn backward(self, x: L::V, y: L::V, w: (L::V, L::V)) -> (L::V, L::V) {
        let l = self.lanes;
        let d = self.lazy_difference(x, y);
        (self.halve(l.add(x, y)), self.scale(d, w.0, w.1))
    }

    /// `x y / 2^52`, lazy, for `x` and `y` whose product is below 2^52 p.
    #[inline(always)]
    pub(crate) fn montgomery_product(self, x: L::V, y: L::V) -> L::V {
        let l = self.lanes;
        let zero = l.splat(0);
        self.montgomery(l.mul_low(zero, x, y), l.mul_high(zero, x, y))
    }

    /// `(high * 2^52 + low) / 2^52`, lazy, for `low` below 2^52 and `high` at most p.
    #[inline(always)]
    fn montgomery(self, low: L::V, high: L::V) -> L::V {
        let l = self.lanes;
        let zero = l.splat(0);
        let m = l.mul_low(zero, low, self.inverse);
        l.add(l.sub(high, l.mul_high(zero, m, self.p)), self.p)
    }

    /// `(high * 2^52 + low) / 2^52` for the sums of the two halves of up to 4,096 products.
    #[inline(always)]
    pub(crate) fn fold(self, low: L::V, high: L::V) -> L::V {
        let l = self.lanes;
        let high = l.add(high, l.shr::<52>(low));
        let upper = l.shr::<31>(high);
        let rest = l.and(high, l.splat((1 << 31) - 1));
        let high =
            self.reduce(self.halve(l.add(self.scale(upper, self.fold.0, self.fold.1), rest)));
        self.reduce(self.montgomery(l.and(low, self.low), high))
    }
}
