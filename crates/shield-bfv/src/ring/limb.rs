//! Loops over the residues of one limb.

use super::dispatch::dispatch;
use super::lanes::{Arithmetic, Block, Form, Kernel, Lanes, SETTLED_PRODUCTS, SHORT};
use super::modulus::{Factor, Modulus};

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
        let a = L::Arithmetic::new(l, self.modulus);
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
        let a = L::Arithmetic::new(l, self.modulus);
        for (x, y) in self.out.as_chunks_mut().0.iter_mut().zip(blocks(self.a)) {
            l.store(a.sub(l.load(y), l.load(x)), x);
        }
    }
}

/// `out = (out - a) * factor`.
pub(crate) fn subtract_and_scale(modulus: Modulus, out: &mut [u64], a: &[u64], factor: Factor) {
    dispatch(SubtractAndScale { modulus, out, a, factor });
}

struct SubtractAndScale<'a> {
    modulus: Modulus,
    out: &'a mut [u64],
    a: &'a [u64],
    factor: Factor,
}

impl Kernel for SubtractAndScale<'_> {
    type Output = ();
    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let a = L::Arithmetic::new(l, self.modulus);
        let factor = a.splat(self.factor);
        for (x, y) in self.out.as_chunks_mut().0.iter_mut().zip(blocks(self.a)) {
            l.store(a.scale(a.sub(l.load(x), l.load(y)), factor), x);
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
        let a = L::Arithmetic::new(l, self.modulus);
        let factor = a.splat(self.factor);
        for x in self.out.as_chunks_mut().0 {
            l.store(a.scale(l.load(x), factor), x);
        }
    }
}

/// `out = a * b / 2^52`.
pub(crate) fn product(modulus: Modulus, out: &mut [u64], a: &[u64], b: &[u64]) {
    dispatch(Sum { modulus, out, terms: &[(a, b)], keep: Keep::Replace, given: Given::Residues });
}

/// `a^2 / 2^52`, `2 a b / 2^52` and `b^2 / 2^52`: both are read once.
pub(crate) fn squares(modulus: Modulus, out: [&mut [u64]; 3], a: &[u64], b: &[u64]) {
    dispatch(Squares { modulus, out, a, b });
}

struct Squares<'a> {
    modulus: Modulus,
    out: [&'a mut [u64]; 3],
    a: &'a [u64],
    b: &'a [u64],
}

impl Kernel for Squares<'_> {
    type Output = ();
    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let a = L::Arithmetic::new(l, self.modulus);
        let zero = l.splat(0);
        let [first, middle, last] = self.out.map(|out| out.as_chunks_mut::<8>().0);
        let out = first.iter_mut().zip(middle).zip(last);
        for (((first, middle), last), (x, y)) in out.zip(blocks(self.a).iter().zip(blocks(self.b)))
        {
            let (x, y) = (a.operand(l.load(x)), a.operand(l.load(y)));
            l.store(a.short_fold(a.short_add((zero, zero), x, x)), first);
            let cross = a.short_fold(a.short_add((zero, zero), x, y));
            l.store(a.add(cross, cross), middle);
            l.store(a.short_fold(a.short_add((zero, zero), y, y)), last);
        }
    }
}

/// `out = sum a * b / 2^52` over at most 4,096 pairs.
pub(crate) fn sum_of_products(modulus: Modulus, out: &mut [u64], terms: &[(&[u64], &[u64])]) {
    dispatch(Sum { modulus, out, terms, keep: Keep::Replace, given: Given::Residues });
}

/// `out += sum a * b / 2^52` over at most 4,096 pairs.
pub(crate) fn add_products(modulus: Modulus, out: &mut [u64], terms: &[(&[u64], &[u64])]) {
    dispatch(Sum { modulus, out, terms, keep: Keep::Add, given: Given::Residues });
}

/// The same for what [`operands`] has prepared.
pub(crate) fn add_prepared(modulus: Modulus, out: &mut [u64], terms: &[(&[u64], &[u64])]) {
    dispatch(Sum { modulus, out, terms, keep: Keep::Add, given: Given::Operands });
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    Replace,
    Add,
}

/// What the terms of a sum are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Given {
    Residues,
    Operands,
}

impl Given {
    #[inline(always)]
    fn load<L: Lanes>(self, l: L, a: L::Arithmetic, block: &Block) -> L::V {
        let x = l.load(block);
        if self == Self::Residues { a.operand(x) } else { x }
    }
}

struct Sum<'a> {
    modulus: Modulus,
    out: &'a mut [u64],
    terms: &'a [(&'a [u64], &'a [u64])],
    keep: Keep,
    given: Given,
}

impl Kernel for Sum<'_> {
    type Output = ();
    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let a = L::Arithmetic::new(l, self.modulus);
        let short = self.terms.len() <= SHORT && L::Arithmetic::FORM == Form::Doubles;
        match (self.terms, self.keep) {
            ([one], Keep::Replace) => {
                let operands = blocks(one.0).iter().zip(blocks(one.1));
                let zero = l.splat(0);
                for (block, (x, y)) in self.out.as_chunks_mut().0.iter_mut().zip(operands) {
                    let (x, y) = (a.operand(l.load(x)), a.operand(l.load(y)));
                    l.store(a.short_fold(a.short_add((zero, zero), x, y)), block);
                }
            }
            _ if short => self.short(l, a),
            _ if L::REGISTERS > 8 => self.tiles::<L, 4>(l, a),
            _ => self.tiles::<L, 1>(l, a),
        }
    }
}

impl Sum<'_> {
    /// A few terms, block by block.
    #[inline(always)]
    fn short<L: Lanes>(self, l: L, a: L::Arithmetic) {
        let zero = l.splat(0);
        for (t, block) in self.out.as_chunks_mut().0.iter_mut().enumerate() {
            let mut sum = (zero, zero);
            for terms in self.terms.chunks(SETTLED_PRODUCTS) {
                for (x, y) in terms {
                    let (x, y) = (&blocks(x)[t], &blocks(y)[t]);
                    sum = a.short_add(sum, self.given.load(l, a, x), self.given.load(l, a, y));
                }
                sum = a.short_settle(sum);
            }
            let value = a.short_fold(sum);
            let value = if self.keep == Keep::Add { a.add(value, l.load(block)) } else { value };
            l.store(value, block);
        }
    }

    /// Blocks of sums in registers, `TILE` at a time.
    #[inline(always)]
    fn tiles<L: Lanes, const TILE: usize>(self, l: L, a: L::Arithmetic) {
        let zero = l.splat(0);
        let tiles = self.out.as_chunks_mut::<8>().0.as_chunks_mut::<TILE>().0;
        for (t, tile) in tiles.iter_mut().enumerate() {
            let mut sums = [(zero, zero); TILE];
            for (x, y) in self.terms {
                let (x, y): (&[Block; TILE], &[Block; TILE]) = (tile_of(x, t), tile_of(y, t));
                for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
                    let (x, y) = (self.given.load(l, a, x), self.given.load(l, a, y));
                    *sum = a.multiply_add(*sum, x, y);
                }
            }
            for (block, sum) in tile.iter_mut().zip(sums) {
                let value = a.fold(a.close(sum, self.terms.len()));
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
        let a = L::Arithmetic::new(l, self.modulus);
        let short = self.keys.len() <= SHORT && L::Arithmetic::FORM == Form::Doubles;
        match L::REGISTERS > 8 {
            _ if short => self.short(l, a),
            true => self.tiles::<L, 2>(l, a),
            false => self.tiles::<L, 1>(l, a),
        }
    }
}

impl Switch<'_> {
    /// A few digits, block by block.
    #[inline(always)]
    fn short<L: Lanes>(self, l: L, a: L::Arithmetic) {
        let zero = l.splat(0);
        let [first, second] = self.out;
        let n = first.len();
        let out = first.as_chunks_mut::<8>().0.iter_mut().zip(second.as_chunks_mut::<8>().0);
        for (t, (first, second)) in out.enumerate() {
            let mut sums = [(zero, zero); 2];
            let digits = self.digits.chunks(n * SETTLED_PRODUCTS);
            for (digits, keys) in digits.zip(self.keys.chunks(SETTLED_PRODUCTS)) {
                for (digit, [b, c]) in digits.chunks_exact(n).zip(keys) {
                    let digit = a.operand(l.load(&blocks(digit)[t]));
                    sums[0] = a.short_add(sums[0], digit, a.operand(l.load(&blocks(b)[t])));
                    sums[1] = a.short_add(sums[1], digit, a.operand(l.load(&blocks(c)[t])));
                }
                sums = [a.short_settle(sums[0]), a.short_settle(sums[1])];
            }
            l.store(a.short_fold(sums[0]), first);
            l.store(a.short_fold(sums[1]), second);
        }
    }

    /// Blocks of both parts' sums in registers, `TILE` of each at a time.
    #[inline(always)]
    fn tiles<L: Lanes, const TILE: usize>(self, l: L, a: L::Arithmetic) {
        let zero = l.splat(0);
        let [first, second] = self.out;
        let n = first.len();
        let first = first.as_chunks_mut::<8>().0.as_chunks_mut::<TILE>().0;
        let second = second.as_chunks_mut::<8>().0.as_chunks_mut::<TILE>().0;
        for (t, (first, second)) in first.iter_mut().zip(second).enumerate() {
            let mut open = [[(zero, zero); TILE]; 2];
            for (digit, key) in self.digits.chunks_exact(n).zip(self.keys) {
                let blocks: &[Block; TILE] = tile_of(digit, t);
                let mut digit = [zero; TILE];
                for (x, block) in digit.iter_mut().zip(blocks) {
                    *x = a.operand(l.load(block));
                }
                for (sums, key) in open.iter_mut().zip(key) {
                    let key: &[Block; TILE] = tile_of(key, t);
                    for ((sum, &x), y) in sums.iter_mut().zip(&digit).zip(key) {
                        *sum = a.multiply_add(*sum, x, a.operand(l.load(y)));
                    }
                }
            }
            for (out, sums) in [first, second].into_iter().zip(open) {
                for (block, sum) in out.iter_mut().zip(sums) {
                    l.store(a.fold(a.close(sum, self.keys.len())), block);
                }
            }
        }
    }
}

/// Residues as operands of products, in place: once, where they are in many.
pub(crate) fn operands(modulus: Modulus, residues: &mut [u64]) {
    dispatch(Prepare { modulus, residues, role: Role::Operands });
}

/// Residues in Montgomery's form as multipliers, in place.
pub(crate) fn multipliers(modulus: Modulus, residues: &mut [u64]) {
    dispatch(Prepare { modulus, residues, role: Role::Multipliers });
}

/// What residues are to be in products.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Operands,
    Multipliers,
}

struct Prepare<'a> {
    modulus: Modulus,
    residues: &'a mut [u64],
    role: Role,
}

impl Kernel for Prepare<'_> {
    type Output = ();
    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        // Integers are both as they are.
        if L::Arithmetic::FORM == Form::Integers {
            return;
        }
        let a = L::Arithmetic::new(l, self.modulus);
        for block in self.residues.as_chunks_mut().0 {
            let x = l.load(block);
            let x = if self.role == Role::Operands { a.operand(x) } else { a.multiplier(x) };
            l.store(x, block);
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
        let a = L::Arithmetic::new(l, self.modulus);
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
                Some(factor) => a.scale(lifted, factor),
                None => lifted,
            };
            l.store(result, y);
        }
    }
}
