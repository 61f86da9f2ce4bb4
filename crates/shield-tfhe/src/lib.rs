//! SHIELD with one vote in one ciphertext, on the `tfhe` crate: an answer for a single sample,
//! without batching.
//!
//! The paper's second implementation (section "Bitwise SHIELD with Cingulata"), four times over:
//!
//! | module | what it does | for whom |
//! |---|---|---|
//! | [`leveled`] | SHIELD without bootstrapping | an answer in milliseconds |
//! | [`bootstrapped`] | SHIELD on class ids, a bootstrapping a comparison | the smallest ballots: 8 kB, and 8 bytes a vote in a full batch |
//! | [`gates`] | the paper's circuit, a bootstrapping a gate | the baseline of `bench` |
//! | [`noisy_argmax`] | SPEED's exact noisy argmax, with noise in shares | what SHIELD replaces |

pub mod bootstrapped;
pub mod gates;
pub mod leveled;
pub mod noisy_argmax;
mod transform;
