//! Folder and tables compared: what no row names is put aside, and what a row names and is not
//! there is said.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use shield_protocol::Name;

use super::{Object, Stage, Store, StoreError};

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

    /// The same, and what is lost. Elections that failed or were released with lost releases are
    /// aggregated again, from the stored seed.
    pub async fn compare(&self) -> Result<(usize, Lost), StoreError> {
        let aside = format!("swept/{}", Timestamp::now().strftime("%Y-%m-%dT%H-%M-%S%.3fZ"));
        let aside = Path::new(&aside);
        let (mut swept, mut lost) = (0, Lost::default());
        for election in self.elections().await? {
            let name = election.file.name();
            if !self.erased(name).await?.is_empty() {
                continue;
            }
            let mut known = HashSet::new();
            for (kind, object) in
                [("public", Object::PublicKey), ("evaluation", Object::EvaluationKey)]
            {
                if let Some(key) = self.key(name, kind).await? {
                    let path = self.folder.path(name, object, &key.hash);
                    if !path.exists() {
                        lost.keys.push((name.clone(), kind));
                    }
                    known.insert(path);
                }
            }
            swept += self.folder.sweep(name, Path::new("keys"), &known, aside)?;
            known.clear();
            for (object, hash) in self.round_files(name).await? {
                known.insert(self.folder.path(name, object, &hash));
            }
            swept += self.folder.sweep(name, Path::new("audits"), &known, aside)?;
            swept += self.compare_ballots(name, election.stage, aside, &mut lost).await?;
            let before = lost.releases.len();
            for release in self.releases(name).await? {
                let object = Object::Release { batch: release.batch };
                if !self.folder.path(name, object, &release.hash).exists() {
                    lost.releases.push((name.clone(), release.batch));
                }
            }
            if lost.releases.len() > before && election.stage == Stage::Released {
                self.aggregate_again(name).await?;
            }
        }
        if swept > 0 {
            tracing::warn!(files = swept, folder = %aside.display(), "put aside what no row names");
        }
        Ok((swept, lost))
    }

    /// Teacher by teacher, so that no more than one ballot's rows are in memory.
    async fn compare_ballots(
        &self,
        name: &Name,
        stage: Stage,
        aside: &Path,
        lost: &mut Lost,
    ) -> Result<usize, StoreError> {
        // Ballots that are never aggregated any more are not missed.
        let needed = !matches!(stage, Stage::Withdrawn);
        let teachers: Vec<i64> =
            sqlx::query_scalar("SELECT teacher FROM voters WHERE election = $1 ORDER BY teacher")
                .bind(name.as_str())
                .fetch_all(&self.pool)
                .await?;
        let mut swept = 0;
        let mut folders: HashSet<String> =
            self.folder.folders_in(name, "ballots")?.into_iter().collect();
        for teacher in teachers {
            let teacher = super::small(teacher)?;
            let rows = self.ballots_of(name, teacher..teacher + 1).await?;
            let path =
                |batch, hash: &str| self.folder.path(name, Object::Ballot { teacher, batch }, hash);
            let known: HashSet<PathBuf> =
                rows.iter().map(|ballot| path(ballot.batch, &ballot.hash)).collect();
            let missing = rows.iter().filter(|row| !path(row.batch, &row.hash).exists());
            if needed {
                lost.ballots.extend(missing.map(|row| (name.clone(), teacher, row.batch)));
            }
            let own = teacher.to_string();
            swept += self.folder.sweep(name, &Path::new("ballots").join(&own), &known, aside)?;
            folders.remove(&own);
        }
        for folder in folders {
            let own = Path::new("ballots").join(folder);
            swept += self.folder.sweep(name, &own, &HashSet::new(), aside)?;
        }
        Ok(swept)
    }

    /// Lets the worker compute lost releases again.
    async fn aggregate_again(&self, name: &Name) -> Result<(), StoreError> {
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
                let object = Object::Release { batch: release.batch };
                self.folder.path(name, object, &release.hash).exists()
            })
            .map(|release| release.batch)
            .collect())
    }
}
