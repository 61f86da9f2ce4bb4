//! The program as its users run it: one binary, one module per subject.
//!
//! A new test goes into the module whose subject it is; what several modules need goes into
//! [`common`] (running the program) or `parties` (a server and its clients).

#[cfg(feature = "learn")]
mod experiment;

mod bfv;
mod clients;
mod common;
mod counts;
mod data;
mod deploy;
mod files;
mod house;
mod job;
#[cfg(not(all(feature = "arrow", feature = "learn", feature = "tfhe")))]
mod left_out;
mod modules;
mod pages;
mod privacy;
mod program;
mod roles;
mod serve;
mod service;
#[cfg(feature = "tfhe")]
mod tfhe;
#[cfg(feature = "forgery")]
mod trust;
mod tutorial;
mod upkeep;

#[path = "../../../shield-server/tests/server/harness.rs"]
mod parties;
