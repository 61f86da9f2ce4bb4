//! The program as its users run it: one binary, one module per subject.
//!
//! A new test goes into the module whose subject it is; what several modules need goes into
//! [`common`]. Tests that need a server are in `shield-server`.

#[cfg(feature = "learn")]
mod experiment;

mod bfv;
mod common;
mod counts;
mod data;
mod decision;
mod files;
mod house;
mod job;
#[cfg(not(all(feature = "arrow", feature = "learn", feature = "tfhe")))]
mod left_out;
mod modules;
mod pages;
mod privacy;
mod program;
mod signed;
#[cfg(feature = "tfhe")]
mod tfhe;
mod tiny;
#[cfg(feature = "forgery")]
mod trust;
