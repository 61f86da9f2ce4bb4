//! Files that parties send each other: read within bounds, and written whole or not at all.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::bundle::{BundleError, BundleWriter, Content};
use crate::election_file::{self, ElectionFile, PlannedElection};
use crate::error::{Problem, ProtocolError, Refused};
use crate::new_file::{Readers, Unnamed, folder_of};

/// Reads an election file, and the list of samples beside it if it names one.
pub fn read_election(path: &Path) -> Result<PlannedElection, ProtocolError> {
    let refuse = |problem| Refused { path: path.to_owned(), problem };
    let bytes = read_bounded(path, election_file::MAX_BYTES).map_err(refuse)?;
    let text = String::from_utf8(bytes).map_err(|_| refuse(Problem::NotText))?;
    let read = ElectionFile::parse_in(&text, folder_of(path));
    Ok(read.map_err(|error| refuse(error.into()))?.plan())
}

/// A file's bytes, and at most one more than `limit`: enough for a decoder to see that there are
/// too many.
pub(crate) fn read_bounded(path: &Path, limit: usize) -> Result<Vec<u8>, Problem> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(Problem::Folder);
    }
    // Room for all at once: a vector that grows leaves copies behind, and some of these files are
    // secret.
    let room = usize::try_from(metadata.len()).unwrap_or(usize::MAX).min(limit) + 1;
    let mut bytes = Vec::with_capacity(room);
    file.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A small TOML document.
pub(crate) fn read_toml<T: DeserializeOwned>(path: &Path, limit: usize) -> Result<T, Refused> {
    let bytes = read_bounded(path, limit).map_err(|problem| Refused::new(path, problem))?;
    let text = String::from_utf8(bytes).ok();
    let read = text.and_then(|text| toml::from_str(&text).ok());
    read.ok_or_else(|| Refused::new(path, Problem::Damaged))
}

/// Writes a file, unless it is there with the very same bytes. Other bytes stay, and are a problem.
pub(crate) fn write_or_find(
    path: &Path,
    readers: Readers,
    bytes: &[u8],
    other: Problem,
) -> Result<(), ProtocolError> {
    let written = Unnamed::write(path, readers, bytes);
    match written.and_then(|file| file.name_or_find(path)) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(Refused::new(path, other).into())
        }
        named => named.map_err(|error| ProtocolError::cannot_write(path, error)),
    }
}

/// Refuses a file to be written into a folder that is not there, before any work is done.
pub(crate) fn check_folder_of(path: &Path) -> Result<(), ProtocolError> {
    let folder = folder_of(path);
    if folder.is_dir() {
        return Ok(());
    }
    let problem = Problem::NoFolder { folder: folder.to_owned() };
    Err(Refused { path: path.to_owned(), problem }.into())
}

/// How many parts there are, as bundles count them.
pub(crate) fn parts(batches: usize) -> u32 {
    u32::try_from(batches).expect("an election has at most 100,000,000 samples")
}

/// What becomes of a file that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    /// It makes room.
    Replaced,
    /// It stays, and is as good if it has the very same bytes.
    Compared,
    /// It stays, and nothing is written.
    Refused,
}

/// Writes a bundle part by part, whole or not at all.
pub(crate) fn write_bundle(
    path: &Path,
    content: Content,
    existing: Existing,
    file: &ElectionFile,
    count: usize,
    mut part: impl FnMut(usize) -> Result<Vec<u8>, ProtocolError>,
) -> Result<(), ProtocolError> {
    let system = |error| match error {
        BundleError::Io(error) => error,
        other => io::Error::other(other),
    };
    let mut failure = None;
    let mut fill = |to: &mut dyn Write| {
        let mut writer =
            BundleWriter::new(to, content, &file.digest(), parts(count)).map_err(system)?;
        for place in 0..count {
            match part(place) {
                Ok(bytes) => writer.part(&bytes).map_err(system)?,
                Err(error) => {
                    failure = Some(error);
                    return Err(io::Error::other("a part could not be made"));
                }
            }
        }
        Ok(())
    };
    let mut unnamed = || {
        Unnamed::fill(path, Readers::Everyone, |file| {
            let mut to = BufWriter::new(file);
            fill(&mut to)?;
            to.flush()
        })
    };
    let written = match existing {
        Existing::Compared => unnamed().and_then(|file| file.name_or_find(path)),
        Existing::Refused => unnamed().and_then(|file| file.name(path)),
        Existing::Replaced => shield_data::write_atomically(path, |to| fill(to)),
    };
    match (failure, written) {
        (Some(error), _) => Err(error),
        // Somebody was faster, or something else is there.
        (None, Err(error)) if error.kind() == io::ErrorKind::AlreadyExists => {
            let problem = match content {
                Content::Ballot { .. } => Problem::BallotExists,
                Content::Results | Content::Audit => Problem::OtherResults,
            };
            Err(Refused { path: path.to_owned(), problem }.into())
        }
        (None, written) => {
            written.map_err(|source| ProtocolError::Write { path: path.to_owned(), source })
        }
    }
}
