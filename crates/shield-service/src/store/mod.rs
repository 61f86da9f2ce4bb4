//! What the server remembers: tables in SQLite or PostgreSQL, ballots and keys and releases as files.
//!
//! # What always holds, whatever crashes when
//!
//! 1. **Acknowledged is kept.** A file is synced before its row is committed, and the row before the answer.
//! 2. **Ballots freeze before the seed is used.** [`Store::close`] moves an election from open to closing and stores
//!    the seed in one transaction; a ballot is only taken by a transaction that finds the election open. Both update the
//!    election's row first, so one of them waits for the other.
//! 3. **One release.** A batch's release is a pure function of the seed and the frozen ballots. Its row is written
//!    once; whoever computes it again must find the same hash.

mod files;
mod schema;

use std::io;
use std::path::Path;
use std::str::FromStr;

use jiff::Timestamp;
use serde::Serialize;
use shield::Seed;
use shield::backend::Presence;
use sqlx::any::{AnyPoolOptions, AnyRow};
use sqlx::{AnyConnection, AnyPool, Row};
use thiserror::Error;

pub use files::{Incoming, Object};

use crate::credentials::{Role, TokenHash, hex, unhex};
use crate::election_file::ElectionFile;
use crate::name::Name;
use files::Folder;

/// Where an election stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// The student has not sent both keys.
    AwaitingKeys,
    /// Ballots are taken.
    Open,
    /// Ballots are frozen; the aggregation runs.
    Closing,
    /// The results can be fetched.
    Released,
    /// The aggregation could not go on; closing again tries again, with the same seed and ballots.
    Failed,
    /// Called off before anything was released.
    Withdrawn,
}

impl Stage {
    const ALL: [Self; 6] = [
        Self::AwaitingKeys,
        Self::Open,
        Self::Closing,
        Self::Released,
        Self::Failed,
        Self::Withdrawn,
    ];

    /// The stage's name, as in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::AwaitingKeys => "awaiting-keys",
            Self::Open => "open",
            Self::Closing => "closing",
            Self::Released => "released",
            Self::Failed => "failed",
            Self::Withdrawn => "withdrawn",
        }
    }
}

impl FromStr for Stage {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        Self::ALL.into_iter().find(|stage| stage.name() == text).ok_or(StoreError::Damaged("stage"))
    }
}

/// What the store could not do.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The data base would not.
    #[error("the data base: {0}")]
    Database(#[from] sqlx::Error),
    /// The data folder would not.
    #[error("the data folder: {0}")]
    Io(#[from] io::Error),
    /// A row that this program cannot have written.
    #[error("the data base holds a damaged {0}; restore it from a backup")]
    Damaged(&'static str),
    /// There is no such election.
    #[error("there is no election of that name")]
    NoElection,
    /// The name is taken.
    #[error(
        "there is already an election of that name, with another file or other invitations; choose another name"
    )]
    NameTaken,
    /// A teacher is in another group.
    #[error(
        "the teacher {teacher} belongs to the group {group}, whose budget would not pay; put the election in that group"
    )]
    OtherGroup {
        /// The teacher.
        teacher: Name,
        /// Its group.
        group: String,
    },
    /// The election's stage does not allow it.
    #[error("the election is {}; {needed}", stage.name())]
    Stage {
        /// Where it stands.
        stage: Stage,
        /// What would be needed.
        needed: &'static str,
    },
    /// There is something else in that place.
    #[error("{what} was submitted before with other bytes; the first stays")]
    Conflict {
        /// What.
        what: &'static str,
    },
    /// The bytes are another teacher's.
    #[error("another teacher has submitted the very same ballot; make your own with `shield vote`")]
    Replayed,
}

/// An election as the tables have it.
#[derive(Clone, Debug)]
pub struct StoredElection {
    /// What all parties agreed on.
    pub file: ElectionFile,
    /// Where it stands.
    pub stage: Stage,
    /// When it was created.
    pub created: Timestamp,
    /// When it was closed.
    pub closed: Option<Timestamp>,
    /// What the aggregation stumbled over.
    pub problem: Option<String>,
}

/// A key that the student uploaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredKey {
    /// The hash of its bytes.
    pub hash: String,
    /// The name of the key set it belongs to, as hexadecimal digits.
    pub key_id: String,
}

/// A ballot that was accepted, for one batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredBallot {
    /// The teacher's number.
    pub teacher: u32,
    /// The batch.
    pub batch: u32,
    /// The hash of its bytes.
    pub hash: String,
    /// On which samples the teacher voted, as [`presence_text`] writes it.
    pub presence: String,
}

/// A release that was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRelease {
    /// The batch.
    pub batch: u32,
    /// The hash of its bytes.
    pub hash: String,
}

/// How many samples had how many voters.
pub type VoterCounts = Vec<(u32, u64)>;

/// A line of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Booking {
    /// The election.
    pub election: Name,
    /// Whether the cost is only set aside, or spent.
    pub spent: bool,
    /// How many samples had how many voters: as agreed while it is set aside, as it was once it is spent.
    pub voters: VoterCounts,
}

/// What came of storing something that may be there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// It is new.
    New,
    /// The very same was there.
    Again,
}

/// The server's memory.
#[derive(Clone, Debug)]
pub struct Store {
    pool: AnyPool,
    folder: Folder,
}

impl Store {
    /// Opens the store, and makes it if it is not there.
    ///
    /// `database` is a PostgreSQL URL; without one, SQLite in the data folder.
    pub async fn open(data: &Path, database: Option<&str>) -> Result<Self, StoreError> {
        sqlx::any::install_default_drivers();
        let folder = Folder::open(data)?;
        let sqlite = || format!("sqlite://{}?mode=rwc", data.join("shield.sqlite").display());
        let url = database.map_or_else(sqlite, str::to_owned);
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
        let store = Self { pool, folder };
        store.sweep().await?;
        Ok(store)
    }

    /// Removes files that a crash left without a row.
    async fn sweep(&self) -> Result<(), StoreError> {
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
            self.folder.sweep(name, &known)?;
        }
        Ok(())
    }

    /// Whether the data base answers.
    pub async fn ping(&self) -> Result<(), StoreError> {
        sqlx::query("SELECT 1").execute(&self.pool).await?;
        Ok(())
    }

    /// A place for bytes on their way in.
    pub fn incoming(&self) -> Result<Incoming, StoreError> {
        Ok(self.folder.incoming()?)
    }

    /// Reads a file back.
    pub fn read(&self, election: &Name, object: Object, hash: &str) -> Result<Vec<u8>, StoreError> {
        Ok(self.folder.read(election, object, hash)?)
    }

    // --- tokens ---

    /// Makes a token work.
    pub async fn add_token(&self, token: &TokenHash, role: &Role) -> Result<(), StoreError> {
        let mut connection = self.pool.acquire().await?;
        insert_token(&mut connection, token, role).await.map(drop)
    }

    /// Whose token it is.
    pub async fn role(&self, token: &TokenHash) -> Result<Option<Role>, StoreError> {
        let row = sqlx::query("SELECT role, election, teacher FROM tokens WHERE hash = $1")
            .bind(token.as_str())
            .fetch_optional(&self.pool)
            .await?;
        let Some(row) = row else { return Ok(None) };
        let election = || -> Result<Name, StoreError> {
            let name: Option<String> = row.try_get("election")?;
            name.and_then(|name| name.parse().ok()).ok_or(StoreError::Damaged("token"))
        };
        let role = match row.try_get::<String, _>("role")?.as_str() {
            "operator" => Role::Operator,
            "monitor" => Role::Monitor,
            "student" => Role::Student { election: election()? },
            "teacher" => {
                let teacher = small(row.try_get::<Option<i64>, _>("teacher")?.unwrap_or(-1))?;
                Role::Teacher { election: election()?, teacher }
            }
            _ => return Err(StoreError::Damaged("token")),
        };
        Ok(Some(role))
    }

    // --- elections ---

    /// Creates an election, with its tokens and its place in the ledger. All or nothing.
    ///
    /// Creating the very same again, with the same tokens, changes nothing and gives [`Stored::Again`].
    pub async fn create_election(
        &self,
        file: &ElectionFile,
        tokens: &[(TokenHash, Role)],
    ) -> Result<Stored, StoreError> {
        let mut transaction = self.pool.begin().await?;
        let inserted = sqlx::query(
            "INSERT INTO elections (name, grp, file, stage, created, touched)
             VALUES ($1, $2, $3, $4, $5, 0) ON CONFLICT DO NOTHING",
        )
        .bind(file.name().as_str())
        .bind(file.group().as_str())
        .bind(file.canonical())
        .bind(Stage::AwaitingKeys.name())
        .bind(now())
        .execute(&mut *transaction)
        .await?;
        if inserted.rows_affected() == 0 {
            let known: String = sqlx::query_scalar("SELECT file FROM elections WHERE name = $1")
                .bind(file.name().as_str())
                .fetch_one(&mut *transaction)
                .await?;
            let mut same = known == file.canonical();
            for (token, _) in tokens {
                let known: i64 = sqlx::query_scalar(
                    "SELECT COUNT(*) FROM tokens WHERE hash = $1 AND election = $2",
                )
                .bind(token.as_str())
                .bind(file.name().as_str())
                .fetch_one(&mut *transaction)
                .await?;
                same &= known == 1;
            }
            return if same { Ok(Stored::Again) } else { Err(StoreError::NameTaken) };
        }
        for teacher in file.teachers() {
            sqlx::query(
                "INSERT INTO members (teacher, grp) VALUES ($1, $2) ON CONFLICT DO NOTHING",
            )
            .bind(teacher.as_str())
            .bind(file.group().as_str())
            .execute(&mut *transaction)
            .await?;
            let group: String = sqlx::query_scalar("SELECT grp FROM members WHERE teacher = $1")
                .bind(teacher.as_str())
                .fetch_one(&mut *transaction)
                .await?;
            if group != file.group().as_str() {
                return Err(StoreError::OtherGroup { teacher: teacher.clone(), group });
            }
        }
        for (token, role) in tokens {
            // Whoever has a token twice would have two roles, or somebody else's.
            if insert_token(&mut transaction, token, role).await? == Stored::Again {
                return Err(StoreError::Conflict { what: "a token of these invitations" });
            }
        }
        let agreed = vec![(file.quorum(), file.election().samples() as u64)];
        sqlx::query(
            "INSERT INTO ledger (election, grp, stage, voters, booked) VALUES ($1, $2, 'reserved', $3, $4)",
        )
        .bind(file.name().as_str())
        .bind(file.group().as_str())
        .bind(voters_text(&agreed))
        .bind(now())
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(Stored::New)
    }

    /// One election.
    pub async fn election(&self, name: &Name) -> Result<StoredElection, StoreError> {
        let row = sqlx::query(
            "SELECT file, stage, created, closed, problem FROM elections WHERE name = $1",
        )
        .bind(name.as_str())
        .fetch_optional(&self.pool)
        .await?;
        stored_election(&row.ok_or(StoreError::NoElection)?)
    }

    /// All elections, the newest first.
    pub async fn elections(&self) -> Result<Vec<StoredElection>, StoreError> {
        let rows = sqlx::query(
            "SELECT file, stage, created, closed, problem FROM elections ORDER BY created DESC, name",
        )
        .fetch_all(&self.pool)
        .await?;
        rows.iter().map(stored_election).collect()
    }

    /// The names of the elections whose aggregation is not finished.
    pub async fn closing(&self) -> Result<Vec<Name>, StoreError> {
        let names: Vec<String> = sqlx::query_scalar(
            "SELECT name FROM elections WHERE stage = 'closing' ORDER BY closed, name",
        )
        .fetch_all(&self.pool)
        .await?;
        names.iter().map(|name| name.parse().map_err(|_| StoreError::Damaged("name"))).collect()
    }

    /// Calls an election off and gives its budget back. Not once its ballots are frozen.
    pub async fn withdraw(&self, name: &Name) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin().await?;
        let moved = sqlx::query(
            "UPDATE elections SET stage = 'withdrawn' WHERE name = $1 AND stage IN ('awaiting-keys', 'open')",
        )
        .bind(name.as_str())
        .execute(&mut *transaction)
        .await?;
        if moved.rows_affected() == 0 {
            let stage = stage_of(&mut transaction, name).await?;
            return Err(StoreError::Stage {
                stage,
                needed: "it can be called off only before it is closed",
            });
        }
        sqlx::query("DELETE FROM ledger WHERE election = $1")
            .bind(name.as_str())
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(())
    }

    // --- keys ---

    /// Keeps a key of the student's; with the second one, the election opens.
    pub async fn add_key(
        &self,
        election: &Name,
        kind: &'static str,
        key_id: &str,
        incoming: Incoming,
    ) -> Result<Stored, StoreError> {
        let object = match kind {
            "public" => Object::PublicKey,
            _ => Object::EvaluationKey,
        };
        let (hash, bytes) = (incoming.hash(), incoming.bytes());
        self.keep(election, object, incoming).await?;
        let mut transaction = self.pool.begin().await?;
        touch(&mut transaction, election).await?;
        let known = sqlx::query("SELECT hash FROM election_keys WHERE election = $1 AND kind = $2")
            .bind(election.as_str())
            .bind(kind)
            .fetch_optional(&mut *transaction)
            .await?;
        if let Some(row) = known {
            let same = row.try_get::<String, _>("hash")? == hash;
            return if same {
                Ok(Stored::Again)
            } else {
                Err(StoreError::Conflict { what: "this key" })
            };
        }
        let stage = stage_of(&mut transaction, election).await?;
        if stage != Stage::AwaitingKeys {
            return Err(StoreError::Stage { stage, needed: "it takes no more keys" });
        }
        let foreign: i64 = sqlx::query_scalar(
            "SELECT COUNT(*) FROM election_keys WHERE election = $1 AND key_id <> $2",
        )
        .bind(election.as_str())
        .bind(key_id)
        .fetch_one(&mut *transaction)
        .await?;
        if foreign > 0 {
            return Err(StoreError::Conflict { what: "a key of another set" });
        }
        sqlx::query(
            "INSERT INTO election_keys (election, kind, hash, bytes, key_id) VALUES ($1, $2, $3, $4, $5)",
        )
        .bind(election.as_str())
        .bind(kind)
        .bind(&hash)
        .bind(large(bytes))
        .bind(key_id)
        .execute(&mut *transaction)
        .await?;
        let keys: i64 =
            sqlx::query_scalar("SELECT COUNT(*) FROM election_keys WHERE election = $1")
                .bind(election.as_str())
                .fetch_one(&mut *transaction)
                .await?;
        if keys == 2 {
            sqlx::query("UPDATE elections SET stage = 'open' WHERE name = $1")
                .bind(election.as_str())
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await?;
        Ok(Stored::New)
    }

    /// A key of the student's: `public` or `evaluation`.
    pub async fn key(
        &self,
        election: &Name,
        kind: &'static str,
    ) -> Result<Option<StoredKey>, StoreError> {
        let row =
            sqlx::query("SELECT hash, key_id FROM election_keys WHERE election = $1 AND kind = $2")
                .bind(election.as_str())
                .bind(kind)
                .fetch_optional(&self.pool)
                .await?;
        row.map(|row| Ok(StoredKey { hash: row.try_get("hash")?, key_id: row.try_get("key_id")? }))
            .transpose()
    }

    // --- ballots ---

    /// Keeps a teacher's ballot for one batch.
    pub async fn add_ballot(
        &self,
        election: &Name,
        teacher: u32,
        batch: u32,
        presence: &Presence,
        incoming: Incoming,
    ) -> Result<Stored, StoreError> {
        let (hash, bytes) = (incoming.hash(), incoming.bytes());
        if let Some(known) = self.ballot_hash(election, teacher, batch).await? {
            let what = "a ballot of this teacher for this batch";
            return if known == hash {
                Ok(Stored::Again)
            } else {
                Err(StoreError::Conflict { what })
            };
        }
        self.keep(election, Object::Ballot { teacher, batch }, incoming).await?;
        let mut transaction = self.pool.begin().await?;
        let open = sqlx::query(
            "UPDATE elections SET touched = touched + 1 WHERE name = $1 AND stage = 'open'",
        )
        .bind(election.as_str())
        .execute(&mut *transaction)
        .await?;
        if open.rows_affected() == 0 {
            let stage = stage_of(&mut transaction, election).await?;
            return Err(StoreError::Stage {
                stage,
                needed: "ballots are taken only while it is open",
            });
        }
        let inserted = sqlx::query(
            "INSERT INTO ballots (election, teacher, batch, hash, bytes, presence, received)
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
        )
        .bind(election.as_str())
        .bind(i64::from(teacher))
        .bind(i64::from(batch))
        .bind(&hash)
        .bind(large(bytes))
        .bind(presence_text(presence))
        .bind(now())
        .execute(&mut *transaction)
        .await?;
        if inserted.rows_affected() == 0 {
            transaction.rollback().await?;
            // Either the same teacher was quicker on another connection, or the bytes are another's.
            return match self.ballot_hash(election, teacher, batch).await? {
                Some(known) if known == hash => Ok(Stored::Again),
                Some(_) => {
                    Err(StoreError::Conflict { what: "a ballot of this teacher for this batch" })
                }
                None => Err(StoreError::Replayed),
            };
        }
        transaction.commit().await?;
        Ok(Stored::New)
    }

    async fn ballot_hash(
        &self,
        election: &Name,
        teacher: u32,
        batch: u32,
    ) -> Result<Option<String>, StoreError> {
        Ok(sqlx::query_scalar(
            "SELECT hash FROM ballots WHERE election = $1 AND teacher = $2 AND batch = $3",
        )
        .bind(election.as_str())
        .bind(i64::from(teacher))
        .bind(i64::from(batch))
        .fetch_optional(&self.pool)
        .await?)
    }

    /// The ballots of an election, by teacher and batch.
    pub async fn ballots(&self, election: &Name) -> Result<Vec<StoredBallot>, StoreError> {
        let mut connection = self.pool.acquire().await?;
        ballots(&mut connection, election).await
    }

    // --- closing ---

    /// Freezes the ballots and stores the seed of the aggregation, once.
    ///
    /// `judge` decides, on the frozen ballots, whether the election may be closed, and with which voters it is booked; it
    /// runs inside the transaction. Closing an election that is closing or released changes nothing; one that failed
    /// goes on with its first seed.
    pub async fn close<E: From<StoreError>>(
        &self,
        election: &Name,
        seed: &Seed,
        judge: impl AsyncFnOnce(&[StoredBallot]) -> Result<VoterCounts, E>,
    ) -> Result<Stored, E> {
        let database = |error: sqlx::Error| E::from(StoreError::from(error));
        let mut transaction = self.pool.begin().await.map_err(database)?;
        touch(&mut transaction, election).await?;
        match stage_of(&mut transaction, election).await? {
            Stage::Open => {}
            Stage::Failed => {
                sqlx::query(
                    "UPDATE elections SET stage = 'closing', problem = NULL WHERE name = $1",
                )
                .bind(election.as_str())
                .execute(&mut *transaction)
                .await
                .map_err(database)?;
                transaction.commit().await.map_err(database)?;
                return Ok(Stored::Again);
            }
            Stage::Closing | Stage::Released => return Ok(Stored::Again),
            stage @ (Stage::AwaitingKeys | Stage::Withdrawn) => {
                let needed = "only an open election can be closed";
                return Err(StoreError::Stage { stage, needed }.into());
            }
        }
        let frozen = ballots(&mut transaction, election).await?;
        let voters = judge(&frozen).await?;
        sqlx::query(
            "UPDATE elections SET stage = 'closing', closed = $1, seed = $2, frozen = $3 WHERE name = $4",
        )
        .bind(now())
        .bind(hex(seed.as_bytes()))
        .bind(digest(&frozen))
        .bind(election.as_str())
        .execute(&mut *transaction)
        .await
        .map_err(database)?;
        sqlx::query(
            "UPDATE ledger SET stage = 'spent', voters = $1, booked = $2 WHERE election = $3",
        )
        .bind(voters_text(&voters))
        .bind(now())
        .bind(election.as_str())
        .execute(&mut *transaction)
        .await
        .map_err(database)?;
        transaction.commit().await.map_err(database)?;
        Ok(Stored::New)
    }

    /// The seed of a closing election and its frozen ballots, which must be those that were frozen.
    pub async fn frozen(&self, election: &Name) -> Result<(Seed, Vec<StoredBallot>), StoreError> {
        let row = sqlx::query("SELECT seed, frozen FROM elections WHERE name = $1")
            .bind(election.as_str())
            .fetch_optional(&self.pool)
            .await?
            .ok_or(StoreError::NoElection)?;
        let seed: Option<String> = row.try_get("seed")?;
        let seed = seed.as_deref().and_then(unhex).ok_or(StoreError::Damaged("seed"))?;
        let ballots = self.ballots(election).await?;
        if row.try_get::<Option<String>, _>("frozen")? != Some(digest(&ballots)) {
            return Err(StoreError::Damaged("set of ballots"));
        }
        Ok((Seed::from_bytes(seed), ballots))
    }

    /// Keeps the release of one batch. If one is there already, it must be the very same.
    pub async fn add_release(
        &self,
        election: &Name,
        batch: u32,
        release: &[u8],
    ) -> Result<Stored, StoreError> {
        let mut incoming = self.incoming()?;
        incoming.write(release)?;
        let (hash, bytes) = (incoming.hash(), incoming.bytes());
        self.keep(election, Object::Release { batch }, incoming).await?;
        let inserted = sqlx::query(
            "INSERT INTO releases (election, batch, hash, bytes) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
        )
        .bind(election.as_str())
        .bind(i64::from(batch))
        .bind(&hash)
        .bind(large(bytes))
        .execute(&self.pool)
        .await?;
        if inserted.rows_affected() == 1 {
            return Ok(Stored::New);
        }
        let known: String =
            sqlx::query_scalar("SELECT hash FROM releases WHERE election = $1 AND batch = $2")
                .bind(election.as_str())
                .bind(i64::from(batch))
                .fetch_one(&self.pool)
                .await?;
        if known == hash {
            Ok(Stored::Again)
        } else {
            Err(StoreError::Conflict { what: "another release of this batch" })
        }
    }

    /// The releases of an election, by batch.
    pub async fn releases(&self, election: &Name) -> Result<Vec<StoredRelease>, StoreError> {
        let rows =
            sqlx::query("SELECT batch, hash FROM releases WHERE election = $1 ORDER BY batch")
                .bind(election.as_str())
                .fetch_all(&self.pool)
                .await?;
        rows.iter()
            .map(|row| {
                Ok(StoredRelease {
                    batch: small(row.try_get("batch")?)?,
                    hash: row.try_get("hash")?,
                })
            })
            .collect()
    }

    /// Ends a closing election: released, or failed with a reason.
    pub async fn finish(&self, election: &Name, problem: Option<&str>) -> Result<(), StoreError> {
        let stage = if problem.is_some() { Stage::Failed } else { Stage::Released };
        sqlx::query(
            "UPDATE elections SET stage = $1, problem = $2 WHERE name = $3 AND stage = 'closing'",
        )
        .bind(stage.name())
        .bind(problem)
        .bind(election.as_str())
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    // --- ledger ---

    /// What a group has set aside and spent, in the order of booking.
    pub async fn bookings(&self, group: &Name) -> Result<Vec<Booking>, StoreError> {
        let rows = sqlx::query(
            "SELECT election, stage, voters FROM ledger WHERE grp = $1 ORDER BY booked, election",
        )
        .bind(group.as_str())
        .fetch_all(&self.pool)
        .await?;
        rows.iter()
            .map(|row| {
                let election: String = row.try_get("election")?;
                let voters: String = row.try_get("voters")?;
                Ok(Booking {
                    election: election.parse().map_err(|_| StoreError::Damaged("ledger"))?,
                    spent: row.try_get::<String, _>("stage")? == "spent",
                    voters: serde_json::from_str(&voters)
                        .map_err(|_| StoreError::Damaged("ledger"))?,
                })
            })
            .collect()
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

async fn ballots(
    connection: &mut AnyConnection,
    election: &Name,
) -> Result<Vec<StoredBallot>, StoreError> {
    let rows = sqlx::query(
        "SELECT teacher, batch, hash, presence FROM ballots WHERE election = $1 ORDER BY teacher, batch",
    )
    .bind(election.as_str())
    .fetch_all(connection)
    .await?;
    rows.iter()
        .map(|row| {
            Ok(StoredBallot {
                teacher: small(row.try_get("teacher")?)?,
                batch: small(row.try_get("batch")?)?,
                hash: row.try_get("hash")?,
                presence: row.try_get("presence")?,
            })
        })
        .collect()
}

async fn insert_token(
    connection: &mut AnyConnection,
    token: &TokenHash,
    role: &Role,
) -> Result<Stored, StoreError> {
    let teacher = match role {
        Role::Teacher { teacher, .. } => Some(i64::from(*teacher)),
        _ => None,
    };
    let inserted = sqlx::query(
        "INSERT INTO tokens (hash, role, election, teacher) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
    )
    .bind(token.as_str())
    .bind(role.name())
    .bind(role.election().map(Name::as_str))
    .bind(teacher)
    .execute(connection)
    .await?;
    Ok(if inserted.rows_affected() == 1 { Stored::New } else { Stored::Again })
}

fn stored_election(row: &AnyRow) -> Result<StoredElection, StoreError> {
    let file: String = row.try_get("file")?;
    let closed: Option<i64> = row.try_get("closed")?;
    Ok(StoredElection {
        file: ElectionFile::parse(&file).map_err(|_| StoreError::Damaged("election file"))?,
        stage: row.try_get::<String, _>("stage")?.parse()?,
        created: moment(row.try_get("created")?)?,
        closed: closed.map(moment).transpose()?,
        problem: row.try_get("problem")?,
    })
}

/// A digest of a set of ballots.
fn digest(ballots: &[StoredBallot]) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("shield 2026 frozen ballots v1");
    for ballot in ballots {
        hasher.update(&ballot.teacher.to_le_bytes());
        hasher.update(&ballot.batch.to_le_bytes());
        hasher.update(ballot.hash.as_bytes());
    }
    hex(hasher.finalize().as_bytes())
}

/// A presence as text: its words in hexadecimal.
pub fn presence_text(presence: &Presence) -> String {
    presence.words().iter().map(|word| format!("{word:016x}")).collect()
}

/// The inverse of [`presence_text`].
pub fn presence_from_text(samples: usize, text: &str) -> Option<Presence> {
    let words = text
        .as_bytes()
        .chunks(16)
        .map(|digits| u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
    Presence::from_words(samples, words.collect::<Option<_>>()?)
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
