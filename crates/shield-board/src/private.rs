//! Files and folders that only their owner can open.

use std::fs;
use std::io;
use std::path::Path;

use crate::new_file::{Readers, write_new};

/// Makes a folder that only its owner enters, unless it is there.
pub fn make_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(path)
}

/// Writes a file that only its owner reads: whole or not at all, and never over another.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    write_new(path, Readers::Owner, content)
}

/// Whether others than its owner may read a file or enter a folder, as far as its mode tells. What
/// is in a folder is not looked at: nobody gets there who cannot enter it.
pub fn is_open_to_others(path: &Path) -> io::Result<bool> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        Ok(fs::metadata(path)?.permissions().mode() & 0o077 != 0)
    }
    #[cfg(not(unix))]
    {
        fs::metadata(path).map(|_| false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_else_reads_and_nothing_is_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("a").join("b");
        make_folder(&inner).unwrap();
        make_folder(&inner).unwrap();
        let path = inner.join("secret");
        write(&path, b"first").unwrap();
        assert_eq!(write(&path, b"second").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"first");
        assert_eq!(fs::read_dir(&inner).unwrap().count(), 1, "nothing is left over");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&path), mode(&inner)), (0o600, 0o700));
            for (mode, open) in [(0o600, false), (0o640, true), (0o604, true), (0o610, true)] {
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
                assert_eq!(is_open_to_others(&path).unwrap(), open, "{mode:o}");
            }
        }
    }
}
