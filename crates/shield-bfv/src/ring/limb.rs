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
    dispatch(Scale {
        modulus,
        out,
        factor,
    });
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
    dispatch(Sum {
        modulus,
        out,
        terms: &[(a, b)],
        keep: Keep::Replace,
    });
}

/// `out = sum a * b / 2^52` over at most 4,096 pairs.
pub(crate) fn sum_of_products(modulus: Modulus, out: &mut [u64], terms: &[(&[u64], &[u64])]) {
    dispatch(Sum {
        modulus,
        out,
        terms,
        keep: Keep::Replace,
    });
}

/// `out += sum a * b / 2^52` over at most 4,096 pairs.
pub(crate) fn add_products(modulus: Modulus, out: &mut [u64], terms: &[(&[u64], &[u64])]) {
    dispatch(Sum {
        modulus,
        out,
        terms,
        keep: Keep::Add,
    });
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

impl Kernel for Sum<'_> {
    type Output = ();
    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let a = Arithmetic::new(l, self.modulus);
        // A tile of blocks a term keeps the halves of all sums in the nearest cache.
        const TILE: usize = 32;
        let zero = l.splat(0);
        for (t, tile) in self.out.as_chunks_mut::<8>().0.chunks_mut(TILE).enumerate() {
            let mut sums = [(zero, zero); TILE];
            for (x, y) in self.terms {
                let (x, y) = (&blocks(x)[t * TILE..], &blocks(y)[t * TILE..]);
                for ((sum, x), y) in sums[..tile.len()].iter_mut().zip(x).zip(y) {
                    let (x, y) = (l.load(x), l.load(y));
                    *sum = (l.mul_low(sum.0, x, y), l.mul_high(sum.1, x, y));
                }
            }
            for (block, sum) in tile.iter_mut().zip(sums) {
                let value = a.fold(sum.0, sum.1);
                let value = if self.keep == Keep::Add {
                    a.add(value, l.load(block))
                } else {
                    value
                };
                l.store(value, block);
            }
        }
    }
}

/// Centred residues of `from` as residues of another prime of which `from` is less than twice, times a factor.
pub(crate) fn lift(
    from: Modulus,
    input: &[u64],
    modulus: Modulus,
    out: &mut [u64],
    factor: Option<Factor>,
) {
    dispatch(Lift {
        from,
        input,
        modulus,
        out,
        factor,
    });
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
