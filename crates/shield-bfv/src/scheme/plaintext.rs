//! Products with plaintexts that are given by their slots.

use rand::{CryptoRng, RngCore};

use super::Ciphertext;
use super::sampling::below;
use crate::ring::{Buffer, Context, PLAINTEXT, Poly, Values, limb};

/// The product with a plaintext.
pub(crate) fn times(context: &Context, c: &Ciphertext, mut slots: Vec<u64>) -> Ciphertext {
    context.encode(&mut slots);
    c.times(context, &context.multiplier(&slots, c.limbs()))
}

/// A plaintext plus t times a uniform polynomial of some width.
///
/// The slots of a product are those of the product with the plaintext alone, because t is zero
/// among them, as long as the phase of the ciphertext is `Delta m + e` with a short e: it becomes
/// `t R (Delta m + e) = R (t e - m)`, which is short. Any other phase becomes junk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raised {
    pub(crate) width: u64,
}

impl Raised {
    /// The product with a plaintext that is raised by a fresh polynomial.
    pub(crate) fn times<R: RngCore + CryptoRng>(
        self,
        context: &Context,
        c: &Ciphertext,
        mut slots: Vec<u64>,
        rng: &mut R,
    ) -> Ciphertext {
        context.encode(&mut slots);
        let centred = |x: u64, of: u64| x.cast_signed() - (of / 2).cast_signed();
        let coefficients: Vec<i64> = slots
            .into_iter()
            .map(|x| {
                let x = centred((x + PLAINTEXT / 2) % PLAINTEXT, PLAINTEXT);
                x + PLAINTEXT.cast_signed() * centred(below(self.width, rng), self.width)
            })
            .collect();
        let mut multiplier = context.small(&coefficients, c.limbs());
        context.to_montgomery(&mut multiplier);
        c.times(context, &multiplier)
    }
}

impl Ciphertext {
    /// Adds the product of another ciphertext, at this level or above, with a plaintext that is
    /// given by its slots.
    pub(crate) fn add_times(&mut self, context: &Context, source: &Self, mut slots: Buffer) {
        context.encode(&mut slots);
        let mut values = Buffer::stale(context.degree());
        for i in 0..self.limbs() {
            let ntt = &context.q()[i];
            context.lift_multiplier(i, &slots, &mut values);
            ntt.forward(&mut values);
            for (part, source) in self.parts.iter_mut().zip(&source.parts) {
                let terms: [(&[u64], &[u64]); 1] = [(source.limb(i), &values)];
                limb::add_products(ntt.modulus(), part.limb_mut(i), &terms);
            }
        }
    }

    /// The product with a polynomial in Montgomery's form.
    fn times(&self, context: &Context, multiplier: &Poly<Values>) -> Self {
        Self { parts: self.parts.each_ref().map(|part| context.product(part, multiplier)) }
    }
}
