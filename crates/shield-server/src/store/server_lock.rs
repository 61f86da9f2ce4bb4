//! One server for one database, wherever the others run.
//!
//! The lock on the data folder keeps two servers apart that share a folder. A copied folder carries
//! the same name as the original, so the database has a lock of its own: an advisory lock of
//! PostgreSQL's, held by a connection of ours, or a locked file beside the SQLite file.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use sqlx::postgres::PgConnection;
use sqlx::{ConnectOptions, Connection};
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::{DatabaseUrl, StoreError};

/// What the lock is called among PostgreSQL's: the first bytes of a digest of its purpose.
const KEY: i64 = 0x5348_4945_4c44_0001;

/// How long the database may take to answer on the lock's own connection.
const PATIENCE: Duration = Duration::from_secs(1);

/// What became of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockState {
    /// It is ours.
    Held,
    /// Another server has it.
    Taken,
    /// The database does not answer.
    Unreachable,
}

/// The lock, as long as it is kept.
#[derive(Debug)]
pub struct ServerLock {
    held: Held,
}

#[derive(Debug)]
enum Held {
    File(#[cfg_attr(not(test), expect(dead_code, reason = "held, not used"))] File),
    Connection { url: DatabaseUrl, connection: Mutex<Option<PgConnection>> },
}

impl ServerLock {
    /// Takes the lock of a database; `None` if somebody else has it.
    pub async fn take(data: &Path, database: Option<&str>) -> Result<Option<Self>, StoreError> {
        let default = data.join("shield.sqlite");
        let Some(url) = database else { return Self::lock_file(&default) };
        if let Some(path) = url.strip_prefix("sqlite:") {
            let path = path.trim_start_matches("//").split('?').next().unwrap_or(path);
            return Self::lock_file(Path::new(path));
        }
        super::database::check_the_way(url)?;
        let Some(connection) = Self::connect(url).await? else { return Ok(None) };
        let connection = Mutex::new(Some(connection));
        Ok(Some(Self { held: Held::Connection { url: url.to_owned().into(), connection } }))
    }

    fn lock_file(database: &Path) -> Result<Option<Self>, StoreError> {
        let mut path = database.as_os_str().to_owned();
        path.push(".lock");
        let file = File::create(path)?;
        let taken = file.try_lock().is_ok();
        Ok(taken.then_some(Self { held: Held::File(file) }))
    }

    async fn connect(url: &str) -> Result<Option<PgConnection>, StoreError> {
        use std::str::FromStr;
        let options = sqlx::postgres::PgConnectOptions::from_str(url)?.disable_statement_logging();
        let mut connection = PgConnection::connect_with(&options).await?;
        // Keyed by the database, too: other databases of the same server have locks of their own.
        let taken: bool = sqlx::query_scalar("SELECT pg_try_advisory_lock($1)")
            .bind(KEY)
            .fetch_one(&mut connection)
            .await?;
        Ok(taken.then_some(connection))
    }

    /// Lets go of a lock on a file, as a process that dies does.
    #[cfg(test)]
    pub(crate) fn let_go(&self) {
        if let Held::File(file) = &self.held {
            file.unlock().unwrap();
        }
    }

    /// Whether the lock is still ours, and if not, why. A connection that broke has let go of it;
    /// then it is taken again, unless another server was faster. It has a connection of its own, so
    /// that it tells a database that does not answer from one that has much to do.
    pub async fn state(&self) -> LockState {
        let Held::Connection { url, connection } = &self.held else { return LockState::Held };
        let mut connection = connection.lock().await;
        if let Some(open) = connection.as_mut()
            && matches!(timeout(PATIENCE, open.ping()).await, Ok(Ok(())))
        {
            return LockState::Held;
        }
        *connection = None;
        match timeout(PATIENCE, Self::connect(url.secret())).await {
            Ok(Ok(Some(again))) => {
                *connection = Some(again);
                LockState::Held
            }
            Ok(Ok(None)) => LockState::Taken,
            Ok(Err(_)) | Err(_) => LockState::Unreachable,
        }
    }
}
