//! What anyone can encrypt zero with: the heart of the public key.

use rand::{CryptoRng, RngCore, SeedableRng};
use rand_chacha::ChaCha20Rng;
use shield_core::framing::KeyId;

use super::ring::{Factor, Glwe, Ring, glwe};
use super::sampling;

/// Purpose of the digest that names a set of keys.
pub(crate) const KEY_NAME: &str = "shield 2026 tfhe key name v1";

/// A ring-LWE sample `(a, a s + e)`: anyone can encrypt zero with it.
pub(crate) struct ZeroKey {
    /// What a is expanded from.
    pub(crate) seed: [u8; 32],
    pub(crate) body: Vec<u64>,
    a: Factor,
    b: Factor,
}

impl ZeroKey {
    pub(crate) fn from_parts(ring: &mut Ring, seed: [u8; 32], body: Vec<u64>) -> Self {
        let a = Factor::new(ring, &sampling::uniform(&mut ChaCha20Rng::from_seed(seed)));
        let b = Factor::new(ring, &body);
        Self { seed, body, a, b }
    }

    /// Appends the seed of the mask, and the body.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.seed);
        out.extend(self.body.iter().flat_map(|word| word.to_le_bytes()));
    }

    /// The name of the keys it belongs to.
    pub(crate) fn id(&self) -> KeyId {
        let mut payload = Vec::new();
        self.write(&mut payload);
        KeyId::of_public_key(KEY_NAME, &payload)
    }

    /// A fresh encryption of zero: `(a u + e1, b u + e2)`, of phase `e u + e2 - e1 s`.
    pub(crate) fn encrypt_zero<R: RngCore + CryptoRng>(
        &self,
        ring: &mut Ring,
        rng: &mut R,
    ) -> Glwe {
        let u = sampling::ternary(rng);
        let u = ring.transform_small(&u);
        let mut words = self.a.times(ring, &u);
        words.extend(self.b.times(ring, &u));
        let errors = [sampling::errors(rng), sampling::errors(rng)];
        for (word, error) in words.iter_mut().zip(errors.iter().flat_map(|e| e.iter())) {
            *word = word.wrapping_add(*error);
        }
        glwe(words)
    }
}
