//! Bootstrapped SHIELD: a class id in one or two numbers, a bootstrapping a comparison.
//!
//! For elections where uploads count most: a ballot takes 8 kB and 4 to 8 bytes per vote, where
//! [`crate::leveled`] takes kilobytes, and the server pays for it with about a second per sample.
//!
//! | module | subject |
//! |---|---|
//! | `parameters`, [`plan`] | ring, noise, digits, margins, and how sure a label is |
//! | `keys`, `ballot` | what the student makes, what a teacher sends, what the student gets |
//! | `torus`, `lookup` | encryptions of one number: linear combinations and table lookups |
//! | `circuit` | draws to label, in two ways |
//! | [`flooding`] | that the release shows the label alone |
//! | [`codec`] | everything as bytes |
//! | `backend` | all of it behind the trait that the engines share |

pub(crate) mod backend;
mod ballot;
mod circuit;
pub mod codec;
pub mod error;
pub mod flooding;
pub(crate) mod keys;
pub(crate) mod lookup;
pub(crate) mod parameters;
pub mod plan;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod torus;

pub use backend::BootstrappedBackend;
pub use ballot::{BootstrappedBallot, BootstrappedRelease};
pub use error::BootstrappedError;
pub use keys::{EvaluationKey, PublicKey, SecretKey};
pub use plan::{Circuit, Plan};
