//! [`Arithmetic`] on the halves of 52-bit products, which AVX-512 IFMA has instructions for.

use super::lanes::{Arithmetic, Block, Form, Lanes, Pair, TILE};
use super::modulus::{Factor, LOW, Modulus};

/// Lanes that multiply integers of 52 bits.
pub(crate) trait Halves: Lanes {
    /// Unsigned minimum: `min(x, x - p)` is the branch-free conditional subtraction.
    fn min(self, a: Self::V, b: Self::V) -> Self::V;
    /// `acc + low52(a * b)` on the low 52 bits of `a` and `b`.
    fn mul_low(self, acc: Self::V, a: Self::V, b: Self::V) -> Self::V;
    /// `acc + high52(a * b)` on the low 52 bits of `a` and `b`.
    fn mul_high(self, acc: Self::V, a: Self::V, b: Self::V) -> Self::V;
}

/// Arithmetic on integers. Lazy values are below twice the modulus.
#[derive(Clone, Copy)]
pub(crate) struct Integers<L: Halves> {
    lanes: L,
    p: L::V,
    twice: L::V,
    /// 2^52 - p.
    negated: L::V,
    inverse: L::V,
    low: L::V,
    /// 2^31 modulo p, to fold sums of products.
    fold: Pair<L>,
}

impl<L: Halves> Integers<L> {
    /// From below 4p to below 2p.
    #[inline(always)]
    fn halve(self, x: L::V) -> L::V {
        self.lanes.min(x, self.lanes.sub(x, self.twice))
    }

    /// `x * factor`, lazy, for any `x` below 2^52.
    #[inline(always)]
    fn scale_lazy(self, x: L::V, factor: Pair<L>) -> L::V {
        let l = self.lanes;
        let zero = l.splat(0);
        let q = l.mul_high(zero, x, factor.1);
        // x * value - q * p modulo 2^52, the subtraction as an addition.
        l.and(l.mul_low(l.mul_low(zero, x, factor.0), q, self.negated), self.low)
    }

    /// `x - y` of lazy values, lazy: where it is negative it wraps to something huge, and 2p more
    /// is the least.
    #[inline(always)]
    fn lazy_difference(self, x: L::V, y: L::V) -> L::V {
        let d = self.lanes.sub(x, y);
        self.lanes.min(d, self.lanes.add(d, self.twice))
    }

    /// `(high * 2^52 + low) / 2^52`, lazy, for `low` below 2^52 and `high` at most p.
    #[inline(always)]
    fn montgomery(self, low: L::V, high: L::V) -> L::V {
        let l = self.lanes;
        let zero = l.splat(0);
        let m = l.mul_low(zero, low, self.inverse);
        l.add(l.sub(high, l.mul_high(zero, m, self.p)), self.p)
    }
}

impl<L: Halves> Arithmetic<L> for Integers<L> {
    const FORM: Form = Form::Integers;

    #[inline(always)]
    fn new(lanes: L, modulus: Modulus) -> Self {
        let p = modulus.value();
        let fold = modulus.factor((1 << 31) % p);
        Self {
            lanes,
            p: lanes.splat(p),
            twice: lanes.splat(2 * p),
            negated: lanes.splat((1 << 52) - p),
            inverse: lanes.splat(modulus.inverse()),
            low: lanes.splat(LOW),
            fold: (lanes.splat(fold.value), lanes.splat(fold.quotient)),
        }
    }
    #[inline(always)]
    fn reduce(self, x: L::V) -> L::V {
        self.lanes.min(x, self.lanes.sub(x, self.p))
    }
    #[inline(always)]
    fn add(self, a: L::V, b: L::V) -> L::V {
        self.reduce(self.lanes.add(a, b))
    }
    #[inline(always)]
    fn sub(self, a: L::V, b: L::V) -> L::V {
        let d = self.lanes.sub(a, b);
        self.lanes.min(d, self.lanes.add(d, self.p))
    }
    #[inline(always)]
    fn splat(self, factor: Factor) -> Pair<L> {
        (self.lanes.splat(factor.value), self.lanes.splat(factor.quotient))
    }
    #[inline(always)]
    fn scale(self, x: L::V, factor: Pair<L>) -> L::V {
        self.reduce(self.scale_lazy(x, factor))
    }

    #[inline(always)]
    fn enter(self, x: L::V) -> L::V {
        x
    }
    #[inline(always)]
    fn leave(self, x: L::V) -> L::V {
        self.reduce(x)
    }
    #[inline(always)]
    fn leave_scaled(self, x: L::V, factor: Pair<L>) -> L::V {
        self.scale(x, factor)
    }
    #[inline(always)]
    fn twiddle(self, factor: Factor) -> Pair<L> {
        self.splat(factor)
    }
    #[inline(always)]
    fn settle(self, x: L::V) -> L::V {
        x
    }
    #[inline(always)]
    fn forward(self, x: L::V, y: L::V, w: Pair<L>) -> Pair<L> {
        let t = self.scale_lazy(y, w);
        (self.halve(self.lanes.add(x, t)), self.lazy_difference(x, t))
    }
    #[inline(always)]
    fn backward(self, x: L::V, y: L::V, w: Pair<L>) -> Pair<L> {
        let d = self.lazy_difference(x, y);
        (self.halve(self.lanes.add(x, y)), self.scale_lazy(d, w))
    }
    #[inline(always)]
    fn backward_open(self, x: L::V, y: L::V, w: Pair<L>) -> Pair<L> {
        self.backward(x, y, w)
    }

    #[inline(always)]
    fn operand(self, x: L::V) -> L::V {
        x
    }
    #[inline(always)]
    fn multiplier(self, x: L::V) -> L::V {
        x
    }
    #[inline(always)]
    fn product(self, x: L::V, y: L::V) -> L::V {
        let l = self.lanes;
        let zero = l.splat(0);
        self.montgomery(l.mul_low(zero, x, y), l.mul_high(zero, x, y))
    }
    #[inline(always)]
    fn whole(self, x: L::V) -> L::V {
        x
    }
    #[inline(always)]
    fn short_add(self, sum: Pair<L>, x: L::V, y: L::V) -> Pair<L> {
        self.multiply_add(sum, x, y)
    }
    #[inline(always)]
    fn short_settle(self, sum: Pair<L>) -> Pair<L> {
        sum
    }
    #[inline(always)]
    fn short_fold(self, sum: Pair<L>) -> L::V {
        self.fold(sum)
    }
    #[inline(always)]
    fn multiply_add(self, sum: Pair<L>, x: L::V, y: L::V) -> Pair<L> {
        (self.lanes.mul_low(sum.0, x, y), self.lanes.mul_high(sum.1, x, y))
    }
    #[inline(always)]
    fn close(self, sum: Pair<L>, _: usize) -> Pair<L> {
        sum
    }
    #[inline(always)]
    fn fold(self, (low, high): Pair<L>) -> L::V {
        let l = self.lanes;
        let high = l.add(high, l.shr::<52>(low));
        let upper = l.shr::<31>(high);
        let rest = l.and(high, l.splat((1 << 31) - 1));
        let high = self.reduce(self.halve(l.add(self.scale_lazy(upper, self.fold), rest)));
        self.reduce(self.montgomery(l.and(low, self.low), high))
    }
    #[inline(always)]
    fn unfold(self, value: L::V) -> Pair<L> {
        (self.lanes.splat(0), value)
    }

    #[inline(always)]
    fn linear(self, operands: &[L::V], weights: &[Factor], out: &mut [Block]) {
        let zero = self.lanes.splat(0);
        for (b, block) in out.iter_mut().enumerate() {
            let mut sum = (zero, zero);
            for (operands, w) in operands.chunks_exact(TILE).zip(weights) {
                sum = self.multiply_add(sum, operands[b], self.lanes.splat(w.value));
            }
            self.lanes.store(self.fold(sum), block);
        }
    }
    #[inline(always)]
    fn digit(self, x: L::V, factor: Pair<L>) -> L::V {
        self.scale(x, factor)
    }
    #[inline(always)]
    fn quotient(self, sum: L::V, digit: L::V, theta: L::V) -> L::V {
        self.lanes.mul_high(sum, digit, theta)
    }
}
