//! Keys, ballots and releases as bytes, in the frame of [`shield::framing`].
//!
//! Residues are packed without gaps. Every kind has exactly one length under a plan, and every
//! residue is checked against its prime.

mod audit;
mod objects;

pub use shield::framing::{DecodeError, HEADER, Header, Holder, Kind, VERSION};
