//! The integration tests of the crate, in one program: a new one is a module here.

mod independent_draws;
mod output_law;
mod voting_rule;
