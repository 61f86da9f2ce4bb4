//! Layers of a transform between blocks of eight: one or two at a time, near memory first.

use crate::ring::lanes::{Block, Lanes};
use crate::ring::modulus::{Arithmetic, Factor};

/// Blocks that stay in the nearest cache while all remaining layers run over them: 16 KiB.
const NEAR: usize = 256;

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

/// Layers between blocks: first over everything, until a part fits into the nearest cache; then
/// part by part, each finished by `tail`, which is told which part it is.
#[inline(always)]
pub(super) fn forward_blocks<L: Lanes>(
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

/// The inverse of [`forward_blocks`] but for the factor `blocks.len()`; `head` comes first on each
/// part.
#[inline(always)]
pub(super) fn backward_blocks<L: Lanes>(
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
