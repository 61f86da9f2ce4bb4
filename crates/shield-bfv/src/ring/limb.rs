//! Loops over the residues of one limb.

use super::lanes::{Block, Kernel, Lanes, dispatch};
use super::modulus::{Arithmetic, Factor, Modulus};

fn blocks(limb: &[u64]) -> &[Block] {
    limb.as_chunks().0
}

/// `out += a`.
pub(crate) fn add(modulus: Modulus, out: &mut [u64], a: &[u64]) {
    dispatch(Add { modulus, out, a });
}

struct Add<'a> {
    modulus: Modulus,
    out: &'a mut [u64],
    a: &'a [u64],
}

impl Kernel for Add<'_> {
    type Output = ();
    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let a = Arithmetic::new(l, self.modulus);
        for (x, y) in self.out.as_chunks_mut().0.iter_mut().zip(blocks(self.a)) {
            l.store(a.add(l.load(x), l.load(y)), x);
        }
    }
}

/// `out = a - out`.
pub(crate) fn subtract_from(modulus: Modulus, out: &mut [u64], a: &[u64]) {
    dispatch(SubtractFrom { modulus, out, a });
}

struct SubtractFrom<'a> {
    modulus: Modulus,
    out: &'a mut [u64],
    a: &'a [u64],
}

impl Kernel for SubtractFrom<'_> {
    type Output = ();
    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let a = Arithmetic::new(l, self.modulus);
        for (x, y) in self.out.as_chunks_mut().0.iter_mut().zip(blocks(self.a)) {
            l.store(a.sub(l.load(y), l.load(x)), x);
        }
    }
}

/// `out *= factor`, also for residues of another prime, as long as they are below 2^52.
pub(crate) fn scale(modulus: Modulus, out: &mut [u64], factor: Factor) {
    dispatch(Scale { modulus, out, factor });
}

struct Scale<'a> {
    modulus: Modulus,
    out: &'a mut [u64],
    factor: Factor,
}

impl Kernel for Scale<'_> {
    type Output = ();
    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let a = Arithmetic::new(l, self.modulus);
        let (value, quotient) = a.splat(self.factor);
        for x in self.out.as_chunks_mut().0 {
            l.store(a.reduce(a.scale(l.load(x), value, quotient)), x);
        }
    }
}

/// `out = a * b / 2^52`.
pub(crate) fn product(modulus: Modulus, out: &mut [u64], a: &[u64], b: &[u64]) {
    dispatch(Sum { modulus, out, terms: &[(a, b)], keep: Keep::Replace });
}

/// `out = sum a * b / 2^52` over at most 4,096 pairs.
pub(crate) fn sum_of_products(modulus: Modulus, out: &mut [u64], terms: &[(&[u64], &[u64])]) {
    dispatch(Sum { modulus, out, terms, keep: Keep::Replace });
}

/// `out += sum a * b / 2^52` over at most 4,096 pairs.
pub(crate) fn add_products(modulus: Modulus, out: &mut [u64], terms: &[(&[u64], &[u64])]) {
    dispatch(Sum { modulus, out, terms, keep: Keep::Add });
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    Replace,
    Add,
}

struct Sum<'a> {
    modulus: Modulus,
    out: &'a mut [u64],
    terms: &'a [(&'a [u64], &'a [u64])],
    keep: Keep,
}

/// Blocks whose sums a loop keeps in registers at a time.
const TILE: usize = 4;

impl Kernel for Sum<'_> {
    type Output = ();
    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let a = Arithmetic::new(l, self.modulus);
        let zero = l.splat(0);
        for (t, tile) in
            self.out.as_chunks_mut::<8>().0.as_chunks_mut::<TILE>().0.iter_mut().enumerate()
        {
            let mut sums = [(zero, zero); TILE];
            for (x, y) in self.terms {
                let (x, y): (&[Block; TILE], &[Block; TILE]) = (tile_of(x, t), tile_of(y, t));
                for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
                    let (x, y) = (l.load(x), l.load(y));
                    *sum = (l.mul_low(sum.0, x, y), l.mul_high(sum.1, x, y));
                }
            }
            for (block, sum) in tile.iter_mut().zip(sums) {
                let value = a.fold(sum.0, sum.1);
                let value =
                    if self.keep == Keep::Add { a.add(value, l.load(block)) } else { value };
                l.store(value, block);
            }
        }
    }
}

#[inline(always)]
fn tile_of<const N: usize>(limb: &[u64], t: usize) -> &[Block; N] {
    &blocks(limb).as_chunks().0[t]
}

/// `out[k] = sum digits * keys[k] / 2^52` for both parts of a key at once: each digit is loaded
/// once.
pub(crate) fn switch(modulus: Modulus, out: [&mut [u64]; 2], digits: &[u64], keys: &[[&[u64]; 2]]) {
    dispatch(Switch { modulus, out, digits, keys });
}

struct Switch<'a> {
    modulus: Modulus,
    out: [&'a mut [u64]; 2],
    digits: &'a [u64],
    keys: &'a [[&'a [u64]; 2]],
}

impl Kernel for Switch<'_> {
    type Output = ();
    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        const PAIR: usize = TILE / 2;
        let a = Arithmetic::new(l, self.modulus);
        let zero = l.splat(0);
        let [first, second] = self.out;
        let n = first.len();
        let first = first.as_chunks_mut::<8>().0.as_chunks_mut::<PAIR>().0;
        let second = second.as_chunks_mut::<8>().0.as_chunks_mut::<PAIR>().0;
        for (t, (first, second)) in first.iter_mut().zip(second).enumerate() {
            let mut sums = [[(zero, zero); PAIR]; 2];
            for (digit, key) in self.digits.chunks_exact(n).zip(self.keys) {
                let digit: &[Block; PAIR] = tile_of(digit, t);
                let digit = [l.load(&digit[0]), l.load(&digit[1])];
                for (sums, key) in sums.iter_mut().zip(key) {
                    let key: &[Block; PAIR] = tile_of(key, t);
                    for ((sum, &x), y) in sums.iter_mut().zip(&digit).zip(key) {
                        let y = l.load(y);
                        *sum = (l.mul_low(sum.0, x, y), l.mul_high(sum.1, x, y));
                    }
                }
            }
            for (out, sums) in [first, second].into_iter().zip(sums) {
                for (block, sum) in out.iter_mut().zip(sums) {
                    l.store(a.fold(sum.0, sum.1), block);
                }
            }
        }
    }
}

/// Centred residues of `from` as residues of another prime of which `from` is less than twice,
/// times a factor.
pub(crate) fn lift(
    from: Modulus,
    input: &[u64],
    modulus: Modulus,
    out: &mut [u64],
    factor: Option<Factor>,
) {
    dispatch(Lift { from, input, modulus, out, factor });
}

struct Lift<'a> {
    from: Modulus,
    input: &'a [u64],
    modulus: Modulus,
    out: &'a mut [u64],
    factor: Option<Factor>,
}

impl Kernel for Lift<'_> {
    type Output = ();
    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let a = Arithmetic::new(l, self.modulus);
        let half = l.splat(self.from.value() / 2);
        let shift = l.splat(self.modulus.value().wrapping_sub(self.from.value()));
        let ones = l.splat(1);
        let zero = l.splat(0);
        let factor = self.factor.map(|f| a.splat(f));
        for (x, y) in blocks(self.input).iter().zip(self.out.as_chunks_mut().0) {
            let x = l.load(x);
            // All ones where x is above the half, else zero: no branch on a value.
            let above = l.sub(zero, l.and(l.shr::<63>(l.sub(half, x)), ones));
            let lifted = l.add(x, l.and(above, shift));
            let result = match factor {
                Some((value, quotient)) => a.reduce(a.scale(lifted, value, quotient)),
                None => lifted,
            };
            l.store(result, y);
        }
    }
}
