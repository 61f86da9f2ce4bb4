//! What is fixed once: a group's budget, the server's part of a seed, a rehearsal that went well.

use shield_core::Delta;
use shield_protocol::Name;
use shield_protocol::hex::{hex, unhex};
use shield_protocol::seed::SeedPart;
use sqlx::{AnyConnection, Row};

use super::{Store, StoreError, moment, now};
use crate::account::BudgetChange;
use shield_privacy::filter::GroupBudget;

impl Store {
    /// A group's budget, if it has one.
    pub async fn budget(&self, group: &Name) -> Result<Option<GroupBudget>, StoreError> {
        let row = sqlx::query("SELECT epsilon, delta, renyi_order FROM budgets WHERE grp = $1")
            .bind(group.as_str())
            .fetch_optional(&self.pool)
            .await?;
        let Some(row) = row else { return Ok(None) };
        let number = |name: &str| -> Result<f64, StoreError> {
            let text: String = row.try_get(name)?;
            text.parse().map_err(|_| StoreError::Damaged("budget"))
        };
        let delta = Delta::new(number("delta")?).map_err(|_| StoreError::Damaged("budget"))?;
        let (epsilon, order) = (number("epsilon")?, number("renyi_order")?);
        Ok(Some(GroupBudget { epsilon, delta, order }))
    }

    /// Fixes a group's budget, unless it has one; gives the one that it has. Its order never
    /// changes.
    pub async fn set_first_budget(
        &self,
        group: &Name,
        budget: GroupBudget,
    ) -> Result<GroupBudget, StoreError> {
        let mut transaction = self.pool.begin().await?;
        first_budget(&mut transaction, group, budget).await?;
        transaction.commit().await?;
        self.budget(group).await?.ok_or(StoreError::Damaged("budget"))
    }

    /// Changes a group's budget, and writes down why.
    pub async fn change_budget(
        &self,
        group: &Name,
        epsilon: f64,
        delta: Delta,
        reason: &str,
    ) -> Result<GroupBudget, StoreError> {
        let known = self.budget(group).await?.ok_or(StoreError::NoGroup)?;
        let budget = GroupBudget { epsilon, delta, ..known };
        let mut transaction = self.pool.begin().await?;
        sqlx::query("UPDATE budgets SET epsilon = $1, delta = $2 WHERE grp = $3")
            .bind(epsilon.to_string())
            .bind(delta.get().to_string())
            .bind(group.as_str())
            .execute(&mut *transaction)
            .await?;
        log(&mut transaction, group, budget, reason).await?;
        transaction.commit().await?;
        Ok(budget)
    }

    /// How a group's budget came to be what it is, in order.
    pub async fn budget_changes(&self, group: &Name) -> Result<Vec<BudgetChange>, StoreError> {
        let rows = sqlx::query(
            "SELECT moment, epsilon, delta, reason FROM budget_changes WHERE grp = $1 ORDER BY \
             number",
        )
        .bind(group.as_str())
        .fetch_all(&self.pool)
        .await?;
        rows.iter()
            .map(|row| {
                let number = |name: &str| -> Result<f64, StoreError> {
                    let text: String = row.try_get(name)?;
                    text.parse().map_err(|_| StoreError::Damaged("budget"))
                };
                Ok(BudgetChange {
                    moment: moment(row.try_get("moment")?)?,
                    epsilon: number("epsilon")?,
                    delta: number("delta")?,
                    reason: row.try_get("reason")?,
                })
            })
            .collect()
    }

    /// The server's part of an election's seed.
    pub async fn seed_part(&self, election: &Name) -> Result<Option<SeedPart>, StoreError> {
        let part: Option<String> =
            sqlx::query_scalar("SELECT part FROM seed_parts WHERE election = $1")
                .bind(election.as_str())
                .fetch_optional(&self.pool)
                .await?;
        let part = part.map(|text| unhex(&text).ok_or(StoreError::Damaged("seed"))).transpose()?;
        Ok(part.map(SeedPart::from_bytes))
    }

    /// Writes down that the keys of an election work.
    pub async fn set_rehearsed(&self, election: &Name) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO rehearsals (election, confirmed) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        )
        .bind(election.as_str())
        .bind(now())
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Whether the keys of an election are known to work.
    pub async fn is_rehearsed(&self, election: &Name) -> Result<bool, StoreError> {
        let confirmed: i64 =
            sqlx::query_scalar("SELECT COUNT(*) FROM rehearsals WHERE election = $1")
                .bind(election.as_str())
                .fetch_one(&self.pool)
                .await?;
        Ok(confirmed > 0)
    }
}

/// Fixes a group's budget, unless it has one.
pub(super) async fn first_budget(
    connection: &mut AnyConnection,
    group: &Name,
    budget: GroupBudget,
) -> Result<(), StoreError> {
    let inserted = sqlx::query(
        "INSERT INTO budgets (grp, epsilon, delta, renyi_order) VALUES ($1, $2, $3, $4) ON \
         CONFLICT DO NOTHING",
    )
    .bind(group.as_str())
    .bind(budget.epsilon.to_string())
    .bind(budget.delta.get().to_string())
    .bind(budget.order.to_string())
    .execute(&mut *connection)
    .await?;
    if inserted.rows_affected() == 1 {
        log(connection, group, budget, "the group's first election").await?;
    }
    Ok(())
}

pub(super) async fn insert_seed_part(
    connection: &mut AnyConnection,
    election: &Name,
    part: &SeedPart,
) -> Result<(), StoreError> {
    sqlx::query("INSERT INTO seed_parts (election, part) VALUES ($1, $2) ON CONFLICT DO NOTHING")
        .bind(election.as_str())
        .bind(hex(part.as_bytes()))
        .execute(connection)
        .await?;
    Ok(())
}

async fn log(
    connection: &mut AnyConnection,
    group: &Name,
    budget: GroupBudget,
    reason: &str,
) -> Result<(), StoreError> {
    let number: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM budget_changes WHERE grp = $1")
        .bind(group.as_str())
        .fetch_one(&mut *connection)
        .await?;
    sqlx::query(
        "INSERT INTO budget_changes (grp, number, moment, epsilon, delta, reason) VALUES ($1, $2, \
         $3, $4, $5, $6)",
    )
    .bind(group.as_str())
    .bind(number)
    .bind(now())
    .bind(budget.epsilon.to_string())
    .bind(budget.delta.get().to_string())
    .bind(reason)
    .execute(connection)
    .await?;
    Ok(())
}
