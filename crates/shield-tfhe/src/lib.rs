//! SHIELD with one vote in one ciphertext, on the `tfhe` crate: an answer for a single sample, without batching.

pub mod bootstrapped;
pub mod gates;
pub mod noisy_argmax;
