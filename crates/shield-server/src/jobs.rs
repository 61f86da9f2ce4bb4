//! A closed election as a job, in its own folder: what the server's worker computes from, or
//! whoever else it is left to.
//!
//! The rows say which ballots count, and the job is made from them, once. Whoever can read the
//! folder can read the seed: workers belong to the server, as its own threads do.

use std::sync::{Arc, PoisonError};

use shield_core::framing::KeyId;
use shield_protocol::hex::unhex;
use shield_protocol::job::{BallotFolder, KeptBatch, Releases};
use shield_protocol::seed::Purpose;
use shield_protocol::{Job, Name, PlannedElection};

use crate::problem::Problem;
use crate::service::Service;
use crate::store::{Object, Stage, StoreError, StoredBallot, presence_from_text};

/// Why an aggregation could not go on.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Who aggregates closed elections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Aggregation {
    /// The server itself, in this process.
    #[default]
    Here,
    /// Whoever works on the jobs in the data folder, under `elections`.
    Elsewhere,
}

/// How many elections are kept in memory with the list of their ballots.
const KNOWN: usize = 4;

impl Service {
    /// A closed election as a job: read, checked and written once.
    pub(crate) async fn job(&self, file: &PlannedElection) -> Result<Arc<Job>, Problem> {
        let name = file.name();
        let stage = self.store.election(name).await?.stage;
        if !matches!(stage, Stage::Closing | Stage::Released | Stage::Failed) {
            return Err(Problem::not_found("there is no transcript before the election is closed"));
        }
        let known = || self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let find = || known().get(name).cloned();
        if let Some(job) = find() {
            return Ok(job);
        }
        // One at a time: two who write the same job could take each other's files away.
        let _alone = self.freezing.lock().await;
        if let Some(job) = find() {
            return Ok(job);
        }
        if self.store.erased(name).await?.iter().any(|(what, _)| what == "everything") {
            return Err(Problem::not_found("this election was erased"));
        }
        let part = self.store.seed_part(name).await?.ok_or(StoreError::Damaged("seed"))?;
        let damaged = || StoreError::Damaged("key");
        let key = self.store.key(name, "evaluation").await?.ok_or_else(damaged)?;
        let hash = unhex(&key.hash).ok_or_else(damaged)?;
        let id = unhex(&key.key_id).map(KeyId::from_bytes).ok_or_else(damaged)?;
        let folder = self.store.own_folder(name);
        let key = self.store.path(name, Object::EvaluationKey, &key.hash);
        let (mut ballots, kept) = (BallotFolder::empty(file), folder.join("ballots"));
        let mut add = |teacher, own| {
            let own = batches(file, own).and_then(|own| ballots.add(&kept, teacher, own));
            own.ok_or(StoreError::Damaged("ballot"))
        };
        let (seed, _) = self.store.frozen_ballots(name, &mut add).await?;
        let kept = tokio::task::spawn_blocking(move || {
            let job = Job::keep(&folder, ballots, (&key, hash, id), &part);
            let job = job.map_err(Problem::internal)?;
            let draws = part.seed(Purpose::Draws, &job.frozen().digest());
            // What was frozen is what is drawn from.
            if draws.as_bytes() == seed.as_bytes() {
                return Ok::<_, Problem>(job);
            }
            Err(StoreError::Damaged("seed").into())
        });
        let job = Arc::new(kept.await.map_err(Problem::internal)??);
        tracing::info!(election = %name, job = %job.path().display(), "frozen");
        let mut known = known();
        if known.len() >= KNOWN {
            known.clear();
        }
        known.insert(name.clone(), Arc::clone(&job));
        Ok(job)
    }

    /// A closed election, and everything that its releases follow from.
    pub(crate) async fn opened(&self, name: &Name) -> Result<(Arc<Job>, Arc<Releases>), Failure> {
        let say = |problem: Problem| problem.detail().to_owned();
        let file = self.planned(name).await.map_err(say)?;
        let job = self.job(&file).await.map_err(say)?;
        let of = Arc::clone(&job);
        let releases = tokio::task::spawn_blocking(move || of.releases()).await??;
        Ok((job, Arc::new(releases)))
    }

    /// Takes what others have computed of a closed election. Gives whether that is all of it.
    ///
    /// A folder that cannot be read or written now is tried again: it may be a network's.
    pub(crate) async fn take(&self, name: &Name) -> bool {
        match self.take_batches(name).await {
            Ok(all) => all,
            Err(error) => {
                tracing::error!(election = %name, %error, "the job cannot be looked after");
                self.incident(Some(name), &format!("its job: {error}"));
                false
            }
        }
    }

    async fn take_batches(&self, name: &Name) -> Result<bool, Failure> {
        let say = |problem: Problem| problem.detail().to_owned();
        let file = self.planned(name).await.map_err(say)?;
        // From here on anybody may draw.
        self.store.mark_frozen(name).await?;
        let job = self.job(&file).await.map_err(say)?;
        let kept = self.store.released_batches(name).await?;
        let mut left = 0;
        for batch in (0..).take(file.batches()).filter(|batch| !kept.contains(batch)) {
            let of = Arc::clone(&job);
            match tokio::task::spawn_blocking(move || finished(&of, batch)).await? {
                Ok(Some(release)) => {
                    self.store.add_release(name, batch, &release).await?;
                    self.metrics.batches.inc();
                    tracing::info!(election = %name, batch, "batch taken from its job");
                }
                Ok(None) => left += 1,
                Err(error) => {
                    left += 1;
                    tracing::error!(election = %name, batch, %error, "a batch was put aside");
                    self.incident(Some(name), &format!("a batch was put aside: {error}"));
                }
            }
        }
        Ok(left == 0)
    }
}

/// A ballot by its rows.
fn batches(file: &PlannedElection, own: Vec<StoredBallot>) -> Option<Vec<KeptBatch>> {
    let batch = |row: StoredBallot| {
        let samples = file.engine().batch(row.batch as usize).len();
        Some(KeptBatch {
            length: usize::try_from(row.bytes).ok()?,
            hash: unhex(&row.hash)?,
            votes: unhex(&row.votes)?,
            presence: presence_from_text(samples, &row.presence)?,
        })
    };
    own.into_iter().map(batch).collect()
}

/// A batch that somebody computed. One that cannot be it is put aside, to be computed again.
fn finished(job: &Job, batch: u32) -> Result<Option<Vec<u8>>, String> {
    job.finished(batch as usize).map_err(|error| match job.set_aside(batch as usize) {
        Ok(()) => error.to_string(),
        Err(again) => format!("{error}; {again}"),
    })
}
