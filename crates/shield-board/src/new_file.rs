//! Files that are written once: whole, or not at all, and never over another.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, Write};
use std::path::Path;

use tempfile::{NamedTempFile, PersistError};

use crate::digest::Digest;

/// Who may read a new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Its owner alone: 0600.
    Owner,
    /// Whoever the system lets read a new file.
    Everyone,
}

/// A file that is written and synced but has no name yet. It goes away unless it gets one.
pub struct Unnamed(NamedTempFile);

impl Unnamed {
    /// Writes a file in the folder of `path`.
    pub fn write(path: &Path, readers: Readers, content: &[u8]) -> io::Result<Self> {
        Self::fill(path, readers, |file| file.write_all(content))
    }

    /// The same for content that is made as it is written.
    pub fn fill(
        path: &Path,
        readers: Readers,
        content: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".shield-").suffix(".tmp");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = match readers {
                Readers::Owner => 0o600,
                Readers::Everyone => 0o666,
            };
            builder.permissions(std::fs::Permissions::from_mode(mode));
        }
        #[cfg(not(unix))]
        let _ = readers;
        let mut file = builder.tempfile_in(folder_of(path))?;
        content(file.as_file_mut())?;
        file.as_file().sync_all()?;
        Ok(Self(file))
    }

    /// The same file, with the hash of its bytes.
    pub fn hashed(mut self) -> io::Result<(Self, Digest)> {
        let file = self.0.as_file_mut();
        file.rewind()?;
        let (hash, _) = Digest::read(file)?;
        Ok((self, hash))
    }

    /// Gives it its name, unless something has it already.
    pub fn name(self, path: &Path) -> io::Result<()> {
        self.try_name(path).map_err(|error| error.error)
    }

    /// The same, but a file that stands there with the very same bytes is as good.
    pub fn name_or_find(self, path: &Path) -> io::Result<()> {
        match self.try_name(path) {
            Err(taken) if taken.error.kind() == io::ErrorKind::AlreadyExists => {
                if is_same(path, taken.file.path())? { Ok(()) } else { Err(taken.error) }
            }
            named => named.map_err(|error| error.error),
        }
    }

    fn try_name(self, path: &Path) -> Result<(), PersistError> {
        self.0.persist_noclobber(path)?;
        // The name is durable once the folder is; not every system lets a folder be synced.
        if let Ok(folder) = File::open(folder_of(path)) {
            let _ = folder.sync_all();
        }
        Ok(())
    }
}

/// Whether two files have the same bytes. What is no file has none: reading a pipe would never end.
fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    if !one.is_file() {
        return Ok(false);
    }
    let (mut one, mut other) =
        (BufReader::new(File::open(one)?), BufReader::new(File::open(other)?));
    loop {
        let (here, there) = (one.fill_buf()?, other.fill_buf()?);
        let length = here.len().min(there.len());
        if length == 0 {
            return Ok(here.len() == there.len());
        }
        if here[..length] != there[..length] {
            return Ok(false);
        }
        one.consume(length);
        other.consume(length);
    }
}

/// Writes a new file.
pub fn write_new(path: &Path, readers: Readers, content: &[u8]) -> io::Result<()> {
    Unnamed::write(path, readers, content)?.name(path)
}

/// The folder that a file is in.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_same_bytes_are_as_good_and_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let content: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
        let write =
            |content: &[u8]| Unnamed::write(&path, Readers::Everyone, content)?.name_or_find(&path);
        write(&content).unwrap();
        write(&content).unwrap();
        let mut other = content.clone();
        other[399_999] ^= 1;
        for other in [&other[..], &content[1..], b"", &[&content[..], &[0]].concat()] {
            assert_eq!(write(other).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
            assert!(fs::read(&path).unwrap() == content);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left over");
        // A folder, and a link to nowhere.
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(write(b"").is_err() && path.is_dir());
        #[cfg(unix)]
        {
            fs::remove_dir(&path).unwrap();
            std::os::unix::fs::symlink("nowhere", &path).unwrap();
            assert!(write(b"").is_err() && path.is_symlink());
        }
    }
}
