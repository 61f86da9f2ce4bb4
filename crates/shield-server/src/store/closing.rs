//! From open to released: the freeze, the releases, and what they cost.

use shield::Seed;
use shield_protocol::Name;
use shield_protocol::hex::{hex, unhex};
use shield_protocol::turnout::VoterCounts;
use sqlx::Row;

use super::ballots::{ballots, digest};
use super::{
    Booking, Object, Stage, Store, StoreError, Stored, StoredBallot, StoredRelease, large, now,
    small, stage_of, touch, voters_text,
};

impl Store {
    /// Freezes the ballots and stores the seed of the aggregation, once.
    ///
    /// `judge` decides, on the frozen ballots, whether the election may be closed, and with which
    /// voters it is booked; it runs inside the transaction and must not use the store, which would
    /// wait for itself. Closing an election that is closing or released changes nothing; one that
    /// failed goes on with its first seed.
    pub async fn close<E: From<StoreError>>(
        &self,
        election: &Name,
        seed: &Seed,
        judge: impl AsyncFnOnce(&[StoredBallot]) -> Result<VoterCounts, E>,
    ) -> Result<Stored, E> {
        let seed = Seed::from_bytes(*seed.as_bytes());
        self.freeze(election, async |ballots: &[StoredBallot]| Ok((judge(ballots).await?, seed)))
            .await
    }

    /// The same, with a seed that follows from the frozen ballots.
    pub async fn freeze<E: From<StoreError>>(
        &self,
        election: &Name,
        judge: impl AsyncFnOnce(&[StoredBallot]) -> Result<(VoterCounts, Seed), E>,
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
        let (voters, seed) = judge(&frozen).await?;
        sqlx::query(
            "UPDATE elections SET stage = 'closing', closed = $1, seed = $2, frozen = $3 WHERE \
             name = $4",
        )
        .bind(now())
        .bind(hex(seed.as_bytes()))
        .bind(digest(&frozen))
        .bind(election.as_str())
        .execute(&mut *transaction)
        .await
        .map_err(database)?;
        let booked = sqlx::query(
            "UPDATE ledger SET stage = 'spent', voters = $1, booked = $2 WHERE election = $3",
        )
        .bind(voters_text(&voters))
        .bind(now())
        .bind(election.as_str())
        .execute(&mut *transaction)
        .await
        .map_err(database)?;
        // What is not booked must not be released: nobody would ever count it.
        if booked.rows_affected() != 1 {
            return Err(StoreError::Damaged("ledger").into());
        }
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
        let object = Object::Release { batch };
        let _alone = self.places.enter(election, object).await;
        let mut incoming = self.incoming()?;
        incoming.write(release)?;
        let (hash, bytes) = (incoming.hash(), incoming.bytes());
        if let Some(known) = self.release_hash(election, batch).await? {
            return same_release(&known, &hash);
        }
        self.keep(election, object, incoming).await?;
        let inserted = sqlx::query(
            "INSERT INTO releases (election, batch, hash, bytes) VALUES ($1, $2, $3, $4) ON \
             CONFLICT DO NOTHING",
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
        let known = self.release_hash(election, batch).await?;
        same_release(&known.ok_or(StoreError::Damaged("release"))?, &hash)
    }

    async fn release_hash(
        &self,
        election: &Name,
        batch: u32,
    ) -> Result<Option<String>, StoreError> {
        let hash =
            sqlx::query_scalar("SELECT hash FROM releases WHERE election = $1 AND batch = $2")
                .bind(election.as_str())
                .bind(i64::from(batch))
                .fetch_optional(&self.pool);
        Ok(hash.await?)
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
}

fn same_release(known: &str, hash: &str) -> Result<Stored, StoreError> {
    if known == hash {
        Ok(Stored::Again)
    } else {
        Err(StoreError::Conflict { what: "another release of this batch" })
    }
}
