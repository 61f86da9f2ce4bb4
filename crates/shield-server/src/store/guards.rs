//! What keeps an election from being drawn twice when its database is older than its folder.
//!
//! A release is a file before it is a row, and nobody fetches what has no row. So whatever anybody
//! has seen lies in the folder, whichever database is brought back: a release without a row, or the
//! mark that the first release leaves, means that this database has forgotten a closing.

use shield_protocol::Name;
use sqlx::AnyConnection;

use super::{Store, StoreError};

impl Store {
    /// Refuses to close what was drawn before, or is blocked.
    pub(super) async fn refuse_second_draw(
        &self,
        connection: &mut AnyConnection,
        election: &Name,
    ) -> Result<(), StoreError> {
        if let Some(reason) = block_of(connection, election).await? {
            return Err(StoreError::Blocked { election: election.clone(), reason });
        }
        #[cfg(test)]
        if self.forgetful.load(std::sync::atomic::Ordering::Relaxed) {
            return Ok(());
        }
        if self.was_drawn(election)? {
            return Err(StoreError::DrawnBefore { election: election.clone() });
        }
        Ok(())
    }

    /// Refuses an audit that was held before, by what lies in the folder, or may have been.
    ///
    /// Samples are drawn again only once an answer is stored. So if the folder holds such a draw of
    /// an audit that the tables say nobody has answered, or of a later one, then the tables are
    /// older: a second answer would draw those samples once more, and pay for one of the two.
    pub(super) async fn refuse_second_audit(
        &self,
        connection: &mut AnyConnection,
        election: &Name,
        round: u32,
    ) -> Result<(), StoreError> {
        if let Some(reason) = block_of(connection, election).await? {
            return Err(StoreError::Blocked { election: election.clone(), reason });
        }
        let drawn = self.folder.drawn_again(election)?;
        let rounds = drawn.iter().filter_map(|name| name.split('-').next()?.parse::<u32>().ok());
        if rounds.max().is_some_and(|latest| latest >= round) {
            return Err(StoreError::DrawnBefore { election: election.clone() });
        }
        Ok(())
    }

    /// Whether an election is blocked, or was drawn by what lies in the folder: then what it set
    /// aside may be spent.
    pub(super) async fn may_be_spent(
        &self,
        connection: &mut AnyConnection,
        election: &Name,
    ) -> Result<bool, StoreError> {
        Ok(block_of(connection, election).await?.is_some() || self.was_drawn(election)?)
    }

    /// Whether the folder holds anything that was drawn for an election.
    pub fn was_drawn(&self, election: &Name) -> Result<bool, StoreError> {
        Ok(self.folder.was_drawn(election)?)
    }

    /// Elections that are not frozen by the tables, but were by what lies in the folder.
    pub async fn forgotten(&self) -> Result<Vec<Name>, StoreError> {
        let names: Vec<String> = sqlx::query_scalar(
            "SELECT name FROM elections WHERE stage IN ('awaiting-keys', 'open')",
        )
        .fetch_all(&self.pool)
        .await?;
        let mut forgotten = Vec::new();
        for name in names {
            let name: Name = name.parse().map_err(|_| StoreError::Damaged("name"))?;
            if self.was_drawn(&name)? {
                forgotten.push(name);
            }
        }
        Ok(forgotten)
    }

    /// Elections that were drawn by what lies in the folder, and that the tables do not know at
    /// all: their group has spent what the ledger has forgotten.
    pub async fn unknown(&self) -> Result<Vec<String>, StoreError> {
        let known: Vec<String> =
            sqlx::query_scalar("SELECT name FROM elections").fetch_all(&self.pool).await?;
        let mut unknown = Vec::new();
        for name in self.folder.elections()? {
            let Ok(parsed) = name.parse::<Name>() else { continue };
            if !known.contains(&name) && self.was_drawn(&parsed)? {
                unknown.push(name);
            }
        }
        Ok(unknown)
    }

    /// Ends the process here, as far as the store can tell: for the simulation of crashes.
    #[cfg(test)]
    pub(super) fn crash_point(&self) -> Result<(), StoreError> {
        use std::sync::atomic::Ordering;
        let left = self.crash.fetch_sub(1, Ordering::Relaxed);
        if left == 0 { Err(std::io::Error::other("crashed").into()) } else { Ok(()) }
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "tests crash here")]
    pub(super) fn crash_point(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Whether a restore has said that an election must not be closed or audited.
    pub async fn is_blocked(&self, election: &Name) -> Result<bool, StoreError> {
        let mut connection = self.pool.acquire().await?;
        Ok(block_of(&mut connection, election).await?.is_some())
    }

    /// Says why an election must not be closed.
    pub async fn block(&self, election: &Name, reason: &str) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO blocks (election, reason) VALUES ($1, $2) ON CONFLICT (election) DO \
             UPDATE SET reason = excluded.reason",
        )
        .bind(election.as_str())
        .bind(reason)
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Leaves the mark of what is drawn from, before anything is drawn.
    pub(crate) async fn mark_frozen(&self, election: &Name) -> Result<(), StoreError> {
        let frozen: Option<String> =
            sqlx::query_scalar("SELECT frozen FROM elections WHERE name = $1")
                .bind(election.as_str())
                .fetch_one(&self.pool)
                .await?;
        let frozen = frozen.unwrap_or_default();
        #[cfg(test)]
        if self.forgetful.load(std::sync::atomic::Ordering::Relaxed) {
            return Ok(());
        }
        let (folder, name) = (self.folder.clone(), election.clone());
        let mark = tokio::task::spawn_blocking(move || folder.mark_frozen(&name, &frozen));
        if mark.await.map_err(std::io::Error::other)?? {
            return Ok(());
        }
        Err(StoreError::DrawnBefore { election: election.clone() })
    }

    /// Refuses a release where the folder has another for the same batch.
    pub(super) fn refuse_other(
        &self,
        election: &Name,
        batch: u32,
        hash: &str,
    ) -> Result<(), StoreError> {
        #[cfg(test)]
        if self.forgetful.load(std::sync::atomic::Ordering::Relaxed) {
            return Ok(());
        }
        if self.folder.is_other(election, batch, hash)? {
            return Err(StoreError::DrawnBefore { election: election.clone() });
        }
        Ok(())
    }
}

/// Why an election is blocked, if it is.
async fn block_of(
    connection: &mut AnyConnection,
    election: &Name,
) -> Result<Option<String>, StoreError> {
    let reason = sqlx::query_scalar("SELECT reason FROM blocks WHERE election = $1")
        .bind(election.as_str())
        .fetch_optional(connection);
    Ok(reason.await?)
}
