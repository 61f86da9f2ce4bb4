//! What the tables hold, row by row, and what can go wrong.

use std::io;
use std::str::FromStr;
use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;
use thiserror::Error;

use shield_protocol::turnout::VoterCounts;
use shield_protocol::{ElectionFile, Name};

use super::BookedPrice;

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
    pub(crate) const ALL: [Self; 6] = [
        Self::AwaitingKeys,
        Self::Open,
        Self::Closing,
        Self::Released,
        Self::Failed,
        Self::Withdrawn,
    ];

    /// Whether the ballots are frozen, so that something was or will be drawn from them.
    #[must_use]
    pub fn is_frozen(self) -> bool {
        matches!(self, Self::Closing | Self::Released | Self::Failed)
    }

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
#[non_exhaustive]
pub enum StoreError {
    /// The database would not.
    #[error("the database: {0}")]
    Database(#[from] sqlx::Error),
    /// Whoever stands between server and database could read along.
    #[error(
        "the database is at {host}, and anybody on the way could read its password and the \
         seeds; add `sslmode=verify-full` to the URL (with `sslrootcert=FILE` for a certificate \
         of your own, or `sslmode=verify-ca` if it does not name the host)"
    )]
    OpenWay {
        /// Where the database is.
        host: String,
    },
    /// The data folder would not.
    #[error("the data folder: {0}")]
    Io(#[from] io::Error),
    /// A row that this program cannot have written.
    #[error("the database holds a damaged {0}; restore it from a backup")]
    Damaged(&'static str),
    /// There is no such election.
    #[error("there is no election of that name")]
    NoElection,
    /// There is no such group.
    #[error("there is no group of that name; its first election makes it")]
    NoGroup,
    /// The name is taken.
    #[error(
        "there is already an election of that name, with another file or other invitations, or \
         called off; choose another name"
    )]
    NameTaken,
    /// A teacher is in another group.
    #[error(
        "the teacher {teacher} belongs to the group {group}, whose budget would not pay; put the \
         election in that group"
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
    /// The folder has releases that the database does not know.
    #[error(
        "{election} was drawn before: the folder holds what was released, and this database does \
         not know of it, because it is older. Drawing again would answer its samples twice and \
         pay once. Stop the server and bring the latest database back; if it is lost, call the \
         election off (`shield election close --withdraw`)"
    )]
    DrawnBefore {
        /// The election.
        election: Name,
    },
    /// Drawing for the election might be drawing a second time.
    #[error("{election} is blocked since a restore: {reason}")]
    Blocked {
        /// The election.
        election: Name,
        /// Why.
        reason: String,
    },
    /// The last operator's token.
    #[error(
        "this is the only operator's token; make another one first (`shield operator tokens add \
         --role operator`)"
    )]
    LastOperator,
    /// There is no such token.
    #[error("there is no token of that name; `shield operator tokens list` shows all")]
    NoToken,
    /// Something is there that a restore would write over.
    #[error("{0}")]
    NotEmpty(String),
    /// A backup that cannot be used.
    #[error("{0}")]
    Backup(String),
    /// The SQLite file is no database.
    #[error(
        "the database {} is damaged: {problem}; restore it from a backup (`shield-server restore`)",
        path.display()
    )]
    DamagedDatabase {
        /// The file.
        path: std::path::PathBuf,
        /// What SQLite says.
        problem: String,
    },
    /// The bytes are another teacher's.
    #[error("another teacher has submitted the very same ballot; make your own with `shield vote`")]
    Replayed,
}

impl StoreError {
    /// Whether the database had too much to do, and the same may go through in a moment.
    pub fn is_busy(&self) -> bool {
        match self {
            // The pool has none to give, or the database is being started again.
            Self::Database(sqlx::Error::PoolTimedOut | sqlx::Error::Io(_)) => true,
            Self::Database(error) => {
                let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
                // SQLite: busy, while recovering, with an older snapshot. PostgreSQL: not
                // serialisable, deadlock, shutting down, starting.
                code.is_some_and(|code| {
                    ["5", "261", "517", "40001", "40P01", "57P01", "57P03"].contains(&&*code)
                })
            }
            _ => false,
        }
    }
}

/// An election as the tables have it.
#[derive(Clone, Debug)]
pub struct StoredElection {
    /// What all parties agreed on.
    pub file: Arc<ElectionFile>,
    /// Its digest.
    pub digest: [u8; 32],
    /// Where it stands.
    pub stage: Stage,
    /// When it was created.
    pub created: Timestamp,
    /// When it was closed.
    pub closed: Option<Timestamp>,
    /// What the aggregation stumbled over.
    pub problem: Option<String>,
    /// How many have voted on every batch.
    pub voted: u32,
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
    /// How many there are.
    pub bytes: u64,
    /// On which samples the teacher voted, as [`presence_text`](super::presence_text) writes it.
    pub presence: String,
    /// The checksum of the votes in them, without the nonce.
    pub votes: String,
}

/// A release that was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRelease {
    /// The batch.
    pub batch: u32,
    /// The hash of its bytes.
    pub hash: String,
}

/// A line of the ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct Booking {
    /// The election.
    pub election: Name,
    /// Whether the cost is only set aside, or spent.
    pub spent: bool,
    /// How many samples had how many voters: as agreed while it is set aside, as it was once it is
    /// spent.
    pub voters: VoterCounts,
    /// What it costs, as far as that is known.
    pub price: BookedPrice,
}

/// What came of storing something that may be there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// It is new.
    New,
    /// The very same was there.
    Again,
}
