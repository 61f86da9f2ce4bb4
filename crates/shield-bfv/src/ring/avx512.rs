//! [`Lanes`] on AVX-512 IFMA: the only file of the engine with `unsafe` code.
//!
//! Soundness: an [`Avx512`] can be had only from [`Avx512::detect`], which asks the processor for
//! every feature that the intrinsics below need. Loads and stores go through references to whole
//! blocks.

#![expect(unsafe_code, reason = "vector instructions; soundness is argued above")]

use std::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_and_si512, _mm512_loadu_si512, _mm512_madd52hi_epu64,
    _mm512_madd52lo_epu64, _mm512_min_epu64, _mm512_permutex2var_epi64, _mm512_permutexvar_epi64,
    _mm512_set1_epi64, _mm512_setr_epi64, _mm512_srli_epi64, _mm512_storeu_si512, _mm512_sub_epi64,
};
use std::ptr::from_mut;

use super::integers::{Halves, Integers};
use super::lanes::{Block, Kernel, Lanes};

/// Proof that the processor has AVX-512 F and IFMA.
#[derive(Clone, Copy)]
pub(crate) struct Avx512(());

impl Avx512 {
    /// The proof, where the processor has the instructions.
    #[inline]
    pub(crate) fn detect() -> Option<Self> {
        (is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512ifma"))
            .then_some(Self(()))
    }

    /// Runs `kernel` compiled for these instructions.
    #[inline]
    pub(crate) fn vectorize<K: Kernel>(self, kernel: K) -> K::Output {
        #[target_feature(enable = "avx512f,avx512ifma")]
        fn inner<K: Kernel>(lanes: Avx512, kernel: K) -> K::Output {
            kernel.run(lanes)
        }
        // SAFETY: `self` proves that the processor has both features.
        unsafe { inner(self, kernel) }
    }
}

/// Lane numbers that gather the lower (`UPPER = 0`) or upper runs of `STRIDE` lanes of two
/// registers.
#[inline(always)]
fn split_index<const STRIDE: usize>(offset: usize) -> __m512i {
    let at = |j: usize| ((j / STRIDE) * 2 * STRIDE + j % STRIDE + offset) as i64;
    // SAFETY: reached only through an `Avx512`.
    unsafe { _mm512_setr_epi64(at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)) }
}

/// Lane numbers that undo [`split_index`] for the first or the second register.
#[inline(always)]
fn merge_index<const STRIDE: usize>(offset: usize) -> __m512i {
    let at = |j: usize| {
        let i = j + offset;
        let (run, within) = (i / STRIDE, i % STRIDE);
        ((run / 2) * STRIDE + within + (run % 2) * 8) as i64
    };
    // SAFETY: reached only through an `Avx512`.
    unsafe { _mm512_setr_epi64(at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)) }
}

// SAFETY of every block below: `self` proves that the processor has the instruction.
impl Lanes for Avx512 {
    type V = __m512i;
    type Arithmetic = Integers<Self>;
    const REGISTERS: usize = 32;
    #[inline(always)]
    fn load(self, block: &Block) -> __m512i {
        unsafe { _mm512_loadu_si512(block.as_ptr().cast()) }
    }
    #[inline(always)]
    fn store(self, v: __m512i, block: &mut Block) {
        unsafe { _mm512_storeu_si512(from_mut(block).cast(), v) }
    }
    #[inline(always)]
    fn splat(self, x: u64) -> __m512i {
        unsafe { _mm512_set1_epi64(x.cast_signed()) }
    }
    #[inline(always)]
    fn add(self, a: __m512i, b: __m512i) -> __m512i {
        unsafe { _mm512_add_epi64(a, b) }
    }
    #[inline(always)]
    fn sub(self, a: __m512i, b: __m512i) -> __m512i {
        unsafe { _mm512_sub_epi64(a, b) }
    }
    #[inline(always)]
    fn and(self, a: __m512i, b: __m512i) -> __m512i {
        unsafe { _mm512_and_si512(a, b) }
    }
    #[inline(always)]
    fn shr<const BITS: u32>(self, a: __m512i) -> __m512i {
        unsafe { _mm512_srli_epi64::<BITS>(a) }
    }
    #[inline(always)]
    fn split<const STRIDE: usize>(self, a: __m512i, b: __m512i) -> (__m512i, __m512i) {
        let (low, high) = (split_index::<STRIDE>(0), split_index::<STRIDE>(STRIDE));
        unsafe { (_mm512_permutex2var_epi64(a, low, b), _mm512_permutex2var_epi64(a, high, b)) }
    }
    #[inline(always)]
    fn spread<const COUNT: usize>(self, v: __m512i, part: usize) -> __m512i {
        let at = |i: usize| (part * COUNT + i * COUNT / 8) as i64;
        unsafe {
            let index = _mm512_setr_epi64(at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7));
            _mm512_permutexvar_epi64(index, v)
        }
    }
    #[inline(always)]
    fn merge<const STRIDE: usize>(self, a: __m512i, b: __m512i) -> (__m512i, __m512i) {
        let (first, second) = (merge_index::<STRIDE>(0), merge_index::<STRIDE>(8));
        unsafe { (_mm512_permutex2var_epi64(a, first, b), _mm512_permutex2var_epi64(a, second, b)) }
    }
}

impl Halves for Avx512 {
    #[inline(always)]
    fn min(self, a: __m512i, b: __m512i) -> __m512i {
        unsafe { _mm512_min_epu64(a, b) }
    }
    #[inline(always)]
    fn mul_low(self, acc: __m512i, a: __m512i, b: __m512i) -> __m512i {
        unsafe { _mm512_madd52lo_epu64(acc, a, b) }
    }
    #[inline(always)]
    fn mul_high(self, acc: __m512i, a: __m512i, b: __m512i) -> __m512i {
        unsafe { _mm512_madd52hi_epu64(acc, a, b) }
    }
}
