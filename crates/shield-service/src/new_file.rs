//! Files that are written once: whole, or not at all, and never over another.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

/// Who may read a new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readers {
    /// Its owner alone: 0600.
    Owner,
    /// Whoever the system lets read a new file.
    Everyone,
}

/// A file that is written and synced but has no name yet. It goes away unless it gets one.
pub(crate) struct Unnamed(NamedTempFile);

impl Unnamed {
    /// Writes a file in the folder of `path`.
    pub(crate) fn write(path: &Path, readers: Readers, content: &[u8]) -> io::Result<Self> {
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
        file.write_all(content)?;
        file.as_file().sync_all()?;
        Ok(Self(file))
    }

    /// Gives it its name, unless something has it already.
    pub(crate) fn name(self, path: &Path) -> io::Result<()> {
        self.0.persist_noclobber(path).map_err(|error| error.error)?;
        // The name is durable once the folder is; not every system lets a folder be synced.
        if let Ok(folder) = File::open(folder_of(path)) {
            let _ = folder.sync_all();
        }
        Ok(())
    }
}

/// Writes a new file.
pub(crate) fn write_new(path: &Path, readers: Readers, content: &[u8]) -> io::Result<()> {
    Unnamed::write(path, readers, content)?.name(path)
}

/// The folder that a file is in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}
