//! Negacyclic number-theoretic transforms: polynomials modulo X^n + 1 to their values and back.
//!
//! Values come in bit-reversed order: place `j` holds the value at `psi^(2 rev(j) + 1)`. A polynomial in
//! X^k, k a power of two, therefore has its n/k distinct values in runs of k equal places, and those
//! values are its transform as a polynomial of n/k coefficients with the very same twiddle factors. The
//! tally's masks live on that: see [`Ntt::forward_batch`].

use super::lanes::{Block, Kernel, LANES, Lanes, dispatch};
use super::modulus::{Arithmetic, Factor, Modulus};

/// Twiddle factors of the last three layers, in the lane order that [`Lanes::split`] leaves.
#[derive(Clone, Debug)]
struct Tail {
    value: [Block; 3],
    quotient: [Block; 3],
}

/// The transform of one size modulo one prime.
#[derive(Clone, Debug)]
pub(crate) struct Ntt {
    modulus: Modulus,
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
    /// The transform of `size` coefficients, a power of two from 16 with `2 size | p - 1`.
    pub(crate) fn new(modulus: Modulus, size: usize) -> Self {
        let psi = modulus.root(2 * size as u64);
        let table = |root: u64| {
            let mut powers = vec![1; size];
            for i in 1..size {
                powers[i] = modulus.mul(powers[i - 1], root);
            }
            let bits = size.trailing_zeros();
            (0..size)
                .map(|i| modulus.factor(powers[i.reverse_bits() >> (usize::BITS - bits)]))
                .collect::<Vec<_>>()
        };
        let (mut forward, mut backward) = (table(psi), table(modulus.inv(psi)));
        let (forward_tail, backward_tail) = (tails(&forward), tails(&backward));
        forward.truncate(size / LANES);
        backward.truncate(size / LANES);
        let scales = (0..=size.trailing_zeros())
            .map(|i| {
                let inverse = modulus.inv((1 << i) % modulus.value());
                [
                    modulus.factor(inverse),
                    modulus.factor(modulus.montgomery(inverse)),
                ]
            })
            .collect();
        Self {
            modulus,
            forward,
            backward,
            forward_tail,
            backward_tail,
            scales,
            size,
        }
    }

    pub(crate) fn modulus(&self) -> Modulus {
        self.modulus
    }

    /// Coefficients to values, in place.
    pub(crate) fn forward(&self, data: &mut [u64]) {
        debug_assert_eq!(data.len(), self.size);
        dispatch(Forward {
            ntt: self,
            blocks: data.as_chunks_mut().0,
        });
    }

    /// Values to coefficients, in place.
    pub(crate) fn backward(&self, data: &mut [u64], unit: Unit) {
        debug_assert_eq!(data.len(), self.size);
        dispatch(Backward {
            ntt: self,
            blocks: data.as_chunks_mut().0,
            unit,
        });
    }

    /// Eight polynomials in X^(size / blocks.len()) at once, one a lane: coefficients to distinct values.
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

/// Twiddle factors of the layers of stride 4, 2 and 1, two blocks at a time.
fn tails(table: &[Factor]) -> Vec<Tail> {
    let n = table.len();
    let pick = |b: usize, layer: usize, lane: usize| match layer {
        0 => table[n / 8 + 2 * b + lane / 4],
        1 => table[n / 4 + 4 * b + [0, 2, 1, 3][lane / 2]],
        _ => table[n / 2 + 8 * b + [0, 4, 2, 6, 1, 5, 3, 7][lane]],
    };
    (0..n / 16)
        .map(|b| Tail {
            value: std::array::from_fn(|l| std::array::from_fn(|i| pick(b, l, i).value)),
            quotient: std::array::from_fn(|l| std::array::from_fn(|i| pick(b, l, i).quotient)),
        })
        .collect()
}

/// Layers between blocks, two at a time so that each value is loaded half as often.
#[inline(always)]
fn forward_blocks<L: Lanes>(a: Arithmetic<L>, blocks: &mut [Block], table: &[Factor]) {
    let l = a.lanes;
    let n = blocks.len();
    let mut groups = 1;
    if n.trailing_zeros() % 2 == 1 {
        let w = a.splat(table[1]);
        let (x, y) = blocks.split_at_mut(n / 2);
        for (x, y) in x.iter_mut().zip(y) {
            let (u, v) = a.forward(l.load(x), l.load(y), w);
            l.store(u, x);
            l.store(v, y);
        }
        groups = 2;
    }
    while groups < n {
        let quarter = n / groups / 4;
        for (i, group) in blocks.chunks_exact_mut(4 * quarter).enumerate() {
            let w1 = a.splat(table[groups + i]);
            let w2 = a.splat(table[2 * groups + 2 * i]);
            let w3 = a.splat(table[2 * groups + 2 * i + 1]);
            let (left, right) = group.split_at_mut(2 * quarter);
            let (q0, q1) = left.split_at_mut(quarter);
            let (q2, q3) = right.split_at_mut(quarter);
            for (((b0, b1), b2), b3) in q0.iter_mut().zip(q1).zip(q2).zip(q3) {
                let (x0, x2) = a.forward(l.load(b0), l.load(b2), w1);
                let (x1, x3) = a.forward(l.load(b1), l.load(b3), w1);
                let (x0, x1) = a.forward(x0, x1, w2);
                let (x2, x3) = a.forward(x2, x3, w3);
                l.store(x0, b0);
                l.store(x1, b1);
                l.store(x2, b2);
                l.store(x3, b3);
            }
        }
        groups *= 4;
    }
}

/// The inverse of [`forward_blocks`] but for the factor `blocks.len()`.
#[inline(always)]
fn backward_blocks<L: Lanes>(a: Arithmetic<L>, blocks: &mut [Block], table: &[Factor]) {
    let l = a.lanes;
    let n = blocks.len();
    let odd = n.trailing_zeros() % 2 == 1;
    let mut groups = n / 4;
    while groups >= 1 + usize::from(odd) {
        let quarter = n / groups / 4;
        for (i, group) in blocks.chunks_exact_mut(4 * quarter).enumerate() {
            let w1 = a.splat(table[groups + i]);
            let w2 = a.splat(table[2 * groups + 2 * i]);
            let w3 = a.splat(table[2 * groups + 2 * i + 1]);
            let (left, right) = group.split_at_mut(2 * quarter);
            let (q0, q1) = left.split_at_mut(quarter);
            let (q2, q3) = right.split_at_mut(quarter);
            for (((b0, b1), b2), b3) in q0.iter_mut().zip(q1).zip(q2).zip(q3) {
                let (x0, x1) = a.backward(l.load(b0), l.load(b1), w2);
                let (x2, x3) = a.backward(l.load(b2), l.load(b3), w3);
                let (x0, x2) = a.backward(x0, x2, w1);
                let (x1, x3) = a.backward(x1, x3, w1);
                l.store(x0, b0);
                l.store(x1, b1);
                l.store(x2, b2);
                l.store(x3, b3);
            }
        }
        groups /= 4;
    }
    if odd {
        let w = a.splat(table[1]);
        let (x, y) = blocks.split_at_mut(n / 2);
        for (x, y) in x.iter_mut().zip(y) {
            let (u, v) = a.backward(l.load(x), l.load(y), w);
            l.store(u, x);
            l.store(v, y);
        }
    }
}

#[inline(always)]
fn twiddle<L: Lanes>(l: L, tail: &Tail, layer: usize) -> (L::V, L::V) {
    (l.load(&tail.value[layer]), l.load(&tail.quotient[layer]))
}

struct Forward<'a> {
    ntt: &'a Ntt,
    blocks: &'a mut [Block],
}

impl Kernel for Forward<'_> {
    type Output = ();
    #[inline(always)]
    fn run<L: Lanes>(self, l: L) {
        let a = Arithmetic::new(l, self.ntt.modulus);
        forward_blocks(a, self.blocks, &self.ntt.forward);
        for (pair, tail) in self
            .blocks
            .as_chunks_mut::<2>()
            .0
            .iter_mut()
            .zip(&self.ntt.forward_tail)
        {
            let (x, y) = l.split::<4>(l.load(&pair[0]), l.load(&pair[1]));
            let (x, y) = a.forward(x, y, twiddle(l, tail, 0));
            let (x, y) = l.split::<2>(x, y);
            let (x, y) = a.forward(x, y, twiddle(l, tail, 1));
            let (x, y) = l.split::<1>(x, y);
            let (x, y) = a.forward(x, y, twiddle(l, tail, 2));
            let (x, y) = l.merge::<1>(a.reduce(x), a.reduce(y));
            let (x, y) = l.merge::<2>(x, y);
            let (x, y) = l.merge::<4>(x, y);
            l.store(x, &mut pair[0]);
            l.store(y, &mut pair[1]);
        }
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
        let a = Arithmetic::new(l, self.ntt.modulus);
        for (pair, tail) in self
            .blocks
            .as_chunks_mut::<2>()
            .0
            .iter_mut()
            .zip(&self.ntt.backward_tail)
        {
            let (x, y) = l.split::<4>(l.load(&pair[0]), l.load(&pair[1]));
            let (x, y) = l.split::<2>(x, y);
            let (x, y) = l.split::<1>(x, y);
            let (x, y) = a.backward(x, y, twiddle(l, tail, 2));
            let (x, y) = l.merge::<1>(x, y);
            let (x, y) = a.backward(x, y, twiddle(l, tail, 1));
            let (x, y) = l.merge::<2>(x, y);
            let (x, y) = a.backward(x, y, twiddle(l, tail, 0));
            let (x, y) = l.merge::<4>(x, y);
            l.store(x, &mut pair[0]);
            l.store(y, &mut pair[1]);
        }
        backward_blocks(a, self.blocks, &self.ntt.backward);
        rescale(a, self.blocks, self.ntt.scale(self.ntt.size, self.unit));
    }
}

#[inline(always)]
fn rescale<L: Lanes>(a: Arithmetic<L>, blocks: &mut [Block], factor: Factor) {
    let (value, quotient) = a.splat(factor);
    for block in blocks {
        a.lanes.store(
            a.reduce(a.scale(a.lanes.load(block), value, quotient)),
            block,
        );
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
        let a = Arithmetic::new(l, self.ntt.modulus);
        forward_blocks(a, self.blocks, &self.ntt.forward);
        for block in self.blocks {
            l.store(a.reduce(l.load(block)), block);
        }
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
        let a = Arithmetic::new(l, self.ntt.modulus);
        let factor = self.ntt.scale(self.blocks.len(), Unit::Plain);
        backward_blocks(a, self.blocks, &self.ntt.backward);
        rescale(a, self.blocks, factor);
    }
}
