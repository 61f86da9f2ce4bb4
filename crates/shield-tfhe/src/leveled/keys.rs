//! The keys of an election, and who may hold them.
//!
//! | key | holder | opens |
//! |---|---|---|
//! | [`SecretKey`] | the student, nobody else | every ballot and every release |
//! | [`PublicKey`] | anyone | nothing |
//! | [`EvaluationKey`] | the server (anyone may have it) | nothing |
//!
//! Student and server must not work together: the student's key reads every ballot, and the server
//! has them.

use std::fmt;
use std::sync::Arc;

use rand::{CryptoRng, RngCore, SeedableRng};
use rand_chacha::ChaCha20Rng;
use shield::framing::KeyId;
use zeroize::Zeroizing;

use super::compact::{self, ExpansionKey};
use super::plan::Plan;
use super::ring::{DEGREE, Factor, Glwe, Ring, glwe};
use super::sampling;

/// Most coefficients of a secret that are not zero. Half of them are, give or take 2.25 standard
/// deviations: one secret in a hundred has more and is drawn again, which costs a fiftieth of a bit
/// of security. Likewise [`MOST_ERROR`].
pub(crate) const MOST_ONES: usize = DEGREE / 2 + DEGREE / 40;

/// Purpose of the digest that names a set of keys.
pub(crate) const KEY_NAME: &str = "shield 2026 tfhe key name v1";

/// Most that the squares of the public key's errors add up to, relative to what they do in the
/// mean.
pub(crate) const MOST_ERROR: f64 = 1.05;

/// The student's key: it opens every ballot. Wiped from memory when it goes.
#[derive(Clone)]
pub struct SecretKey {
    pub(crate) secret: Zeroizing<Vec<u64>>,
    pub(crate) id: KeyId,
}

/// What the teachers encrypt with.
#[derive(Clone)]
pub struct PublicKey {
    pub(crate) zero: Arc<ZeroKey>,
    pub(crate) id: KeyId,
}

/// What the server aggregates with. It opens nothing.
#[derive(Clone)]
pub struct EvaluationKey {
    pub(crate) zero: Arc<ZeroKey>,
    /// Only where ballots are compact.
    pub(crate) expansion: Option<ExpansionKey>,
    pub(crate) id: KeyId,
}

/// A ring-LWE sample `(a, a s + e)`: anyone can encrypt zero with it.
pub(crate) struct ZeroKey {
    /// What a is expanded from.
    pub(crate) seed: [u8; 32],
    pub(crate) body: Vec<u64>,
    a: Factor,
    b: Factor,
}

macro_rules! opaque {
    ($($name:ident),*) => {$(
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("id", &self.id).finish_non_exhaustive()
            }
        }

        impl $name {
            /// The name of the set of keys that this one belongs to.
            pub fn id(&self) -> KeyId {
                self.id
            }
        }
    )*};
}
opaque!(SecretKey, PublicKey, EvaluationKey);

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
    fn id(&self) -> KeyId {
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

/// Whether a secret has as few coefficients other than zero as the noise bound takes for granted.
pub(crate) fn is_usual(secret: &[u64]) -> bool {
    secret.iter().map(|s| s & 1).sum::<u64>() <= MOST_ONES as u64
}

/// Fresh keys.
pub(crate) fn generate<R: RngCore + CryptoRng>(
    plan: &Plan,
    ring: &mut Ring,
    rng: &mut R,
) -> (SecretKey, PublicKey, EvaluationKey) {
    let secret = loop {
        let secret = sampling::ternary(rng);
        let squared = plan.separation_steps().is_some();
        if is_usual(&secret) && (!squared || compact::is_usual(ring, &secret)) {
            break secret;
        }
    };
    let errors = loop {
        let errors = sampling::errors(rng);
        let square: f64 = errors.iter().map(|&e| (e.cast_signed() as f64).powi(2)).sum();
        if square <= MOST_ERROR * DEGREE as f64 * sampling::ERROR_VARIANCE {
            break errors;
        }
    };
    let mut seed = [0; 32];
    rng.fill_bytes(&mut seed);
    let a = sampling::uniform(&mut ChaCha20Rng::from_seed(seed));
    let transformed = ring.transform_small(&secret);
    let mut body = Factor::new(ring, &a).times(ring, &transformed);
    for (word, error) in body.iter_mut().zip(errors.iter()) {
        *word = word.wrapping_add(*error);
    }
    let zero = Arc::new(ZeroKey::from_parts(ring, seed, body));
    let id = zero.id();
    let expansion =
        plan.separation_steps().map(|steps| ExpansionKey::generate(ring, steps, &secret, rng));
    let evaluation = EvaluationKey { zero: Arc::clone(&zero), expansion, id };
    (SecretKey { secret, id }, PublicKey { zero, id }, evaluation)
}

impl SecretKey {
    /// The first coefficients of a ciphertext's phase, body - mask * s.
    pub(crate) fn phases(&self, mask: &[u64], body: &[u64]) -> Vec<u64> {
        let phase = |(place, body): (usize, &u64)| {
            // Coefficient `place` of mask * s: s_j meets mask_(place - j), negated when that wraps
            // around.
            let product = self.secret.iter().enumerate().fold(0_u64, |sum, (j, s)| {
                let term = if j <= place {
                    mask[place - j]
                } else {
                    mask[DEGREE + place - j].wrapping_neg()
                };
                sum.wrapping_add(s.wrapping_mul(term))
            });
            body.wrapping_sub(product)
        };
        body.iter().enumerate().map(phase).collect()
    }
}
