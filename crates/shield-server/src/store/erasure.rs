//! What is deleted on purpose, and what stays: the ledger, always.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use shield_protocol::{Job, Name};
use utoipa::ToSchema;

use super::{Stage, Store, StoreError, moment, now, stage_of, touch};

/// What to delete of an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Erasure {
    /// The files of its ballots. Who voted stays known, and the transcript; nobody can verify the
    /// draws any more, and no audit can be asked for.
    Ballots,
    /// All its files, its keys' rows, its tokens and its seeds. Its name, its file, its ledger line
    /// and the mark that it was drawn stay, so that it is never drawn again.
    Everything,
}

impl Erasure {
    /// Its name, as in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ballots => "ballots",
            Self::Everything => "everything",
        }
    }
}

impl Store {
    /// What was deleted of an election, and when.
    pub async fn erased(&self, election: &Name) -> Result<Vec<(String, Timestamp)>, StoreError> {
        use sqlx::Row;
        let rows = sqlx::query("SELECT what, moment FROM erasures WHERE election = $1")
            .bind(election.as_str())
            .fetch_all(&self.pool)
            .await?;
        rows.iter().map(|row| Ok((row.try_get("what")?, moment(row.try_get("moment")?)?))).collect()
    }

    /// Deletes ballots, or everything, of an election that is over. The rows go first: a crash
    /// leaves files that nobody needs, and the next call takes them away.
    pub async fn erase(&self, election: &Name, what: Erasure) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin().await?;
        touch(&mut transaction, election).await?;
        let stage = stage_of(&mut transaction, election).await?;
        if !matches!(stage, Stage::Released | Stage::Withdrawn) {
            let needed = "only what is released or called off can be deleted";
            return Err(StoreError::Stage { stage, needed });
        }
        let waiting: i64 = sqlx::query_scalar(
            "SELECT COUNT(*) FROM rounds WHERE election = $1 AND stage IN ('auditing', 'audited', \
             'aggregating')",
        )
        .bind(election.as_str())
        .fetch_one(&mut *transaction)
        .await?;
        if waiting > 0 {
            let needed = "an audit is under way, which needs the ballots";
            return Err(StoreError::Stage { stage, needed });
        }
        sqlx::query(
            "INSERT INTO erasures (election, what, moment) VALUES ($1, $2, $3) ON CONFLICT DO \
             NOTHING",
        )
        .bind(election.as_str())
        .bind(what.name())
        .bind(now())
        .execute(&mut *transaction)
        .await?;
        if what == Erasure::Everything {
            for table in [
                "DELETE FROM tokens WHERE election = $1",
                "DELETE FROM election_keys WHERE election = $1",
                "DELETE FROM ballots WHERE election = $1",
                "DELETE FROM voters WHERE election = $1",
                "DELETE FROM absences WHERE election = $1",
                "DELETE FROM releases WHERE election = $1",
                "DELETE FROM round_files WHERE election = $1",
                "DELETE FROM rounds WHERE election = $1",
                "DELETE FROM seed_parts WHERE election = $1",
            ] {
                sqlx::query(table).bind(election.as_str()).execute(&mut *transaction).await?;
            }
            sqlx::query("UPDATE elections SET seed = NULL WHERE name = $1")
                .bind(election.as_str())
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await?;
        let (folder, name) = (self.folder.clone(), election.clone());
        let erased = tokio::task::spawn_blocking(move || {
            let folders: &[&str] = match what {
                Erasure::Ballots => &["ballots"],
                Erasure::Everything => &["ballots", "keys", "parts", "leases", "audits"],
            };
            folder.erase(&name, folders)?;
            if what == Erasure::Ballots {
                return Ok(());
            }
            Job::remove(&folder.of(&name))?;
            folder.empty_drawn_again(&name)
        });
        Ok(erased.await.map_err(std::io::Error::other)??)
    }

    /// Elections that were released before a moment and still have their ballots' files.
    pub async fn with_old_ballots(&self, before: Timestamp) -> Result<Vec<Name>, StoreError> {
        let names: Vec<String> = sqlx::query_scalar(
            "SELECT name FROM elections WHERE stage = 'released' AND closed < $1 AND name NOT IN \
             (SELECT election FROM erasures) ORDER BY name",
        )
        .bind(before.as_millisecond())
        .fetch_all(&self.pool)
        .await?;
        names.iter().map(|name| name.parse().map_err(|_| StoreError::Damaged("name"))).collect()
    }
}
