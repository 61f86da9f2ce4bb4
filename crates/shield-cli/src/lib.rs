//! The `shield` program as a function, so that others can ship it: the Python package installs it
//! as a command.
//!
//! Data goes to stdout, messages and progress to stderr. Exit code 0 is fine, 1 failed, 2 wrong
//! usage or bad input.

mod commands;
mod inputs;
mod plot;

use std::ffi::OsString;
use std::process::ExitCode;

use shield_terminal::{console, failure};

/// Runs the program with these arguments, its own name first. Arguments that cannot be used end
/// the process with exit code 2.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    match commands::run(commands::Cli::read(arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
