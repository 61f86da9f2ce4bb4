//! Key switching: from a secret that is not ours (s^2, or s under an automorphism) back to s.
//!
//! The gadget is the residue number system itself: digit i of d is its centred residue modulo q_i,
//! and key i encrypts the target secret in limb i alone. Works unchanged at every lower level.

use rand::{CryptoRng, RngCore};

use super::ciphertext::Ciphertext;
use super::sampling;
use super::secret::{Secret, SecretValues};
use crate::ring::{Buffer, Coefficients, Context, Poly, Values, limb};

/// Encryptions of another secret under ours, one a digit, in Montgomery's form.
#[derive(Clone)]
pub(crate) struct SwitchKey {
    /// What the second parts are expanded from; `None` where they are sums of trustees' parts.
    pub(crate) seed: Option<[u8; 32]>,
    pub(crate) digits: Vec<[Poly<Values>; 2]>,
}

impl SwitchKey {
    /// Encryptions of `target` (values, at the key's level) under `secret` (values, in Montgomery's
    /// form).
    fn generate<R: RngCore + CryptoRng>(
        context: &Context,
        secret: &SecretValues,
        target: &Poly<Values>,
        rng: &mut R,
    ) -> Self {
        let mut seed = [0; 32];
        rng.fill_bytes(&mut seed);
        let limbs = target.limbs();
        let digits = sampling::expand_at(context, limbs, &seed, limbs)
            .enumerate()
            .map(|(i, a)| {
                let errors = sampling::errors(context.degree(), rng);
                let mut message = SecretValues(context.small(&errors, limbs));
                let q = context.q()[i].modulus();
                limb::add(q, message.0.limb_mut(i), target.limb(i));
                context.to_montgomery(&mut message.0);
                let mut b = context.product(&a, &secret.0);
                context.subtract_from(&mut b, &message.0);
                [b, a]
            })
            .collect();
        Self { seed: Some(seed), digits }
    }

    /// From s^2 to s, for ciphertexts of at most `limbs` limbs: relinearisation.
    pub(crate) fn relinearisation<R: RngCore + CryptoRng>(
        context: &Context,
        limbs: usize,
        secret: &Secret,
        rng: &mut R,
    ) -> Self {
        let (s, multiplier) = (secret.values(context, limbs), secret.multiplier(context, limbs));
        let target = SecretValues(context.product(&s.0, &multiplier.0));
        Self::generate(context, &multiplier, &target.0, rng)
    }

    /// From s under the automorphism X -> X^g to s, for [`Automorphism::rotate`] on ciphertexts of
    /// at most `limbs` limbs.
    ///
    /// Everything is under the inverse automorphism: encryptions of s under s(X^(1/g)).
    pub(crate) fn automorphism<R: RngCore + CryptoRng>(
        context: &Context,
        limbs: usize,
        secret: &Secret,
        g: u64,
        rng: &mut R,
    ) -> Self {
        let inverse = Automorphism::new(context.degree(), inverse(g, 2 * context.degree() as u64));
        let s = secret.values(context, limbs);
        let moved = SecretValues(inverse.apply(&secret.multiplier(context, limbs).0));
        Self::generate(context, &moved, &s.0, rng)
    }

    /// The key whose first parts are `first` and whose second parts the seed stands for.
    pub(crate) fn from_parts(context: &Context, seed: [u8; 32], first: Vec<Poly<Values>>) -> Self {
        let limbs = first.len();
        let second = sampling::expand_at(context, limbs, &seed, limbs);
        let seed = Some(seed);
        Self { seed, digits: first.into_iter().zip(second).map(|(b, a)| [b, a]).collect() }
    }

    /// An encryption under s of `d` times the target: prime by prime, so that digits stay near.
    pub(crate) fn switch(
        &self,
        context: &Context,
        d: &Poly<Coefficients>,
        values: Option<&Poly<Values>>,
    ) -> Ciphertext {
        let (n, limbs) = (context.degree(), d.limbs());
        let mut parts = [Poly::unset(n, limbs), Poly::unset(n, limbs)];
        let mut digits = Buffer::stale(n * limbs);
        for j in 0..limbs {
            cut(context, d, values, j, &mut digits);
            self.sum(context, j, &digits, &mut parts);
        }
        Ciphertext { parts }
    }

    /// The sum of digits times keys modulo prime `j`.
    fn sum(&self, context: &Context, j: usize, digits: &[u64], parts: &mut [Poly<Values>; 2]) {
        let limbs = digits.len() / context.degree();
        let keys: Vec<[&[u64]; 2]> =
            self.digits[..limbs].iter().map(|[b, a]| [b.limb(j), a.limb(j)]).collect();
        let [c0, c1] = parts;
        let out = [c0.limb_mut(j), c1.limb_mut(j)];
        limb::switch(context.q()[j].modulus(), out, digits, &keys);
    }

    /// An encryption under s of the decomposed polynomial times the target.
    pub(crate) fn apply(&self, context: &Context, digits: &Digits) -> Ciphertext {
        let (n, limbs) = (context.degree(), digits.limbs);
        let mut parts = [Poly::unset(n, limbs), Poly::unset(n, limbs)];
        for (j, digits) in digits.values.chunks_exact(n * limbs).enumerate() {
            self.sum(context, j, digits, &mut parts);
        }
        Ciphertext { parts }
    }
}

/// The digits of `d` by values modulo prime `j`; digit j is `d` itself, whose `values` may be
/// known.
fn cut(
    context: &Context,
    d: &Poly<Coefficients>,
    values: Option<&Poly<Values>>,
    j: usize,
    digits: &mut [u64],
) {
    let ntt = &context.q()[j];
    for (i, digit) in digits.chunks_exact_mut(context.degree()).enumerate() {
        match values {
            Some(values) if i == j => digit.copy_from_slice(values.limb(i)),
            _ => {
                limb::lift(context.q()[i].modulus(), d.limb(i), ntt.modulus(), digit, None);
                ntt.forward(digit);
            }
        }
    }
}

/// A polynomial cut into digits, each by values modulo every prime: done once, used with several
/// keys.
pub(crate) struct Digits {
    /// For each prime, each digit.
    values: Buffer,
    limbs: usize,
}

impl Digits {
    /// The digits of a ciphertext's second part.
    pub(crate) fn of(context: &Context, c: &Ciphertext) -> Self {
        let (n, limbs) = (context.degree(), c.limbs());
        let d = context.backward(c.parts[1].clone());
        let mut values = Buffer::stale(n * limbs * limbs);
        for (j, digits) in values.chunks_exact_mut(n * limbs).enumerate() {
            cut(context, &d, Some(&c.parts[1]), j, digits);
        }
        Self { values, limbs }
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
        Self { places: (0..degree as u64).map(place).collect() }
    }

    pub(crate) fn apply(&self, poly: &Poly<Values>) -> Poly<Values> {
        let mut out = Poly::unset(poly.degree(), poly.limbs());
        for (to, from) in out.iter_mut().zip(poly.iter()) {
            for (x, &place) in to.iter_mut().zip(&self.places) {
                *x = from[place as usize];
            }
        }
        out
    }

    /// The ciphertext of the permuted slots, with a key made by [`SwitchKey::automorphism`].
    ///
    /// That key is stored under the inverse automorphism, so that one permutation comes last and
    /// the digits of a ciphertext, where they are given, serve all its rotations.
    pub(crate) fn rotate(
        &self,
        context: &Context,
        key: &SwitchKey,
        c: &Ciphertext,
        digits: Option<&Digits>,
    ) -> Ciphertext {
        let mut out = if let Some(digits) = digits {
            key.apply(context, digits)
        } else {
            let coefficients = context.backward(c.parts[1].clone());
            key.switch(context, &coefficients, Some(&c.parts[1]))
        };
        context.add(&mut out.parts[0], &c.parts[0]);
        Ciphertext { parts: out.parts.map(|part| self.apply(&part)) }
    }
}

/// The inverse of an odd number modulo a power of two.
pub(crate) fn inverse(g: u64, modulus: u64) -> u64 {
    let mut inverse = 1_u64;
    for _ in 0..6 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(g.wrapping_mul(inverse)));
    }
    inverse % modulus
}
