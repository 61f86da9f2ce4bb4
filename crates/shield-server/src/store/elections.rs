//! Elections, their tokens and their keys.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError};

use rand::TryRngCore;
use rand::rngs::OsRng;
use shield_protocol::credentials::{Role, TokenHash};
use shield_protocol::seed::SeedPart;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

use super::bookings::reserve;
use super::groups::{first_budget, insert_seed_part};
use super::tokens::{insert_token, role_of};
use super::{
    BookedPrice, Incoming, Object, Stage, Store, StoreError, Stored, StoredElection, StoredKey,
    large, moment, now, small, stage_of, touch,
};
use shield_privacy::filter::GroupBudget;

use shield_protocol::ElectionFile;
use shield_protocol::Name;

impl Store {
    /// Creates an election, with its tokens and its place in the ledger. All or nothing.
    ///
    /// Creating the very same again, with the same tokens, changes nothing and gives
    /// [`Stored::Again`]. What it costs is found out later.
    pub async fn create_election(
        &self,
        file: &ElectionFile,
        tokens: &[(TokenHash, Role)],
    ) -> Result<Stored, StoreError> {
        self.create_priced_election(file, tokens, None).await
    }

    /// The same, with the budget of its group, which is fixed with its first election, and with
    /// what it sets aside of it: all of it or nothing.
    pub async fn create_priced_election(
        &self,
        file: &ElectionFile,
        tokens: &[(TokenHash, Role)],
        paid: Option<(GroupBudget, BookedPrice)>,
    ) -> Result<Stored, StoreError> {
        let mut transaction = self.pool.begin().await?;
        let inserted = sqlx::query(
            "INSERT INTO elections (name, grp, file, stage, created, touched, batches)
             VALUES ($1, $2, $3, $4, $5, 0, $6) ON CONFLICT DO NOTHING",
        )
        .bind(file.name().as_str())
        .bind(file.group().as_str())
        .bind(file.canonical())
        .bind(Stage::AwaitingKeys.name())
        .bind(now())
        .bind(i64::try_from(file.batches()).unwrap_or(i64::MAX))
        .execute(&mut *transaction)
        .await?;
        if inserted.rows_affected() == 0 {
            let row = sqlx::query("SELECT file, stage FROM elections WHERE name = $1")
                .bind(file.name().as_str())
                .fetch_one(&mut *transaction)
                .await?;
            let stage: Stage = row.try_get::<String, _>("stage")?.parse()?;
            let mut same =
                stage != Stage::Withdrawn && row.try_get::<String, _>("file")? == file.canonical();
            for (token, role) in tokens {
                same &= role_of(&mut transaction, token).await?.as_ref() == Some(role);
            }
            return if same { Ok(Stored::Again) } else { Err(StoreError::NameTaken) };
        }
        for teacher in file.teachers() {
            sqlx::query(
                "INSERT INTO members (teacher, grp) VALUES ($1, $2) ON CONFLICT DO NOTHING",
            )
            .bind(teacher.as_str())
            .bind(file.group().as_str())
            .execute(&mut *transaction)
            .await?;
            let group: String = sqlx::query_scalar("SELECT grp FROM members WHERE teacher = $1")
                .bind(teacher.as_str())
                .fetch_one(&mut *transaction)
                .await?;
            if group != file.group().as_str() {
                return Err(StoreError::OtherGroup { teacher: teacher.clone(), group });
            }
        }
        for (token, role) in tokens {
            // Whoever has a token twice would have two roles, or somebody else's.
            if insert_token(&mut transaction, token, role).await? == Stored::Again {
                return Err(StoreError::Conflict { what: "a token of these invitations" });
            }
        }
        // Before anyone votes: the commitment to it is in the election's record from now on.
        let part = self.fresh_seed_part();
        insert_seed_part(&mut transaction, file.name(), &part).await?;
        let agreed = vec![(file.quorum(), file.election().samples() as u64)];
        let price = paid.map(|(_, price)| price).unwrap_or_default();
        reserve(&mut transaction, file.name(), file.group(), &agreed, price).await?;
        if let Some((budget, _)) = paid {
            first_budget(&mut transaction, file.group(), budget).await?;
        }
        transaction.commit().await?;
        Ok(Stored::New)
    }

    /// The server's part of a seed, which nobody knows.
    #[cfg_attr(not(test), expect(clippy::unused_self, reason = "a simulation has its own"))]
    pub(crate) fn fresh_seed_part(&self) -> SeedPart {
        #[cfg(test)]
        if let Some(rng) = self.repeatable.lock().unwrap().as_mut() {
            return SeedPart::random(rng);
        }
        SeedPart::random(&mut OsRng.unwrap_err())
    }

    /// One election.
    pub async fn election(&self, name: &Name) -> Result<StoredElection, StoreError> {
        let row = sqlx::query(
            "SELECT name, stage, created, closed, problem, voted FROM elections WHERE name = $1",
        )
        .bind(name.as_str())
        .fetch_optional(&self.pool)
        .await?;
        self.stored_election(&row.ok_or(StoreError::NoElection)?).await
    }

    /// All elections, the newest first.
    pub async fn elections(&self) -> Result<Vec<StoredElection>, StoreError> {
        let rows = sqlx::query(
            "SELECT name, stage, created, closed, problem, voted FROM elections ORDER BY created \
             DESC, name",
        )
        .fetch_all(&self.pool)
        .await?;
        let mut elections = Vec::with_capacity(rows.len());
        for row in &rows {
            elections.push(self.stored_election(row).await?);
        }
        Ok(elections)
    }

    /// What all parties agreed on. It never changes, so it is read once.
    pub(crate) async fn election_file(
        &self,
        name: &str,
    ) -> Result<(Arc<ElectionFile>, [u8; 32]), StoreError> {
        const MOST: usize = 1024;
        let known = || self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((file, digest)) = known().get(name) {
            return Ok((Arc::clone(file), *digest));
        }
        let text: String = sqlx::query_scalar("SELECT file FROM elections WHERE name = $1")
            .bind(name)
            .fetch_optional(&self.pool)
            .await?
            .ok_or(StoreError::NoElection)?;
        let file = ElectionFile::parse(&text).map_err(|_| StoreError::Damaged("election file"))?;
        let digest = file.digest();
        let file = Arc::new(file);
        let mut known = known();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(name.to_owned(), (Arc::clone(&file), digest));
        Ok((file, digest))
    }

    async fn stored_election(&self, row: &AnyRow) -> Result<StoredElection, StoreError> {
        let closed: Option<i64> = row.try_get("closed")?;
        let (file, digest) = self.election_file(row.try_get("name")?).await?;
        Ok(StoredElection {
            file,
            digest,
            stage: row.try_get::<String, _>("stage")?.parse()?,
            created: moment(row.try_get("created")?)?,
            closed: closed.map(moment).transpose()?,
            problem: row.try_get("problem")?,
            voted: small(row.try_get("voted")?)?,
        })
    }

    /// The names of the elections whose aggregation is not finished.
    pub async fn closing(&self) -> Result<Vec<Name>, StoreError> {
        let names: Vec<String> = sqlx::query_scalar(
            "SELECT name FROM elections WHERE stage = 'closing' ORDER BY closed, name",
        )
        .fetch_all(&self.pool)
        .await?;
        names.iter().map(|name| name.parse().map_err(|_| StoreError::Damaged("name"))).collect()
    }

    /// Calls an election off and gives its budget back. Not once its ballots are frozen.
    ///
    /// Must not run beside [`Store::create_election`], which would not see that a teacher leaves
    /// the group.
    pub async fn withdraw(&self, name: &Name) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin().await?;
        let moved = sqlx::query(
            "UPDATE elections SET stage = 'withdrawn' WHERE name = $1 AND stage IN \
             ('awaiting-keys', 'open')",
        )
        .bind(name.as_str())
        .execute(&mut *transaction)
        .await?;
        if moved.rows_affected() == 0 {
            let stage = stage_of(&mut transaction, name).await?;
            return Err(StoreError::Stage {
                stage,
                needed: "it can be called off only before it is closed",
            });
        }
        // What was drawn is spent, though this database has forgotten it, and what may have been
        // drawn since a backup is spent, too.
        if self.may_be_spent(&mut transaction, name).await? {
            sqlx::query("UPDATE ledger SET stage = 'spent' WHERE election = $1")
                .bind(name.as_str())
                .execute(&mut *transaction)
                .await?;
            transaction.commit().await?;
            return Ok(());
        }
        sqlx::query("DELETE FROM ledger WHERE election = $1")
            .bind(name.as_str())
            .execute(&mut *transaction)
            .await?;
        let file: String = sqlx::query_scalar("SELECT file FROM elections WHERE name = $1")
            .bind(name.as_str())
            .fetch_one(&mut *transaction)
            .await?;
        let file = ElectionFile::parse(&file).map_err(|_| StoreError::Damaged("election file"))?;
        leave_group(&mut transaction, &file).await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Keeps a key of the student's; with the second one, the election opens.
    pub async fn add_key(
        &self,
        election: &Name,
        kind: &'static str,
        key_id: &str,
        incoming: Incoming,
    ) -> Result<Stored, StoreError> {
        let object = match kind {
            "public" => Object::PublicKey,
            _ => Object::EvaluationKey,
        };
        let _alone = self.places.enter(election, object).await;
        let (hash, bytes) = (incoming.hash(), incoming.bytes());
        // A look before the file is kept, and again inside the transaction that counts.
        let mut connection = self.pool.acquire().await?;
        if let Some(stored) = known_key(&mut connection, election, kind, key_id, &hash).await? {
            drop(connection);
            if self.is_lost(election, object, &hash) && self.erased(election).await?.is_empty() {
                self.keep(election, object, incoming).await?;
            }
            return Ok(stored);
        }
        drop(connection);
        let stored = match self.keep(election, object, incoming).await {
            Ok(()) => self.book_key(election, kind, key_id, &hash, bytes).await,
            Err(error) => Err(error),
        };
        // A commit whose answer was lost may have gone through: only the tables know.
        if stored.is_err()
            && let Ok(known) = self.key(election, kind).await
            && known.is_none_or(|known| known.hash != hash)
        {
            self.discard(election, object, &hash).await;
        }
        stored
    }

    /// Writes the row of a key whose file is kept; with the second one, the election opens.
    async fn book_key(
        &self,
        election: &Name,
        kind: &'static str,
        key_id: &str,
        hash: &str,
        bytes: u64,
    ) -> Result<Stored, StoreError> {
        let mut transaction = self.pool.begin().await?;
        touch(&mut transaction, election).await?;
        if let Some(stored) = known_key(&mut transaction, election, kind, key_id, hash).await? {
            return Ok(stored);
        }
        sqlx::query(
            "INSERT INTO election_keys (election, kind, hash, bytes, key_id) VALUES ($1, $2, $3, \
             $4, $5)",
        )
        .bind(election.as_str())
        .bind(kind)
        .bind(hash)
        .bind(large(bytes))
        .bind(key_id)
        .execute(&mut *transaction)
        .await?;
        let keys: i64 =
            sqlx::query_scalar("SELECT COUNT(*) FROM election_keys WHERE election = $1")
                .bind(election.as_str())
                .fetch_one(&mut *transaction)
                .await?;
        if keys == 2 {
            sqlx::query("UPDATE elections SET stage = 'open' WHERE name = $1")
                .bind(election.as_str())
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await?;
        Ok(Stored::New)
    }

    /// A key of the student's: `public` or `evaluation`.
    pub async fn key(
        &self,
        election: &Name,
        kind: &'static str,
    ) -> Result<Option<StoredKey>, StoreError> {
        let row =
            sqlx::query("SELECT hash, key_id FROM election_keys WHERE election = $1 AND kind = $2")
                .bind(election.as_str())
                .bind(kind)
                .fetch_optional(&self.pool)
                .await?;
        row.map(|row| Ok(StoredKey { hash: row.try_get("hash")?, key_id: row.try_get("key_id")? }))
            .transpose()
    }
}

/// Lets those teachers of a withdrawn election leave its group who are in no other election of it:
/// their votes were never spent from its budget. A mistyped group would otherwise bind them for
/// ever. An election that was called off after it may have been drawn has a line in the ledger, and
/// still binds its teachers.
async fn leave_group(
    connection: &mut AnyConnection,
    withdrawn: &ElectionFile,
) -> Result<(), StoreError> {
    let others: Vec<String> = sqlx::query_scalar(
        "SELECT file FROM elections WHERE grp = $1 AND (stage <> 'withdrawn' OR name IN \
             (SELECT election FROM ledger))",
    )
    .bind(withdrawn.group().as_str())
    .fetch_all(&mut *connection)
    .await?;
    let mut bound = HashSet::new();
    for other in &others {
        let other = ElectionFile::parse(other).map_err(|_| StoreError::Damaged("election file"))?;
        bound.extend(other.teachers().iter().cloned());
    }
    for teacher in withdrawn.teachers().iter().filter(|teacher| !bound.contains(*teacher)) {
        sqlx::query("DELETE FROM members WHERE teacher = $1 AND grp = $2")
            .bind(teacher.as_str())
            .bind(withdrawn.group().as_str())
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// Whether a key is there already. Fails if another is in its place, or if the election would not
/// take it.
async fn known_key(
    connection: &mut AnyConnection,
    election: &Name,
    kind: &'static str,
    key_id: &str,
    hash: &str,
) -> Result<Option<Stored>, StoreError> {
    let known: Option<String> =
        sqlx::query_scalar("SELECT hash FROM election_keys WHERE election = $1 AND kind = $2")
            .bind(election.as_str())
            .bind(kind)
            .fetch_optional(&mut *connection)
            .await?;
    match known {
        Some(known) if known == hash => return Ok(Some(Stored::Again)),
        Some(_) => return Err(StoreError::Conflict { what: "this key" }),
        None => {}
    }
    let stage = stage_of(&mut *connection, election).await?;
    if stage != Stage::AwaitingKeys {
        return Err(StoreError::Stage { stage, needed: "it takes no more keys" });
    }
    let foreign: i64 = sqlx::query_scalar(
        "SELECT COUNT(*) FROM election_keys WHERE election = $1 AND key_id <> $2",
    )
    .bind(election.as_str())
    .bind(key_id)
    .fetch_one(connection)
    .await?;
    if foreign > 0 {
        return Err(StoreError::Conflict { what: "a key of another set" });
    }
    Ok(None)
}
