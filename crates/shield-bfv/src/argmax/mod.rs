//! SPEED's noisy argmax in batches: labels that are private against everybody, the server too.
//!
//! Every teacher adds a share of noise that nobody knows to its votes
//! ([`shield_core::shared_noise`]), the server adds ballots up and finds the class with the largest
//! noisy count, ties to the lowest, while everything is encrypted, and the student sees that class
//! and nothing else. Data flows one way, and the modules follow it:
//!
//! | module | subject |
//! |---|---|
//! | [`plan`] | what is decided before any key is made |
//! | [`tiny`] | ballots of 22 bytes per vote in place of ciphertexts, with their proof |
//! | `mlwe` | tiny ballots' module: its hardness, its slots, its noise |
//! | `pairing` | which pairs of classes are compared in which slot |
//! | `keys`, `engine` | the server's key; ballots; all of it behind the trait that engines share |
//! | `aggregation` | the server's work on a batch: sum, differences, signs, wins, flooding |
//! | `sign`, `comparison`, `circuit` | the sign as a polynomial, in few products, with noise bounds |
//! | `wins` | who won, who sees what, and the proof that nothing else shows |

mod aggregation;
mod circuit;
mod comparison;
mod engine;
mod error;
mod keys;
mod mlwe;
mod pairing;
pub mod plan;
mod sign;
mod sizes;
pub mod tiny;
mod wins;

pub use engine::ArgmaxEngine;
pub use error::ArgmaxError;
pub use keys::ArgmaxEvaluationKey;
#[cfg(test)]
pub(crate) use plan::Rings;
pub use plan::{ArgmaxPlan, ArgmaxPlanError, BallotKind};

#[cfg(test)]
pub(crate) mod tests;
