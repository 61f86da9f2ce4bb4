//! The Fan–Vercauteren (BFV) scheme on the ring: sampling, keys, ciphertexts, products, key
//! switching.
//!
//! Nothing in here knows of votes. All randomness comes from the caller's generator.

mod ciphertext;
pub(crate) mod embedding;
mod extended;
mod keyswitch;
mod multiply;
mod plaintext;
mod sampling;
mod secret;

pub(crate) use ciphertext::{Ciphertext, EncryptionKey, Randomness, decoded};
pub(crate) use extended::{Extended, combine, sum_of_products};
pub(crate) use keyswitch::{Automorphism, Digits, SwitchKey, inverse};
pub(crate) use multiply::multiply;
pub(crate) use plaintext::{Raised, times};
pub(crate) use sampling::{
    COINS, ERROR_VARIANCE, LARGEST_ERROR, below, errors, expand_at, plaintext_slots, uniform,
};
pub(crate) use secret::{Secret, SecretValues};

#[cfg(test)]
mod tests;
