//! The `shield` program: a thin layer of commands over the libraries.
//!
//! Data goes to stdout, messages and progress to stderr. Exit code 0 is fine, 1 failed, 2 wrong
//! usage or bad input.

mod commands;
mod console;
mod failure;
mod inputs;
mod plot;
mod plot_page;

use std::process::ExitCode;

fn main() -> ExitCode {
    match commands::run(commands::Cli::read()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
