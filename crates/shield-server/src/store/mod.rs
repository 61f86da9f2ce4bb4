//! What the server remembers: tables in SQLite or PostgreSQL, ballots and keys and releases as
//! files.
//!
//! # What always holds, whatever crashes when
//!
//! 1. **Acknowledged is kept.** A file is synced before its row is committed, and the row before
//!    the answer.
//! 2. **Ballots freeze before the seed is used.** [`Store::close`] moves an election from open to
//!    closing and stores the seed in one transaction; a ballot is only taken by a transaction that
//!    finds the election open. Both update the election's row first, so one of them waits for the
//!    other.
//! 3. **One release.** A batch's release is a pure function of the seed and the frozen ballots. Its
//!    row is written once; whoever computes it again must find the same hash. An election whose
//!    folder holds a release that the tables do not know is not closed again.
//! 4. **Counted once.** Turnouts and prices are rows that change in the transaction that changes
//!    what they are about; nobody counts ballots to answer a question.

mod audit_log;
mod backup;
mod ballots;
mod bookings;
mod closing;
mod database;
mod elections;
mod erasure;
mod files;
mod groups;
mod guards;
mod identity;
mod records;
mod restore;
mod roll;
mod rounds;
mod schedule;
mod schema;
mod server_lock;
mod sweep;
mod tokens;
mod verify;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use sqlx::any::AnyPoolOptions;
use sqlx::{AnyConnection, AnyPool, Connection};
use tokio::sync::{Mutex, MutexGuard};

pub use audit_log::Deed;
pub use backup::{Backup, Part, backup};
pub use ballots::{presence_from_text, presence_text};
pub use bookings::BookedPrice;
pub use closing::Freeze;
pub use database::DatabaseUrl;
pub use erasure::Erasure;
pub use files::{Incoming, Object};
pub use records::{
    Booking, Stage, StoreError, Stored, StoredBallot, StoredElection, StoredKey, StoredRelease,
};
pub use restore::{RestoreOptions, Since, restore};
pub use roll::Roll;
pub use rounds::{RoundFile, RoundStage, StoredRound};
pub use schedule::Turn;
pub use server_lock::{LockState, ServerLock};
pub use sweep::Lost;
pub use tokens::{StoredToken, token_name};
pub use verify::verify;

use files::Folder;
use shield_protocol::turnout::VoterCounts;
use shield_protocol::{ElectionFile, Name};

/// Election files with their digests, by the election's name.
type KnownFiles = HashMap<String, (Arc<ElectionFile>, [u8; 32])>;

/// The server's memory.
#[derive(Clone, Debug)]
pub struct Store {
    pool: AnyPool,
    folder: Folder,
    places: Places,
    /// One line of the log at a time.
    logging: Arc<Mutex<()>>,
    /// Election files, which never change, with their digests.
    files: Arc<std::sync::Mutex<KnownFiles>>,
    is_sqlite: bool,
    /// A planted bug: draws again after a restore. The simulation must find it.
    #[cfg(test)]
    pub(crate) forgetful: Arc<std::sync::atomic::AtomicBool>,
    /// How many crash points are left before the one that crashes; never if negative.
    #[cfg(test)]
    pub(crate) crash: Arc<std::sync::atomic::AtomicI64>,
    /// Whether the disk is full.
    #[cfg(test)]
    pub(crate) full: Arc<std::sync::atomic::AtomicBool>,
    /// Where a simulation takes its seeds from, so that it can be repeated.
    #[cfg(test)]
    pub(crate) repeatable: Arc<std::sync::Mutex<Option<rand::rngs::StdRng>>>,
}

/// How long a request waits for the database before it is told that there is none.
const PATIENCE: Duration = Duration::from_secs(8);

impl Store {
    /// Opens the store, and makes it if it is not there.
    ///
    /// `database` is a PostgreSQL URL; without one, SQLite in the data folder. Whether the two
    /// belong together is for the caller to find out, before [`Store::sweep`].
    pub async fn open(data: &Path, database: Option<&str>) -> Result<Self, StoreError> {
        sqlx::any::install_default_drivers();
        let folder = Folder::open(data)?;
        let sqlite = || format!("sqlite://{}?mode=rwc", data.join("shield.sqlite").display());
        let url = database.map_or_else(sqlite, str::to_owned);
        database::check_the_way(&url)?;
        let is_sqlite = url.starts_with("sqlite:");
        // Once without the pool, which would try again for half a minute before it says why not.
        let mut first = match AnyConnection::connect(&url).await {
            Ok(connection) => connection,
            Err(error) => return Err(database::named(error, is_sqlite, &url)),
        };
        if is_sqlite {
            let settled = prepare(&mut first).await;
            settled.map_err(|error| database::named(error, is_sqlite, &url))?;
            let sound: Result<String, _> =
                sqlx::query_scalar("PRAGMA quick_check(1)").fetch_one(&mut first).await;
            match sound.map_err(|error| database::named(error, is_sqlite, &url))? {
                sound if sound == "ok" => {}
                problem => return Err(database::damaged(&url, problem)),
            }
        }
        let created = schema::create(&mut first).await;
        created.map_err(|error| database::named(error, is_sqlite, &url))?;
        first.close().await?;
        let pool = AnyPoolOptions::new()
            .max_connections(if is_sqlite { 4 } else { 8 })
            .acquire_timeout(if is_sqlite { Duration::from_secs(30) } else { PATIENCE })
            // A server may have hung up meanwhile; a file does not.
            .test_before_acquire(!is_sqlite)
            .after_connect(move |connection, _| {
                Box::pin(async move {
                    if is_sqlite {
                        prepare(connection).await?;
                    }
                    Ok(())
                })
            })
            .connect(&url)
            .await?;
        Ok(Self {
            pool,
            folder,
            places: Places::default(),
            logging: Arc::default(),
            files: Arc::default(),
            is_sqlite,
            #[cfg(test)]
            forgetful: Arc::default(),
            #[cfg(test)]
            crash: Arc::new(std::sync::atomic::AtomicI64::new(-1)),
            #[cfg(test)]
            full: Arc::default(),
            #[cfg(test)]
            repeatable: Arc::default(),
        })
    }

    /// Brings everything into the database's one file and lets go of it.
    pub async fn close_database(&self) -> Result<(), StoreError> {
        if self.is_sqlite {
            sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&self.pool).await?;
        }
        self.pool.close().await;
        Ok(())
    }

    /// What is free on the disk that the files are on, in bytes.
    pub fn free_bytes(&self) -> Result<u64, StoreError> {
        Ok(self.folder.free()?)
    }

    /// Opens a file to be sent, once it is known to be what was written. Gives its length, too.
    pub fn open_file(
        &self,
        election: &Name,
        object: Object,
        hash: &str,
    ) -> Result<(std::fs::File, u64), StoreError> {
        Ok(self.folder.open_checked(election, object, hash)?)
    }

    /// The data folder.
    pub fn data(&self) -> &Path {
        self.folder.root()
    }

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<(), StoreError> {
        sqlx::query("SELECT 1").execute(&self.pool).await?;
        Ok(())
    }

    /// A place for bytes on their way in.
    pub fn incoming(&self) -> Result<Incoming, StoreError> {
        Ok(self.folder.incoming()?)
    }

    /// An election's own folder.
    pub(crate) fn own_folder(&self, election: &Name) -> PathBuf {
        self.folder.of(election)
    }

    /// Where a file is.
    pub(crate) fn path(&self, election: &Name, object: Object, hash: &str) -> PathBuf {
        self.folder.path(election, object, hash)
    }

    /// Reads a file back.
    pub fn read(&self, election: &Name, object: Object, hash: &str) -> Result<Vec<u8>, StoreError> {
        Ok(self.folder.read(election, object, hash)?)
    }

    async fn keep(
        &self,
        election: &Name,
        object: Object,
        incoming: Incoming,
    ) -> Result<(), StoreError> {
        #[cfg(test)]
        if self.full.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(io::Error::from(io::ErrorKind::StorageFull).into());
        }
        let (folder, election) = (self.folder.clone(), election.clone());
        let kept = tokio::task::spawn_blocking(move || folder.keep(&election, object, incoming));
        Ok(kept.await.map_err(io::Error::other)??)
    }

    /// Takes a file away again that was kept for nothing. What cannot be removed is left to the
    /// next sweep.
    async fn discard(&self, election: &Name, object: Object, hash: &str) {
        let path = self.folder.path(election, object, hash);
        let removed = tokio::task::spawn_blocking(move || std::fs::remove_file(path));
        if let Ok(Err(error)) = removed.await
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%election, ?object, %error, "a file without a row stays until the next \
                start");
        }
    }
}

async fn prepare(connection: &mut AnyConnection) -> Result<(), sqlx::Error> {
    // Full: what is acknowledged survives a power cut, not only a crash.
    for pragma in [
        "PRAGMA busy_timeout = 20000",
        "PRAGMA journal_mode = WAL",
        "PRAGMA synchronous = FULL",
        "PRAGMA foreign_keys = ON",
        // What is erased is gone from the file, too.
        "PRAGMA secure_delete = ON",
    ] {
        let started = Instant::now();
        while let Err(error) = sqlx::query(pragma).execute(&mut *connection).await {
            // SQLite does not wait for others when the journal changes, whatever the timeout is.
            let busy = matches!(&error, sqlx::Error::Database(found)
                if found.code().is_some_and(|code| ["5", "261"].contains(&&*code)));
            if !busy || started.elapsed() > Duration::from_secs(20) {
                return Err(error);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    Ok(())
}

/// One at a time in each place: of two who store the same bytes there, the one that fails would
/// take away the file that the other's row is about to name. A few locks for all places; sharing
/// one costs only a wait.
#[derive(Clone, Debug, Default)]
struct Places(Arc<[Mutex<()>; 32]>);

impl Places {
    /// Must be taken before a connection: the other way round, all connections might wait here.
    async fn enter(&self, election: &Name, object: Object) -> MutexGuard<'_, ()> {
        let mut hasher = DefaultHasher::new();
        (election.as_str(), object).hash(&mut hasher);
        let place = usize::try_from(hasher.finish() % self.0.len() as u64).unwrap_or(0);
        self.0[place].lock().await
    }
}

/// Takes the lock on an election's row.
async fn touch(connection: &mut AnyConnection, election: &Name) -> Result<(), StoreError> {
    sqlx::query("UPDATE elections SET touched = touched + 1 WHERE name = $1")
        .bind(election.as_str())
        .execute(connection)
        .await?;
    Ok(())
}

async fn stage_of(connection: &mut AnyConnection, election: &Name) -> Result<Stage, StoreError> {
    let stage: Option<String> = sqlx::query_scalar("SELECT stage FROM elections WHERE name = $1")
        .bind(election.as_str())
        .fetch_optional(connection)
        .await?;
    stage.ok_or(StoreError::NoElection)?.parse()
}

fn voters_text(voters: &VoterCounts) -> String {
    serde_json::to_string(voters).unwrap_or_else(|_| "[]".to_owned())
}

fn now() -> i64 {
    Timestamp::now().as_millisecond()
}

fn moment(milliseconds: i64) -> Result<Timestamp, StoreError> {
    Timestamp::from_millisecond(milliseconds).map_err(|_| StoreError::Damaged("time"))
}

fn small(number: i64) -> Result<u32, StoreError> {
    u32::try_from(number).map_err(|_| StoreError::Damaged("number"))
}

fn large(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
