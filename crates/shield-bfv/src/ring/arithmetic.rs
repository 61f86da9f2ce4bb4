//! Arithmetic modulo one prime on eight lanes: what the loops of the engine are written in.
//!
//! There are two implementations. [`Integers`] works on the halves of 52-bit products, which
//! AVX-512 IFMA has instructions for; [`super::doubles::Doubles`] computes the same residues in
//! double precision, for processors with fused multiply-add but without those. Whatever leaves a
//! loop is the one residue in 0..p, so that all implementations agree bit for bit.
//!
//! Inside a loop values may have a form of their own: the *lazy* values between the layers of a
//! transform, *operands* of sums of products, and *open* and *closed* sums.

use super::lanes::{Block, LANES, LOW, Lanes};
use super::modulus::{Factor, Modulus};

/// How tables hold constant factors: see [`Form::twiddle`] and [`Form::weight`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Integers, with the quotient of Shoup's trick or in Montgomery's form.
    Integers,
    /// The bits of two doubles: the centred value, and that divided by the prime.
    Doubles,
}

impl Form {
    /// The form of the lanes that [`super::lanes::dispatch`] takes on this processor.
    pub(crate) fn native() -> Self {
        struct Native;
        impl super::lanes::Kernel for Native {
            type Output = Form;
            #[inline(always)]
            fn run<L: Lanes>(self, _: L) -> Form {
                L::Arithmetic::FORM
            }
        }
        super::lanes::dispatch(Native)
    }

    /// A factor of [`Arithmetic::forward`] and [`Arithmetic::backward`].
    pub(crate) fn twiddle(self, modulus: Modulus, value: u64) -> Factor {
        match self {
            Self::Integers => modulus.factor(value),
            Self::Doubles => doubles(modulus, value),
        }
    }

    /// A factor of [`Arithmetic::linear`].
    pub(crate) fn weight(self, modulus: Modulus, value: u64) -> Factor {
        match self {
            Self::Integers => Factor { value: modulus.montgomery(value), quotient: 0 },
            Self::Doubles => doubles(modulus, value),
        }
    }
}

/// A factor as the bits of two doubles.
#[inline(always)]
pub(crate) fn doubles(modulus: Modulus, value: u64) -> Factor {
    let centred = modulus.centred(value) as f64;
    let quotient = centred / modulus.value() as f64;
    Factor { value: centred.to_bits(), quotient: quotient.to_bits() }
}

/// Two registers: a factor, or the two halves of sums of products.
pub(crate) type Pair<L> = (<L as Lanes>::V, <L as Lanes>::V);

/// Arithmetic modulo one prime. Integers are residues below the prime where nothing else is said.
pub(crate) trait Arithmetic<L: Lanes>: Copy {
    /// The form of the factors in tables.
    const FORM: Form;

    fn new(lanes: L, modulus: Modulus) -> Self;

    /// From below 2p to below p.
    fn reduce(self, x: L::V) -> L::V;
    fn add(self, a: L::V, b: L::V) -> L::V;
    fn sub(self, a: L::V, b: L::V) -> L::V;
    /// A factor of [`Arithmetic::scale`], from integers.
    fn splat(self, factor: Factor) -> Pair<L>;
    /// `x * factor`, for any integer `x` below 2^52.
    fn scale(self, x: L::V, factor: Pair<L>) -> L::V;

    /// A residue as a lazy value.
    fn enter(self, x: L::V) -> L::V;
    /// A lazy value as a residue.
    fn leave(self, x: L::V) -> L::V;
    /// A lazy value times a factor, as a residue.
    fn leave_scaled(self, x: L::V, factor: Pair<L>) -> L::V;
    /// A factor of the butterflies, the same in all lanes, from a table.
    fn twiddle(self, factor: Factor) -> Pair<L>;
    /// A lazy value that has come out of a layer, small enough for up to three more.
    fn settle(self, x: L::V) -> L::V;
    /// Forward butterfly on lazy values, `x` settled within two layers: `(x + w y, x - w y)`.
    fn forward(self, x: L::V, y: L::V, w: Pair<L>) -> Pair<L>;
    /// Inverse butterfly on lazy values: `(x + y, (x - y) w)`.
    fn backward(self, x: L::V, y: L::V, w: Pair<L>) -> Pair<L>;

    /// A residue as an operand of products.
    fn operand(self, x: L::V) -> L::V;
    /// A residue in Montgomery's form as a multiplier of [`Arithmetic::product`].
    fn multiplier(self, x: L::V) -> L::V;
    /// `x y` for an operand and a multiplier, as an operand.
    fn product(self, x: L::V, y: L::V) -> L::V;
    /// An operand as an integer below 4p that is the same modulo p.
    fn whole(self, x: L::V) -> L::V;
    /// A short sum plus `x y`, for operands; a new short sum is two zeros, and is settled after
    /// every third product.
    fn short_add(self, sum: Pair<L>, x: L::V, y: L::V) -> Pair<L>;
    /// A short sum with room for three more products.
    fn short_settle(self, sum: Pair<L>) -> Pair<L>;
    /// A short sum divided by 2^52.
    fn short_fold(self, sum: Pair<L>) -> L::V;
    /// An open sum plus `x y`, for operands; a new open sum is two zeros, and holds at most
    /// [`LANES`] products.
    fn multiply_add(self, open: Pair<L>, x: L::V, y: L::V) -> Pair<L>;
    /// A closed sum plus an open one of `count` products; a new closed sum is two zeros, and holds
    /// at most 4,096 products.
    fn close(self, closed: Pair<L>, open: Pair<L>, count: usize) -> Pair<L>;
    /// A closed sum divided by 2^52.
    fn fold(self, closed: Pair<L>) -> L::V;
    /// The closed sum that [`Arithmetic::fold`] makes `value` of.
    fn unfold(self, value: L::V) -> Pair<L>;

    /// Sums of operands times weights from a table, at most 4,096 of them, in all blocks of a tile
    /// of at most [`TILE`]: operands of one weight side by side, [`TILE`] for each weight.
    fn linear(self, operands: &[L::V], weights: &[Factor], out: &mut [Block]);
    /// `x * factor`, for any integer `x` below 2^52, as an operand in 0..p.
    fn digit(self, x: L::V, factor: Pair<L>) -> L::V;
    /// `sum + floor(digit * theta / 2^52)` for a digit of [`Arithmetic::digit`] and `theta` below
    /// 2^50, an operand.
    fn quotient(self, sum: L::V, digit: L::V, theta: L::V) -> L::V;
}

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
    fn multiply_add(self, open: Pair<L>, x: L::V, y: L::V) -> Pair<L> {
        (self.lanes.mul_low(open.0, x, y), self.lanes.mul_high(open.1, x, y))
    }
    #[inline(always)]
    fn close(self, closed: Pair<L>, open: Pair<L>, _: usize) -> Pair<L> {
        (self.lanes.add(closed.0, open.0), self.lanes.add(closed.1, open.1))
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

/// Blocks that [`Arithmetic::linear`] takes at a time.
pub(crate) const TILE: usize = 32;

/// Products that an open sum holds at most.
pub(crate) const OPEN_PRODUCTS: usize = LANES;

/// Products after which a short sum is settled.
pub(crate) const SETTLED_PRODUCTS: usize = 3;

/// Products up to which a short sum takes less time than an open and a closed one.
pub(crate) const SHORT: usize = 12;
