//! The native part of the Python package `shield_pate`.
//!
//! | module | subject |
//! |---|---|
//! | `errors` | what is refused, as Python exceptions with the same advice |
//! | `calls` | long work: without the GIL, on threads of this process, ended by Ctrl-C |
//! | `arrays` | votes and labels from and to NumPy |
//! | `analysis` | bound, analyze, tune, compare, recommend |
//! | `labelling` | every role in one process |
//! | `election`, `keys` | one election between parties: its file, its keys, its roles |
//! | `job`, `store` | one aggregation that others compute, with ballots in folders or elsewhere |
//! | `client` | the same over a network |
//!
//! Figures leave as dictionaries with the keys of the documents that the program prints; the Python
//! side turns them into objects. Nothing here is public: `shield_pate` is.

#![allow(clippy::needless_pass_by_value, reason = "PyO3 hands arguments over by value")]
#![allow(clippy::too_many_arguments, reason = "they are keyword arguments in Python")]

mod analysis;
mod arrays;
mod calls;
mod client;
mod election;
mod errors;
mod job;
mod keys;
mod labelling;
mod store;

use pyo3::prelude::*;

#[pymodule]
fn _native(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = m.py();
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add("ShieldError", py.get_type::<errors::ShieldError>())?;
    m.add("SecondDrawError", py.get_type::<errors::SecondDrawError>())?;
    m.add("DamagedError", py.get_type::<errors::DamagedError>())?;
    m.add("ServerError", py.get_type::<errors::ServerError>())?;
    m.add_class::<election::Election>()?;
    m.add_class::<keys::SecretKey>()?;
    m.add_class::<job::Job>()?;
    m.add_class::<client::Client>()?;
    for function in [
        wrap_pyfunction!(analysis::nothing, m)?,
        wrap_pyfunction!(analysis::setting, m)?,
        wrap_pyfunction!(analysis::bound, m)?,
        wrap_pyfunction!(analysis::label_bound, m)?,
        wrap_pyfunction!(analysis::queries_within, m)?,
        wrap_pyfunction!(analysis::analyze, m)?,
        wrap_pyfunction!(analysis::tune, m)?,
        wrap_pyfunction!(analysis::compare, m)?,
        wrap_pyfunction!(analysis::recommend, m)?,
        wrap_pyfunction!(labelling::label, m)?,
        wrap_pyfunction!(labelling::synthesize, m)?,
    ] {
        m.add_function(function)?;
    }
    Ok(())
}
