//! SHIELD with one vote in one ciphertext, on the `tfhe` crate: an answer for a single sample,
//! without batching.
//!
//! The paper's second implementation (section "Bitwise SHIELD with Cingulata") has four
//! counterparts here:
//!
//! | module | what it does | for whom |
//! |---|---|---|
//! | [`leveled`] | SHIELD without bootstrapping | an answer in milliseconds |
//! | [`bootstrapped`] | SHIELD on class ids, one bootstrapping per comparison | the smallest ballots |
//! | [`noisy_argmax`] | SPEED's noisy argmax, with noise in shares | what SHIELD replaces |
//! | [`baseline`] | the paper's circuit, one bootstrapping per gate | `bench` compares with it |
//!
//! A ballot of the bootstrapped engine takes 8 kB for one sample, and 8 bytes per vote in a full
//! batch.

pub mod baseline;
pub mod bootstrapped;
pub mod leveled;
pub mod noisy_argmax;
mod transform;
