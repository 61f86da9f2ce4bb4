//! Layers of a transform between blocks of eight: one or two at a time, near memory first.

use crate::ring::lanes::{Arithmetic, Block, Lanes};
use crate::ring::modulus::Factor;

/// Blocks that stay in the nearest cache while all remaining layers run over them: 16 KiB.
const NEAR: usize = 256;

/// Is a layer the transform's first, so that it finds residues instead of lazy values?
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    Yes,
    No,
}

impl First {
    #[inline(always)]
    fn take<L: Lanes>(self, l: L, a: L::Arithmetic, block: &Block) -> L::V {
        let x = l.load(block);
        if self == Self::Yes { a.enter(x) } else { x }
    }
}

/// One forward layer over all `groups` of `blocks`, whose twiddle factors start at `node`.
#[inline(always)]
fn forward_two<L: Lanes>(
    l: L,
    a: L::Arithmetic,
    blocks: &mut [Block],
    table: &[Factor],
    (node, groups): (usize, usize),
    first: First,
) {
    let half = blocks.len() / groups / 2;
    for (i, group) in blocks.chunks_exact_mut(2 * half).enumerate() {
        let w = a.twiddle(table[node + i]);
        let (x, y) = group.split_at_mut(half);
        for (x, y) in x.iter_mut().zip(y) {
            let (x0, y0) = (first.take(l, a, x), first.take(l, a, y));
            let (u, v) = a.forward(a.settle(x0), y0, w);
            l.store(u, x);
            l.store(v, y);
        }
    }
}

/// Two forward layers at once, so that each value is loaded half as often.
#[inline(always)]
fn forward_four<L: Lanes>(
    l: L,
    a: L::Arithmetic,
    blocks: &mut [Block],
    table: &[Factor],
    (node, groups): (usize, usize),
    first: First,
) {
    let quarter = blocks.len() / groups / 4;
    for (i, group) in blocks.chunks_exact_mut(4 * quarter).enumerate() {
        let node = node + i;
        let w1 = a.twiddle(table[node]);
        let (w2, w3) = (a.twiddle(table[2 * node]), a.twiddle(table[2 * node + 1]));
        let (left, right) = group.split_at_mut(2 * quarter);
        let (q0, q1) = left.split_at_mut(quarter);
        let (q2, q3) = right.split_at_mut(quarter);
        for (((b0, b1), b2), b3) in q0.iter_mut().zip(q1).zip(q2).zip(q3) {
            let (x0, x1) = (first.take(l, a, b0), first.take(l, a, b1));
            let (x2, x3) = (first.take(l, a, b2), first.take(l, a, b3));
            let (x0, x2) = a.forward(a.settle(x0), x2, w1);
            let (x1, x3) = a.forward(a.settle(x1), x3, w1);
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
    l: L,
    a: L::Arithmetic,
    blocks: &mut [Block],
    table: &[Factor],
    node: usize,
    groups: usize,
) {
    let half = blocks.len() / groups / 2;
    for (i, group) in blocks.chunks_exact_mut(2 * half).enumerate() {
        let w = a.twiddle(table[node + i]);
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
    l: L,
    a: L::Arithmetic,
    blocks: &mut [Block],
    table: &[Factor],
    node: usize,
    groups: usize,
) {
    let quarter = blocks.len() / groups / 4;
    for (i, group) in blocks.chunks_exact_mut(4 * quarter).enumerate() {
        let node = node + i;
        let w1 = a.twiddle(table[node]);
        let (w2, w3) = (a.twiddle(table[2 * node]), a.twiddle(table[2 * node + 1]));
        let (left, right) = group.split_at_mut(2 * quarter);
        let (q0, q1) = left.split_at_mut(quarter);
        let (q2, q3) = right.split_at_mut(quarter);
        for (((b0, b1), b2), b3) in q0.iter_mut().zip(q1).zip(q2).zip(q3) {
            let (x0, x1) = a.backward_open(l.load(b0), l.load(b1), w2);
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

/// Layers between blocks, from residues to lazy values: first over everything, until a part fits
/// into the nearest cache; then part by part, each finished by `tail`, which is told which part it
/// is.
#[inline(always)]
pub(super) fn forward_blocks<L: Lanes>(
    l: L,
    a: L::Arithmetic,
    blocks: &mut [Block],
    table: &[Factor],
    mut tail: impl FnMut(usize, &mut [Block]),
) {
    let mut groups = 1;
    while blocks.len() / groups > NEAR {
        let odd = (blocks.len() / groups).ilog2() % 2 == 1;
        match (odd, groups == 1) {
            (true, true) => forward_two(l, a, blocks, table, (groups, groups), First::Yes),
            (true, false) => forward_two(l, a, blocks, table, (groups, groups), First::No),
            (false, true) => forward_four(l, a, blocks, table, (groups, groups), First::Yes),
            (false, false) => forward_four(l, a, blocks, table, (groups, groups), First::No),
        }
        groups *= if odd { 2 } else { 4 };
    }
    let size = blocks.len() / groups;
    for (part, blocks) in blocks.chunks_exact_mut(size).enumerate() {
        let root = groups + part;
        if groups == 1 {
            // No layer before: at least one comes now.
            for block in blocks.iter_mut() {
                l.store(a.enter(l.load(block)), block);
            }
        }
        let mut groups = 1;
        if size.ilog2() % 2 == 1 {
            forward_two(l, a, blocks, table, (root, 1), First::No);
            groups = 2;
        }
        while groups < size {
            forward_four(l, a, blocks, table, (root * groups, groups), First::No);
            groups *= 4;
        }
        tail(part, blocks);
    }
}

/// The inverse of [`forward_blocks`] but for the factor `blocks.len()`; `head` comes first on each
/// part.
#[inline(always)]
pub(super) fn backward_blocks<L: Lanes>(
    l: L,
    a: L::Arithmetic,
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
            backward_four(l, a, blocks, table, root * groups, groups);
            groups /= 4;
        }
        if size.ilog2() % 2 == 1 {
            backward_two(l, a, blocks, table, root, 1);
        }
    }
    let mut groups = n / size;
    while groups > 1 {
        // The forward layers over everything were an odd one first, then pairs.
        if groups == 2 {
            backward_two(l, a, blocks, table, 1, 1);
            groups = 1;
        } else {
            backward_four(l, a, blocks, table, groups / 4, groups / 4);
            groups /= 4;
        }
    }
}
