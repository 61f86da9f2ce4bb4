//! Audits after a release: what was asked, what was answered, and the files of both.

use shield_protocol::Name;
use shield_protocol::turnout::VoterCounts;
use sqlx::Row;
use sqlx::any::AnyRow;

use super::{BookedPrice, Object, Store, StoreError, Stored, large, small, touch, voters_text};

/// How far an audit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundStage {
    /// The checks of all teachers are being computed.
    Auditing,
    /// The student's answer is awaited.
    Audited,
    /// The spoiled samples are being aggregated again.
    Aggregating,
    /// Their results can be fetched.
    Released,
    /// It could not go on.
    Failed,
}

impl RoundStage {
    const ALL: [Self; 5] =
        [Self::Auditing, Self::Audited, Self::Aggregating, Self::Released, Self::Failed];

    /// The stage's name, as in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auditing => "auditing",
            Self::Audited => "audited",
            Self::Aggregating => "aggregating",
            Self::Released => "released",
            Self::Failed => "failed",
        }
    }
}

/// An audit as the tables have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRound {
    /// Its number, from 1.
    pub round: u32,
    /// How far it is.
    pub stage: RoundStage,
    /// The student's question, as JSON.
    pub question: String,
    /// The student's answer, as JSON.
    pub answer: Option<String>,
    /// What it stumbled over.
    pub problem: Option<String>,
}

/// A file of an audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundFile {
    /// The checks of all teachers on a batch.
    Audit,
    /// What the student gets for the spoiled samples of a batch.
    Again,
}

impl RoundFile {
    fn name(self) -> &'static str {
        match self {
            Self::Audit => "audit",
            Self::Again => "again",
        }
    }

    /// The file of a batch.
    pub(crate) fn object(self, round: u32, batch: u32) -> Object {
        match self {
            Self::Audit => Object::Audit { round, batch },
            Self::Again => Object::Again { round, batch },
        }
    }
}

impl Store {
    /// The audits of an election, in order.
    pub async fn rounds(&self, election: &Name) -> Result<Vec<StoredRound>, StoreError> {
        let rows = sqlx::query(
            "SELECT round, stage, question, answer, problem FROM rounds WHERE election = $1 ORDER \
             BY round",
        )
        .bind(election.as_str())
        .fetch_all(&self.pool)
        .await?;
        rows.iter().map(stored_round).collect()
    }

    /// Elections with an audit that waits for the server.
    pub async fn rounds_to_do(&self) -> Result<Vec<Name>, StoreError> {
        let names: Vec<String> = sqlx::query_scalar(
            "SELECT election FROM rounds WHERE stage IN ('auditing', 'aggregating') ORDER BY \
             election",
        )
        .fetch_all(&self.pool)
        .await?;
        names.iter().map(|name| name.parse().map_err(|_| StoreError::Damaged("name"))).collect()
    }

    /// Writes down what the student asks. The same again changes nothing; something else in its
    /// place is refused.
    pub async fn ask(
        &self,
        election: &Name,
        round: u32,
        question: &str,
    ) -> Result<Stored, StoreError> {
        let mut connection = self.pool.acquire().await?;
        self.refuse_second_audit(&mut connection, election, round).await?;
        drop(connection);
        let inserted = sqlx::query(
            "INSERT INTO rounds (election, round, stage, question) VALUES ($1, $2, 'auditing', \
             $3) ON CONFLICT DO NOTHING",
        )
        .bind(election.as_str())
        .bind(i64::from(round))
        .bind(question)
        .execute(&self.pool)
        .await?;
        if inserted.rows_affected() == 1 {
            return Ok(Stored::New);
        }
        let known = self.rounds(election).await?.into_iter().find(|known| known.round == round);
        match known {
            Some(known) if known.question == question => Ok(Stored::Again),
            _ => Err(StoreError::Conflict { what: "another question for this audit" }),
        }
    }

    /// Writes down what the student answers, and books what it costs to aggregate again: both or
    /// neither.
    pub async fn answer(
        &self,
        election: &Name,
        round: u32,
        answer: &str,
        booked: &VoterCounts,
        price: BookedPrice,
    ) -> Result<Stored, StoreError> {
        let mut transaction = self.pool.begin().await?;
        touch(&mut transaction, election).await?;
        let row = sqlx::query("SELECT answer FROM rounds WHERE election = $1 AND round = $2")
            .bind(election.as_str())
            .bind(i64::from(round))
            .fetch_optional(&mut *transaction)
            .await?
            .ok_or(StoreError::NoElection)?;
        match row.try_get::<Option<String>, _>("answer")? {
            Some(known) if known == answer => return Ok(Stored::Again),
            Some(_) => return Err(StoreError::Conflict { what: "another answer to this audit" }),
            None => {}
        }
        self.refuse_second_audit(&mut transaction, election, round).await?;
        let moved = sqlx::query(
            "UPDATE rounds SET stage = 'aggregating', answer = $1 WHERE election = $2 AND round = \
             $3 AND stage = 'audited'",
        )
        .bind(answer)
        .bind(election.as_str())
        .bind(i64::from(round))
        .execute(&mut *transaction)
        .await?;
        let paid = sqlx::query(
            "UPDATE ledger SET voters = $1, log_moment = $2, distance = $3, tight = $4 WHERE \
             election = $5 AND stage = 'spent'",
        )
        .bind(voters_text(booked))
        .bind(price.log_moment.map(|moment| moment.to_string()))
        .bind(price.distance.map(|distance| distance.to_string()))
        .bind(i64::from(price.tight))
        .bind(election.as_str())
        .execute(&mut *transaction)
        .await?;
        if moved.rows_affected() != 1 || paid.rows_affected() != 1 {
            return Err(StoreError::Damaged("audit"));
        }
        transaction.commit().await?;
        Ok(Stored::New)
    }

    /// Moves an audit on.
    pub async fn move_round(
        &self,
        election: &Name,
        round: u32,
        stage: RoundStage,
        problem: Option<&str>,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE rounds SET stage = $1, problem = $2 WHERE election = $3 AND round = $4",
        )
        .bind(stage.name())
        .bind(problem)
        .bind(election.as_str())
        .bind(i64::from(round))
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Keeps a file of an audit. If one is there already, it must be the very same.
    pub async fn add_round_file(
        &self,
        election: &Name,
        round: u32,
        kind: RoundFile,
        batch: u32,
        bytes: &[u8],
    ) -> Result<Stored, StoreError> {
        let object = kind.object(round, batch);
        let _alone = self.places.enter(election, object).await;
        let mut incoming = self.incoming()?;
        incoming.write(bytes)?;
        let (hash, length) = (incoming.hash(), incoming.bytes());
        if let Some(known) = self.round_file(election, round, kind, batch).await? {
            if known != hash {
                return Err(StoreError::Conflict { what: "another file of this audit" });
            }
            if self.is_lost(election, object, &hash) {
                self.keep(election, object, incoming).await?;
            }
            return Ok(Stored::Again);
        }
        self.keep(election, object, incoming).await?;
        sqlx::query(
            "INSERT INTO round_files (election, round, kind, batch, hash, bytes) VALUES ($1, $2, \
             $3, $4, $5, $6)",
        )
        .bind(election.as_str())
        .bind(i64::from(round))
        .bind(kind.name())
        .bind(i64::from(batch))
        .bind(&hash)
        .bind(large(length))
        .execute(&self.pool)
        .await?;
        Ok(Stored::New)
    }

    /// The hash of a file of an audit, once it is there.
    pub async fn round_file(
        &self,
        election: &Name,
        round: u32,
        kind: RoundFile,
        batch: u32,
    ) -> Result<Option<String>, StoreError> {
        Ok(sqlx::query_scalar(
            "SELECT hash FROM round_files WHERE election = $1 AND round = $2 AND kind = $3 AND \
             batch = $4",
        )
        .bind(election.as_str())
        .bind(i64::from(round))
        .bind(kind.name())
        .bind(i64::from(batch))
        .fetch_optional(&self.pool)
        .await?)
    }

    /// All files of an election's audits, with their hashes.
    pub(super) async fn round_files(
        &self,
        election: &Name,
    ) -> Result<Vec<(Object, String)>, StoreError> {
        let rows =
            sqlx::query("SELECT round, kind, batch, hash FROM round_files WHERE election = $1")
                .bind(election.as_str())
                .fetch_all(&self.pool)
                .await?;
        rows.iter()
            .map(|row| {
                let kind = match row.try_get::<String, _>("kind")?.as_str() {
                    "audit" => RoundFile::Audit,
                    _ => RoundFile::Again,
                };
                let (round, batch) = (row.try_get("round")?, row.try_get("batch")?);
                Ok((kind.object(small(round)?, small(batch)?), row.try_get("hash")?))
            })
            .collect()
    }
}

fn stored_round(row: &AnyRow) -> Result<StoredRound, StoreError> {
    let stage: String = row.try_get("stage")?;
    let stage = RoundStage::ALL.into_iter().find(|known| known.name() == stage);
    Ok(StoredRound {
        round: small(row.try_get("round")?)?,
        stage: stage.ok_or(StoreError::Damaged("audit"))?,
        question: row.try_get("question")?,
        answer: row.try_get("answer")?,
        problem: row.try_get("problem")?,
    })
}
