//! Bootstrapped SHIELD.
pub(crate) mod backend;
mod ballot;
mod circuit;
pub mod codec;
pub mod error;
pub(crate) mod keys;
pub(crate) mod parameters;
pub mod plan;
pub mod sanitise;
#[cfg(test)]
mod tests;
pub(crate) mod torus;

pub use backend::BootstrappedBackend;
pub use ballot::{BootstrappedBallot, BootstrappedRelease};
pub use error::BootstrappedError;
pub use keys::{EvaluationKey, KeyId, PublicKey, SecretKey};
pub use plan::{Circuit, Plan};
