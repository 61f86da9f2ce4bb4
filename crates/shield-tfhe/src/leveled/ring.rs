//! Polynomials modulo X^N + 1 with coefficients modulo 2^64, and the products that the engine
//! needs.
//!
//! Two products, both by floating-point Fourier transforms of the `tfhe` crate:
//!
//! - [`Ring::external_product`]: a GGSW ciphertext times a GLWE ciphertext, which is rounded first
//!   (`even`). Its floating-point error is part of the noise bound ([`super::noise`]).
//! - [`Factor::times`]: a polynomial times one with coefficients -1, 0 and 1, for encryption. It is
//!   **exact**: the polynomial is split into halves of 32 bits, whose products stay below 2^43 and
//!   are rounded to the right integer.

use tfhe::core_crypto::fft_impl::fft64::math::polynomial::{
    FourierPolynomialMutView, FourierPolynomialView,
};
use tfhe::core_crypto::fft_impl::fft64::{ABox, c64};
use tfhe::core_crypto::prelude::{
    CiphertextModulus, ComputationBuffers, DecompositionBaseLog, DecompositionLevelCount, Fft,
    FourierGgswCiphertext, GgswCiphertext, GlweCiphertext, GlweSize, Polynomial, PolynomialSize,
    add_external_product_assign_mem_optimized,
    add_external_product_assign_mem_optimized_requirement,
};
use zeroize::{Zeroize, Zeroizing};

pub(crate) use crate::transform::DEGREE;
use crate::transform::fft;

/// A mask and a body.
const GLWE_SIZE: GlweSize = GlweSize(2);

const POLYNOMIAL: PolynomialSize = PolynomialSize(DEGREE);

/// A GLWE ciphertext: mask, then body. Its phase is body - mask * s.
pub(crate) type Glwe = GlweCiphertext<Vec<u64>>;

/// A GGSW ciphertext, transformed.
pub(crate) type Ggsw = FourierGgswCiphertext<ABox<[c64]>>;

/// How ciphertexts cut a coefficient into digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gadget {
    /// Digits.
    pub(crate) levels: usize,
    /// Bits of a digit.
    pub(crate) base_log: usize,
}

impl Gadget {
    /// Coefficients of a GGSW ciphertext: two rows per level, two polynomials per row.
    pub(crate) fn words(self) -> usize {
        4 * self.levels * DEGREE
    }

    /// Bits of a coefficient that the digits leave out.
    pub(crate) fn left_out(self) -> usize {
        64 - self.levels * self.base_log
    }

    /// What a message is multiplied by at a level, counted from 1: 2^64 / B^level.
    pub(crate) fn weight(self, level: usize) -> u64 {
        1 << (64 - self.base_log * level)
    }
}

/// The nearest multiple of 2^bits, of two the even one.
///
/// The crate's decomposition rounds every half up. Coefficients are multiples of powers of two
/// (rows times B / 2, sums that come back from floating point), so halves are not rare, and what is
/// left out would not have mean zero: up to 2^22 in every coefficient of the mask, always with the
/// same sign, which [`super::flooding`] could not hide. What has been rounded here has nothing left
/// for the crate to round.
pub(crate) fn even(word: u64, bits: usize) -> u64 {
    let odd = word >> bits & 1;
    word.wrapping_add((1 << (bits - 1)) - 1 + odd) & (u64::MAX << bits)
}

/// A ciphertext with phase 0 and no noise.
pub(crate) fn zero() -> Glwe {
    GlweCiphertext::new(0, GLWE_SIZE, POLYNOMIAL, CiphertextModulus::new_native())
}

/// A ciphertext from its mask and body.
pub(crate) fn glwe(words: Vec<u64>) -> Glwe {
    GlweCiphertext::from_container(words, POLYNOMIAL, CiphertextModulus::new_native())
}

/// `a += b`.
pub(crate) fn add(a: &mut Glwe, b: &Glwe) {
    for (a, b) in a.as_mut().iter_mut().zip(b.as_ref()) {
        *a = a.wrapping_add(*b);
    }
}

/// `a -= b`.
pub(crate) fn subtract(a: &mut Glwe, b: &Glwe) {
    for (a, b) in a.as_mut().iter_mut().zip(b.as_ref()) {
        *a = a.wrapping_sub(*b);
    }
}

/// The transforms, and memory to work in. One per thread.
pub(crate) struct Ring {
    fft: Fft,
    buffers: ComputationBuffers,
    /// The input of a product, rounded.
    rounded: Glwe,
}

impl Ring {
    pub(crate) fn new() -> Self {
        let fft = fft();
        let mut buffers = ComputationBuffers::new();
        let product = add_external_product_assign_mem_optimized_requirement::<u64>(
            GLWE_SIZE,
            POLYNOMIAL,
            fft.as_view(),
        );
        let transform = fft.as_view().backward_scratch().or(fft.as_view().forward_scratch());
        buffers.resize(product.or(transform).unaligned_bytes_required());
        Self { fft, buffers, rounded: zero() }
    }

    /// `out += bit * input`.
    pub(crate) fn external_product(&mut self, out: &mut Glwe, bit: &Ggsw, input: &Glwe) {
        let levels = bit.decomposition_level_count().0;
        let gadget = Gadget { levels, base_log: bit.decomposition_base_log().0 };
        for (rounded, word) in self.rounded.as_mut().iter_mut().zip(input.as_ref()) {
            *rounded = even(*word, gadget.left_out());
        }
        let (fft, stack) = (self.fft.as_view(), self.buffers.stack());
        add_external_product_assign_mem_optimized(out, bit, &self.rounded, fft, stack);
    }

    /// `bit * input`.
    pub(crate) fn times(&mut self, bit: &Ggsw, input: &Glwe) -> Glwe {
        let mut out = zero();
        self.external_product(&mut out, bit, input);
        out
    }

    /// Transforms a GGSW ciphertext: the last level first, and of each the row of the mask, then
    /// that of the body.
    pub(crate) fn transform(&mut self, gadget: Gadget, words: &[u64]) -> Ggsw {
        let base_log = DecompositionBaseLog(gadget.base_log);
        let levels = DecompositionLevelCount(gadget.levels);
        let modulus = CiphertextModulus::new_native();
        let plain = GgswCiphertext::from_container(words, GLWE_SIZE, POLYNOMIAL, base_log, modulus);
        let mut ggsw = FourierGgswCiphertext::new(GLWE_SIZE, POLYNOMIAL, base_log, levels);
        let (fft, stack) = (self.fft.as_view(), self.buffers.stack());
        ggsw.as_mut_view().fill_with_forward_fourier(plain.as_view(), fft, stack);
        ggsw
    }

    /// Transforms a polynomial with small coefficients (integers modulo 2^64, either sign).
    pub(crate) fn transform_small(&mut self, small: &[u64]) -> Fourier {
        let mut out = Fourier::zero();
        let (fft, stack) = (self.fft.as_view(), self.buffers.stack());
        let view = FourierPolynomialMutView { data: out.0.as_mut_slice() };
        fft.forward_as_integer(view, Polynomial::from_container(small), stack);
        out
    }

    /// Transforms a polynomial, its coefficients as fractions of 2^64.
    pub(crate) fn transform_torus(&mut self, words: &[u64]) -> Fourier {
        let mut out = Fourier::zero();
        let (fft, stack) = (self.fft.as_view(), self.buffers.stack());
        let view = FourierPolynomialMutView { data: out.0.as_mut_slice() };
        fft.forward_as_torus(view, Polynomial::from_container(words), stack);
        out
    }

    /// Transforms back, and adds to `out`. (The crate has vector instructions for adding only;
    /// without, rounding alone takes longer than the transform.)
    pub(crate) fn add_back(&mut self, fourier: &Fourier, out: &mut [u64]) {
        let (fft, stack) = (self.fft.as_view(), self.buffers.stack());
        let view = FourierPolynomialView { data: fourier.0.as_slice() };
        fft.add_backward_as_torus(Polynomial::from_container(out), view, stack);
    }
}

/// A polynomial, transformed. Wiped when it goes: some are secrets.
#[derive(Clone)]
pub(crate) struct Fourier(Vec<c64>);

impl Drop for Fourier {
    fn drop(&mut self) {
        for value in &mut self.0 {
            value.re.zeroize();
            value.im.zeroize();
        }
    }
}

impl Fourier {
    pub(crate) fn zero() -> Self {
        Self(vec![c64::default(); DEGREE / 2])
    }

    /// `self += a * b`.
    pub(crate) fn add_product(&mut self, a: &Self, b: &Self) {
        for ((sum, a), b) in self.0.iter_mut().zip(&a.0).zip(&b.0) {
            sum.re += a.re * b.re - a.im * b.im;
            sum.im += a.re * b.im + a.im * b.re;
        }
    }
}

/// A polynomial made ready for exact products with small ones.
#[derive(Clone)]
pub(crate) struct Factor {
    low: Fourier,
    high: Fourier,
}

impl Factor {
    /// Splits each coefficient as high * 2^32 + low, both signed.
    pub(crate) fn new(ring: &mut Ring, words: &[u64]) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "the low half is what is meant")]
        let low = words.iter().map(|&w| i64::from(w as i32).cast_unsigned());
        let low = Zeroizing::new(low.collect::<Vec<u64>>());
        let high = words.iter().zip(low.iter()).map(|(w, l)| w.wrapping_sub(*l));
        let high = Zeroizing::new(high.collect::<Vec<u64>>());
        Self { low: ring.transform_torus(&low), high: ring.transform_torus(&high) }
    }

    /// The product with a small polynomial, exact.
    ///
    /// A product of low halves is at most N 2^31 = 2^42; the transform's relative error of about
    /// 2^-50 leaves it within 2^-7 of its integer. The same holds for the high halves, in units of
    /// 2^32.
    pub(crate) fn times(&self, ring: &mut Ring, small: &Fourier) -> Vec<u64> {
        let mut out = vec![0; DEGREE];
        let mut high = vec![0; DEGREE];
        for (half, out) in [(&self.low, &mut out), (&self.high, &mut high)] {
            let mut product = Fourier::zero();
            product.add_product(half, small);
            ring.add_back(&product, out);
        }
        for (out, high) in out.iter_mut().zip(high) {
            let rounded = high.wrapping_add(1 << 31) & !0xffff_ffff;
            *out = out.wrapping_add(rounded);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    #[test]
    fn products_with_small_polynomials_are_exact() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let mut ring = Ring::new();
        for extreme in [false, true] {
            let words: Vec<u64> = (0..DEGREE)
                .map(|_| if extreme { 0x7fff_ffff_8000_0000 } else { rng.random() })
                .collect();
            let small: Vec<u64> = (0..DEGREE)
                .map(|_| if extreme { 1 } else { rng.random_range(-1_i64..=1).cast_unsigned() })
                .collect();
            let mut expected = vec![0_u64; DEGREE];
            for (i, a) in words.iter().enumerate() {
                for (j, b) in small.iter().enumerate() {
                    let (place, term) = ((i + j) % DEGREE, a.wrapping_mul(*b));
                    let term = if i + j < DEGREE { term } else { term.wrapping_neg() };
                    expected[place] = expected[place].wrapping_add(term);
                }
            }
            let small = ring.transform_small(&small);
            let factor = Factor::new(&mut ring, &words);
            assert!(factor.times(&mut ring, &small) == expected, "extreme: {extreme}");
        }
    }

    #[test]
    fn rounding_favours_no_side() {
        // All multiples of 2^8 below 2^21, rounded to 2^12: the differences add up to nothing.
        let sum: i64 = (0..1_u64 << 13)
            .map(|word| {
                let word = word << 8;
                let nearest = even(word, 12);
                assert_eq!(nearest % (1 << 12), 0);
                let left_out = word.wrapping_sub(nearest).cast_signed();
                assert!(left_out.abs() <= 1 << 11);
                left_out
            })
            .sum();
        assert_eq!(sum, 0);
        assert_eq!(even(u64::MAX, 12), 0);
    }
}
