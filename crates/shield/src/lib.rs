//! SHIELD: a randomised argmax over one-hot votes whose randomness is its differential privacy.
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
//! | [`privacy`] | what the output costs: four accountings, one of them proven for all votes |
//! | [`tune`] | which polynomial and offset to take |
//! | [`voting_rule`] | the operator as a voting rule: fairness, insincerity, coalitions |
//! | [`election`], [`backend`] | one run of SPEED, and the trait that every engine implements |
//! | [`polya`] | noise in shares, for the noisy argmax that SHIELD is compared with |
//! | [`framing`] | keys, ballots and releases as bytes: the frame that the engines share |
//! | [`synthetic`] | made-up votes with the profile of the paper's, for examples and tests |

pub mod accuracy;
pub mod backend;
pub mod distribution;
pub mod draws;
pub mod election;
pub mod files;
pub mod framing;
pub mod histogram;

pub mod operator;
pub mod parameters;
pub mod polya;
pub mod polynomial;
pub mod privacy;
pub mod seed;
pub mod setting;
pub mod synthetic;
pub mod tune;
pub mod votes;
pub mod voting_rule;

pub use accuracy::Accuracy;
pub use distribution::OutputDistribution;
pub use draws::{Drawn, Draws, Urn};
pub use election::Election;
pub use histogram::Histogram;
pub use parameters::{
    Class, Classes, Delta, Epsilon, Offset, ParameterError, Queries, Sampling, Voters,
};
pub use polynomial::{Polynomial, PolynomialError, Term};
pub use seed::Seed;
pub use setting::Setting;
pub use votes::{Label, Labels, Vote, Votes, VotesError};
