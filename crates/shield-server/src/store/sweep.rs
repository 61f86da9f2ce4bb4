//! Folder and tables compared: what no row names is put aside, and what a row names and is not
//! there is said.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use shield_protocol::Name;

use sqlx::Row;

use super::roll::recount;
use super::{
    Object, Stage, Store, StoreError, StoredBallot, StoredElection, small, stage_of, touch,
};

/// Files that the tables name and the folder does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Batches of ballots: election, teacher's number, batch.
    pub ballots: Vec<(Name, u32, u32)>,
    /// Releases: election and batch.
    pub releases: Vec<(Name, u32)>,
    /// Keys: election and kind.
    pub keys: Vec<(Name, &'static str)>,
}

impl Lost {
    /// Whether nothing is.
    pub fn is_empty(&self) -> bool {
        self.ballots.is_empty() && self.releases.is_empty() && self.keys.is_empty()
    }
}

impl Store {
    /// Puts files aside that no row names: a crash came between the two, or the database is older
    /// than the folder, and then they are ballots that were acknowledged. So none is deleted.
    /// Releases stay where they are: they keep an election from being drawn twice.
    pub async fn sweep(&self) -> Result<usize, StoreError> {
        Ok(self.compare().await?.0)
    }

    /// The same, and what is lost.
    pub async fn compare(&self) -> Result<(usize, Lost), StoreError> {
        let aside = format!("swept/{}", Timestamp::now().strftime("%Y-%m-%dT%H-%M-%S%.3fZ"));
        let aside = Path::new(&aside);
        let (mut swept, mut lost) = (0, Lost::default());
        for election in self.elections().await? {
            swept += self.look_at(&election, Some(aside), &mut lost).await?;
        }
        if swept > 0 {
            tracing::warn!(files = swept, folder = %aside.display(), "put aside what no row names");
        }
        Ok((swept, lost))
    }

    /// What is lost of an election; nothing is put aside. Ballots that are lost count as missing
    /// while it is open, and lost releases are computed again.
    pub async fn lost_of(&self, name: &Name) -> Result<Lost, StoreError> {
        let mut lost = Lost::default();
        self.look_at(&self.election(name).await?, None, &mut lost).await?;
        Ok(lost)
    }

    async fn look_at(
        &self,
        election: &StoredElection,
        aside: Option<&Path>,
        lost: &mut Lost,
    ) -> Result<usize, StoreError> {
        let name = election.file.name();
        if !self.erased(name).await?.is_empty() {
            return Ok(0);
        }
        let sweep = |folder: &str, known: &HashSet<PathBuf>| {
            aside.map_or(Ok(0), |aside| self.folder.sweep(name, Path::new(folder), known, aside))
        };
        let mut known = HashSet::new();
        for (kind, object) in [("public", Object::PublicKey), ("evaluation", Object::EvaluationKey)]
        {
            if let Some(key) = self.key(name, kind).await? {
                let path = self.folder.path(name, object, &key.hash);
                if !path.exists() {
                    lost.keys.push((name.clone(), kind));
                }
                known.insert(path);
            }
        }
        let mut swept = sweep("keys", &known)?;
        known.clear();
        for (object, hash) in self.round_files(name).await? {
            known.insert(self.folder.path(name, object, &hash));
        }
        swept += sweep("audits", &known)?;
        let folders = self.folder.folders_in(name, "ballots")?;
        let mut folders: HashSet<String> = folders.into_iter().collect();
        // Teacher by teacher, so that no more than one ballot's rows are in memory.
        for (teacher, counted) in self.begun_ballots(name).await? {
            let rows = self.ballots_of(name, teacher..teacher + 1).await?;
            let path = |row: &StoredBallot| {
                let object = Object::Ballot { teacher, batch: row.batch };
                self.folder.path(name, object, &row.hash)
            };
            let missing: Vec<u32> =
                rows.iter().filter(|row| !path(row).exists()).map(|row| row.batch).collect();
            if rows.len() - missing.len() != counted {
                self.recount(name, teacher).await?;
            }
            // Ballots that are never aggregated any more are not missed.
            if election.stage != Stage::Withdrawn {
                let missing = missing.into_iter();
                lost.ballots.extend(missing.map(|batch| (name.clone(), teacher, batch)));
            }
            let own = teacher.to_string();
            swept += sweep(&format!("ballots/{own}"), &rows.iter().map(path).collect())?;
            folders.remove(&own);
        }
        for folder in folders {
            swept += sweep(&format!("ballots/{folder}"), &HashSet::new())?;
        }
        let before = lost.releases.len();
        for release in self.releases(name).await? {
            if self.is_lost(name, Object::Release { batch: release.batch }, &release.hash) {
                lost.releases.push((name.clone(), release.batch));
            }
        }
        if lost.releases.len() > before {
            self.aggregate_again(name).await?;
        }
        Ok(swept)
    }

    /// Whether the file that a row names is not there.
    pub(crate) fn is_lost(&self, election: &Name, object: Object, hash: &str) -> bool {
        !self.folder.path(election, object, hash).exists()
    }

    /// The batches of a teacher's ballot that are there. While the election is open, those that are
    /// lost count as missing from now on.
    pub async fn batches_there(
        &self,
        election: &Name,
        teacher: u32,
    ) -> Result<Vec<StoredBallot>, StoreError> {
        let mut own = self.ballots_of(election, teacher..teacher + 1).await?;
        let known = own.len();
        own.retain(|row| {
            !self.is_lost(election, Object::Ballot { teacher, batch: row.batch }, &row.hash)
        });
        if own.len() < known {
            self.recount(election, teacher).await?;
        }
        Ok(own)
    }

    /// Counts the batches of a teacher's ballot whose files are there, while the election is open:
    /// what was frozen does not change.
    pub(super) async fn recount(&self, election: &Name, teacher: u32) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin().await?;
        touch(&mut transaction, election).await?;
        if stage_of(&mut transaction, election).await? != Stage::Open {
            return Ok(());
        }
        let rows =
            sqlx::query("SELECT batch, hash FROM ballots WHERE election = $1 AND teacher = $2")
                .bind(election.as_str())
                .bind(i64::from(teacher))
                .fetch_all(&mut *transaction)
                .await?;
        let mut there = 0;
        for row in &rows {
            let object = Object::Ballot { teacher, batch: small(row.try_get("batch")?)? };
            there += usize::from(!self.is_lost(election, object, row.try_get("hash")?));
        }
        recount(&mut transaction, election, teacher, there).await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Lets the worker compute lost releases again.
    pub(crate) async fn aggregate_again(&self, name: &Name) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE elections SET stage = 'closing' WHERE name = $1 AND stage = 'released'",
        )
        .bind(name.as_str())
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// The batches of an election whose release is in the tables and in the folder.
    pub async fn released_batches(&self, name: &Name) -> Result<HashSet<u32>, StoreError> {
        let releases = self.releases(name).await?.into_iter();
        Ok(releases
            .filter(|release| {
                !self.is_lost(name, Object::Release { batch: release.batch }, &release.hash)
            })
            .map(|release| release.batch)
            .collect())
    }
}
