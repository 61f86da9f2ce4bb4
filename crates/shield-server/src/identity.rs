//! Folder and database belong together: a name in both, made at the first start.
//!
//! Without it, a restart that forgets `--database` would begin with an empty SQLite and whole
//! budgets, and two folders with one PostgreSQL would be two servers that do not know of each
//! other.

use std::path::Path;
use std::{fs, io};

use rand::TryRngCore;
use rand::rngs::OsRng;
use shield_protocol::hex::hex;
use shield_protocol::private;

use crate::error::ServeError;
use crate::store::Store;

/// Makes sure that the store's database is this folder's, and the folder the database's.
///
/// A crash on the way does no harm: the name is written to a draft, then to the database, and then
/// the draft is renamed, so that the next start finds its own draft and goes on.
pub(crate) async fn bind(data: &Path, store: &Store) -> Result<(), ServeError> {
    let (path, draft) = (data.join("identity"), data.join("identity.new"));
    let other_database = || ServeError::OtherDatabase(data.to_owned());
    let other_folder = || ServeError::OtherFolder(data.to_owned());
    let in_database = store.identity().await?;
    if let Some(in_folder) = read(&path)? {
        return if in_database == Some(in_folder) { Ok(()) } else { Err(other_database()) };
    }
    let id = match (read(&draft)?, in_database) {
        (Some(id), None) => id,
        (Some(id), Some(known)) if id == known => id,
        (_, Some(_)) => return Err(other_folder()),
        (None, None) => {
            if !store.is_empty().await? {
                return Err(other_database());
            }
            let mut bytes = [0; 16];
            OsRng.unwrap_err().try_fill_bytes(&mut bytes).unwrap_or_else(|never| match never {});
            let id = hex(&bytes);
            private::write(&draft, id.as_bytes())?;
            id
        }
    };
    // Another server may have been quicker.
    if store.claim(&id).await? != id {
        fs::remove_file(&draft)?;
        return Err(other_folder());
    }
    fs::rename(&draft, &path)?;
    fs::File::open(data)?.sync_all()?;
    Ok(())
}

fn read(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(id) => Ok(Some(id.trim().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
