//! What the student does: results in, labels out.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use shield::backend::{Backend, BackendBytes};
use shield::{Label, Labels};
use zeroize::Zeroizing;

use super::{FileProtocolError, Problem, Refused, parts, read_bounded};
use crate::bundle::BundleReader;
use crate::election_file::ElectionFile;

/// Reads the labels of an election: one a sample, or none where every round failed.
pub fn reveal(
    file: &ElectionFile,
    secret_key: &Path,
    results: &Path,
) -> Result<Labels, FileProtocolError> {
    let backend = file.backend();
    let refuse = |problem| Refused { path: secret_key.to_owned(), problem };
    // The secret key is the smallest of the three: the next smallest is a bound.
    let bytes = read_bounded(secret_key, backend.plan().public_key_bytes()).map_err(refuse)?;
    let bytes = Zeroizing::new(bytes);
    let key = backend.decode_secret_key(&bytes).map_err(|error| refuse(error.into()))?;
    let refuse = |problem| Refused { path: results.to_owned(), problem };
    let labels = read_labels(results, file, &backend, |batch, bytes| {
        let release = backend
            .decode_release(bytes, batch, key.id())
            .map_err(|source| refuse(Problem::Batch { batch, source }))?;
        Ok(backend.decrypt(&key, batch, &release)?)
    })?;
    Ok(Labels::new(labels).expect("an election has at least one sample"))
}

fn read_labels(
    path: &Path,
    file: &ElectionFile,
    backend: &shield_bfv::BfvBackend,
    decrypt: impl Fn(usize, &[u8]) -> Result<Vec<Label>, FileProtocolError>,
) -> Result<Vec<Label>, FileProtocolError> {
    let refuse = |problem| Refused { path: path.to_owned(), problem };
    let from = File::open(path).map_err(|error| refuse(error.into()))?;
    if from.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(refuse(Problem::Folder).into());
    }
    let parts = parts(backend.batches());
    let mut reader = BundleReader::results(BufReader::new(from), &file.digest(), parts)
        .map_err(|error| refuse(error.into()))?;
    let mut labels = Vec::with_capacity(file.election().samples());
    for batch in 0.. {
        let limit = backend.plan().result_bytes();
        let part = reader.part(limit).map_err(|error| refuse(error.into()))?;
        let Some(part) = part else { break };
        labels.extend(decrypt(batch, &part)?);
    }
    Ok(labels)
}

/// Whether somebody besides the owner may read a file, as far as its mode tells.
pub fn is_read_by_others(path: &Path) -> io::Result<bool> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        Ok(path.metadata()?.permissions().mode() & 0o077 != 0)
    }
    #[cfg(not(unix))]
    {
        path.metadata().map(|_| false)
    }
}
