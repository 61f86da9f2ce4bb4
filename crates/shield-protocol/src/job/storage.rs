//! Where ballots are kept: a folder, or anything else that has names and ranges of bytes, such as
//! an object store.

use std::fs::{self, File};
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::new_file::{Readers, write_new};

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByteRange {
    /// The file.
    pub path: PathBuf,
    /// Where the part begins.
    pub start: u64,
    /// How many bytes it has.
    pub length: usize,
}

/// Files by their names. Nothing is ever changed or removed.
pub trait Storage: Send + Sync {
    /// The folder's address, whatever the working directory.
    fn address(&self, folder: &Path) -> io::Result<String>;

    /// The files of a folder, in any order.
    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>>;

    /// Reads a file from its start. A folder is [`ErrorKind::IsADirectory`].
    fn open(&self, path: &Path) -> io::Result<Box<dyn Read + '_>>;

    /// Reads some ranges; a range that the file does not have comes back shorter.
    fn ranges(&self, wanted: &[ByteRange]) -> io::Result<Vec<Vec<u8>>>;

    /// Writes a new file; [`ErrorKind::AlreadyExists`] if there is one. Whoever is first wins, as
    /// far as the storage can tell.
    fn write_new(&self, path: &Path, content: &[u8]) -> io::Result<()>;

    /// How many ballots to read at a time: more than one where a request costs more than its bytes.
    fn read_ahead(&self) -> usize {
        1
    }
}

/// This machine's files.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalFiles;

impl Storage for LocalFiles {
    fn address(&self, folder: &Path) -> io::Result<String> {
        let absolute = folder.canonicalize()?.into_os_string().into_string();
        absolute.map_err(|_| io::Error::new(ErrorKind::InvalidFilename, "its name is not UTF-8"))
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Read + '_>> {
        let file = File::open(path)?;
        if file.metadata()?.is_dir() {
            return Err(ErrorKind::IsADirectory.into());
        }
        Ok(Box::new(BufReader::new(file)))
    }

    fn ranges(&self, wanted: &[ByteRange]) -> io::Result<Vec<Vec<u8>>> {
        let read = |range: &ByteRange| {
            let mut file = File::open(&range.path)?;
            file.seek(SeekFrom::Start(range.start))?;
            let mut bytes = Vec::with_capacity(range.length);
            file.take(range.length as u64).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        wanted.iter().map(read).collect()
    }

    fn write_new(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        write_new(path, Readers::Everyone, content)
    }
}
