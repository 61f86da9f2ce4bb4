//! Negacyclic number-theoretic transforms: polynomials modulo X^n + 1 to their values and back.
//!
//! Values come in bit-reversed order: place `j` holds the value at `psi^(2 rev(j) + 1)`. A
//! polynomial in X^k, k a power of two, therefore has its n/k distinct values in runs of k equal
//! places, and those values are its transform as a polynomial of n/k coefficients with the very
//! same twiddle factors. The tally's masks live on that: see [`Ntt::forward_batch`].

mod layers;

use layers::{backward_blocks, forward_blocks};

use super::dispatch::{dispatch, native_form};
use super::lanes::{Arithmetic, Block, Form, Kernel, LANES, Lanes, Pair};
use super::modulus::{Factor, Modulus};

/// Twiddle factors of the last three layers for eight blocks, in the lane order that
/// [`Lanes::split`] leaves.
///
/// Stored once each and spread over the lanes when needed: the tables of all primes must stay in
/// cache.
#[derive(Clone, Debug)]
struct Tail {
    /// Stride 4, two factors a pair of blocks.
    four: [Block; 2],
    /// Stride 2, four factors a pair of blocks.
    two: [[Block; 2]; 2],
    /// Stride 1, eight factors a pair of blocks.
    one: [[Block; 2]; 4],
}

/// Blocks that a [`Tail`] serves.
const TAIL: usize = 8;

/// The transform of one size modulo one prime.
#[derive(Clone, Debug)]
pub(crate) struct Ntt {
    modulus: Modulus,
    form: Form,
    forward: Vec<Factor>,
    backward: Vec<Factor>,
    forward_tail: Vec<Tail>,
    backward_tail: Vec<Tail>,
    /// Inverse of `2^i`, plain and with Montgomery's factor, at place `i`.
    scales: Vec<[Factor; 2]>,
    size: usize,
}

/// What the inverse transform multiplies its result with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Nothing: the values are plain.
    Plain,
    /// 2^52: the values are products that carry Montgomery's factor.
    Montgomery,
}

impl Ntt {
    /// The transform of `size` coefficients, a power of two from 64 with `2 size | p - 1`.
    pub(crate) fn new(modulus: Modulus, size: usize) -> Self {
        Self::in_form(modulus, size, native_form())
    }

    /// The transform with tables in a form, for the lanes that compute in it.
    fn in_form(modulus: Modulus, size: usize, form: Form) -> Self {
        let psi = modulus.root(2 * size as u64);
        let table = |root: u64| {
            let mut powers = vec![1; size];
            for i in 1..size {
                powers[i] = modulus.mul(powers[i - 1], root);
            }
            let bits = size.trailing_zeros();
            (0..size)
                .map(|i| form.twiddle(modulus, powers[i.reverse_bits() >> (usize::BITS - bits)]))
                .collect::<Vec<_>>()
        };
        let (mut forward, mut backward) = (table(psi), table(modulus.inv(psi)));
        let (forward_tail, backward_tail) = (tails(&forward, form), tails(&backward, form));
        forward.truncate(size / LANES);
        backward.truncate(size / LANES);
        let scales = (0..=size.trailing_zeros())
            .map(|i| {
                let inverse = modulus.inv((1 << i) % modulus.value());
                [modulus.factor(inverse), modulus.factor(modulus.montgomery(inverse))]
            })
            .collect();
        Self { modulus, form, forward, backward, forward_tail, backward_tail, scales, size }
    }

    pub(crate) fn modulus(&self) -> Modulus {
        self.modulus
    }

    /// Coefficients to values, in place.
    pub(crate) fn forward(&self, data: &mut [u64]) {
        debug_assert_eq!(data.len(), self.size);
        dispatch(Forward { ntt: self, blocks: data.as_chunks_mut().0 });
    }

    /// Values to coefficients, in place.
    pub(crate) fn backward(&self, data: &mut [u64], unit: Unit) {
        debug_assert_eq!(data.len(), self.size);
        dispatch(Backward { ntt: self, blocks: data.as_chunks_mut().0, unit });
    }

    /// Eight polynomials in X^(size / blocks.len()) at once, one a lane: coefficients to distinct
    /// values.
    pub(crate) fn forward_batch(&self, blocks: &mut [Block]) {
        debug_assert!(blocks.len() <= self.forward.len());
        dispatch(ForwardBatch { ntt: self, blocks });
    }

    /// The inverse of [`Ntt::forward_batch`].
    pub(crate) fn backward_batch(&self, blocks: &mut [Block]) {
        debug_assert!(blocks.len() <= self.backward.len());
        dispatch(BackwardBatch { ntt: self, blocks });
    }

    fn scale(&self, terms: usize, unit: Unit) -> Factor {
        self.scales[terms.trailing_zeros() as usize][usize::from(unit == Unit::Montgomery)]
    }
}

/// Twiddle factors of the layers of stride 4, 2 and 1, eight blocks at a time.
fn tails(table: &[Factor], form: Form) -> Vec<Tail> {
    let n = table.len();
    let (two, one) = if form.turned() {
        ([0, 1, 2, 3], [0, 2, 4, 6, 1, 3, 5, 7])
    } else {
        ([0, 2, 1, 3], [0, 4, 2, 6, 1, 5, 3, 7])
    };
    let halves = |at: &dyn Fn(usize) -> Factor| -> [Block; 2] {
        [std::array::from_fn(|i| at(i).value), std::array::from_fn(|i| at(i).quotient)]
    };
    (0..n / (TAIL * LANES))
        .map(|b| Tail {
            four: halves(&|i| table[n / 8 + 8 * b + i]),
            two: std::array::from_fn(|pair| {
                halves(&|i| table[n / 4 + 16 * b + 8 * pair + i / 4 * 4 + two[i % 4]])
            }),
            one: std::array::from_fn(|pair| halves(&|i| table[n / 2 + 32 * b + 8 * pair + one[i]])),
        })
        .collect()
}

/// The factors of one pair of blocks, spread over the lanes.
impl Tail {
    #[inline(always)]
    fn four<L: Lanes>(&self, l: L, pair: usize) -> Pair<L> {
        let [value, quotient] = &self.four;
        (l.spread::<2>(l.load(value), pair), l.spread::<2>(l.load(quotient), pair))
    }
    #[inline(always)]
    fn two<L: Lanes>(&self, l: L, pair: usize) -> Pair<L> {
        let [value, quotient] = &self.two[pair / 2];
        (l.spread::<4>(l.load(value), pair % 2), l.spread::<4>(l.load(quotient), pair % 2))
    }
    #[inline(always)]
    fn one<L: Lanes>(&self, l: L, pair: usize) -> Pair<L> {
        let [value, quotient] = &self.one[pair];
        (l.load(value), l.load(quotient))
    }
}

struct Forward<'a> {
    ntt: &'a Ntt,
    blocks: &'a mut [Block],
}

impl Kernel for Forward<'_> {
    type Output = ();
    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        debug_assert_eq!(self.ntt.form, L::Arithmetic::FORM);
        let a = L::Arithmetic::new(l, self.ntt.modulus);
        let tails = &self.ntt.forward_tail;
        forward_blocks(l, a, self.blocks, &self.ntt.forward, |part, blocks| {
            let tails = &tails[part * blocks.len() / TAIL..];
            for (eight, tail) in blocks.as_chunks_mut::<TAIL>().0.iter_mut().zip(tails) {
                forward_tail(l, a, eight.as_chunks_mut().0, tail);
            }
        });
    }
}

/// The last three layers of eight blocks, layer by layer: a butterfly waits for the one before it,
/// and four pairs of blocks side by side keep the processor busy meanwhile.
#[inline(always)]
fn forward_tail<L: Lanes>(l: L, a: L::Arithmetic, pairs: &mut [[Block; 2]], tail: &Tail) {
    let mut open = [(l.splat(0), l.splat(0)); TAIL / 2];
    for (pair, (open, blocks)) in open.iter_mut().zip(&*pairs).enumerate() {
        let (x, y) = l.split::<4>(l.load(&blocks[0]), l.load(&blocks[1]));
        *open = a.forward(a.settle(x), y, tail.four(l, pair));
    }
    for (pair, open) in open.iter_mut().enumerate() {
        let (x, y) = l.split::<2>(open.0, open.1);
        *open = a.forward(x, y, tail.two(l, pair));
    }
    for (pair, open) in open.iter_mut().enumerate() {
        let (x, y) = l.split::<1>(open.0, open.1);
        *open = a.forward(x, y, tail.one(l, pair));
    }
    for (blocks, (x, y)) in pairs.iter_mut().zip(open) {
        let (x, y) = l.merge::<1>(a.leave(x), a.leave(y));
        let (x, y) = l.merge::<2>(x, y);
        let (x, y) = l.merge::<4>(x, y);
        l.store(x, &mut blocks[0]);
        l.store(y, &mut blocks[1]);
    }
}

struct Backward<'a> {
    ntt: &'a Ntt,
    blocks: &'a mut [Block],
    unit: Unit,
}

impl Kernel for Backward<'_> {
    type Output = ();
    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        debug_assert_eq!(self.ntt.form, L::Arithmetic::FORM);
        let a = L::Arithmetic::new(l, self.ntt.modulus);
        let tails = &self.ntt.backward_tail;
        backward_blocks(l, a, self.blocks, &self.ntt.backward, |part, blocks| {
            let tails = &tails[part * blocks.len() / TAIL..];
            for (eight, tail) in blocks.as_chunks_mut::<TAIL>().0.iter_mut().zip(tails) {
                backward_tail(l, a, eight.as_chunks_mut().0, tail);
            }
        });
        rescale(l, a, self.blocks, self.ntt.scale(self.ntt.size, self.unit));
    }
}

/// The first three layers of eight blocks, as in [`forward_tail`].
#[inline(always)]
fn backward_tail<L: Lanes>(l: L, a: L::Arithmetic, pairs: &mut [[Block; 2]], tail: &Tail) {
    let mut open = [(l.splat(0), l.splat(0)); TAIL / 2];
    for (pair, (open, blocks)) in open.iter_mut().zip(&*pairs).enumerate() {
        let (x, y) = l.split::<4>(l.load(&blocks[0]), l.load(&blocks[1]));
        let (x, y) = l.split::<2>(x, y);
        let (x, y) = l.split::<1>(x, y);
        // Entering comes last, so that the compiler does not take instructions that regroup and add
        // in one, which are slow.
        *open = a.backward(a.enter(x), a.enter(y), tail.one(l, pair));
    }
    for (pair, open) in open.iter_mut().enumerate() {
        let (x, y) = l.merge::<1>(open.0, open.1);
        *open = a.backward(x, y, tail.two(l, pair));
    }
    for (pair, open) in open.iter_mut().enumerate() {
        let (x, y) = l.merge::<2>(open.0, open.1);
        *open = a.backward(x, y, tail.four(l, pair));
    }
    for (blocks, (x, y)) in pairs.iter_mut().zip(open) {
        let (x, y) = l.merge::<4>(x, y);
        l.store(x, &mut blocks[0]);
        l.store(y, &mut blocks[1]);
    }
}

#[inline(always)]
fn rescale<L: Lanes>(l: L, a: L::Arithmetic, blocks: &mut [Block], factor: Factor) {
    let factor = a.splat(factor);
    for block in blocks {
        l.store(a.leave_scaled(l.load(block), factor), block);
    }
}

struct ForwardBatch<'a> {
    ntt: &'a Ntt,
    blocks: &'a mut [Block],
}

impl Kernel for ForwardBatch<'_> {
    type Output = ();
    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        debug_assert_eq!(self.ntt.form, L::Arithmetic::FORM);
        let a = L::Arithmetic::new(l, self.ntt.modulus);
        forward_blocks(l, a, self.blocks, &self.ntt.forward, |_, blocks| {
            for block in blocks {
                l.store(a.leave(l.load(block)), block);
            }
        });
    }
}

struct BackwardBatch<'a> {
    ntt: &'a Ntt,
    blocks: &'a mut [Block],
}

impl Kernel for BackwardBatch<'_> {
    type Output = ();
    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        debug_assert_eq!(self.ntt.form, L::Arithmetic::FORM);
        let a = L::Arithmetic::new(l, self.ntt.modulus);
        let factor = self.ntt.scale(self.blocks.len(), Unit::Plain);
        backward_blocks(l, a, self.blocks, &self.ntt.backward, |_, blocks| {
            for block in blocks {
                l.store(a.settle(a.enter(l.load(block))), block);
            }
        });
        rescale(l, a, self.blocks, factor);
    }
}

#[cfg(test)]
mod tests;
