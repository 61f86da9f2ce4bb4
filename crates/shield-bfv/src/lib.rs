//! The BFV engine of SHIELD: votes stay encrypted, many samples share a ciphertext.
//!
//! Who does what, role by role; in real life each line runs on another machine:
//!
//! ```
//! use rand::{SeedableRng, rngs::StdRng};
//! use shield_core::engine::{Engine, MemoryBallotBox};
//! use shield_core::{Class, Classes, Election, Seed, Setting};
//! use shield_bfv::BfvEngine;
//!
//! let mut rng = StdRng::from_os_rng();
//! // Everybody: three teachers, two classes, one sample.
//! let election = Election::new(3, Classes::new(2)?, 1, Setting::default())?;
//! let engine = BfvEngine::new(election)?;
//! // The student makes keys; each teacher encrypts its vote.
//! let keys = engine.generate_keys(&mut rng)?;
//! let mut ballots = Vec::new();
//! for vote in [Class(1), Class(1), Class(0)] {
//!     ballots.push(Some(engine.encrypt(&keys.public, 0, &[Some(vote)], &mut rng)?));
//! }
//! // The server draws and aggregates without reading a vote; the student reads the label.
//! let seed = Seed::random(&mut rng);
//! let ballots = MemoryBallotBox::new(1, ballots);
//! let release = engine.aggregate(&keys.evaluation, 0, &ballots, &seed)?;
//! let labels = engine.decrypt(&keys.secret, 0, &release)?;
//! # assert!(labels[0].is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Data flows one way, and the modules follow it:
//!
//! | module | subject |
//! |---|---|
//! | [`plan`], [`security`], [`noise`], [`layout`] | what is decided before any key is made: ring, noise bound, slots |
//! | [`keys`], [`ballot`] | what the student makes, and what a teacher sends |
//! | `proof` | the proof that a ballot is short and that its maker knows it |
//! | `aggregation` | the server's work on a batch: the stages below in order |
//! | `validity` | whether the ballots are votes; where they are not, the sample is junk |
//! | `tally`, [`unanimity`], [`reveal`], [`flooding`] | who was drawn, whether they agree, who sees what, and that nothing else shows |
//! | `alarms`, `audit` | what shows that a ballot was no vote, and whose it was |
//! | [`release`] | what the student reads |
//! | `bytes` | polynomials, ciphertexts and keys as bytes, for all engines of this crate |
//! | [`engine`] | all of it behind the trait that the engines share |
//! | [`trustees`], [`quorum`] | a key that trustees hold together, how many of them open, and what that costs |
//! | `shard` | the same release when teachers' ballots are read by several machines |
//! | [`argmax`] | SPEED's noisy argmax of the same votes, in batches: private against the server, too |
//! | [`advice`] | which mechanism and setting to take, by accounting and plans together |
//! | `forgery` | ballots that are no votes, for tests (feature `forgery`) |
//! | `baseline` | the paper's circuit, for benchmarks (feature `published`) |
//! | `scheme`, `ring` | the encryption scheme, and the arithmetic it stands on |
//!
//! The paper's circuit (section "FHE implementation") multiplies a ciphertext per teacher and needs
//! depth 13; this one has depth log2 of the largest degree. Where and why it departs is said in
//! each module.

pub mod advice;
mod aggregation;
mod alarms;
pub mod argmax;
mod audit;
pub mod ballot;
#[cfg(feature = "published")]
pub mod baseline;
mod bytes;
pub mod engine;
pub mod error;
pub mod flooding;
#[cfg(any(test, feature = "forgery"))]
pub mod forgery;
pub mod keys;
pub mod layout;
pub mod noise;
pub mod plan;
mod proof;
pub mod quorum;
pub mod release;
pub mod reveal;
mod ring;
mod scheme;
pub mod security;
mod shard;
mod tally;
pub mod trustees;
pub mod unanimity;
mod validity;

pub use ballot::BfvBallot;
pub use engine::BfvEngine;
pub use error::BfvError;
pub use keys::{EvaluationKey, KeyId, PublicKey, SecretKey};
pub use layout::Coding;
pub use plan::{Calibration, Plan, PlanError, Work};
pub use release::Release;
pub use validity::BallotCheck;

#[cfg(test)]
mod tests;
