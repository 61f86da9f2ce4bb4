//! Ballots that Python keeps: anything that lists names and reads ranges, such as fsspec.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use shield_protocol::job::{ByteRange, LocalFiles, Storage};

/// Bytes that are fetched at a time when a ballot is read from end to end.
const CHUNK: usize = 4 << 20;

/// A Python object with `list(folder)`, `ranges([(path, start, length)])` and
/// `write_new(path, bytes)`.
pub(crate) struct PythonStorage {
    store: Py<PyAny>,
}

/// This machine's files, or a store of Python's.
pub(crate) fn storage(store: Option<Py<PyAny>>) -> Arc<dyn Storage> {
    match store {
        None => Arc::new(LocalFiles),
        Some(store) => Arc::new(PythonStorage { store }),
    }
}

fn failed(error: PyErr) -> io::Error {
    Python::attach(|py| {
        if error.is_instance_of::<pyo3::exceptions::PyFileNotFoundError>(py) {
            return io::ErrorKind::NotFound.into();
        }
        if error.is_instance_of::<pyo3::exceptions::PyFileExistsError>(py) {
            return io::ErrorKind::AlreadyExists.into();
        }
        io::Error::other(error.to_string())
    })
}

impl PythonStorage {
    fn read(&self, wanted: Vec<(String, u64, usize)>) -> io::Result<Vec<PyBackedBytes>> {
        Python::attach(|py| {
            let found = self.store.bind(py).call_method1("ranges", (wanted,))?;
            found.extract::<Vec<PyBackedBytes>>()
        })
        .map_err(failed)
    }
}

fn text(path: &Path) -> io::Result<String> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidFilename, "its name is not UTF-8"))
}

impl Storage for PythonStorage {
    fn address(&self, folder: &Path) -> io::Result<String> {
        text(folder)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let folder = text(folder)?;
        Python::attach(|py| {
            let found = self.store.bind(py).call_method1("list", (folder,))?;
            found.extract::<Vec<PathBuf>>()
        })
        .map_err(failed)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Read + '_>> {
        let mut reader = Chunks { storage: self, path: text(path)?, place: 0, chunk: Vec::new() };
        // A file that is not there says so now.
        reader.fetch()?;
        Ok(Box::new(reader))
    }

    fn ranges(&self, wanted: &[ByteRange]) -> io::Result<Vec<Vec<u8>>> {
        let ask = |range: &ByteRange| Ok((text(&range.path)?, range.start, range.length));
        let asked = wanted.iter().map(ask).collect::<io::Result<Vec<_>>>()?;
        Ok(self.read(asked)?.iter().map(|bytes| bytes.to_vec()).collect())
    }

    fn write_new(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let path = text(path)?;
        Python::attach(|py| {
            let content = PyBytes::new(py, content);
            self.store.bind(py).call_method1("write_new", (path, content)).map(drop)
        })
        .map_err(failed)
    }

    fn read_ahead(&self) -> usize {
        32
    }
}

/// A file, chunk by chunk.
struct Chunks<'a> {
    storage: &'a PythonStorage,
    path: String,
    /// Where the next chunk begins.
    place: u64,
    /// What was fetched and not read yet.
    chunk: Vec<u8>,
}

impl Chunks<'_> {
    fn fetch(&mut self) -> io::Result<()> {
        let fetched = self.storage.read(vec![(self.path.clone(), self.place, CHUNK)])?;
        self.chunk = fetched.first().map_or(Vec::new(), |bytes| bytes.to_vec());
        self.place += self.chunk.len() as u64;
        Ok(())
    }
}

impl Read for Chunks<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        // A chunk that came back short was the last.
        if self.chunk.is_empty() && self.place.is_multiple_of(CHUNK as u64) {
            self.fetch()?;
        }
        let count = to.len().min(self.chunk.len());
        to[..count].copy_from_slice(&self.chunk[..count]);
        self.chunk.drain(..count);
        Ok(count)
    }
}
