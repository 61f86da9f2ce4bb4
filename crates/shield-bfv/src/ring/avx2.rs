//! [`Lanes`] on AVX2 with fused multiply-add: two registers of four lanes.
//!
//! Every x86 server and desktop since 2013 has these instructions, most of them without AVX-512
//! IFMA. All of them come from `pulp`, whose token proves that the processor has them.

use std::arch::x86_64::__m256i;

use pulp::cast;

use super::doubles::Doubles;
use super::lanes::{Block, Lanes};
pub(crate) use super::registers::Avx2;
use super::registers::V;

impl Lanes for Avx2 {
    type V = V;
    type Arithmetic = Doubles;
    const REGISTERS: usize = 8;
    #[inline(always)]
    fn load(self, block: &Block) -> V {
        cast(*block)
    }
    #[inline(always)]
    fn store(self, v: V, block: &mut Block) {
        *block = cast(v);
    }
    #[inline(always)]
    fn splat(self, x: u64) -> V {
        [self.0.avx._mm256_set1_epi64x(x.cast_signed()); 2]
    }
    #[inline(always)]
    fn add(self, a: V, b: V) -> V {
        let avx2 = self.0.avx2;
        [avx2._mm256_add_epi64(a[0], b[0]), avx2._mm256_add_epi64(a[1], b[1])]
    }
    #[inline(always)]
    fn sub(self, a: V, b: V) -> V {
        let avx2 = self.0.avx2;
        [avx2._mm256_sub_epi64(a[0], b[0]), avx2._mm256_sub_epi64(a[1], b[1])]
    }
    #[inline(always)]
    fn and(self, a: V, b: V) -> V {
        let avx2 = self.0.avx2;
        [avx2._mm256_and_si256(a[0], b[0]), avx2._mm256_and_si256(a[1], b[1])]
    }
    #[inline(always)]
    fn shr<const BITS: u32>(self, a: V) -> V {
        let count = self.0.sse2._mm_cvtsi32_si128(BITS.cast_signed());
        let avx2 = self.0.avx2;
        [avx2._mm256_srl_epi64(a[0], count), avx2._mm256_srl_epi64(a[1], count)]
    }
    #[inline(always)]
    fn split<const STRIDE: usize>(self, a: V, b: V) -> (V, V) {
        let (a, b) = match STRIDE {
            4 => return ([a[0], b[0]], [a[1], b[1]]),
            2 => (self.halves(a[0], a[1]), self.halves(b[0], b[1])),
            _ => (self.in_turn(a[0], a[1]), self.in_turn(b[0], b[1])),
        };
        ([a[0], b[0]], [a[1], b[1]])
    }
    #[inline(always)]
    fn spread<const COUNT: usize>(self, v: V, part: usize) -> V {
        let avx2 = self.0.avx2;
        match (COUNT, part % 2) {
            (4, _) => self.in_turn(v[part], v[part]),
            (_, 0) => [
                avx2._mm256_permute4x64_epi64::<0b00_00_00_00>(v[part / 2]),
                avx2._mm256_permute4x64_epi64::<0b01_01_01_01>(v[part / 2]),
            ],
            _ => [
                avx2._mm256_permute4x64_epi64::<0b10_10_10_10>(v[part / 2]),
                avx2._mm256_permute4x64_epi64::<0b11_11_11_11>(v[part / 2]),
            ],
        }
    }
    #[inline(always)]
    fn merge<const STRIDE: usize>(self, a: V, b: V) -> (V, V) {
        match STRIDE {
            4 => ([a[0], b[0]], [a[1], b[1]]),
            2 => (self.halves(a[0], b[0]), self.halves(a[1], b[1])),
            _ => (self.in_turn(a[0], b[0]), self.in_turn(a[1], b[1])),
        }
    }
}

impl Avx2 {
    /// The lower halves of both, and the upper halves of both.
    #[inline(always)]
    fn halves(self, x: __m256i, y: __m256i) -> V {
        let avx2 = self.0.avx2;
        [avx2._mm256_permute2x128_si256::<0x20>(x, y), avx2._mm256_permute2x128_si256::<0x31>(x, y)]
    }

    /// The lanes with even numbers of the two in turn, and those with odd ones.
    #[inline(always)]
    fn in_turn(self, x: __m256i, y: __m256i) -> V {
        let avx2 = self.0.avx2;
        [avx2._mm256_unpacklo_epi64(x, y), avx2._mm256_unpackhi_epi64(x, y)]
    }
}
