//! Eight 64-bit lanes: the one vocabulary in which every hot loop of the engine is written.
//!
//! Moduli stay below 2^51 and operands below 2^52, so that the whole engine needs only the low and
//! the high half of a 52 x 52-bit product. A processor with AVX-512 IFMA does eight of those in one
//! instruction; one with AVX2 and fused multiply-add does the same arithmetic in double precision;
//! everywhere else [`Portable`] computes it lane by lane. All results are exact residues, so all
//! agree bit for bit and a result never depends on the machine.

use super::arithmetic::{Arithmetic, Halves, Integers};

/// Eight residues, the unit in which polynomials are stored and processed.
pub(crate) type Block = [u64; 8];

/// Number of lanes in a [`Block`].
pub(crate) const LANES: usize = 8;

/// Mask of the 52 bits that a multiplication reads and a product half returns.
pub(crate) const LOW: u64 = (1 << 52) - 1;

/// Eight lanes of 64-bit integers and the few operations the engine needs on them.
pub(crate) trait Lanes: Copy {
    /// Eight lanes.
    type V: Copy;
    /// How to compute modulo a prime with them.
    type Arithmetic: Arithmetic<Self>;
    /// How many times eight lanes the processor's registers hold.
    const REGISTERS: usize;
    fn load(self, block: &Block) -> Self::V;
    fn store(self, v: Self::V, block: &mut Block);
    fn splat(self, x: u64) -> Self::V;
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// Wrapping subtraction.
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    fn and(self, a: Self::V, b: Self::V) -> Self::V;
    fn shr<const BITS: u32>(self, a: Self::V) -> Self::V;
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

/// Runs `kernel` with AVX-512 IFMA or AVX2 where the processor has it, lane by lane elsewhere.
#[inline]
pub(crate) fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(test)]
    KERNELS.with(|count| count.set(count.get() + 1));
    #[cfg(target_arch = "x86_64")]
    if let Some(lanes) = super::avx512::Avx512::detect() {
        return lanes.vectorize(kernel);
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(lanes) = super::avx2::Avx2::detect() {
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
    type Arithmetic = Integers<Self>;
    const REGISTERS: usize = 4;
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
    fn and(self, a: Block, b: Block) -> Block {
        zip(a, b, |x, y| x & y)
    }
    #[inline(always)]
    fn shr<const BITS: u32>(self, a: Block) -> Block {
        a.map(|x| x >> BITS)
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

impl Halves for Portable {
    #[inline(always)]
    fn min(self, a: Block, b: Block) -> Block {
        zip(a, b, u64::min)
    }
    #[inline(always)]
    fn mul_low(self, acc: Block, a: Block, b: Block) -> Block {
        std::array::from_fn(|i| acc[i].wrapping_add(wide(a[i], b[i]) as u64 & LOW))
    }
    #[inline(always)]
    fn mul_high(self, acc: Block, a: Block, b: Block) -> Block {
        std::array::from_fn(|i| acc[i].wrapping_add((wide(a[i], b[i]) >> 52) as u64))
    }
}

#[cfg(test)]
mod tests;
