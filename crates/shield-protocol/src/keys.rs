//! The student's keys as three files, made together.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rand::CryptoRng;
use shield_core::framing::KeyId;

use crate::election_file::PlannedElection;
use crate::error::ProtocolError;
use crate::new_file::{Readers, Unnamed};

/// Where the keys of an election are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyFiles {
    /// For the student alone.
    pub secret: PathBuf,
    /// For every teacher.
    pub public: PathBuf,
    /// For the server.
    pub evaluation: PathBuf,
}

impl KeyFiles {
    /// A secret key, and the names that the other two have beside it.
    pub fn beside(secret: &Path) -> Self {
        let folder = Self::in_folder(secret.parent().unwrap_or(Path::new("")));
        Self { secret: secret.to_owned(), ..folder }
    }

    /// The names that keys have in a folder.
    pub fn in_folder(folder: &Path) -> Self {
        let file = |name| folder.join(name);
        Self {
            secret: file("secret.key"),
            public: file("public.key"),
            evaluation: file("evaluation.key"),
        }
    }
}

/// Keys that were made.
#[derive(Clone, Debug)]
pub struct MadeKeys {
    /// Where they are.
    pub files: KeyFiles,
    /// The name of the set.
    pub id: KeyId,
}

/// Makes the student's keys in a folder: all three, or none if one of them is there already.
pub fn make_keys<R: CryptoRng>(
    file: &PlannedElection,
    folder: &Path,
    rng: &mut R,
) -> Result<MadeKeys, ProtocolError> {
    let files = KeyFiles::in_folder(folder);
    let all = [&files.secret, &files.evaluation, &files.public];
    // Not `exists`: a link to nowhere is in the way, too.
    let taken = all.into_iter().filter(|path| path.symlink_metadata().is_ok());
    let taken: Vec<PathBuf> = taken.cloned().collect();
    if !taken.is_empty() {
        return Err(ProtocolError::KeysExist { paths: taken });
    }
    let cannot = |path: &Path, source| ProtocolError::Write { path: path.to_owned(), source };
    fs::create_dir_all(folder).map_err(|error| cannot(folder, error))?;
    let keys = file.engine().make_keys(rng)?;
    let write = |path: &Path, readers, content: &[u8]| {
        Unnamed::write(path, readers, content).map_err(|error| cannot(path, error))
    };
    // All are on the disk before any has a name. The public key gets its name last: whoever finds
    // one may rely on the other two.
    let unnamed = [
        write(&files.secret, Readers::Owner, &keys.secret)?,
        write(&files.evaluation, Readers::Everyone, &keys.evaluation)?,
        write(&files.public, Readers::Everyone, &keys.public)?,
    ];
    for (place, (key, path)) in unnamed.into_iter().zip(all).enumerate() {
        if let Err(error) = key.name(path) {
            for named in &all[..place] {
                let _ = fs::remove_file(named);
            }
            return Err(match error.kind() {
                io::ErrorKind::AlreadyExists => {
                    ProtocolError::KeysExist { paths: vec![path.clone()] }
                }
                _ => cannot(path, error),
            });
        }
    }
    Ok(MadeKeys { id: keys.id, files })
}
