//! SHIELD with one vote in one ciphertext, on the `tfhe` crate: an answer for a single sample,
//! without batching.
//!
//! ```
//! use shield_core::labelling::{BallotRandomness, label};
//! use shield_core::{Classes, Election, Seed, Setting, Watch, synthetic};
//! use shield_tfhe::leveled::LeveledEngine;
//!
//! let (votes, _) = synthetic::votes(4, Classes::new(2)?, 1, 1)?;
//! let setting = Setting { polynomial: "X^2+X".parse()?, ..Setting::default() };
//! let election = Election::new(4, votes.classes(), 1, setting)?;
//! let engine = LeveledEngine::new(election)?;
//! let seed = Seed::random(&mut rand::rngs::StdRng::from_os_rng());
//! let labelled = label(&engine, &votes, &seed, BallotRandomness::Fresh, &Watch::default())?;
//! # use rand::SeedableRng;
//! # assert!(labelled.labels[0].is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The paper's second implementation (section "Bitwise SHIELD with Cingulata") has its counterpart
//! in [`leveled`], which never bootstraps and answers in milliseconds. What `bench` compares it
//! with is in [`baseline`]: the paper's circuit, one bootstrapping per gate, and SPEED's noisy
//! argmax, one per table lookup.

pub mod baseline;
pub mod leveled;
mod transform;
