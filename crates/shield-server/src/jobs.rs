//! Aggregation that is left to others: closed elections become jobs in a folder, and the batches
//! that anybody computes there are checked and kept, so that the server goes on answering.
//!
//! The seed follows from the same part and the same ballots as in the server's own aggregation, so
//! that the releases have the same bytes. Whoever can read the folder can read the seed: workers
//! belong to the server, as its own threads do.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rand::TryRngCore;
use rand::rngs::OsRng;
use shield_protocol::bundle::{BundleWriter, Content};
use shield_protocol::job::freeze::encode_part;
use shield_protocol::new_file::{Readers, Unnamed};
use shield_protocol::seed::SeedPart;
use shield_protocol::{Job, Name, private};

use crate::ballot_box::Failure;
use crate::error::ServeError;
use crate::frozen::FrozenElection;
use crate::service::{Service, Setup};
use crate::store::{Object, Store, StoredBallot, StoredKey};

/// Who aggregates closed elections.
#[derive(Debug, Default)]
pub enum Aggregation {
    /// The server itself, in this process.
    #[default]
    Here,
    /// Whoever computes the jobs in a folder.
    Jobs(Jobs),
}

impl Aggregation {
    /// Leaves it to those who compute the jobs in a folder, which is made if it is not there.
    pub fn jobs_in(folder: &Path) -> Result<Self, ServeError> {
        private::make_folder(folder)?;
        // Every job has the seed of its draws in it.
        if private::is_open_to_others(folder)? {
            return Err(ServeError::Exposed(folder.to_owned()));
        }
        Ok(Self::Jobs(Jobs { folder: folder.to_owned(), open: HashMap::new() }))
    }
}

/// The jobs in a folder.
#[derive(Debug)]
pub struct Jobs {
    folder: PathBuf,
    /// Those that are being computed.
    open: HashMap<Name, Arc<Job>>,
}

impl Jobs {
    /// Takes what has been computed of a closed election. Gives whether that is all of it.
    ///
    /// A folder that cannot be read or written now is tried again: it may be a network's.
    pub(crate) async fn look_after(&mut self, service: &Arc<Service>, name: &Name) -> bool {
        match self.take(service, name).await {
            Ok(all) => all,
            Err(error) => {
                tracing::error!(election = %name, %error, "the job cannot be looked after");
                service.incident(Some(name), &format!("its job: {error}"));
                false
            }
        }
    }

    async fn take(&mut self, service: &Arc<Service>, name: &Name) -> Result<bool, Failure> {
        let job = if let Some(job) = self.open.get(name) {
            Arc::clone(job)
        } else {
            let job = Arc::new(self.freeze(service, name).await?);
            self.open.insert(name.clone(), Arc::clone(&job));
            job
        };
        let kept = service.store.released_batches(name).await?;
        let mut left = 0;
        for batch in (0..).take(job.file().batches()) {
            if kept.contains(&batch) {
                continue;
            }
            let of = Arc::clone(&job);
            let found = tokio::task::spawn_blocking(move || finished(&of, batch)).await?;
            match found {
                Ok(Some(release)) => {
                    service.store.add_release(name, batch, &release).await?;
                    service.metrics.batches.inc();
                    tracing::info!(election = %name, batch, "batch taken from its job");
                }
                Ok(None) => left += 1,
                Err(error) => {
                    left += 1;
                    tracing::error!(election = %name, batch, %error, "a batch was put aside");
                    service.incident(Some(name), &format!("a batch was put aside: {error}"));
                }
            }
        }
        if left == 0 {
            self.open.remove(name);
        }
        Ok(left == 0)
    }

    /// The job of a closed election: the one that is there, or a new one.
    async fn freeze(&self, service: &Arc<Service>, name: &Name) -> Result<Job, Failure> {
        let say = |problem: crate::problem::Problem| problem.detail().to_owned();
        let setup = service.setup(name).await.map_err(say)?;
        let election = service.frozen_election(&setup).await.map_err(say)?;
        let part = service.store.seed_part(name).await?.ok_or("it has no seed")?;
        let mut ballots = Vec::new();
        for batch in (0..).take(setup.engine.batches()) {
            ballots.extend(service.store.ballots_for(name, batch).await?);
        }
        let key = service.store.key(name, "evaluation").await?;
        let key = key.ok_or("there is no evaluation key")?;
        let export = Export {
            folder: self.folder.join(name.as_str()),
            store: service.store.clone(),
            setup,
            election,
            part,
            ballots,
            key,
        };
        let job = tokio::task::spawn_blocking(move || export.job()).await??;
        let path = job.path().display();
        tracing::info!(election = %name, job = %path, "left to whoever computes it");
        Ok(job)
    }
}

/// A batch that somebody computed. One that cannot be it is put aside, to be computed again.
fn finished(job: &Job, batch: u32) -> Result<Option<Vec<u8>>, String> {
    job.finished(batch as usize).map_err(|error| match job.set_aside(batch as usize) {
        Ok(()) => error.to_string(),
        Err(again) => format!("{error}; {again}"),
    })
}

/// Everything that a job is made of.
struct Export {
    folder: PathBuf,
    store: Store,
    setup: Arc<Setup>,
    election: Arc<FrozenElection>,
    part: SeedPart,
    ballots: Vec<StoredBallot>,
    key: StoredKey,
}

impl Export {
    /// Freezes the job; goes on with one that was interrupted on the way.
    fn job(&self) -> Result<Job, Failure> {
        if self.folder.join("job.toml").exists() {
            let job = Job::open(&self.folder)?;
            if job.frozen().digest() == self.election.frozen.digest() {
                return Ok(job);
            }
            return Err(format!(
                "{} holds the job of other ballots; move it away",
                self.folder.display()
            )
            .into());
        }
        let ballots = self.folder.join("ballots");
        private::make_folder(&ballots)?;
        for teacher in self.election.roll.teachers() {
            self.write_ballot(teacher, &ballots)?;
        }
        let name = self.setup.file.name();
        let key = self.store.read(name, Object::EvaluationKey, &self.key.hash)?;
        let key_path = self.folder.join("evaluation.key");
        Unnamed::write(&key_path, Readers::Everyone, &key)?.name_or_find(&key_path)?;
        drop(key);
        let seed_path = self.folder.join("seed");
        let seed = encode_part(&self.election.frozen, &self.part);
        Unnamed::write(&seed_path, Readers::Owner, &seed)?.name_or_find(&seed_path)?;
        let rng = &mut OsRng.unwrap_err();
        let (file, out) = (&self.setup.file, &self.folder);
        let job = Job::freeze(file, &key_path, &ballots, out, rng, &|_| {})?;
        if job.frozen().digest() == self.election.frozen.digest() {
            return Ok(job);
        }
        Err("the ballots in the job are not those that were frozen".into())
    }

    /// Writes a teacher's ballot as the file that the teacher uploaded.
    fn write_ballot(&self, teacher: u32, folder: &Path) -> Result<(), Failure> {
        let path = folder.join(format!("{teacher}.ballot"));
        if path.exists() {
            return Ok(());
        }
        let (name, digest) = (self.setup.file.name(), self.setup.file.digest());
        let own = || self.ballots.iter().filter(|ballot| ballot.teacher == teacher);
        let parts = u32::try_from(own().count())?;
        let written = Unnamed::fill(&path, Readers::Everyone, |file| {
            let content = Content::Ballot { teacher };
            let bundle = BundleWriter::new(file, content, &digest, parts);
            let mut bundle = bundle.map_err(io::Error::other)?;
            for ballot in own() {
                let object = Object::Ballot { teacher, batch: ballot.batch };
                let bytes = self.store.read(name, object, &ballot.hash);
                bundle.part(&bytes.map_err(io::Error::other)?).map_err(io::Error::other)?;
            }
            Ok(())
        })?;
        Ok(written.name(&path)?)
    }
}
