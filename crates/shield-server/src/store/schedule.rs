//! Who goes first among the elections that are aggregated, and who waits.

use serde::{Deserialize, Serialize};
use shield_protocol::Name;
use sqlx::Row;
use utoipa::ToSchema;

use super::{Store, StoreError, small};

/// An election's place among those that are aggregated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// How many batches it gets in a round where others get one: 1 to 100.
    #[schema(minimum = 1, maximum = 100)]
    pub priority: u32,
    /// Whether it waits.
    pub paused: bool,
}

impl Default for Turn {
    fn default() -> Self {
        Self { priority: 1, paused: false }
    }
}

impl Store {
    /// An election's place.
    pub async fn turn(&self, election: &Name) -> Result<Turn, StoreError> {
        let row = sqlx::query("SELECT priority, paused FROM schedule WHERE election = $1")
            .bind(election.as_str())
            .fetch_optional(&self.pool)
            .await?;
        let Some(row) = row else { return Ok(Turn::default()) };
        let paused = row.try_get::<i64, _>("paused")? != 0;
        Ok(Turn { priority: small(row.try_get("priority")?)?, paused })
    }

    /// Gives an election another place.
    pub async fn set_turn(&self, election: &Name, turn: Turn) -> Result<(), StoreError> {
        self.election(election).await?;
        sqlx::query(
            "INSERT INTO schedule (election, priority, paused) VALUES ($1, $2, $3) ON CONFLICT \
             (election) DO UPDATE SET priority = excluded.priority, paused = excluded.paused",
        )
        .bind(election.as_str())
        .bind(i64::from(turn.priority))
        .bind(i64::from(turn.paused))
        .execute(&self.pool)
        .await?;
        Ok(())
    }
}
