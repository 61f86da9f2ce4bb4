//! [`Arithmetic`] in double precision, for processors with fused multiply-add (FMA).
//!
//! A product of two integers below 2^52 has up to 104 bits. Rounded to a double it is `h`, and one
//! FMA finds what was lost, `l = x y - h`, exactly. With q the integer nearest to x y / p, both
//! `h - q p` and that plus `l` are integers below 2^53 and so exact, too: six operations for a
//! product modulo p, in -0.63 p to 0.63 p. Primes are below 2^51, so four times a prime is the most
//! that a double holds exactly; the bounds below are in units of p.
//!
//! Integers are rounded and cut by adding a constant whose last bit has the right weight: 1.5 *
//! 2^52 for units, 1.5 * 2^103 for multiples of 2^51. All of it is the default rounding, to the
//! nearest and to even, which Rust never changes.
//!
//! A sum of products is two integers. Of `c = x y + 1.5 * 2^103` the last bits are the product's
//! multiple of 2^51, and of `x y + (1.5 * 2^103 + 1.5 * 2^52 - c)`, which is exact, they are the
//! rest, at most 2^50. As long as the exponent stays, doubles are in the order of their bits: both
//! are added up by integer additions of all their bits, five operations for a product, and what the
//! constants brought is taken off when the sum is closed.

use std::arch::x86_64::{__m256d, __m256i};

use super::lanes::{Arithmetic, Block, Form, Lanes, Pair, TILE, doubles};
use super::modulus::{Factor, Modulus};
use super::registers::{Avx2, V};

/// 2^52: an integer below 2^52 in the low bits of this is a double.
const UNSIGNED: f64 = 4_503_599_627_370_496.0;
/// 1.5 * 2^52: rounds to units, for absolute values up to 2^51.
const UNITS: f64 = 1.5 * UNSIGNED;
/// 1.5 * 2^104: rounds to multiples of 2^52, for absolute values up to 2^103.
const HIGH: f64 = UNITS * UNSIGNED;
/// 1.5 * 2^103: rounds to multiples of 2^51, for absolute values up to 2^102.
const CUT: f64 = HIGH / 2.0;

/// The same for both registers, `$i` being the number of the register.
///
/// Closures will not do here: they are compiled for any processor, and call every instruction.
macro_rules! both {
    ($i:ident => $each:expr) => {{
        let first = {
            const $i: usize = 0;
            $each
        };
        let second = {
            const $i: usize = 1;
            $each
        };
        [first, second]
    }};
}

/// Four lanes of doubles and what is done with them.
#[derive(Clone, Copy)]
struct Four(Avx2);

impl Four {
    #[inline(always)]
    fn set(self, x: f64) -> __m256d {
        self.0.0.avx._mm256_set1_pd(x)
    }
    #[inline(always)]
    fn bits(self, x: u64) -> __m256i {
        self.0.0.avx._mm256_set1_epi64x(x.cast_signed())
    }
    #[inline(always)]
    fn double(self, x: __m256i) -> __m256d {
        self.0.0.avx._mm256_castsi256_pd(x)
    }
    #[inline(always)]
    fn integer(self, x: __m256d) -> __m256i {
        self.0.0.avx._mm256_castpd_si256(x)
    }
    #[inline(always)]
    fn add(self, a: __m256d, b: __m256d) -> __m256d {
        self.0.0.avx._mm256_add_pd(a, b)
    }
    #[inline(always)]
    fn sub(self, a: __m256d, b: __m256d) -> __m256d {
        self.0.0.avx._mm256_sub_pd(a, b)
    }
    #[inline(always)]
    fn mul(self, a: __m256d, b: __m256d) -> __m256d {
        self.0.0.avx._mm256_mul_pd(a, b)
    }
    /// `a b + c`.
    #[inline(always)]
    fn fma(self, a: __m256d, b: __m256d, c: __m256d) -> __m256d {
        self.0.0.fma._mm256_fmadd_pd(a, b, c)
    }
    /// `a b - c`.
    #[inline(always)]
    fn fms(self, a: __m256d, b: __m256d, c: __m256d) -> __m256d {
        self.0.0.fma._mm256_fmsub_pd(a, b, c)
    }
    /// `c - a b`.
    #[inline(always)]
    fn fnma(self, a: __m256d, b: __m256d, c: __m256d) -> __m256d {
        self.0.0.fma._mm256_fnmadd_pd(a, b, c)
    }
    #[inline(always)]
    fn iadd(self, a: __m256i, b: __m256i) -> __m256i {
        self.0.0.avx2._mm256_add_epi64(a, b)
    }
    #[inline(always)]
    fn isub(self, a: __m256i, b: __m256i) -> __m256i {
        self.0.0.avx2._mm256_sub_epi64(a, b)
    }
    #[inline(always)]
    fn and(self, a: __m256i, b: __m256i) -> __m256i {
        self.0.0.avx2._mm256_and_si256(a, b)
    }
    #[inline(always)]
    fn shr<const BITS: i32>(self, a: __m256i) -> __m256i {
        self.0.0.avx2._mm256_srli_epi64::<BITS>(a)
    }
    #[inline(always)]
    fn shl<const BITS: i32>(self, a: __m256i) -> __m256i {
        self.0.0.avx2._mm256_slli_epi64::<BITS>(a)
    }
    /// `b` where the signed integer `sign` is negative, else `a`.
    #[inline(always)]
    fn select(self, a: __m256i, b: __m256i, sign: __m256i) -> __m256i {
        let (a, b, sign) = (self.double(a), self.double(b), self.double(sign));
        self.integer(self.0.0.avx._mm256_blendv_pd(a, b, sign))
    }
    /// An integer in 0..2^52 as a double.
    #[inline(always)]
    fn unsigned(self, x: __m256i) -> __m256d {
        let bits = self.0.0.avx2._mm256_or_si256(x, self.bits(UNSIGNED.to_bits()));
        self.sub(self.double(bits), self.set(UNSIGNED))
    }
    /// An integer of absolute value below 2^51 as a double.
    #[inline(always)]
    fn signed(self, x: __m256i) -> __m256d {
        let bits = self.iadd(x, self.bits(UNITS.to_bits()));
        self.sub(self.double(bits), self.set(UNITS))
    }
    /// A double that is an integer of absolute value up to 2^51 as one.
    #[inline(always)]
    fn to_signed(self, x: __m256d) -> __m256i {
        self.isub(self.integer(self.add(x, self.set(UNITS))), self.bits(UNITS.to_bits()))
    }
}

/// Arithmetic on doubles. Lazy values and operands are doubles that hold integers.
#[derive(Clone, Copy)]
pub(crate) struct Doubles {
    four: Four,
    modulus: Modulus,
    p: __m256d,
    /// 1 / p.
    reciprocal: __m256d,
    /// The inverse of p modulo 2^52, centred.
    inverse: __m256d,
    p_integer: __m256i,
    /// 1 / 2^52 modulo p, a factor.
    unit: Pair<Avx2>,
}

impl Doubles {
    /// `y w` modulo p for `y` up to 2^52 or 2 p and `w` with its quotient: at most 0.63.
    #[inline(always)]
    fn shoup(self, y: __m256i, w: __m256i, quotient: __m256i) -> __m256d {
        let f = self.four;
        let (y, w, quotient) = (f.double(y), f.double(w), f.double(quotient));
        let h = f.mul(y, w);
        let l = f.fms(y, w, h);
        let q = f.sub(f.fma(y, quotient, f.set(UNITS)), f.set(UNITS));
        f.add(f.fnma(q, self.p, h), l)
    }

    /// `x y` modulo p for a product up to p^2: at most 1, because both the product and the
    /// reciprocal are rounded before the quotient is.
    #[inline(always)]
    fn barrett(self, x: __m256i, y: __m256i) -> __m256d {
        let f = self.four;
        let (x, y) = (f.double(x), f.double(y));
        let h = f.mul(x, y);
        let l = f.fms(x, y, h);
        let q = f.sub(f.fma(h, self.reciprocal, f.set(UNITS)), f.set(UNITS));
        f.add(f.fnma(q, self.p, h), l)
    }

    /// The same modulo p, at most 0.51.
    #[inline(always)]
    fn centre(self, x: __m256d) -> __m256d {
        let f = self.four;
        let q = f.sub(f.fma(x, self.reciprocal, f.set(UNITS)), f.set(UNITS));
        f.fnma(q, self.p, x)
    }

    /// A value of absolute value below p as the residue in 0..p.
    #[inline(always)]
    fn residue(self, x: __m256d) -> __m256i {
        let f = self.four;
        let x = f.to_signed(x);
        f.select(x, f.iadd(x, self.p_integer), x)
    }

    /// The product of `x` and `y` as a multiple of 2^52 and the rest, centred.
    #[inline(always)]
    fn halves(self, x: __m256d, y: __m256d) -> (__m256d, __m256d) {
        let f = self.four;
        let high = f.sub(f.fma(x, y, f.set(HIGH)), f.set(HIGH));
        (high, f.fms(x, y, high))
    }

    /// `m p - low`, a multiple of 2^52, with `m = low / p` modulo 2^52, centred: divided by 2^52 at
    /// most (p + 1) / 2. Exact, because as a multiple of 2^52 it has few bits.
    #[inline(always)]
    fn montgomery(self, low: __m256d) -> __m256d {
        let (_, m) = self.halves(low, self.inverse);
        self.four.fms(m, self.p, low)
    }

    /// See [`Arithmetic::fold`]; the closed sum is `high 2^51 + low`, both signed.
    #[inline(always)]
    fn fold_four(self, low: __m256i, high: __m256i) -> __m256i {
        let f = self.four;
        // As `upper 2^52 + low` with `low` centred; right shifts need a bias, and leave 2^62 and
        // 2^11 of it.
        let low = f.iadd(low, f.shl::<51>(f.and(high, f.bits(1))));
        let carry = f.shr::<52>(f.iadd(low, f.bits((1 << 63) + (1 << 51))));
        let carry = f.isub(carry, f.bits(1 << 11));
        let low = f.isub(low, f.shl::<52>(carry));
        let upper = f.iadd(f.shr::<1>(f.iadd(high, f.bits(1 << 63))), carry);
        // As `top 2^32 + rest`, without the bias.
        let top = f.sub(f.unsigned(f.shr::<32>(upper)), f.set((1_u64 << 30) as f64));
        let top = f.mul(top, f.set((1_u64 << 32) as f64));
        let rest = f.unsigned(f.and(upper, f.bits((1 << 32) - 1)));
        let sum = f.add(self.centre(top), rest);
        let montgomery = self.montgomery(f.signed(low));
        self.residue(self.centre(f.fnma(montgomery, f.set(1.0 / UNSIGNED), sum)))
    }

    /// [`Doubles::shoup`] on both registers.
    #[inline(always)]
    fn shoups(self, y: V, w: Pair<Avx2>) -> V {
        both!(I => self.four.integer(self.shoup(y[I], w.0[I], w.1[I])))
    }

    /// Adds two operands times their weights to every sum, and settles the sums if asked to: four
    /// times 0.63 and 0.51 are less than four.
    #[inline(always)]
    fn add_two<const SETTLE: bool>(self, sums: &mut [V], x: &[V], v: Factor, y: &[V], w: Factor) {
        let (v, w) = (self.twiddle(v), self.twiddle(w));
        for ((sum, &x), &y) in sums.iter_mut().zip(x).zip(y) {
            let two = self.double_add(self.shoups(x, v), self.shoups(y, w));
            let total = self.double_add(*sum, two);
            *sum = if SETTLE { self.settle(total) } else { total };
        }
    }

    /// Adds an operand times its weight to every sum.
    #[inline(always)]
    fn add_one(self, sums: &mut [V], x: &[V], w: Factor) {
        let w = self.twiddle(w);
        for (sum, &x) in sums.iter_mut().zip(x) {
            *sum = self.double_add(*sum, self.shoups(x, w));
        }
    }

    #[inline(always)]
    fn double_add(self, x: V, y: V) -> V {
        let f = self.four;
        both!(I => f.integer(f.add(f.double(x[I]), f.double(y[I]))))
    }

    #[inline(always)]
    fn double_sub(self, x: V, y: V) -> V {
        let f = self.four;
        both!(I => f.integer(f.sub(f.double(x[I]), f.double(y[I]))))
    }
}

impl Arithmetic<Avx2> for Doubles {
    const FORM: Form = Form::Doubles;

    #[inline(always)]
    fn new(lanes: Avx2, modulus: Modulus) -> Self {
        let four = Four(lanes);
        let p = modulus.value();
        let inverse = modulus.inverse().cast_signed();
        let unit = doubles(modulus, modulus.unit());
        let inverse = if inverse >> 51 == 0 { inverse } else { inverse - (1 << 52) };
        Self {
            four,
            modulus,
            p: four.set(p as f64),
            reciprocal: four.set(1.0 / p as f64),
            inverse: four.set(inverse as f64),
            p_integer: four.bits(p),
            unit: (lanes.splat(unit.value), lanes.splat(unit.quotient)),
        }
    }
    #[inline(always)]
    fn reduce(self, x: V) -> V {
        let f = self.four;
        both!(I => {
            let d = f.isub(x[I], self.p_integer);
            f.select(d, x[I], d)
        })
    }
    #[inline(always)]
    fn add(self, a: V, b: V) -> V {
        self.reduce(self.four.0.add(a, b))
    }
    #[inline(always)]
    fn sub(self, a: V, b: V) -> V {
        let f = self.four;
        both!(I => {
            let d = f.isub(a[I], b[I]);
            f.select(d, f.iadd(d, self.p_integer), d)
        })
    }
    #[inline(always)]
    fn splat(self, factor: Factor) -> Pair<Avx2> {
        self.twiddle(doubles(self.modulus, factor.value))
    }
    #[inline(always)]
    fn scale(self, x: V, factor: Pair<Avx2>) -> V {
        self.leave_scaled(self.operand(x), factor)
    }

    #[inline(always)]
    fn enter(self, x: V) -> V {
        self.operand(x)
    }
    #[inline(always)]
    fn leave(self, x: V) -> V {
        both!(I => self.residue(self.centre(self.four.double(x[I]))))
    }
    #[inline(always)]
    fn leave_scaled(self, x: V, factor: Pair<Avx2>) -> V {
        both!(I => self.residue(self.shoup(x[I], factor.0[I], factor.1[I])))
    }
    #[inline(always)]
    fn twiddle(self, factor: Factor) -> Pair<Avx2> {
        (self.four.0.splat(factor.value), self.four.0.splat(factor.quotient))
    }
    #[inline(always)]
    fn settle(self, x: V) -> V {
        both!(I => self.four.integer(self.centre(self.four.double(x[I]))))
    }
    #[inline(always)]
    fn forward(self, x: V, y: V, w: Pair<Avx2>) -> Pair<Avx2> {
        let t = self.shoups(y, w);
        (self.double_add(x, t), self.double_sub(x, t))
    }
    #[inline(always)]
    fn backward(self, x: V, y: V, w: Pair<Avx2>) -> Pair<Avx2> {
        (self.settle(self.double_add(x, y)), self.shoups(self.double_sub(x, y), w))
    }
    #[inline(always)]
    fn backward_open(self, x: V, y: V, w: Pair<Avx2>) -> Pair<Avx2> {
        // At most 1.26, and with 0.51 more still below the 2 that a product takes.
        (self.double_add(x, y), self.shoups(self.double_sub(x, y), w))
    }

    #[inline(always)]
    fn operand(self, x: V) -> V {
        both!(I => self.four.integer(self.four.unsigned(x[I])))
    }
    #[inline(always)]
    fn multiplier(self, x: V) -> V {
        self.shoups(self.operand(x), self.unit)
    }
    #[inline(always)]
    fn product(self, x: V, y: V) -> V {
        both!(I => self.four.integer(self.barrett(x[I], y[I])))
    }
    #[inline(always)]
    fn whole(self, x: V) -> V {
        let f = self.four;
        let shift = f.add(self.p, f.set(UNSIGNED));
        both!(I => {
            let bits = f.integer(f.add(f.double(x[I]), shift));
            f.isub(bits, f.bits(UNSIGNED.to_bits()))
        })
    }
    #[inline(always)]
    fn short_add(self, sum: Pair<Avx2>, x: V, y: V) -> Pair<Avx2> {
        let f = self.four;
        (both!(I => f.integer(f.add(f.double(sum.0[I]), self.barrett(x[I], y[I])))), sum.1)
    }
    #[inline(always)]
    fn short_settle(self, sum: Pair<Avx2>) -> Pair<Avx2> {
        (self.settle(sum.0), sum.1)
    }
    #[inline(always)]
    fn short_fold(self, sum: Pair<Avx2>) -> V {
        self.leave_scaled(self.settle(sum.0), self.unit)
    }
    #[inline(always)]
    fn multiply_add(self, sum: Pair<Avx2>, x: V, y: V) -> Pair<Avx2> {
        let f = self.four;
        // Both halves as the bits of doubles of one exponent, which add up as integers do.
        let cut = both!(I => f.fma(f.double(x[I]), f.double(y[I]), f.set(CUT)));
        let rest = both!(I => {
            f.fma(f.double(x[I]), f.double(y[I]), f.sub(f.set(CUT + UNITS), cut[I]))
        });
        (
            both!(I => f.iadd(sum.0[I], f.integer(rest[I]))),
            both!(I => f.iadd(sum.1[I], f.integer(cut[I]))),
        )
    }
    #[inline(always)]
    fn close(self, sum: Pair<Avx2>, count: usize) -> Pair<Avx2> {
        let f = self.four;
        // Each product brought the bits of both constants.
        let units = f.bits(UNITS.to_bits().wrapping_mul(count as u64));
        let cut = f.bits(CUT.to_bits().wrapping_mul(count as u64));
        (both!(I => f.isub(sum.0[I], units)), both!(I => f.isub(sum.1[I], cut)))
    }
    #[inline(always)]
    fn fold(self, (low, high): Pair<Avx2>) -> V {
        both!(I => self.fold_four(low[I], high[I]))
    }
    #[inline(always)]
    fn unfold(self, value: V) -> Pair<Avx2> {
        (self.four.0.splat(0), self.four.0.add(value, value))
    }

    #[inline(always)]
    fn linear(self, operands: &[V], weights: &[Factor], out: &mut [Block]) {
        let mut sums = [self.four.0.splat(0); TILE];
        let sums = &mut sums[..out.len()];
        // Weight by weight, two at a time: no sum waits for itself.
        for (n, (x, weights)) in operands.chunks(2 * TILE).zip(weights.chunks(2)).enumerate() {
            match *weights {
                [v, w] if n % 2 == 0 => self.add_two::<false>(sums, x, v, &x[TILE..], w),
                [v, w] => self.add_two::<true>(sums, x, v, &x[TILE..], w),
                [w] => self.add_one(sums, x, w),
                _ => {}
            }
        }
        for (block, &sum) in out.iter_mut().zip(&*sums) {
            self.four.0.store(self.leave(sum), block);
        }
    }
    #[inline(always)]
    fn digit(self, x: V, factor: Pair<Avx2>) -> V {
        self.operand(self.scale(x, factor))
    }
    #[inline(always)]
    fn quotient(self, sum: V, digit: V, theta: V) -> V {
        let f = self.four;
        both!(I => {
            let (x, y) = (f.double(digit[I]), f.double(theta[I]));
            let nearest = f.fma(x, y, f.set(HIGH));
            let rest = f.fma(x, y, f.sub(f.set(HIGH), nearest));
            // One less where the nearest was above: the sign bit of the rest.
            let above = f.shr::<63>(f.integer(rest));
            let floor = f.isub(f.isub(f.integer(nearest), f.bits(HIGH.to_bits())), above);
            f.iadd(sum[I], floor)
        })
    }
}
