//! Which data folder the tables belong to: one row, and what can be told where it is missing.

use super::{Object, Store, StoreError, schema};

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

    /// Whether folder and database tell the same story: every election in the folder has its row,
    /// and every key's row its file. For those that earlier releases made, which have no name to
    /// compare.
    pub async fn fits_its_folder(&self) -> Result<bool, StoreError> {
        let elections = self.elections().await?;
        for election in &elections {
            let name = election.file.name();
            for (kind, object) in
                [("public", Object::PublicKey), ("evaluation", Object::EvaluationKey)]
            {
                if let Some(key) = self.key(name, kind).await?
                    && !self.folder.path(name, object, &key.hash).exists()
                {
                    return Ok(false);
                }
            }
        }
        let known = |name: &str| elections.iter().any(|known| known.file.name().as_str() == name);
        Ok(self.folder.elections()?.iter().all(|name| known(name)))
    }
}
