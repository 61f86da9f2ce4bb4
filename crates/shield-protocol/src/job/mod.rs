//! What the server does: a folder of ballots in, results out, exactly once.

mod aggregate;
mod ballot_folder;
pub mod freeze;

#[cfg(test)]
mod tests;

pub use aggregate::{Aggregated, Progress, aggregate};
