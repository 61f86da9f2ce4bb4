//! SHIELD: a randomised argmax over one-hot votes whose randomness is its differential privacy.
//!
//! Votes in, labels and their price out:
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use shield::backend::ClearBackend;
//! use shield::labelling::{BallotRandomness, label};
//! use shield::privacy::Usage;
//! use shield::{Classes, Election, Histogram, Mechanism, Queries, Seed, Setting, synthetic};
//!
//! let (votes, truth) = synthetic::votes(250, Classes::new(10)?, 20, 1)?;
//! let setting = Setting::default(); // 8X^4+6X^3+4X^2+X with an offset of 5
//! let election = Election::new(250, votes.classes(), 20, setting.clone())?;
//! let seed = Seed::random(&mut rand::rngs::StdRng::from_os_rng());
//! let go_on = |_| ControlFlow::Continue(());
//! let engine = ClearBackend::new(election);
//! let labelled = label(&engine, &votes, &seed, BallotRandomness::Fresh, &go_on)?;
//!
//! let histograms: Vec<Histogram> = votes.histograms().collect();
//! let usage = Usage { queries: Queries::new(20)?, delta: Default::default() };
//! let price = Mechanism::Shield(setting).proven_for(&histograms, usage);
//! println!("{:?} for epsilon {:.3}", labelled.labels, price.epsilon());
//! # use rand::SeedableRng;
//! # assert_eq!(labelled.labels.len(), truth.as_slice().len());
//! # assert!(price.epsilon().get() < 1.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! With `shield_bfv::BfvBackend` in place of the clear engine the votes stay encrypted.
//!
//! This crate holds everything that needs no cryptography. Data flows one way, and the modules
//! follow it:
//!
//! | module | subject |
//! |---|---|
//! | [`polynomial`], [`parameters`], [`setting`] | what the operator is told: rounds, offset, sampling rule |
//! | [`votes`], [`histogram`], [`files`] | what the teachers said, and how it is read and written |
//! | [`seed`], [`draws`] | whom the server draws |
//! | [`operator`] | the operator in the clear: the reference for every encrypted backend |
//! | [`distribution`], [`accuracy`] | the exact law of the output, and how good it is |
//! | [`mechanism`] | SHIELD and what it is compared with: law, accuracy and cost in one type |
//! | [`privacy`] | what the output costs: four accountings, one of them proven for all votes |
//! | [`tune`] | which polynomial and offset to take |
//! | [`voting_rule`] | the operator as a voting rule: fairness, insincerity, coalitions |
//! | [`election`], [`backend`] | one run of SPEED, and the trait that every engine implements |
//! | [`shared_noise`] | noise in shares, for SPEED's noisy argmax |
//! | [`presence`], [`framing`] | on which samples a teacher voted; keys, ballots and releases as bytes |
//! | [`labelling`] | all roles in one process: votes in, labels out |
//! | [`synthetic`] | made-up votes with the profile of the paper's, for examples and tests |

pub mod accuracy;
pub mod backend;
pub mod distribution;
pub mod draws;
pub mod election;
pub mod files;
pub mod framing;
pub mod histogram;
pub mod labelling;
pub mod mechanism;
pub mod operator;
pub mod parameters;
pub mod polynomial;
pub mod presence;
pub mod privacy;
pub mod seed;
pub mod setting;
pub mod shared_noise;
pub mod synthetic;
pub mod tune;
pub mod votes;
pub mod voting_rule;

pub use accuracy::Accuracy;
pub use distribution::OutputDistribution;
pub use draws::{Drawn, Draws, Urn};
pub use election::Election;
pub use histogram::Histogram;
pub use mechanism::Mechanism;
pub use parameters::{
    Class, Classes, Delta, Epsilon, Noise, Offset, ParameterError, Queries, Sampling, Voters,
};
pub use polynomial::{Polynomial, PolynomialError, Term};
pub use seed::Seed;
pub use setting::Setting;
pub use votes::{ClassNames, Histograms, Label, Labels, Vote, Votes, VotesError};
