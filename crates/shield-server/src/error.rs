//! Why the server could not run.

use std::io;
use std::path::PathBuf;

use shield_terminal::Failure;
use thiserror::Error;

use crate::store::StoreError;
use crate::tls;

/// Why the server could not run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The store would not open.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another server has the data folder.
    #[error("{}: another server is running on this data folder; stop it first", .0.display())]
    Locked(PathBuf),
    /// Another server has the database.
    #[error(
        "another server is running on this database, perhaps with a copy of this folder; stop it \
         first"
    )]
    DatabaseLocked,
    /// Others can look into the data folder.
    #[error("{folder}: others can open this folder, and what was drawn for every election is in \
        it; run `chmod 700 {folder}`", folder = .0.display())]
    Exposed(PathBuf),
    /// The data folder was used with another database.
    #[error(
        "{}: this folder belongs to another database; give the --database of last time",
        .0.display()
    )]
    OtherDatabase(PathBuf),
    /// The database was used with another data folder.
    #[error("{}: the database belongs to another folder; give the --data of last time, or an \
        empty database", .0.display())]
    OtherFolder(PathBuf),
    /// A token that is somebody else's.
    #[error(
        "the token that was to make the {0} has another role already; give an invitation of the \
         {0}'s own"
    )]
    OtherRole(&'static str),
    /// The certificate, or its key.
    #[error(transparent)]
    Certificate(#[from] tls::CertificateError),
    /// The network, or the data folder.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl ServeError {
    /// Whether it is for the one who started the server to mend: what was given does not go
    /// together.
    pub fn is_bad_input(&self) -> bool {
        match self {
            Self::Locked(_)
            | Self::DatabaseLocked
            | Self::Exposed(_)
            | Self::OtherDatabase(_)
            | Self::OtherFolder(_)
            | Self::OtherRole(_)
            | Self::Certificate(_)
            | Self::Store(
                StoreError::OpenWay { .. }
                | StoreError::NotEmpty(_)
                | StoreError::Backup(_)
                | StoreError::DamagedDatabase { .. },
            ) => true,
            Self::Store(_) | Self::Io(_) => false,
        }
    }
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        Self::of(error.is_bad_input(), error)
    }
}
