//! SHIELD with one vote in one ciphertext, on the `tfhe` crate: an answer for a single sample,
//! without batching.
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use shield::labelling::{BallotRandomness, label};
//! use shield::{Classes, Election, Seed, Setting, synthetic};
//! use shield_tfhe::leveled::{LeveledBackend, Upload};
//!
//! let (votes, _) = synthetic::votes(4, Classes::new(2)?, 1, 1)?;
//! let setting = Setting { polynomial: "X^2+X".parse()?, ..Setting::default() };
//! let election = Election::new(4, votes.classes(), 1, setting)?;
//! let engine = LeveledBackend::new(election, Upload::Plain)?;
//! let seed = Seed::random(&mut rand::rngs::StdRng::from_os_rng());
//! let go_on = |_| ControlFlow::Continue(());
//! let labelled = label(&engine, &votes, &seed, BallotRandomness::Fresh, &go_on)?;
//! # use rand::SeedableRng;
//! # assert!(labelled.labels[0].is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
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
