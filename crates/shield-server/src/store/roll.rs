//! Who has voted: kept up to date ballot by ballot, so that nobody has to count.
//!
//! A ballot counts once all of it is there. Then its teacher gets a digest in `voters`, the
//! election one more in `voted`, and every sample on which it abstains one more in `absences`: a
//! sample's turnout is `voted` minus its absences. All of it is written in the transaction that
//! stores the last batch.

use std::collections::BTreeMap;

use shield_core::engine::Presence;
use shield_protocol::Name;
use shield_protocol::hex::{hex, unhex};
use shield_protocol::transcript::ballot_digest;
use sqlx::{AnyConnection, Row};

use super::{Store, StoreError, small};

/// Who has sent all of a ballot, and how often samples were abstained on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roll {
    /// The digest of each whole ballot, by the teacher's number.
    pub voters: BTreeMap<u32, [u8; 32]>,
    /// By batch, how many of them abstained on each of its samples; nothing where none did.
    pub absences: BTreeMap<u32, Vec<u32>>,
}

impl Roll {
    /// A digest of all that is frozen.
    pub(super) fn digest(&self) -> String {
        let mut hasher = blake3::Hasher::new_derive_key("shield 2026 frozen ballots v2");
        for (teacher, digest) in &self.voters {
            hasher.update(&teacher.to_le_bytes());
            hasher.update(digest);
        }
        format!("v2:{}", hex(hasher.finalize().as_bytes()))
    }

    /// The voters' numbers, in order.
    pub fn teachers(&self) -> Vec<u32> {
        self.voters.keys().copied().collect()
    }
}

impl Store {
    /// Who has voted.
    pub async fn roll(&self, election: &Name) -> Result<Roll, StoreError> {
        roll(&mut *self.pool.acquire().await?, election).await
    }

    /// The numbers of those who have voted on every batch.
    pub async fn voters(&self, election: &Name) -> Result<Vec<u32>, StoreError> {
        // As one text: ten thousand rows take the driver longer than all the rest of a status.
        let list = if self.is_sqlite {
            "SELECT group_concat(teacher) FROM voters WHERE election = $1 AND digest IS NOT NULL"
        } else {
            "SELECT string_agg(teacher::text, ',') FROM voters WHERE election = $1 AND digest IS \
             NOT NULL"
        };
        let list: Option<String> =
            sqlx::query_scalar(list).bind(election.as_str()).fetch_one(&self.pool).await?;
        let numbers = list.iter().flat_map(|list| list.split(',')).map(str::parse);
        let numbers: Result<Vec<u32>, _> = numbers.collect();
        let mut numbers = numbers.map_err(|_| StoreError::Damaged("number"))?;
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// The numbers of those who have sent any of their ballot, each with how many batches count.
    pub(super) async fn begun_ballots(
        &self,
        election: &Name,
    ) -> Result<Vec<(u32, usize)>, StoreError> {
        let rows =
            sqlx::query("SELECT teacher, batches FROM voters WHERE election = $1 ORDER BY teacher")
                .bind(election.as_str())
                .fetch_all(&self.pool)
                .await?;
        rows.iter()
            .map(|row| {
                let batches = small(row.try_get("batches")?)? as usize;
                Ok((small(row.try_get("teacher")?)?, batches))
            })
            .collect()
    }

    /// Whether all of a teacher's ballot is there.
    pub async fn is_whole(&self, election: &Name, teacher: u32) -> Result<bool, StoreError> {
        let whole: i64 = sqlx::query_scalar(
            "SELECT COUNT(*) FROM voters WHERE election = $1 AND teacher = $2 AND digest IS NOT \
             NULL",
        )
        .bind(election.as_str())
        .bind(i64::from(teacher))
        .fetch_one(&self.pool)
        .await?;
        Ok(whole > 0)
    }
}

pub(super) async fn roll(
    connection: &mut AnyConnection,
    election: &Name,
) -> Result<Roll, StoreError> {
    let rows = sqlx::query(
        "SELECT teacher, digest FROM voters WHERE election = $1 AND digest IS NOT NULL ORDER BY \
         teacher",
    )
    .bind(election.as_str())
    .fetch_all(&mut *connection)
    .await?;
    let mut roll = Roll::default();
    for row in &rows {
        let digest = unhex(row.try_get("digest")?).ok_or(StoreError::Damaged("digest"))?;
        roll.voters.insert(small(row.try_get("teacher")?)?, digest);
    }
    let rows = sqlx::query("SELECT batch, counts FROM absences WHERE election = $1")
        .bind(election.as_str())
        .fetch_all(connection)
        .await?;
    for row in &rows {
        let counts = numbers(row.try_get("counts")?)?;
        roll.absences.insert(small(row.try_get("batch")?)?, counts);
    }
    Ok(roll)
}

/// Counts one more batch of a teacher's ballot, whose row is there; with the last one, the teacher.
/// The election's row must be locked.
pub(super) async fn count(
    connection: &mut AnyConnection,
    election: &Name,
    teacher: u32,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO voters (election, teacher, batches) VALUES ($1, $2, 1) ON CONFLICT \
         (election, teacher) DO UPDATE SET batches = voters.batches + 1",
    )
    .bind(election.as_str())
    .bind(i64::from(teacher))
    .execute(&mut *connection)
    .await?;
    count_whole(connection, election, teacher).await
}

/// Sets how many batches of a teacher's ballot are there, and counts the teacher, or no longer. The
/// election's row must be locked.
pub(super) async fn recount(
    connection: &mut AnyConnection,
    election: &Name,
    teacher: u32,
    batches: usize,
) -> Result<(), StoreError> {
    let left = sqlx::query(
        "UPDATE voters SET digest = NULL WHERE election = $1 AND teacher = $2 AND digest IS NOT \
         NULL",
    )
    .bind(election.as_str())
    .bind(i64::from(teacher))
    .execute(&mut *connection)
    .await?;
    if left.rows_affected() == 1 {
        add_to_turnout(connection, election, teacher, Change::Leaves).await?;
    }
    sqlx::query("UPDATE voters SET batches = $1 WHERE election = $2 AND teacher = $3")
        .bind(i64::try_from(batches).unwrap_or(i64::MAX))
        .bind(election.as_str())
        .bind(i64::from(teacher))
        .execute(&mut *connection)
        .await?;
    count_whole(connection, election, teacher).await
}

/// Counts a teacher all of whose ballot is there.
async fn count_whole(
    connection: &mut AnyConnection,
    election: &Name,
    teacher: u32,
) -> Result<(), StoreError> {
    let whole: i64 = sqlx::query_scalar(
        "SELECT COUNT(*) FROM voters, elections WHERE voters.election = $1 AND voters.teacher = \
         $2 AND elections.name = $1 AND voters.batches = elections.batches",
    )
    .bind(election.as_str())
    .bind(i64::from(teacher))
    .fetch_one(&mut *connection)
    .await?;
    if whole == 0 {
        return Ok(());
    }
    let hashes: Vec<String> = sqlx::query_scalar(
        "SELECT hash FROM ballots WHERE election = $1 AND teacher = $2 ORDER BY batch",
    )
    .bind(election.as_str())
    .bind(i64::from(teacher))
    .fetch_all(&mut *connection)
    .await?;
    let hashes: Option<Vec<[u8; 32]>> = hashes.iter().map(|hash| unhex(hash)).collect();
    let hashes = hashes.ok_or(StoreError::Damaged("hash"))?;
    sqlx::query("UPDATE voters SET digest = $1 WHERE election = $2 AND teacher = $3")
        .bind(hex(&ballot_digest(hashes.iter())))
        .bind(election.as_str())
        .bind(i64::from(teacher))
        .execute(&mut *connection)
        .await?;
    add_to_turnout(connection, election, teacher, Change::Comes).await
}

/// What happens to a teacher's ballot in the turnout.
#[derive(Clone, Copy, PartialEq)]
enum Change {
    /// All of it is there now.
    Comes,
    /// Some of it is lost.
    Leaves,
}

async fn add_to_turnout(
    connection: &mut AnyConnection,
    election: &Name,
    teacher: u32,
    change: Change,
) -> Result<(), StoreError> {
    let more: i32 = if change == Change::Comes { 1 } else { -1 };
    sqlx::query("UPDATE elections SET voted = voted + $1 WHERE name = $2")
        .bind(i64::from(more))
        .bind(election.as_str())
        .execute(&mut *connection)
        .await?;
    for (batch, absent) in absences_of(&mut *connection, election, teacher).await? {
        let known: Option<String> =
            sqlx::query_scalar("SELECT counts FROM absences WHERE election = $1 AND batch = $2")
                .bind(election.as_str())
                .bind(i64::from(batch))
                .fetch_optional(&mut *connection)
                .await?;
        let mut counts = known.as_deref().map(numbers).transpose()?.unwrap_or_default();
        for sample in absent {
            let sample = sample as usize;
            if counts.len() <= sample {
                counts.resize(sample + 1, 0);
            }
            let changed = counts[sample].checked_add_signed(more);
            counts[sample] = changed.ok_or(StoreError::Damaged("turnout"))?;
        }
        sqlx::query(
            "INSERT INTO absences (election, batch, counts) VALUES ($1, $2, $3) ON CONFLICT \
             (election, batch) DO UPDATE SET counts = excluded.counts",
        )
        .bind(election.as_str())
        .bind(i64::from(batch))
        .bind(text(&counts))
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

async fn absences_of(
    connection: &mut AnyConnection,
    election: &Name,
    teacher: u32,
) -> Result<BTreeMap<u32, Vec<u32>>, StoreError> {
    let rows = sqlx::query(
        "SELECT batch, absent FROM ballots WHERE election = $1 AND teacher = $2 AND absent <> '' \
         ORDER BY batch",
    )
    .bind(election.as_str())
    .bind(i64::from(teacher))
    .fetch_all(connection)
    .await?;
    rows.iter()
        .map(|row| Ok((small(row.try_get("batch")?)?, numbers(row.try_get("absent")?)?)))
        .collect()
}

/// The samples that are absent, as text.
pub(super) fn absent_text(presence: &Presence, samples: usize) -> String {
    let absent = (0..samples).filter(|&sample| !presence.contains(sample));
    text(&absent.map(|sample| u32::try_from(sample).unwrap_or(u32::MAX)).collect::<Vec<_>>())
}

fn text(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")
}

fn numbers(text: &str) -> Result<Vec<u32>, StoreError> {
    let numbers = text.split_ascii_whitespace().map(str::parse);
    numbers.collect::<Result<_, _>>().map_err(|_| StoreError::Damaged("turnout"))
}
