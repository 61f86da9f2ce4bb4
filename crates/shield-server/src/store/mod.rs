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
//!    row is written once; whoever computes it again must find the same hash.

mod ballots;
mod closing;
mod database;
mod elections;
mod files;
mod groups;
mod identity;
mod records;
mod rounds;
mod schema;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use sqlx::any::AnyPoolOptions;
use sqlx::{AnyConnection, AnyPool};
use tokio::sync::{Mutex, MutexGuard};

pub use ballots::{presence_from_text, presence_text};
pub use database::DatabaseUrl;
pub use files::{Incoming, Object};
pub use records::{
    Booking, Stage, StoreError, Stored, StoredBallot, StoredElection, StoredKey, StoredRelease,
};
pub use rounds::{RoundFile, RoundStage, StoredRound};

use files::Folder;
use shield_protocol::Name;
use shield_protocol::turnout::VoterCounts;

/// The server's memory.
#[derive(Clone, Debug)]
pub struct Store {
    pool: AnyPool,
    folder: Folder,
    places: Places,
}

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
        let pool = AnyPoolOptions::new()
            .max_connections(if is_sqlite { 4 } else { 8 })
            .after_connect(move |connection, _| {
                Box::pin(async move {
                    if is_sqlite {
                        // Full: what is acknowledged survives a power cut, not only a crash.
                        for pragma in [
                            "PRAGMA journal_mode = WAL",
                            "PRAGMA synchronous = FULL",
                            "PRAGMA busy_timeout = 20000",
                            "PRAGMA foreign_keys = ON",
                        ] {
                            sqlx::query(pragma).execute(&mut *connection).await?;
                        }
                    }
                    Ok(())
                })
            })
            .connect(&url)
            .await?;
        schema::migrate(&mut *pool.acquire().await?).await?;
        Ok(Self { pool, folder, places: Places::default() })
    }

    /// Puts files aside that no row names: a crash came between the two, or the database is older
    /// than the folder, and then they are ballots that were acknowledged. So none is deleted.
    pub async fn sweep(&self) -> Result<usize, StoreError> {
        let aside = format!("swept/{}", Timestamp::now().strftime("%Y-%m-%dT%H-%M-%S%.3fZ"));
        let mut swept = 0;
        for election in self.elections().await? {
            let name = election.file.name();
            let mut known = Vec::new();
            for (kind, object) in
                [("public", Object::PublicKey), ("evaluation", Object::EvaluationKey)]
            {
                if let Some(key) = self.key(name, kind).await? {
                    known.push(self.folder.path(name, object, &key.hash));
                }
            }
            for StoredBallot { teacher, batch, hash, .. } in self.ballots(name).await? {
                known.push(self.folder.path(name, Object::Ballot { teacher, batch }, &hash));
            }
            for StoredRelease { batch, hash } in self.releases(name).await? {
                known.push(self.folder.path(name, Object::Release { batch }, &hash));
            }
            for (object, hash) in self.round_files(name).await? {
                known.push(self.folder.path(name, object, &hash));
            }
            swept += self.folder.sweep(name, &known, Path::new(&aside))?;
        }
        if swept > 0 {
            tracing::warn!(files = swept, folder = aside, "put aside what no row names");
        }
        Ok(swept)
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

    /// The checksum that a ballot's votes end with, before the nonce; none if it is too short.
    pub fn ballot_checksum(
        &self,
        election: &Name,
        object: Object,
        hash: &str,
    ) -> Result<Option<[u8; 32]>, StoreError> {
        use std::io::{Read, Seek, SeekFrom};
        const END: u64 = shield_protocol::engine::NONCE as u64 + 32;
        let mut file = std::fs::File::open(self.folder.path(election, object, hash))?;
        let Some(before) = file.metadata()?.len().checked_sub(END) else { return Ok(None) };
        file.seek(SeekFrom::Start(before))?;
        let mut checksum = [0; 32];
        file.read_exact(&mut checksum)?;
        Ok(Some(checksum))
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
