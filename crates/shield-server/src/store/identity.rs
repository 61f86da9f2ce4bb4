//! Which data folder the tables belong to: one row.

use super::{Store, StoreError, schema};

impl Store {
    /// The name of the folder that the database belongs to, if it belongs to one.
    pub async fn identity(&self) -> Result<Option<String>, StoreError> {
        let id = sqlx::query_scalar("SELECT id FROM identity").fetch_optional(&self.pool);
        Ok(id.await?)
    }

    /// Gives the database to a folder, unless it belongs to one. The answer is whose it is now.
    pub async fn claim(&self, id: &str) -> Result<String, StoreError> {
        let mut transaction = self.pool.begin().await?;
        schema::lock(&mut transaction).await?;
        let known: Option<String> =
            sqlx::query_scalar("SELECT id FROM identity").fetch_optional(&mut *transaction).await?;
        if let Some(known) = known {
            return Ok(known);
        }
        sqlx::query("INSERT INTO identity (id) VALUES ($1)")
            .bind(id)
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(id.to_owned())
    }

    /// Whether neither the folder nor the database holds an election.
    pub async fn is_empty(&self) -> Result<bool, StoreError> {
        Ok(self.folder.elections()?.is_empty() && self.elections().await?.is_empty())
    }
}
