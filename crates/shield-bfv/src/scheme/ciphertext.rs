//! Ciphertexts, encryption and decryption.

use rand::{CryptoRng, RngCore};
use zeroize::{Zeroize, Zeroizing};

use super::sampling;
use super::secret::{Secret, SecretValues};
use crate::ring::{Coefficients, Context, Modulus, PLAINTEXT, Poly, Unit, Values};

/// A pair (c0, c1) with `c0 + c1 s = Delta m + e`, by values, at the level of its limbs.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Ciphertext {
    pub(crate) parts: [Poly<Values>; 2],
}

/// What anyone can encrypt with: an encryption of zero, in Montgomery's form; the second part from
/// a seed.
#[derive(Clone)]
pub(crate) struct EncryptionKey {
    pub(crate) seed: [u8; 32],
    pub(crate) parts: [Poly<Values>; 2],
}

/// What a fresh encryption is made of, besides its message: `b u + e0` and `a u + e1` for a key (b,
/// a). Whoever learns u or an error can read the ciphertext: they are wiped.
pub(crate) struct Randomness {
    pub(crate) u: Zeroizing<Vec<i64>>,
    pub(crate) e: [Zeroizing<Vec<i64>>; 2],
}

impl Randomness {
    pub(crate) fn draw<R: RngCore + CryptoRng>(degree: usize, rng: &mut R) -> Self {
        let u = sampling::ternary(degree, rng);
        Self { u, e: [0, 1].map(|_| sampling::errors(degree, rng)) }
    }
}

impl EncryptionKey {
    pub(crate) fn generate<R: RngCore + CryptoRng>(
        context: &Context,
        secret: &Secret,
        rng: &mut R,
    ) -> Self {
        let mut seed = [0; 32];
        rng.fill_bytes(&mut seed);
        let limbs = context.limbs();
        let a = sampling::expand(context, &seed, 1).next().expect("one was asked for");
        let s = secret.multiplier(context, limbs);
        let mut error =
            SecretValues(context.small(&sampling::errors(context.degree(), rng), limbs));
        context.to_montgomery(&mut error.0);
        let mut b = context.product(&a, &s.0);
        context.subtract_from(&mut b, &error.0);
        Self { seed, parts: [b, a] }
    }

    /// The key whose first part is `b` and whose second part the seed stands for.
    pub(crate) fn from_parts(context: &Context, seed: [u8; 32], b: Poly<Values>) -> Self {
        let a = sampling::expand(context, &seed, 1).next().expect("one was asked for");
        Self { seed, parts: [b, a] }
    }

    /// The key as the encryption of zero that it is: for whoever has the secret, and made this key
    /// for one plaintext alone.
    pub(crate) fn into_zero(self, context: &Context) -> Ciphertext {
        let mut one = vec![0; context.degree()];
        one[0] = 1;
        let one = context.small(&one, self.parts[0].limbs());
        Ciphertext { parts: self.parts.map(|part| context.product(&one, &part)) }
    }

    /// A fresh encryption of zero at level `limbs`.
    pub(crate) fn zero<R: RngCore + CryptoRng>(
        &self,
        context: &Context,
        limbs: usize,
        rng: &mut R,
    ) -> Ciphertext {
        self.zero_from(context, limbs, &Randomness::draw(context.degree(), rng))
    }

    /// The encryption of zero at level `limbs` that some randomness makes.
    pub(crate) fn zero_from(
        &self,
        context: &Context,
        limbs: usize,
        randomness: &Randomness,
    ) -> Ciphertext {
        let u = SecretValues(context.small(&randomness.u, limbs));
        let parts = [0, 1].map(|part| {
            let mut c = context.product(&u.0, &self.parts[part]);
            let e = SecretValues(context.small(&randomness.e[part], limbs));
            context.add(&mut c, &e.0);
            c
        });
        Ciphertext { parts }
    }

    /// A ciphertext plus what [`EncryptionKey::zero`] makes with the same generator, by
    /// coefficients: its errors then need no transform.
    pub(crate) fn rerandomised<R: RngCore + CryptoRng>(
        &self,
        context: &Context,
        c: Ciphertext,
        rng: &mut R,
    ) -> [Poly<Coefficients>; 2] {
        let (degree, limbs) = (context.degree(), c.limbs());
        let u = SecretValues(context.small(&sampling::ternary(degree, rng), limbs));
        let mut cover = |mut part: Poly<Values>, key: &Poly<Values>| {
            context.add(&mut part, &context.product(&u.0, key));
            let mut sum = context.backward(part);
            let mut error = context.small_coefficients(&sampling::errors(degree, rng), limbs);
            context.add(&mut sum, &error);
            error.data_mut().zeroize();
            sum
        };
        let [c0, c1] = c.parts;
        [cover(c0, &self.parts[0]), cover(c1, &self.parts[1])]
    }
}

impl Ciphertext {
    /// An empty sum at level `limbs`: zero, without randomness.
    pub(crate) fn zero(context: &Context, limbs: usize) -> Self {
        let zero = || Poly::zero(context.degree(), limbs);
        Self { parts: [zero(), zero()] }
    }

    pub(crate) fn limbs(&self) -> usize {
        self.parts[0].limbs()
    }

    pub(crate) fn add(&mut self, context: &Context, other: &Self) {
        for (a, b) in self.parts.iter_mut().zip(&other.parts) {
            context.add(a, b);
        }
    }

    /// Adds a polynomial to the first part: a scaled plaintext, or noise.
    pub(crate) fn add_scaled(&mut self, context: &Context, scaled: &Poly<Values>) {
        context.add(&mut self.parts[0], scaled);
    }

    /// Adds a plaintext, given by its slots. They may be votes, so every copy is wiped.
    pub(crate) fn add_slots(&mut self, context: &Context, slots: Vec<u64>) {
        let mut slots = Zeroizing::new(slots);
        context.encode(&mut slots);
        let scaled = SecretValues(context.scaled(&slots, self.limbs()));
        self.add_scaled(context, &scaled.0);
    }

    /// Adds a small constant in every slot.
    pub(crate) fn add_constant(&mut self, context: &Context, constant: i64) {
        context.add_constant(&mut self.parts[0], constant);
    }

    /// Multiplies with a small signed integer.
    pub(crate) fn scale(&mut self, context: &Context, factor: i64) {
        for part in &mut self.parts {
            context.scale(part, factor);
        }
    }

    /// Switches the modulus down until `limbs` are left.
    pub(crate) fn drop_to(&mut self, context: &Context, limbs: usize) {
        while self.limbs() > limbs {
            for part in &mut self.parts {
                context.drop_limb(part);
            }
        }
    }

    /// `c0 + c1 s`.
    pub(crate) fn phase(&self, context: &Context, secret: &Secret) -> Poly<Values> {
        let s = secret.multiplier(context, self.limbs());
        let mut phase = context.product(&self.parts[1], &s.0);
        context.add(&mut phase, &self.parts[0]);
        phase
    }

    /// The slots, of a ciphertext whose modulus has been switched down to one prime.
    pub(crate) fn decrypt(&self, context: &Context, secret: &Secret) -> Vec<u64> {
        debug_assert_eq!(self.limbs(), 1);
        // With the ciphertext, the phase gives the secret away: it is wiped.
        let phase = SecretValues(self.phase(context, secret));
        let mut phase = phase.0.limb(0).to_vec();
        context.q()[0].backward(&mut phase, Unit::Plain);
        decoded(context, phase)
    }
}

/// The slots of a phase under one prime, by coefficients.
pub(crate) fn decoded(context: &Context, mut phase: Vec<u64>) -> Vec<u64> {
    let q: Modulus = context.q()[0].modulus();
    for x in &mut phase {
        // round(t x / q) mod t
        let scaled = u128::from(*x) * u128::from(PLAINTEXT) + u128::from(q.value() / 2);
        *x = (scaled / u128::from(q.value())) as u64 % PLAINTEXT;
    }
    context.t().forward(&mut phase);
    phase
}
