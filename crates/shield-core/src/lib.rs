//! Votes, elections and SHIELD's operator: a randomised argmax over one-hot votes whose randomness
//! is its differential privacy.
//!
//! Votes in, labels out:
//!
//! ```
//! use shield_core::engine::ClearEngine;
//! use shield_core::labelling::{BallotRandomness, label};
//! use shield_core::{Classes, Election, Seed, Setting, Watch, synthetic};
//!
//! let (votes, truth) = synthetic::votes(250, Classes::new(10)?, 20, 1)?;
//! let setting = Setting::default(); // 8X^4+6X^3+4X^2+X with an offset of 5
//! let election = Election::new(250, votes.classes(), 20, setting)?;
//! let seed = Seed::random(&mut rand::rngs::StdRng::from_os_rng());
//! let engine = ClearEngine::new(election);
//! let labelled = label(&engine, &votes, &seed, BallotRandomness::Fresh, &Watch::default())?;
//! println!("{:?}", labelled.labels);
//! # use rand::SeedableRng;
//! # assert_eq!(labelled.labels.len(), truth.as_slice().len());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! With `shield_bfv::BfvEngine` in place of the clear engine the votes stay encrypted, and
//! `shield_privacy::Mechanism` says what the labels cost.
//!
//! This crate holds what every other one needs: no cryptography, no files, no accounting. Data
//! flows one way, and the modules follow it:
//!
//! | module | subject |
//! |---|---|
//! | [`polynomial`], [`parameters`], [`setting`] | what the operator is told: rounds, offset, sampling rule |
//! | [`votes`], [`histogram`] | what the teachers said |
//! | [`seed`], [`draws`] | whom the server draws |
//! | [`operator`] | the operator in the clear: the reference for every encrypted engine |
//! | [`distribution`], [`accuracy`] | the exact law of the output, and how good it is |
//! | [`election`], [`engine`] | one run of SPEED, and the trait that every engine implements |
//! | [`shared_noise`] | noise in shares, for SPEED's noisy argmax |
//! | [`presence`], [`framing`] | on which samples a teacher voted; keys, ballots and releases as bytes |
//! | [`labelling`] | all roles in one process: votes in, labels out |
//! | [`watch`] | progress of long work, and whether to stop it |
//! | [`synthetic`] | made-up votes with the profile of the paper's, for examples and tests |

pub mod accuracy;
pub mod distribution;
pub mod draws;
pub mod election;
pub mod engine;
pub mod framing;
pub mod histogram;
pub mod labelling;
pub mod operator;
pub mod parameters;
pub mod polynomial;
pub mod presence;
pub mod seed;
pub mod setting;
pub mod shared_noise;
pub mod synthetic;
pub mod votes;
pub mod watch;

pub use accuracy::Accuracy;
pub use distribution::OutputDistribution;
pub use draws::{Drawn, Draws, Urn};
pub use election::Election;
pub use histogram::Histogram;
pub use parameters::{
    Class, Classes, Delta, Epsilon, Noise, Offset, ParameterError, Queries, Sampling, Voters,
};
pub use polynomial::{Polynomial, PolynomialError, Term};
pub use seed::Seed;
pub use setting::Setting;
pub use votes::{ClassNames, Histograms, Label, Labels, Vote, Votes, VotesError};
pub use watch::{Progress, Watch};
