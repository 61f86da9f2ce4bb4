//! The keys of an election, and who may hold them.
//!
//! | key | holder | opens |
//! |---|---|---|
//! | [`SecretKey`] | the student, nobody else | every ballot and every release |
//! | [`PublicKey`] | anyone | nothing |
//!
//! The server needs no key of its own: it only encrypts zeros, to flood what it releases.
//!
//! Student and server must not work together: the student's key reads every ballot, and the server
//! has them.

use std::fmt;
use std::sync::Arc;

use rand::{CryptoRng, RngCore, SeedableRng};
use rand_chacha::ChaCha20Rng;
use shield_core::engine::Key;
use shield_core::framing::KeyId;
use zeroize::Zeroizing;

use super::parameters::{MOST_ERROR, MOST_ONES};
use super::ring::{DEGREE, Factor, Ring};
use super::sampling;
use super::zero_key::ZeroKey;

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

/// What the server aggregates with: what the teachers encrypt with.
pub type EvaluationKey = PublicKey;

macro_rules! opaque {
    ($($name:ident),*) => {$(
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("id", &self.id).finish_non_exhaustive()
            }
        }

        impl Key for $name {
            fn id(&self) -> KeyId {
                self.id
            }
        }
    )*};
}
opaque!(SecretKey, PublicKey);

/// Whether a secret has as few coefficients other than zero as the noise bound takes for granted.
pub(crate) fn is_usual(secret: &[u64]) -> bool {
    secret.iter().map(|s| s & 1).sum::<u64>() <= MOST_ONES as u64
}

/// Fresh keys.
pub(crate) fn generate<R: RngCore + CryptoRng>(
    ring: &mut Ring,
    rng: &mut R,
) -> (SecretKey, PublicKey) {
    let secret = loop {
        let secret = sampling::ternary(rng);
        if is_usual(&secret) {
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
    (SecretKey { secret, id }, PublicKey { zero, id })
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
