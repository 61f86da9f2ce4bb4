//! Eight 64-bit lanes: the one vocabulary in which every hot loop of the engine is written.
//!
//! Moduli stay below 2^51 and operands below 2^52, so that the whole engine needs only the low and
//! the high half of a 52 × 52-bit product. A processor with AVX-512 IFMA does eight of those in one
//! instruction; everywhere else [`Portable`] computes the same numbers lane by lane. All results
//! are exact residues, so the two agree bit for bit and a result never depends on the machine.

/// Eight residues, the unit in which polynomials are stored and processed.
pub(crate) type Block = [u64; 8];

/// Number of lanes in a [`Block`].
pub(crate) const LANES: usize = 8;

/// Mask of the 52 bits that a multiplication reads and a product half returns.
pub(crate) const LOW: u64 = (1 << 52) - 1;

/// Eight lanes of 64-bit integers and the few operations the engine needs on them.
pub(crate) trait Lanes: Copy {
    /// A register of eight lanes.
    type V: Copy;
    fn load(self, block: &Block) -> Self::V;
    fn store(self, v: Self::V, block: &mut Block);
    fn splat(self, x: u64) -> Self::V;
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// Wrapping subtraction.
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    /// Unsigned minimum: `min(x, x - p)` is the branch-free conditional subtraction.
    fn min(self, a: Self::V, b: Self::V) -> Self::V;
    fn and(self, a: Self::V, b: Self::V) -> Self::V;
    fn shr<const BITS: u32>(self, a: Self::V) -> Self::V;
    /// `acc + low52(a * b)` on the low 52 bits of `a` and `b`.
    fn mul_low(self, acc: Self::V, a: Self::V, b: Self::V) -> Self::V;
    /// `acc + high52(a * b)` on the low 52 bits of `a` and `b`.
    fn mul_high(self, acc: Self::V, a: Self::V, b: Self::V) -> Self::V;
    /// Halves regrouped: the lower runs of `STRIDE` lanes of both, and the upper runs of both.
    fn split<const STRIDE: usize>(self, a: Self::V, b: Self::V) -> (Self::V, Self::V);
    /// Part `part` of `COUNT` lanes, each spread over `8 / COUNT` neighbours.
    fn spread<const COUNT: usize>(self, v: Self::V, part: usize) -> Self::V;
    /// The inverse of [`Lanes::split`].
    fn merge<const STRIDE: usize>(self, a: Self::V, b: Self::V) -> (Self::V, Self::V);
}

/// A loop to run with the widest lanes that the processor has.
pub(crate) trait Kernel {
    /// What the loop returns.
    type Output;
    /// Runs the loop on `lanes`.
    fn run<L: Lanes>(self, lanes: L) -> Self::Output;
}

/// Runs `kernel` with AVX-512 IFMA where the processor has it, lane by lane elsewhere.
#[inline]
pub(crate) fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(test)]
    KERNELS.with(|count| count.set(count.get() + 1));
    #[cfg(target_arch = "x86_64")]
    if let Some(lanes) = super::avx512::Avx512::detect() {
        return lanes.vectorize(kernel);
    }
    kernel.run(Portable)
}

#[cfg(test)]
thread_local! {
    static KERNELS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// How many kernels this thread has run: for the test that the work does not depend on the votes.
#[cfg(test)]
pub(crate) fn kernels_run() -> u64 {
    KERNELS.with(std::cell::Cell::get)
}

/// The reference lanes: plain integer arithmetic on an array.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

#[inline(always)]
fn zip(a: Block, b: Block, f: impl Fn(u64, u64) -> u64) -> Block {
    std::array::from_fn(|i| f(a[i], b[i]))
}

#[inline(always)]
fn wide(a: u64, b: u64) -> u128 {
    u128::from(a & LOW) * u128::from(b & LOW)
}

impl Lanes for Portable {
    type V = Block;
    #[inline(always)]
    fn load(self, block: &Block) -> Block {
        *block
    }
    #[inline(always)]
    fn store(self, v: Block, block: &mut Block) {
        *block = v;
    }
    #[inline(always)]
    fn splat(self, x: u64) -> Block {
        [x; LANES]
    }
    #[inline(always)]
    fn add(self, a: Block, b: Block) -> Block {
        zip(a, b, u64::wrapping_add)
    }
    #[inline(always)]
    fn sub(self, a: Block, b: Block) -> Block {
        zip(a, b, u64::wrapping_sub)
    }
    #[inline(always)]
    fn min(self, a: Block, b: Block) -> Block {
        zip(a, b, u64::min)
    }
    #[inline(always)]
    fn and(self, a: Block, b: Block) -> Block {
        zip(a, b, |x, y| x & y)
    }
    #[inline(always)]
    fn shr<const BITS: u32>(self, a: Block) -> Block {
        a.map(|x| x >> BITS)
    }
    #[inline(always)]
    fn mul_low(self, acc: Block, a: Block, b: Block) -> Block {
        std::array::from_fn(|i| acc[i].wrapping_add(wide(a[i], b[i]) as u64 & LOW))
    }
    #[inline(always)]
    fn mul_high(self, acc: Block, a: Block, b: Block) -> Block {
        std::array::from_fn(|i| acc[i].wrapping_add((wide(a[i], b[i]) >> 52) as u64))
    }
    #[inline(always)]
    fn split<const STRIDE: usize>(self, a: Block, b: Block) -> (Block, Block) {
        let at = |i: usize| if i < LANES { a[i] } else { b[i - LANES] };
        let low = |j: usize| (j / STRIDE) * 2 * STRIDE + j % STRIDE;
        (std::array::from_fn(|j| at(low(j))), std::array::from_fn(|j| at(low(j) + STRIDE)))
    }
    #[inline(always)]
    fn spread<const COUNT: usize>(self, v: Block, part: usize) -> Block {
        std::array::from_fn(|i| v[part * COUNT + i * COUNT / LANES])
    }
    #[inline(always)]
    fn merge<const STRIDE: usize>(self, a: Block, b: Block) -> (Block, Block) {
        let at = |i: usize| {
            let (run, within) = (i / STRIDE, i % STRIDE);
            let j = (run / 2) * STRIDE + within;
            if run % 2 == 0 { a[j] } else { b[j] }
        };
        (std::array::from_fn(&at), std::array::from_fn(|j| at(j + LANES)))
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::ring::avx512::Avx512;

    struct Everything([Block; 3]);

    impl Kernel for Everything {
        type Output = Vec<Block>;
        fn run<L: Lanes>(self, l: L) -> Vec<Block> {
            let [a, b, c] = self.0.each_ref().map(|x| l.load(x));
            let (s4, s2, s1) = (l.split::<4>(a, b), l.split::<2>(a, b), l.split::<1>(a, b));
            let (m4, m2, m1) = (l.merge::<4>(a, b), l.merge::<2>(a, b), l.merge::<1>(a, b));
            let pairs = [s4, s2, s1, m4, m2, m1];
            let singles = [
                l.add(a, b),
                l.sub(a, b),
                l.min(a, b),
                l.and(a, b),
                l.shr::<31>(a),
                l.mul_low(c, a, b),
                l.mul_high(c, a, b),
                l.spread::<2>(a, 3),
                l.spread::<4>(a, 1),
            ];
            let store = |v| {
                let mut block = [0; LANES];
                l.store(v, &mut block);
                block
            };
            pairs.into_iter().flat_map(|(x, y)| [x, y]).chain(singles).map(store).collect()
        }
    }

    #[test]
    fn vector_instructions_compute_what_plain_integers_do() {
        let Some(lanes) = Avx512::detect() else {
            return;
        };
        let block = |seed: u64| {
            std::array::from_fn(|i| {
                (seed + i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
            })
        };
        for seed in 0..50 {
            let blocks = [block(seed), block(seed + 1_000), block(seed + 2_000)];
            let vector = lanes.vectorize(Everything(blocks));
            assert_eq!(vector, Everything(blocks).run(Portable));
        }
    }
}
