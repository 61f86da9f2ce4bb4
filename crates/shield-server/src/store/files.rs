//! Ballots, keys and releases as files: written under a temporary name, synced, renamed.
//!
//! A file's name carries the hash of its content, so writing it twice is harmless, and a file that
//! no table speaks of (a crash came between the two) is only litter, put aside at the next start.
//! Releases alone are named after their batch: once it is closed, an election's folder is a
//! [job](shield_protocol::Job), and whoever works on that finds them there.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use shield_protocol::Name;
use shield_protocol::hex::hex;
use shield_protocol::private;

/// What a file holds, and whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Object {
    /// The teachers' key.
    PublicKey,
    /// The server's key.
    EvaluationKey,
    /// One teacher's ballot for one batch.
    Ballot {
        /// The teacher's number.
        teacher: u32,
        /// The batch.
        batch: u32,
    },
    /// What the student gets for one batch.
    Release {
        /// The batch.
        batch: u32,
    },
    /// The checks of all teachers on a batch.
    Audit {
        /// The audit, counted from 1.
        round: u32,
        /// The batch.
        batch: u32,
    },
    /// What the student gets for the samples of a batch that were aggregated again.
    Again {
        /// The audit, counted from 1.
        round: u32,
        /// The batch.
        batch: u32,
    },
}

/// The data folder.
#[derive(Clone, Debug)]
pub(super) struct Folder(PathBuf);

/// Bytes on their way in: in a temporary file, hashed as they come.
#[derive(Debug)]
pub struct Incoming {
    file: NamedTempFile,
    hasher: blake3::Hasher,
    bytes: u64,
}

impl Incoming {
    /// Appends some bytes.
    pub fn write(&mut self, chunk: &[u8]) -> io::Result<()> {
        self.hasher.update(chunk);
        self.bytes += chunk.len() as u64;
        self.file.write_all(chunk)
    }

    /// How many bytes there are.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The hash of the bytes so far.
    pub fn hash(&self) -> String {
        hex(self.hasher.finalize().as_bytes())
    }

    /// The checksum of the votes in a ballot, without its nonce; the hash of what is too short to
    /// have one.
    pub fn votes(&self) -> io::Result<String> {
        use std::io::{Read, Seek, SeekFrom};
        const END: u64 = shield_protocol::engine::NONCE as u64 + 32;
        let Some(before) = self.bytes.checked_sub(END) else { return Ok(self.hash()) };
        let mut file = File::open(self.file.path())?;
        file.seek(SeekFrom::Start(before))?;
        let mut checksum = [0; 32];
        file.read_exact(&mut checksum)?;
        Ok(hex(&checksum))
    }

    /// All of it, read back.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        fs::read(self.file.path())
    }
}

impl Folder {
    /// The folder, made if it is not there, without what earlier runs left half-written.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let folder = Self(path.to_owned());
        private::make_folder(path)?;
        let temporary = folder.temporary();
        if temporary.exists() {
            fs::remove_dir_all(&temporary)?;
        }
        private::make_folder(&temporary)?;
        Ok(folder)
    }

    fn temporary(&self) -> PathBuf {
        self.0.join("incoming")
    }

    /// A data folder that is only looked at.
    pub(super) fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// Whether anything that was drawn for an election lies here.
    pub(super) fn was_drawn(&self, election: &Name) -> io::Result<bool> {
        Ok(self.frozen_mark(election)?.is_some() || !self.drawn(election)?.is_empty())
    }

    pub(super) fn path(&self, election: &Name, object: Object, hash: &str) -> PathBuf {
        self.0.join(Self::place(election, object, hash))
    }

    /// Where a file is, relative to the data folder.
    pub(super) fn place(election: &Name, object: Object, hash: &str) -> PathBuf {
        let folder = Path::new("elections").join(election.as_str());
        match object {
            Object::PublicKey => folder.join("keys").join(format!("public-{hash}")),
            Object::EvaluationKey => folder.join("keys").join(format!("evaluation-{hash}")),
            Object::Ballot { teacher, batch } => {
                folder.join("ballots").join(teacher.to_string()).join(format!("{batch}-{hash}"))
            }
            Object::Release { batch } => folder.join("parts").join(format!("{batch}.release")),
            Object::Audit { round, batch } => {
                folder.join("audits").join(format!("{round}-{batch}-{hash}"))
            }
            Object::Again { round, batch } => {
                folder.join("again").join(format!("{round}-{batch}-{hash}"))
            }
        }
    }

    /// The digest of the ballots that an election's releases were drawn from, once there are any.
    pub(super) fn frozen_mark(&self, election: &Name) -> io::Result<Option<String>> {
        match fs::read_to_string(self.mark(election)) {
            Ok(mark) => Ok(Some(mark.trim().to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn mark(&self, election: &Name) -> PathBuf {
        self.of(election).join("drawn")
    }

    /// Writes down what is drawn from, once; whether it is what was written before.
    pub(super) fn mark_frozen(&self, election: &Name, digest: &str) -> io::Result<bool> {
        if let Some(mark) = self.frozen_mark(election)? {
            return Ok(mark == digest);
        }
        let path = self.mark(election);
        let folder = path.parent().unwrap_or(&self.0);
        fs::create_dir_all(folder)?;
        let mut file = NamedTempFile::new_in(self.temporary())?;
        file.write_all(digest.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(&path).map_err(|error| error.error)?;
        self.sync(folder)?;
        Ok(true)
    }

    /// The names of the releases of an election that lie in the folder, whatever the tables say.
    pub(super) fn drawn(&self, election: &Name) -> io::Result<Vec<String>> {
        let mut names = names_in(&self.of(election).join("parts"))?;
        names.retain(|name| name.ends_with(".release"));
        Ok(names)
    }

    /// An election's own folder, which is that of its job once it is closed.
    pub(super) fn of(&self, election: &Name) -> PathBuf {
        self.0.join("elections").join(election.as_str())
    }

    /// Whether the release of a batch that lies in the folder, if any, has other bytes.
    pub(super) fn is_other(&self, election: &Name, batch: u32, hash: &str) -> io::Result<bool> {
        match self.open_checked(election, Object::Release { batch }, hash) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(true),
            found => found.map(|_| false),
        }
    }

    /// The names of what was drawn again after audits of an election, whatever the tables say.
    pub(super) fn drawn_again(&self, election: &Name) -> io::Result<Vec<String>> {
        names_in(&self.of(election).join("again"))
    }

    /// What is free on the disk that the folder is on, in bytes.
    pub(super) fn free(&self) -> io::Result<u64> {
        let disk = rustix::fs::statvfs(&self.0)?;
        Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    /// Takes away an election's files: its ballots, or all but the mark of what was drawn.
    pub(super) fn erase(&self, election: &Name, folders: &[&str]) -> io::Result<()> {
        let own = self.of(election);
        for folder in folders {
            match fs::remove_dir_all(own.join(folder)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Takes away what was drawn again after audits, but for the names, which show that it was: an
    /// older database that is brought back must not draw it once more.
    pub(super) fn empty_drawn_again(&self, election: &Name) -> io::Result<()> {
        let folder = self.of(election).join("again");
        for name in names_in(&folder)? {
            File::create(folder.join(name))?.sync_all()?;
        }
        Ok(())
    }

    pub(super) fn root(&self) -> &Path {
        &self.0
    }

    /// Syncs a folder and those above it, up to the data folder: a rename lasts once they do.
    fn sync(&self, folder: &Path) -> io::Result<()> {
        for folder in folder.ancestors().take_while(|folder| folder.starts_with(&self.0)) {
            File::open(folder)?.sync_all()?;
        }
        Ok(())
    }

    /// The names of the elections that have files.
    pub(super) fn elections(&self) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(self.0.join("elections")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    pub(super) fn incoming(&self) -> io::Result<Incoming> {
        let file = NamedTempFile::new_in(self.temporary())?;
        Ok(Incoming { file, hasher: blake3::Hasher::new(), bytes: 0 })
    }

    /// Syncs what came in and puts it in its place.
    pub(super) fn keep(
        &self,
        election: &Name,
        object: Object,
        mut incoming: Incoming,
    ) -> io::Result<()> {
        let path = self.path(election, object, &incoming.hash());
        let folder = path.parent().unwrap_or(&self.0);
        fs::create_dir_all(folder)?;
        incoming.file.flush()?;
        incoming.file.as_file().sync_all()?;
        incoming.file.persist(&path).map_err(|error| error.error)?;
        self.sync(folder)
    }

    /// Opens a file, once it is known to be what was written: a few kilobytes at a time, however
    /// large it is.
    pub(super) fn open_checked(
        &self,
        election: &Name,
        object: Object,
        hash: &str,
    ) -> io::Result<(File, u64)> {
        use std::io::Seek;
        let path = self.path(election, object, hash);
        let place =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let mut file = File::open(&path).map_err(place)?;
        let mut hasher = blake3::Hasher::new();
        let bytes = io::copy(&mut file, &mut hasher).map_err(place)?;
        if hex(hasher.finalize().as_bytes()) != hash {
            let damaged = "the content is not what was written; restore it from a backup";
            return Err(place(io::Error::new(io::ErrorKind::InvalidData, damaged)));
        }
        file.rewind().map_err(place)?;
        Ok((file, bytes))
    }

    /// Reads a file back, and checks that it is what was written.
    pub(super) fn read(&self, election: &Name, object: Object, hash: &str) -> io::Result<Vec<u8>> {
        let path = self.path(election, object, hash);
        let place =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let bytes = fs::read(&path).map_err(place)?;
        if hex(blake3::hash(&bytes).as_bytes()) == hash {
            return Ok(bytes);
        }
        let damaged = "the content is not what was written; restore it from a backup";
        Err(place(io::Error::new(io::ErrorKind::InvalidData, damaged)))
    }

    /// Moves the files of an election's folder that `known` does not name into the folder `aside`,
    /// under the paths they had. `folder` is relative to the election's; its own folders are not
    /// looked into.
    ///
    /// Links are left alone: what is behind them is not ours to judge.
    pub(super) fn sweep(
        &self,
        election: &Name,
        folder: &Path,
        known: &std::collections::HashSet<PathBuf>,
        aside: &Path,
    ) -> io::Result<usize> {
        let folder = Path::new("elections").join(election.as_str()).join(folder);
        let entries = match fs::symlink_metadata(self.0.join(&folder)) {
            Ok(found) if found.is_dir() => fs::read_dir(self.0.join(&folder))?,
            _ => return Ok(0),
        };
        let mut moved = 0;
        for entry in entries {
            let entry = entry?;
            let inner = folder.join(entry.file_name());
            let path = self.0.join(&inner);
            if entry.file_type()?.is_file() && !known.contains(&path) {
                let place = self.0.join(aside).join(&inner);
                private::make_folder(place.parent().unwrap_or(&self.0))?;
                fs::rename(&path, &place)?;
                moved += 1;
            }
        }
        Ok(moved)
    }

    /// The folders in one of an election's folders.
    pub(super) fn folders_in(&self, election: &Name, folder: &str) -> io::Result<Vec<String>> {
        names_in(&self.of(election).join(folder))
    }
}

/// The names in a folder; none if it is not there, or a link.
fn names_in(folder: &Path) -> io::Result<Vec<String>> {
    match fs::symlink_metadata(folder) {
        Ok(found) if found.is_dir() => {}
        _ => return Ok(Vec::new()),
    }
    let names = fs::read_dir(folder)?;
    names.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_files_come_back_and_damage_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let store = Folder::open(folder.path()).unwrap();
        let election: Name = "ward-7".parse().unwrap();
        let object = Object::Ballot { teacher: 1, batch: 0 };
        let mut incoming = store.incoming().unwrap();
        incoming.write(b"bal").unwrap();
        incoming.write(b"lot").unwrap();
        let hash = incoming.hash();
        store.keep(&election, object, incoming).unwrap();
        assert_eq!(store.read(&election, object, &hash).unwrap(), b"ballot");
        let path = store.path(&election, object, &hash);
        fs::write(&path, b"ballet").unwrap();
        assert!(store.read(&election, object, &hash).unwrap_err().to_string().contains("backup"));
        let aside = Path::new("swept/now");
        let own = Path::new("ballots/1");
        let known = std::collections::HashSet::from([path.clone()]);
        assert_eq!(store.sweep(&election, own, &known, aside).unwrap(), 0);
        let nothing = std::collections::HashSet::new();
        assert_eq!(store.sweep(&election, own, &nothing, aside).unwrap(), 1);
        assert!(!path.exists());
        let place = folder.path().join(aside).join(path.strip_prefix(folder.path()).unwrap());
        assert_eq!(fs::read(place).unwrap(), b"ballet");
    }

    #[cfg(unix)]
    #[test]
    fn sweeping_does_not_follow_links() {
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let store = Folder::open(folder.path()).unwrap();
        let election: Name = "ward-7".parse().unwrap();
        let own = folder.path().join("elections/ward-7");
        fs::create_dir_all(&own).unwrap();
        fs::write(elsewhere.path().join("somebody's"), b"").unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), own.join("ballots")).unwrap();
        let nothing = std::collections::HashSet::new();
        let aside = Path::new("swept/now");
        assert_eq!(store.sweep(&election, Path::new("ballots"), &nothing, aside).unwrap(), 0);
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 1);
        assert!(own.join("ballots").is_symlink());
    }
}
