//! From open to released: the freeze, the releases, and what they cost.

use std::collections::BTreeMap;

use shield_core::Seed;
use shield_protocol::Name;
use shield_protocol::hex::{hex, unhex};
use shield_protocol::transcript::ballot_digest;
use shield_protocol::turnout::VoterCounts;
use sqlx::Row;

use super::roll::roll;
use super::{
    BookedPrice, Object, Roll, Stage, Store, StoreError, Stored, StoredBallot, StoredRelease,
    large, now, small, stage_of, touch, voters_text,
};

/// What an election is frozen with.
#[derive(Clone, Debug)]
pub struct Freeze {
    /// How many samples had how many voters.
    pub voters: VoterCounts,
    /// The seed of its draws.
    pub seed: Seed,
    /// What it costs, if that is known.
    pub price: Option<BookedPrice>,
}

/// Hears of a teacher's whole ballot, batch by batch.
pub(crate) type EachBallot<'a> =
    dyn FnMut(u32, Vec<StoredBallot>) -> Result<(), StoreError> + Send + 'a;

impl Store {
    /// Freezes the ballots and stores the seed of the aggregation, once.
    ///
    /// `judge` decides, by who has voted, whether the election may be closed, and with which
    /// voters it is booked; it runs inside the transaction and must not use the store, which would
    /// wait for itself, nor take long. Closing an election that is closing or released changes
    /// nothing; one that failed goes on with its first seed.
    pub async fn close<E: From<StoreError>>(
        &self,
        election: &Name,
        seed: &Seed,
        judge: impl AsyncFnOnce(&Roll) -> Result<VoterCounts, E>,
    ) -> Result<Stored, E> {
        let seed = Seed::from_bytes(*seed.as_bytes());
        self.freeze(election, async |roll: &Roll| {
            Ok(Freeze { voters: judge(roll).await?, seed, price: None })
        })
        .await
    }

    /// The same, with a seed that follows from the frozen ballots, and with its price.
    ///
    /// An election that was drawn before, by what lies in the folder, is not closed a second time:
    /// its database is older than its folder.
    pub async fn freeze<E: From<StoreError>>(
        &self,
        election: &Name,
        judge: impl AsyncFnOnce(&Roll) -> Result<Freeze, E>,
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
        self.refuse_second_draw(&mut transaction, election).await?;
        let frozen = roll(&mut transaction, election).await?;
        let Freeze { voters, seed, price } = judge(&frozen).await?;
        let price = price.unwrap_or_default();
        sqlx::query(
            "UPDATE elections SET stage = 'closing', closed = $1, seed = $2, frozen = $3 WHERE \
             name = $4",
        )
        .bind(now())
        .bind(hex(seed.as_bytes()))
        .bind(frozen.digest())
        .bind(election.as_str())
        .execute(&mut *transaction)
        .await
        .map_err(database)?;
        let booked = sqlx::query(
            "UPDATE ledger SET stage = 'spent', voters = $1, booked = $2, log_moment = $3, \
             distance = $4, tight = $5 WHERE election = $6",
        )
        .bind(voters_text(&voters))
        .bind(now())
        .bind(price.log_moment.map(|moment| moment.to_string()))
        .bind(price.distance.map(|distance| distance.to_string()))
        .bind(i64::from(price.tight))
        .bind(election.as_str())
        .execute(&mut *transaction)
        .await
        .map_err(database)?;
        // What is not booked must not be released: nobody would ever count it.
        if booked.rows_affected() != 1 {
            return Err(StoreError::Damaged("ledger").into());
        }
        transaction.commit().await.map_err(database)?;
        self.crash_point()?;
        Ok(Stored::New)
    }

    /// The seed of a closing election and who is in its urn, which must be what was frozen, and
    /// what releases were drawn from.
    pub async fn frozen(&self, election: &Name) -> Result<(Seed, Roll), StoreError> {
        self.frozen_ballots(election, &mut |_, _| Ok(())).await
    }

    /// The same, with the rows of each of the ballots, teacher by teacher.
    pub(crate) async fn frozen_ballots(
        &self,
        election: &Name,
        each: &mut EachBallot<'_>,
    ) -> Result<(Seed, Roll), StoreError> {
        let row = sqlx::query("SELECT seed, frozen FROM elections WHERE name = $1")
            .bind(election.as_str())
            .fetch_optional(&self.pool)
            .await?
            .ok_or(StoreError::NoElection)?;
        let seed: Option<String> = row.try_get("seed")?;
        let seed = seed.as_deref().and_then(unhex).ok_or(StoreError::Damaged("seed"))?;
        let known = row.try_get::<Option<String>, _>("frozen")?.unwrap_or_default();
        let roll = self.roll(election).await?;
        self.each_ballot(election, &roll, each).await?;
        if known != roll.digest() {
            return Err(StoreError::Damaged("set of ballots"));
        }
        if self.folder.frozen_mark(election)?.is_some_and(|mark| mark != known) {
            return Err(StoreError::DrawnBefore { election: election.clone() });
        }
        Ok((Seed::from_bytes(seed), roll))
    }

    /// Goes through the ballots of those in an urn, which must be what their digests say.
    async fn each_ballot(
        &self,
        election: &Name,
        roll: &Roll,
        each: &mut EachBallot<'_>,
    ) -> Result<(), StoreError> {
        const AT_ONCE: u32 = 256;
        let last = roll.voters.keys().next_back().map_or(0, |teacher| teacher + 1);
        for first in (0..last).step_by(AT_ONCE as usize) {
            let range = first..first + AT_ONCE;
            let mut found: BTreeMap<u32, Vec<StoredBallot>> = BTreeMap::new();
            for ballot in self.ballots_of(election, range.clone()).await? {
                found.entry(ballot.teacher).or_default().push(ballot);
            }
            for (teacher, digest) in roll.voters.range(range) {
                let own = found.remove(teacher).unwrap_or_default();
                let hashes = own.iter().map(|ballot| unhex(&ballot.hash));
                let hashes: Option<Vec<[u8; 32]>> = hashes.collect();
                if hashes.is_none_or(|hashes| ballot_digest(hashes.iter()) != *digest) {
                    return Err(StoreError::Damaged("set of ballots"));
                }
                each(*teacher, own)?;
            }
        }
        Ok(())
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
            let same = same_release(&known, &hash)?;
            if self.is_lost(election, object, &hash) {
                self.keep(election, object, incoming).await?;
                tracing::warn!(%election, batch, "a lost release was computed again, and kept");
            }
            return Ok(same);
        }
        self.mark_frozen(election).await?;
        self.refuse_other(election, batch, &hash)?;
        self.crash_point()?;
        self.keep(election, object, incoming).await?;
        self.crash_point()?;
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

    /// The hash of a batch's release, once there is one.
    pub(crate) async fn release_hash(
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

    /// How many batches of an election are released.
    pub async fn count_releases(&self, election: &Name) -> Result<usize, StoreError> {
        let count: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM releases WHERE election = $1")
            .bind(election.as_str())
            .fetch_one(&self.pool)
            .await?;
        Ok(usize::try_from(count).unwrap_or(0))
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
}

fn same_release(known: &str, hash: &str) -> Result<Stored, StoreError> {
    if known == hash {
        Ok(Stored::Again)
    } else {
        Err(StoreError::Conflict { what: "another release of this batch" })
    }
}
