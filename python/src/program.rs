//! The `shield` program, for the command that the package installs.

use std::ffi::OsString;
use std::process::{ExitCode, Termination};

use pyo3::prelude::*;

/// Runs the program; gives its exit code.
#[pyfunction]
pub(crate) fn program(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| {
        let code = shield_cli::run(arguments);
        // Exit codes cannot be read, only compared.
        (0..=u8::MAX).find(|&known| ExitCode::from(known).report() == code).unwrap_or(1)
    })
}
