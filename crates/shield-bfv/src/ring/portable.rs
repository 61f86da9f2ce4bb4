//! [`Lanes`] lane by lane, for any processor.

use super::integers::{Halves, Integers};
use super::lanes::{Block, LANES, Lanes};
use super::modulus::LOW;

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
