//! The `shield-server` program: runs the server, and what needs its data folder or database.
//! Commands that talk to a server are in `shield`.

mod commands;

use std::process::ExitCode;

fn main() -> ExitCode {
    match commands::run(std::env::args_os()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
