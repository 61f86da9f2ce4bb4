//! Negacyclic number-theoretic transforms: polynomials modulo X^n + 1 to their values and back.
//!
//! Values come in bit-reversed order: place `j` holds the value at `psi^(2 rev(j) + 1)`. A polynomial in
//! X^k, k a power of two, therefore has its n/k distinct values in runs of k equal places, and those
//! values are its transform as a polynomial of n/k coefficients with the very same twiddle factors. The
//! tally's masks live on that: see [`Ntt::forward_batch`].

use super::lanes::{Block, Kernel, LANES, Lanes, dispatch};
use super::modulus::{Arithmetic, Factor, Modulus};

/// Twiddle factors of the last three layers for eight blocks, in the lane order that [`Lanes::split`] leaves.
///
/// Stored once each and spread over the lanes when needed: the tables of all primes must stay in cache.
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

/// Blocks that stay in the nearest cache while all remaining layers run over them: 16 KiB.
const NEAR: usize = 256;

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
    /// The transform of `size` coefficients, a power of two from 64 with `2 size | p - 1`.
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

/// Twiddle factors of the layers of stride 4, 2 and 1, eight blocks at a time.
fn tails(table: &[Factor]) -> Vec<Tail> {
    let n = table.len();
    let halves = |at: &dyn Fn(usize) -> Factor| -> [Block; 2] {
        [
            std::array::from_fn(|i| at(i).value),
            std::array::from_fn(|i| at(i).quotient),
        ]
    };
    (0..n / (TAIL * LANES))
        .map(|b| Tail {
            four: halves(&|i| table[n / 8 + 8 * b + i]),
            two: std::array::from_fn(|pair| {
                halves(&|i| table[n / 4 + 16 * b + 8 * pair + i / 4 * 4 + [0, 2, 1, 3][i % 4]])
            }),
            one: std::array::from_fn(|pair| {
                halves(&|i| table[n / 2 + 32 * b + 8 * pair + [0, 4, 2, 6, 1, 5, 3, 7][i]])
            }),
        })
        .collect()
}

/// The factors of one pair of blocks, spread over the lanes.
#[inline(always)]
fn twiddles<L: Lanes>(l: L, tail: &Tail, pair: usize) -> [(L::V, L::V); 3] {
    let spread = |halves: &[Block; 2]| (l.load(&halves[0]), l.load(&halves[1]));
    let (v, q) = spread(&tail.four);
    let (v2, q2) = spread(&tail.two[pair / 2]);
    [
        (l.spread::<2>(v, pair), l.spread::<2>(q, pair)),
        (l.spread::<4>(v2, pair % 2), l.spread::<4>(q2, pair % 2)),
        spread(&tail.one[pair]),
    ]
}

/// One forward layer over all `groups` of `blocks`, whose twiddle factors start at `node`.
#[inline(always)]
fn forward_two<L: Lanes>(
    a: Arithmetic<L>,
    blocks: &mut [Block],
    table: &[Factor],
    node: usize,
    groups: usize,
) {
    let l = a.lanes;
    let half = blocks.len() / groups / 2;
    for (i, group) in blocks.chunks_exact_mut(2 * half).enumerate() {
        let w = a.splat(table[node + i]);
        let (x, y) = group.split_at_mut(half);
        for (x, y) in x.iter_mut().zip(y) {
            let (u, v) = a.forward(l.load(x), l.load(y), w);
            l.store(u, x);
            l.store(v, y);
        }
    }
}

/// Two forward layers at once, so that each value is loaded half as often.
#[inline(always)]
fn forward_four<L: Lanes>(
    a: Arithmetic<L>,
    blocks: &mut [Block],
    table: &[Factor],
    node: usize,
    groups: usize,
) {
    let l = a.lanes;
    let quarter = blocks.len() / groups / 4;
    for (i, group) in blocks.chunks_exact_mut(4 * quarter).enumerate() {
        let [w1, w2, w3] =
            [node + i, 2 * (node + i), 2 * (node + i) + 1].map(|j| a.splat(table[j]));
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
}

/// The inverse of [`forward_two`] but for a factor 2.
#[inline(always)]
fn backward_two<L: Lanes>(
    a: Arithmetic<L>,
    blocks: &mut [Block],
    table: &[Factor],
    node: usize,
    groups: usize,
) {
    let l = a.lanes;
    let half = blocks.len() / groups / 2;
    for (i, group) in blocks.chunks_exact_mut(2 * half).enumerate() {
        let w = a.splat(table[node + i]);
        let (x, y) = group.split_at_mut(half);
        for (x, y) in x.iter_mut().zip(y) {
            let (u, v) = a.backward(l.load(x), l.load(y), w);
            l.store(u, x);
            l.store(v, y);
        }
    }
}

/// The inverse of [`forward_four`] but for a factor 4.
#[inline(always)]
fn backward_four<L: Lanes>(
    a: Arithmetic<L>,
    blocks: &mut [Block],
    table: &[Factor],
    node: usize,
    groups: usize,
) {
    let l = a.lanes;
    let quarter = blocks.len() / groups / 4;
    for (i, group) in blocks.chunks_exact_mut(4 * quarter).enumerate() {
        let [w1, w2, w3] =
            [node + i, 2 * (node + i), 2 * (node + i) + 1].map(|j| a.splat(table[j]));
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
}

/// Layers between blocks: first over everything, until a part fits into the nearest cache; then part by
/// part, each finished by `tail`, which is told which part it is.
#[inline(always)]
fn forward_blocks<L: Lanes>(
    a: Arithmetic<L>,
    blocks: &mut [Block],
    table: &[Factor],
    mut tail: impl FnMut(usize, &mut [Block]),
) {
    let mut groups = 1;
    while blocks.len() / groups > NEAR {
        if (blocks.len() / groups).ilog2() % 2 == 1 {
            forward_two(a, blocks, table, groups, groups);
            groups *= 2;
        } else {
            forward_four(a, blocks, table, groups, groups);
            groups *= 4;
        }
    }
    let size = blocks.len() / groups;
    for (part, blocks) in blocks.chunks_exact_mut(size).enumerate() {
        let root = groups + part;
        let mut groups = 1;
        if size.ilog2() % 2 == 1 {
            forward_two(a, blocks, table, root, 1);
            groups = 2;
        }
        while groups < size {
            forward_four(a, blocks, table, root * groups, groups);
            groups *= 4;
        }
        tail(part, blocks);
    }
}

/// The inverse of [`forward_blocks`] but for the factor `blocks.len()`; `head` comes first on each part.
#[inline(always)]
fn backward_blocks<L: Lanes>(
    a: Arithmetic<L>,
    blocks: &mut [Block],
    table: &[Factor],
    mut head: impl FnMut(usize, &mut [Block]),
) {
    let n = blocks.len();
    let size = if n <= NEAR { n } else { NEAR };
    for (part, blocks) in blocks.chunks_exact_mut(size).enumerate() {
        head(part, blocks);
        let root = n / size + part;
        let mut groups = size / 4;
        while groups > usize::from(size.ilog2() % 2 == 1) {
            backward_four(a, blocks, table, root * groups, groups);
            groups /= 4;
        }
        if size.ilog2() % 2 == 1 {
            backward_two(a, blocks, table, root, 1);
        }
    }
    let mut groups = n / size;
    while groups > 1 {
        // The forward layers over everything were an odd one first, then pairs.
        if groups == 2 {
            backward_two(a, blocks, table, 1, 1);
            groups = 1;
        } else {
            backward_four(a, blocks, table, groups / 4, groups / 4);
            groups /= 4;
        }
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
        let a = Arithmetic::new(l, self.ntt.modulus);
        let tails = &self.ntt.forward_tail;
        forward_blocks(a, self.blocks, &self.ntt.forward, |part, blocks| {
            let tails = &tails[part * blocks.len() / TAIL..];
            for (eight, tail) in blocks.as_chunks_mut::<TAIL>().0.iter_mut().zip(tails) {
                for (pair, blocks) in eight.as_chunks_mut::<2>().0.iter_mut().enumerate() {
                    let [w4, w2, w1] = twiddles(l, tail, pair);
                    let (x, y) = l.split::<4>(l.load(&blocks[0]), l.load(&blocks[1]));
                    let (x, y) = a.forward(x, y, w4);
                    let (x, y) = l.split::<2>(x, y);
                    let (x, y) = a.forward(x, y, w2);
                    let (x, y) = l.split::<1>(x, y);
                    let (x, y) = a.forward(x, y, w1);
                    let (x, y) = l.merge::<1>(a.reduce(x), a.reduce(y));
                    let (x, y) = l.merge::<2>(x, y);
                    let (x, y) = l.merge::<4>(x, y);
                    l.store(x, &mut blocks[0]);
                    l.store(y, &mut blocks[1]);
                }
            }
        });
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
        let tails = &self.ntt.backward_tail;
        backward_blocks(a, self.blocks, &self.ntt.backward, |part, blocks| {
            let tails = &tails[part * blocks.len() / TAIL..];
            for (eight, tail) in blocks.as_chunks_mut::<TAIL>().0.iter_mut().zip(tails) {
                for (pair, blocks) in eight.as_chunks_mut::<2>().0.iter_mut().enumerate() {
                    let [w4, w2, w1] = twiddles(l, tail, pair);
                    let (x, y) = l.split::<4>(l.load(&blocks[0]), l.load(&blocks[1]));
                    let (x, y) = l.split::<2>(x, y);
                    let (x, y) = l.split::<1>(x, y);
                    let (x, y) = a.backward(x, y, w1);
                    let (x, y) = l.merge::<1>(x, y);
                    let (x, y) = a.backward(x, y, w2);
                    let (x, y) = l.merge::<2>(x, y);
                    let (x, y) = a.backward(x, y, w4);
                    let (x, y) = l.merge::<4>(x, y);
                    l.store(x, &mut blocks[0]);
                    l.store(y, &mut blocks[1]);
                }
            }
        });
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
        forward_blocks(a, self.blocks, &self.ntt.forward, |_, blocks| {
            for block in blocks {
                l.store(a.reduce(l.load(block)), block);
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
        let a = Arithmetic::new(l, self.ntt.modulus);
        let factor = self.ntt.scale(self.blocks.len(), Unit::Plain);
        backward_blocks(a, self.blocks, &self.ntt.backward, |_, _| ());
        rescale(a, self.blocks, factor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::primes;

    fn transform(size: usize) -> Ntt {
        Ntt::new(Modulus::new(primes::largest(51, 65_536, 1, &[])[0]), size)
    }

    #[test]
    fn place_j_holds_the_value_at_the_reversed_odd_power() {
        for size in [64, 256, 2_048, 8_192, 16_384, 32_768] {
            let ntt = transform(size);
            let m = ntt.modulus();
            let psi = m.root(2 * size as u64);
            let mut x = vec![0; size];
            x[1] = 1;
            ntt.forward(&mut x);
            for (j, &value) in x.iter().enumerate() {
                let reversed = j.reverse_bits() >> (usize::BITS - size.ilog2());
                assert_eq!(
                    value,
                    m.pow(psi, 2 * reversed as u64 + 1),
                    "size {size}, place {j}"
                );
            }
        }
    }

    #[test]
    fn backward_undoes_forward_and_products_are_negacyclic() {
        for size in [64, 512, 8_192, 16_384, 32_768] {
            let ntt = transform(size);
            let m = ntt.modulus();
            let original: Vec<u64> = (0..size as u64).map(|i| m.pow(i + 2, 5)).collect();
            let mut x = original.clone();
            ntt.forward(&mut x);
            let mut back = x.clone();
            ntt.backward(&mut back, Unit::Plain);
            assert_eq!(back, original);
            // X^(size - 1) times X^2 is -X.
            let (mut a, mut b) = (vec![0; size], vec![0; size]);
            (a[size - 1], b[2]) = (1, 1);
            ntt.forward(&mut a);
            ntt.forward(&mut b);
            let mut c = vec![0; size];
            crate::ring::limb::product(m, &mut c, &a, &b);
            ntt.backward(&mut c, Unit::Montgomery);
            assert!(
                c.iter()
                    .enumerate()
                    .all(|(i, &x)| x == if i == 1 { m.value() - 1 } else { 0 })
            );
        }
    }

    #[test]
    fn a_batch_is_eight_polynomials_in_a_power_of_x() {
        let ntt = transform(8_192);
        let m = ntt.modulus();
        for positions in [2, 4, 8, 512, 1_024] {
            let mut batch: Vec<Block> = (0..positions as u64)
                .map(|i| std::array::from_fn(|k| m.pow(i + 3, k as u64 + 2)))
                .collect();
            let original = batch.clone();
            let mut single = vec![0; 8_192];
            for (i, block) in batch.iter().enumerate() {
                single[i * (8_192 / positions)] = block[5];
            }
            ntt.forward(&mut single);
            ntt.forward_batch(&mut batch);
            let runs = single.chunks(8_192 / positions).zip(&batch);
            assert!(
                runs.into_iter()
                    .all(|(run, block)| run.iter().all(|&x| x == block[5]))
            );
            ntt.backward_batch(&mut batch);
            assert_eq!(batch, original);
        }
    }
}
