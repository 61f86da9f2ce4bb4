//! Ballots: taken while an election is open, frozen when it is closed.

use std::fmt::Write as _;
use std::ops::Range;

use shield_core::engine::Presence;
use shield_protocol::Name;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

use super::roll::{absent_text, count};
use super::{
    Incoming, Object, Stage, Store, StoreError, Stored, StoredBallot, large, now, small, stage_of,
};

impl Store {
    /// Keeps a teacher's ballot for one batch.
    ///
    /// What will be refused is refused before its file is kept, and a file without a row does not
    /// stay: the folder holds no more than the tables name, whatever is sent.
    pub async fn add_ballot(
        &self,
        election: &Name,
        teacher: u32,
        batch: u32,
        presence: &Presence,
        incoming: Incoming,
    ) -> Result<Stored, StoreError> {
        let object = Object::Ballot { teacher, batch };
        let _alone = self.places.enter(election, object).await;
        let (hash, bytes) = (incoming.hash(), incoming.bytes());
        let votes = incoming.votes()?;
        if let Some(known) = self.ballot_hash(election, teacher, batch).await? {
            let same = same_ballot(&known, &hash)?;
            // The row is there and its file is lost: this is how it comes back.
            if self.is_lost(election, object, &hash) && self.erased(election).await?.is_empty() {
                let stage = self.election(election).await?.stage;
                // What was frozen without it is not told that it counts.
                if stage != Stage::Open && !self.is_whole(election, teacher).await? {
                    return Err(not_open(stage));
                }
                self.keep(election, object, incoming).await?;
                self.recount(election, teacher).await?;
                tracing::warn!(%election, teacher, batch, "a lost ballot was sent again, and kept");
            }
            return Ok(same);
        }
        let mut connection = self.pool.acquire().await?;
        if is_replayed(&mut connection, election, batch, &hash, &votes).await? {
            return Err(StoreError::Replayed);
        }
        drop(connection);
        let stage = stage_of(&mut *self.pool.acquire().await?, election).await?;
        if stage != Stage::Open {
            return Err(not_open(stage));
        }
        let presence_text = presence_text(presence);
        let ballot = StoredBallot {
            teacher,
            batch,
            hash: hash.clone(),
            bytes,
            presence: presence_text,
            votes,
        };
        let stored = match self.keep(election, object, incoming).await {
            Ok(()) => {
                self.crash_point()?;
                let absent = absent_text(presence, presence.len());
                self.book_ballot(election, &ballot, &absent).await
            }
            Err(error) => Err(error),
        };
        // A commit whose answer was lost may have gone through: only the tables know.
        if stored.is_err()
            && let Ok(known) = self.ballot_hash(election, teacher, batch).await
            && known.as_ref() != Some(&hash)
        {
            self.discard(election, object, &hash).await;
        }
        self.crash_point()?;
        stored
    }

    /// Writes the row of a ballot whose file is kept, if the election is still open.
    async fn book_ballot(
        &self,
        election: &Name,
        ballot: &StoredBallot,
        absent: &str,
    ) -> Result<Stored, StoreError> {
        let mut transaction = self.pool.begin().await?;
        let open = sqlx::query(
            "UPDATE elections SET touched = touched + 1 WHERE name = $1 AND stage = 'open'",
        )
        .bind(election.as_str())
        .execute(&mut *transaction)
        .await?;
        if open.rows_affected() == 0 {
            return Err(not_open(stage_of(&mut transaction, election).await?));
        }
        // Again, now that nobody else can come in between.
        let StoredBallot { teacher, batch, hash, votes, .. } = ballot;
        let mine = sqlx::query(
            "SELECT hash FROM ballots WHERE election = $1 AND teacher = $2 AND batch = $3",
        )
        .bind(election.as_str())
        .bind(i64::from(*teacher))
        .bind(i64::from(*batch))
        .fetch_optional(&mut *transaction)
        .await?;
        if mine.is_none() && is_replayed(&mut transaction, election, *batch, hash, votes).await? {
            return Err(StoreError::Replayed);
        }
        let inserted = sqlx::query(
            "INSERT INTO ballots (election, teacher, batch, hash, bytes, presence, received, \
             votes, absent) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING",
        )
        .bind(election.as_str())
        .bind(i64::from(ballot.teacher))
        .bind(i64::from(ballot.batch))
        .bind(&ballot.hash)
        .bind(large(ballot.bytes))
        .bind(&ballot.presence)
        .bind(now())
        .bind(votes)
        .bind(absent)
        .execute(&mut *transaction)
        .await?;
        if inserted.rows_affected() == 0 {
            transaction.rollback().await?;
            // Either the same teacher was quicker on another connection, or the bytes are
            // another's.
            let known = self.ballot_hash(election, ballot.teacher, ballot.batch).await?;
            return match known {
                Some(known) => same_ballot(&known, &ballot.hash),
                None => Err(StoreError::Replayed),
            };
        }
        count(&mut transaction, election, *teacher).await?;
        transaction.commit().await?;
        Ok(Stored::New)
    }

    /// The hash of one batch of a teacher's ballot.
    pub(crate) async fn ballot_hash(
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

    /// Whether the file of a batch that was kept is not there any more.
    pub async fn is_ballot_lost(
        &self,
        election: &Name,
        teacher: u32,
        batch: u32,
    ) -> Result<bool, StoreError> {
        let hash = self.ballot_hash(election, teacher, batch).await?;
        let object = Object::Ballot { teacher, batch };
        Ok(hash.is_some_and(|hash| self.is_lost(election, object, &hash)))
    }

    /// The ballots of an election, by teacher and batch.
    pub async fn ballots(&self, election: &Name) -> Result<Vec<StoredBallot>, StoreError> {
        self.ballots_of(election, 0..u32::MAX).await
    }

    /// The ballots of some teachers, by teacher and batch.
    pub async fn ballots_of(
        &self,
        election: &Name,
        teachers: Range<u32>,
    ) -> Result<Vec<StoredBallot>, StoreError> {
        let rows = sqlx::query(
            "SELECT teacher, batch, hash, bytes, presence, votes FROM ballots WHERE election = $1 \
             AND teacher >= $2 AND teacher < $3 ORDER BY teacher, batch",
        )
        .bind(election.as_str())
        .bind(i64::from(teachers.start))
        .bind(i64::from(teachers.end))
        .fetch_all(&self.pool)
        .await?;
        rows.iter().map(stored_ballot).collect()
    }
}

/// Whether a ballot of these bytes, or with these votes, is there for a batch, whoever sent it.
async fn is_replayed(
    connection: &mut AnyConnection,
    election: &Name,
    batch: u32,
    hash: &str,
    votes: &str,
) -> Result<bool, StoreError> {
    let copies: i64 = sqlx::query_scalar(
        "SELECT COUNT(*) FROM ballots WHERE election = $1 AND batch = $2 AND (hash = $3 OR votes = \
         $4)",
    )
    .bind(election.as_str())
    .bind(i64::from(batch))
    .bind(hash)
    .bind(votes)
    .fetch_one(connection)
    .await?;
    Ok(copies > 0)
}

fn same_ballot(known: &str, hash: &str) -> Result<Stored, StoreError> {
    if known == hash {
        Ok(Stored::Again)
    } else {
        Err(StoreError::Conflict { what: "a ballot of this teacher for this batch" })
    }
}

fn not_open(stage: Stage) -> StoreError {
    StoreError::Stage { stage, needed: "ballots are taken only while it is open" }
}

fn stored_ballot(row: &AnyRow) -> Result<StoredBallot, StoreError> {
    Ok(StoredBallot {
        teacher: small(row.try_get("teacher")?)?,
        batch: small(row.try_get("batch")?)?,
        hash: row.try_get("hash")?,
        bytes: u64::try_from(row.try_get::<i64, _>("bytes")?)
            .map_err(|_| StoreError::Damaged("number"))?,
        presence: row.try_get("presence")?,
        votes: row.try_get("votes")?,
    })
}

/// A presence as text: its words in hexadecimal.
pub fn presence_text(presence: &Presence) -> String {
    presence.words().iter().fold(String::new(), |mut text, word| {
        let _ = write!(text, "{word:016x}");
        text
    })
}

/// The inverse of [`presence_text`].
pub fn presence_from_text(samples: usize, text: &str) -> Option<Presence> {
    let words = text
        .as_bytes()
        .chunks(16)
        .map(|digits| u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
    Presence::from_words(samples, words.collect::<Option<_>>()?)
}
