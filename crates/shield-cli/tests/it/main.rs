//! The program as its users run it: one binary, one module per subject.
//!
//! A new test goes into the module whose subject it is; what several modules need goes into
//! [`common`] (running the program) or `parties` (a server and its clients).

#[cfg(feature = "learn")]
mod experiment;

mod bfv;
mod clients;
mod common;
mod data;
mod files;
mod house;
mod job;
mod modules;
mod pages;
mod privacy;
mod program;
mod roles;
mod serve;
mod service;
mod tfhe;
mod trust;
mod tutorial;

#[path = "../../../shield-server/tests/server/harness.rs"]
mod parties;
