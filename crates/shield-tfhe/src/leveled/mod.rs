//! Leveled SHIELD: a vote is a few encrypted bits, and a round is a chain of products by them.
//!
//! The paper's second implementation (section "Bitwise SHIELD with Cingulata") evaluates a circuit
//! of gates, each a bootstrap: seconds per sample. Here nothing is ever bootstrapped. A bit is a
//! GGSW ciphertext, which multiplies a GLWE ciphertext and only adds noise; the label of a sample
//! comes out in milliseconds.
//!
//! | module | subject |
//! |---|---|
//! | [`plan`], [`noise`] | what is decided before any key is made: how finely ciphertexts cut, and what noise that leaves |
//! | [`keys`], [`ballot`] | what the student makes, and what a teacher sends |
//! | `rounds` | unanimity and first success, as products |
//! | [`flooding`], [`release`] | that nothing but the label shows, and what the student reads |
//! | [`engine`] | all of it behind the contract that the engines share, and as bytes |
//! | `ring`, `sampling`, `zero_key` | polynomials and their products, random ones, encryptions of zero |
//! | `parameters` | sizes and bounds that the others share |

pub mod ballot;
pub mod engine;
pub mod error;
pub mod flooding;
pub mod keys;
pub mod noise;
mod parameters;
pub mod plan;
pub mod release;
mod ring;
mod rounds;
mod sampling;
mod zero_key;

pub use ballot::LeveledBallot;
pub use engine::LeveledEngine;
pub use error::LeveledError;
pub use keys::{EvaluationKey, PublicKey, SecretKey};
pub use plan::{Plan, PlanError};
pub use release::Release;
#[cfg(test)]
mod tests;
