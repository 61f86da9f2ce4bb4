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
//! | [`mechanism`] | SHIELD and what it is compared with: law, accuracy and cost in one type |
//! | [`privacy`] | what the output costs: four accountings, one of them proven for all votes |
//! | [`tune`] | which polynomial and offset to take |
//! | [`voting_rule`] | the operator as a voting rule: fairness, insincerity, coalitions |
//! | [`election`], [`backend`] | one run of SPEED, and the trait that every engine implements |
//! | [`polya`], [`skellam`], [`shares`] | noise in shares, for SPEED's noisy argmax: Laplace, Skellam, and how shares are drawn |
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
pub mod polya;
pub mod polynomial;
pub mod presence;
pub mod privacy;
pub mod seed;
pub mod setting;
pub mod shares;
pub mod skellam;
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
    Class, Classes, Delta, Epsilon, Offset, ParameterError, Queries, Sampling, Voters,
};
pub use polynomial::{Polynomial, PolynomialError, Term};
pub use seed::Seed;
pub use setting::Setting;
pub use votes::{ClassNames, Histograms, Label, Labels, Vote, Votes, VotesError};
