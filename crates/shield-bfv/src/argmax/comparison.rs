//! The comparison: an odd polynomial of high degree in few products, after Paterson and Stockmeyer.
//!
//! Let y q(y^2) have R + 1 coefficients, cut into B blocks of m. With the *babies* y, y^3, ...,
//! y^(2m-1) every block is a linear combination, a *leaf*; with the *giants* g_j = y^(2m 2^j) the
//! polynomial is a binary tree of leaves. The tree is flattened: a node of height h that starts at
//! block s is
//!
//! ```text
//! leaf(s) + sum over j < h of g_j node(s + 2^j, j)
//! ```
//!
//! so its products are summed as tensors and relinearised once. Every odd number s = 2^h (2i + 1)
//! starts a node of height h, and each leaf is in exactly one of them, so there are no more
//! products than in the plain tree, about B + m in all, in sequence as many as log2 of the degree.
//! Factors are extended once for all products they are in, and every value is brought down to the
//! lowest level that costs no depth before it becomes a factor.

use super::circuit::{Arithmetic, Bounded, BoundedFactor, Circuit};

/// How a polynomial is cut into blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blocks {
    /// m: coefficients in a block, a power of two.
    pub(crate) babies: usize,
    /// B: blocks, at least two.
    pub(crate) count: usize,
}

impl Blocks {
    /// R: the largest difference whose sign the polynomial knows.
    pub(crate) fn range(self) -> usize {
        self.babies * self.count - 1
    }

    /// Giants: powers y^(2m 2^j).
    fn giants(self) -> usize {
        self.count.next_power_of_two().ilog2() as usize
    }
}

/// The babies y, y^3, ..., and the giants.
struct Powers<V> {
    babies: Vec<Bounded<V>>,
    giants: Vec<Bounded<V>>,
}

impl<A: Arithmetic> Circuit<'_, A> {
    /// The sign of y: `coefficients[j]` is that of y^(2j+1); there are as many as blocks hold.
    pub(crate) fn sign(
        &self,
        y: Bounded<A::Value>,
        blocks: Blocks,
        coefficients: &[i64],
    ) -> Bounded<A::Value> {
        let powers = self.powers(y, blocks);
        self.tree(powers, blocks, coefficients)
    }

    fn powers(&self, y: Bounded<A::Value>, blocks: Blocks) -> Powers<A::Value> {
        let (generations, giants) = (blocks.babies.ilog2() as usize, blocks.giants());
        let mut powers = Powers { babies: vec![y.clone()], giants: Vec::new() };
        let mut factors: Vec<Option<BoundedFactor<A::Factor>>> = vec![None];
        let mut power = y;
        for k in 0..generations + giants {
            // `power` is y^(2^k).
            let level = self.level(power.noise, power.noise);
            self.drop_to(&mut power, level);
            let square = self.factor(&power);
            if (1..=generations).contains(&k) {
                // The babies 2^k + e, for all odd e below 2^k.
                for i in 0..powers.babies.len() {
                    let baby = &mut powers.babies[i];
                    if baby.noise.limbs() > level {
                        self.drop_to(baby, level);
                        factors[i] = None;
                    }
                    let factor = factors[i].take().unwrap_or_else(|| self.factor(baby));
                    let next = self.products(&[(&square, &factor)]);
                    factors[i] = Some(factor);
                    powers.babies.push(next);
                    factors.push(None);
                }
                if k == generations {
                    factors = Vec::new();
                }
            }
            power = self.products(&[(&square, &square)]);
            if k >= generations {
                powers.giants.push(power.clone());
            }
        }
        powers
    }

    fn tree(
        &self,
        mut powers: Powers<A::Value>,
        blocks: Blocks,
        coefficients: &[i64],
    ) -> Bounded<A::Value> {
        let height = blocks.giants();
        let mut nodes: Vec<Option<Bounded<A::Value>>> = vec![None; blocks.count];
        for h in 1..=height {
            let root = h == height;
            let starts: Vec<usize> = if root {
                vec![0]
            } else {
                (0..blocks.count).filter(|s| s % (2 << h) == 1 << h).collect()
            };
            if starts.is_empty() {
                continue;
            }
            let level = self.tree_level(&powers, &nodes, h, starts[0]);
            for baby in &mut powers.babies {
                self.drop_to(baby, level);
            }
            // Each node has its own leaf, and that of the block behind it as the first child.
            let wanted = starts.iter().flat_map(|&s| [s, s + 1]).filter(|&s| s < blocks.count);
            let weights: Vec<Vec<i64>> = wanted
                .clone()
                .map(|s| coefficients[s * blocks.babies..][..blocks.babies].to_vec())
                .collect();
            let babies: Vec<&Bounded<A::Value>> = powers.babies.iter().collect();
            for (s, leaf) in wanted.zip(self.combine(&babies, &weights)) {
                nodes[s] = Some(leaf);
            }
            let giants: Vec<_> = powers.giants[..h]
                .iter()
                .map(|giant| {
                    let mut giant = giant.clone();
                    self.drop_to(&mut giant, level);
                    self.factor(&giant)
                })
                .collect();
            for s in starts {
                let children = (0..h).map(|j| s + (1 << j)).filter(|&child| child < blocks.count);
                let children: Vec<_> = children
                    .filter_map(|child| nodes[child].take())
                    .map(|mut child| {
                        self.drop_to(&mut child, level);
                        self.factor(&child)
                    })
                    .collect();
                let leaf = nodes[s].take();
                let pairs: Vec<_> = giants.iter().zip(&children).collect();
                let mut node = match (pairs.is_empty(), &leaf) {
                    (true, Some(leaf)) => leaf.clone(),
                    _ => self.products(&pairs),
                };
                if let (false, Some(leaf)) = (pairs.is_empty(), &leaf) {
                    self.add(&mut node, leaf);
                }
                nodes[s] = Some(node);
            }
        }
        nodes[0].take().expect("the root is computed last")
    }

    /// The level of the products of height `h`.
    fn tree_level(
        &self,
        powers: &Powers<A::Value>,
        nodes: &[Option<Bounded<A::Value>>],
        h: usize,
        start: usize,
    ) -> usize {
        let limbs = powers.babies.iter().map(|baby| baby.noise.limbs()).min().unwrap_or(1);
        let leaf =
            self.combination(powers.babies.iter().map(|baby| self.ring.drop_to(baby.noise, limbs)));
        let child = nodes.get(start + (1 << (h - 1))).and_then(Option::as_ref);
        let right = child.map_or(leaf, |child| child.noise);
        self.level(powers.giants[h - 1].noise, right)
    }
}
