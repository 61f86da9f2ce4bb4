//! Leveled SHIELD.

pub mod backend;
pub mod ballot;
mod codec;
pub mod error;
pub mod flooding;
pub mod keys;
pub mod noise;
pub mod plan;
pub mod release;
mod ring;
mod rounds;
mod sampling;

pub use backend::LeveledBackend;
pub use ballot::LeveledBallot;
pub use error::LeveledError;
pub use keys::{EvaluationKey, PublicKey, SecretKey};
pub use plan::{Plan, PlanError};
pub use release::Release;
#[cfg(test)]
mod tests;
