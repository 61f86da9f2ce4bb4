//! The student's secret key: no bytes of it ever reach Python.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::{PyFileExistsError, PyOSError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyType;
use shield_core::framing::{KeyId, Kind};
use shield_protocol::private;
use zeroize::Zeroizing;

use crate::election::Election;
use crate::errors::{damaged, refuse};

/// The student's secret key. It cannot be pickled or looked at; it is wiped from memory when the
/// last reference to it is gone.
#[pyclass(frozen, module = "shield_pate._native")]
pub(crate) struct SecretKey {
    bytes: Arc<Zeroizing<Vec<u8>>>,
    election: [u8; 32],
    id: KeyId,
}

impl SecretKey {
    pub(crate) fn new(bytes: Zeroizing<Vec<u8>>, election: [u8; 32], id: KeyId) -> Self {
        Self { bytes: Arc::new(bytes), election, id }
    }

    pub(crate) fn shared(&self) -> Arc<Zeroizing<Vec<u8>>> {
        Arc::clone(&self.bytes)
    }

    /// Refuses the key of another election.
    pub(crate) fn check(&self, election: &[u8; 32]) -> PyResult<()> {
        if self.election == *election {
            return Ok(());
        }
        Err(refuse("this is the secret key of another election; take the one that was made for it"))
    }
}

#[pymethods]
impl SecretKey {
    /// Reads the key of an election from a file.
    #[classmethod]
    fn load(_class: &Bound<'_, PyType>, election: &Election, path: PathBuf) -> PyResult<Self> {
        let engine = election.file.engine();
        let limit = engine.max_bytes(Kind::SecretKey);
        let file = std::fs::File::open(&path)?;
        let mut bytes = Zeroizing::new(Vec::with_capacity(limit + 1));
        std::io::Read::read_to_end(&mut std::io::Read::take(file, limit as u64 + 1), &mut bytes)?;
        let revealing = Arc::clone(engine).revealing(&bytes);
        let revealing =
            revealing.map_err(|error| damaged(format!("{}: {error}", path.display())))?;
        Ok(Self::new(bytes, election.file.digest(), revealing.key()))
    }

    /// Writes the key to a new file that only its owner reads. Never over another file.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        private::write(&path, &self.bytes).map_err(|error| {
            let text = format!("{}: cannot be written: {error}", path.display());
            match error.kind() {
                std::io::ErrorKind::AlreadyExists => PyFileExistsError::new_err(text),
                _ => PyOSError::new_err(text),
            }
        })
    }

    /// The name of the set of keys: public.
    #[getter]
    fn key_id(&self) -> String {
        self.id.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<SecretKey {}: for the student alone>", self.id)
    }

    #[expect(clippy::unused_self, reason = "Python calls it on a key")]
    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a secret key is not pickled: it would travel unprotected; save it to a file",
        ))
    }
}
