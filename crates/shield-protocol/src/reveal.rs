//! What the student does: results in, labels out.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

use shield::framing::Kind;
use shield::{Label, Labels};
use zeroize::Zeroizing;

use crate::bundle::BundleReader;
use crate::election_file::ElectionFile;
use crate::engine::{Engine, RevealError};
use crate::error::{Problem, ProtocolError, Refused};
use crate::files::{parts, read_bounded};

/// Reads the labels of an election: one a sample, or none where every round failed.
pub fn reveal(
    file: &ElectionFile,
    secret_key: &Path,
    results: &Path,
) -> Result<Labels, ProtocolError> {
    let engine = file.engine();
    let refuse = |problem| Refused { path: secret_key.to_owned(), problem };
    let bytes = read_bounded(secret_key, engine.max_bytes(Kind::SecretKey)).map_err(refuse)?;
    let bytes = Zeroizing::new(bytes);
    let revealing = Arc::clone(&engine).revealing(&bytes).map_err(|error| refuse(error.into()))?;
    let refuse = |problem| Refused { path: results.to_owned(), problem };
    let labels = read_labels(results, file, &*engine, |batch, bytes| {
        revealing.reveal(batch, bytes).map_err(|error| match error {
            RevealError::Release(source) => refuse(Problem::Batch { batch, source }).into(),
            RevealError::Engine(error) => error.into(),
        })
    })?;
    Ok(Labels::new(labels).expect("an election has at least one sample"))
}

fn read_labels(
    path: &Path,
    file: &ElectionFile,
    engine: &dyn Engine,
    decrypt: impl Fn(usize, &[u8]) -> Result<Vec<Label>, ProtocolError>,
) -> Result<Vec<Label>, ProtocolError> {
    let refuse = |problem| Refused { path: path.to_owned(), problem };
    let from = File::open(path).map_err(|error| refuse(error.into()))?;
    if from.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(refuse(Problem::Folder).into());
    }
    let parts = parts(engine.batches());
    let mut reader = BundleReader::results(BufReader::new(from), &file.digest(), parts)
        .map_err(|error| refuse(error.into()))?;
    let mut labels = Vec::with_capacity(file.election().samples());
    for batch in 0.. {
        let limit = engine.max_bytes(Kind::Release);
        let part = reader.part(limit).map_err(|error| refuse(error.into()))?;
        let Some(part) = part else { break };
        labels.extend(decrypt(batch, &part)?);
    }
    Ok(labels)
}
