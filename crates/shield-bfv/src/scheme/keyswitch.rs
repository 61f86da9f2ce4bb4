//! Key switching: from a secret that is not ours (s^2, or s under an automorphism) back to s.
//!
//! The gadget is the residue number system itself: digit i of d is its centred residue modulo q_i, and
//! key i encrypts the target secret in limb i alone. Works unchanged at every lower level.

use rand::{CryptoRng, RngCore};

use super::ciphertext::Ciphertext;
use super::sampling;
use super::secret::Secret;
use crate::ring::{Coefficients, Context, Poly, Unit, Values, limb};

/// Encryptions of another secret under ours, one a digit, in Montgomery's form; second parts from a seed.
#[derive(Clone)]
pub(crate) struct SwitchKey {
    pub(crate) seed: [u8; 32],
    pub(crate) digits: Vec<[Poly<Values>; 2]>,
}

impl SwitchKey {
    /// The key from `target` (values, at full level) to `secret`.
    fn generate<R: RngCore + CryptoRng>(
        context: &Context,
        secret: &Secret,
        target: &Poly<Values>,
        rng: &mut R,
    ) -> Self {
        let mut seed = [0; 32];
        rng.fill_bytes(&mut seed);
        let limbs = context.limbs();
        let s = secret.multiplier(context, limbs);
        let digits = sampling::expand(context, &seed, limbs)
            .enumerate()
            .map(|(i, a)| {
                let mut message = context.small(&sampling::errors(context.degree(), rng), limbs);
                limb::add(
                    context.q()[i].modulus(),
                    message.limb_mut(i),
                    target.limb(i),
                );
                context.to_montgomery(&mut message);
                let mut b = context.product(&a, &s.0);
                context.subtract_from(&mut b, &message);
                [b, a]
            })
            .collect();
        Self { seed, digits }
    }

    /// From s^2 to s: relinearisation.
    pub(crate) fn relinearisation<R: RngCore + CryptoRng>(
        context: &Context,
        secret: &Secret,
        rng: &mut R,
    ) -> Self {
        let s = secret.values(context, context.limbs());
        let target = context.product(&s.0, &secret.multiplier(context, context.limbs()).0);
        let key = Self::generate(context, secret, &target, rng);
        drop(super::secret::SecretValues(target));
        key
    }

    /// From s under an automorphism to s.
    pub(crate) fn automorphism<R: RngCore + CryptoRng>(
        context: &Context,
        secret: &Secret,
        automorphism: &Automorphism,
        rng: &mut R,
    ) -> Self {
        let s = secret.values(context, context.limbs());
        let target = super::secret::SecretValues(automorphism.apply(&s.0));
        Self::generate(context, secret, &target.0, rng)
    }

    /// The key whose first parts are `first` and whose second parts the seed stands for.
    pub(crate) fn from_parts(context: &Context, seed: [u8; 32], first: Vec<Poly<Values>>) -> Self {
        let second = sampling::expand(context, &seed, first.len());
        Self {
            seed,
            digits: first.into_iter().zip(second).map(|(b, a)| [b, a]).collect(),
        }
    }

    /// An encryption under s of `d` times the target. `values` are those of `d` where they are known.
    pub(crate) fn switch(
        &self,
        context: &Context,
        d: &Poly<Coefficients>,
        values: Option<&Poly<Values>>,
    ) -> Ciphertext {
        let (n, limbs) = (context.degree(), d.limbs());
        let mut parts = [Poly::zero(n, limbs), Poly::zero(n, limbs)];
        let mut digits = vec![0; n * limbs];
        for (j, ntt) in context.q()[..limbs].iter().enumerate() {
            for (i, digit) in digits.chunks_exact_mut(n).enumerate() {
                match values {
                    Some(values) if i == j => digit.copy_from_slice(values.limb(i)),
                    _ => {
                        let from = context.q()[i].modulus();
                        limb::lift(from, d.limb(i), ntt.modulus(), digit, None);
                        ntt.forward(digit);
                    }
                }
            }
            for (part, sum) in parts.iter_mut().enumerate() {
                let terms: Vec<_> = digits
                    .chunks_exact(n)
                    .zip(&self.digits)
                    .map(|(digit, key)| (digit, key[part].limb(j)))
                    .collect();
                limb::sum_of_products(ntt.modulus(), sum.limb_mut(j), &terms);
            }
        }
        Ciphertext { parts }
    }
}

/// The automorphism X -> X^g on values: a permutation of their places.
#[derive(Clone, Debug)]
pub(crate) struct Automorphism {
    places: Vec<u32>,
}

impl Automorphism {
    /// The automorphism for an odd `g`.
    pub(crate) fn new(degree: usize, g: u64) -> Self {
        let bits = degree.trailing_zeros();
        let reverse = |x: u64| x.reverse_bits() >> (u64::BITS - bits);
        let order = 2 * degree as u64;
        // The value at exponent e of f(X^g) is that of f at exponent e g.
        let place = |j: u64| (reverse((2 * reverse(j) + 1) * g % order / 2)) as u32;
        Self {
            places: (0..degree as u64).map(place).collect(),
        }
    }

    pub(crate) fn apply(&self, poly: &Poly<Values>) -> Poly<Values> {
        let mut out = Poly::zero(poly.degree(), poly.limbs());
        for (to, from) in out.iter_mut().zip(poly.iter()) {
            for (x, &place) in to.iter_mut().zip(&self.places) {
                *x = from[place as usize];
            }
        }
        out
    }

    /// The ciphertext of the permuted slots.
    pub(crate) fn rotate(&self, context: &Context, key: &SwitchKey, c: &Ciphertext) -> Ciphertext {
        let values = self.apply(&c.parts[1]);
        let mut coefficients = values.clone();
        for (limb, ntt) in coefficients.iter_mut().zip(context.q()) {
            ntt.backward(limb, Unit::Plain);
        }
        let mut out = key.switch(context, &coefficients.reinterpret(), Some(&values));
        context.add(&mut out.parts[0], &self.apply(&c.parts[0]));
        out
    }
}
