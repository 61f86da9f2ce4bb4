//! The `shield` program: see the library of this crate.

use std::process::ExitCode;

fn main() -> ExitCode {
    shield_cli::run(std::env::args_os())
}
