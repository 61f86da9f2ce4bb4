//! The server's one piece of work: frozen ballots in, releases out, batch by batch.
//!
//! Whenever it is stopped it goes on where it was: batches that have a release are done, and the
//! others come out the same from the stored seed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use shield::backend::{BallotBoxError, Presence};
use shield_protocol::Name;
use shield_protocol::engine::{Aggregating, BallotBytes};

use crate::audits;
use crate::elections::complete;
use crate::service::{Service, Setup};
use crate::store::{Object, Store, StoreError, StoredBallot, presence_from_text};

/// The ballots of one batch, in the data folder.
pub(crate) struct StoredBox<'a> {
    store: &'a Store,
    setup: &'a Setup,
    batch: u32,
    ballots: HashMap<u32, &'a StoredBallot>,
}

impl<'a> StoredBox<'a> {
    /// The ballots of those who voted on every batch.
    pub(crate) fn new(
        store: &'a Store,
        setup: &'a Setup,
        batch: u32,
        ballots: &'a [StoredBallot],
        voters: &[u32],
    ) -> Self {
        let own = ballots.iter().filter(|ballot| {
            ballot.batch == batch && voters.binary_search(&ballot.teacher).is_ok()
        });
        let ballots = own.map(|ballot| (ballot.teacher, ballot)).collect();
        Self { store, setup, batch, ballots }
    }

    fn samples(&self) -> usize {
        self.setup.engine.batch(self.batch as usize).len()
    }
}

impl BallotBytes for StoredBox<'_> {
    fn presence(&self, teacher: u32) -> Result<Presence, BallotBoxError> {
        match self.ballots.get(&teacher) {
            None => Ok(Presence::none(self.samples())),
            Some(ballot) => presence_from_text(self.samples(), &ballot.presence).ok_or_else(|| {
                BallotBoxError { teacher, source: StoreError::Damaged("presence").into() }
            }),
        }
    }

    fn bytes(&self, teacher: u32) -> Result<Vec<u8>, BallotBoxError> {
        let refuse = |source| BallotBoxError { teacher, source };
        let ballot = self.ballots.get(&teacher).ok_or_else(|| refuse("it is not stored".into()))?;
        let object = Object::Ballot { teacher, batch: self.batch };
        let bytes = self.store.read(self.setup.file.name(), object, &ballot.hash);
        bytes.map_err(|error| refuse(error.into()))
    }

    fn checksum(&self, teacher: u32) -> Result<Option<[u8; 32]>, BallotBoxError> {
        let Some(ballot) = self.ballots.get(&teacher) else { return Ok(None) };
        let object = Object::Ballot { teacher, batch: self.batch };
        let found = self.store.ballot_checksum(self.setup.file.name(), object, &ballot.hash);
        found.map_err(|error| BallotBoxError { teacher, source: error.into() })
    }
}

/// Why an aggregation could not go on.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Works off every closing election, then waits to be woken. Ends when the service is stopping.
pub(crate) async fn run(service: Arc<Service>) {
    loop {
        if let Err(error) = work_off(&service).await {
            tracing::error!(%error, "the aggregation cannot read the store");
            service.incident(None, &format!("the aggregation cannot read the store: {error}"));
        }
        if service.is_stopping() {
            return;
        }
        let _ =
            tokio::time::timeout(std::time::Duration::from_secs(2), service.work.notified()).await;
        if let Err(problem) = service.close_overdue().await {
            tracing::error!(reason = problem.detail(), "cannot look for overdue elections");
        }
    }
}

async fn work_off(service: &Arc<Service>) -> Result<(), StoreError> {
    for name in service.store.closing().await? {
        match aggregate(service, &name).await {
            Ok(true) => {
                service.store.finish(&name, None).await?;
                tracing::info!(election = %name, "election released");
            }
            Ok(false) => {}
            Err(error) => {
                tracing::error!(election = %name, %error, "aggregation failed");
                service.incident(Some(&name), &format!("aggregation failed: {error}"));
                service.store.finish(&name, Some(&error.to_string())).await?;
            }
        }
    }
    for name in service.store.rounds_to_do().await? {
        if let Err(error) = audits::work_off(service, &name).await {
            tracing::error!(election = %name, %error, "audit failed");
            service.incident(Some(&name), &format!("audit failed: {error}"));
        }
    }
    Ok(())
}

/// Aggregates what is missing. Gives whether all of it is done: not if the service is stopping.
async fn aggregate(service: &Arc<Service>, name: &Name) -> Result<bool, Failure> {
    let setup = service.setup(name).await.map_err(|problem| problem.detail().to_owned())?;
    let (seed, ballots) = service.store.frozen(name).await?;
    let voters = complete(&ballots, setup.engine.batches());
    let done = service.store.releases(name).await?;
    let evaluation = open_key(service, &setup).await?;
    let shared = Arc::new((ballots, voters, seed));
    for batch in (0..).take(setup.engine.batches()) {
        if done.iter().any(|release| release.batch == batch) {
            continue;
        }
        if service.is_stopping() {
            return Ok(false);
        }
        let start = Instant::now();
        let work = {
            let (store, setup) = (service.store.clone(), Arc::clone(&setup));
            let (evaluation, shared) = (Arc::clone(&evaluation), Arc::clone(&shared));
            move || -> Result<Vec<u8>, Failure> {
                let (ballots, voters, seed) = &*shared;
                let ballots = StoredBox::new(&store, &setup, batch, ballots, voters);
                Ok(evaluation.aggregate(batch as usize, &ballots, seed)?)
            }
        };
        let release = tokio::task::spawn_blocking(work).await??;
        service.store.add_release(name, batch, &release).await?;
        let seconds = start.elapsed().as_secs_f64();
        service.metrics.batches.inc();
        service.metrics.aggregation_seconds.inc_by(seconds);
        tracing::info!(election = %name, batch, seconds, "batch released");
    }
    Ok(true)
}

/// The engine with the student's evaluation key.
pub(crate) async fn open_key(
    service: &Service,
    setup: &Arc<Setup>,
) -> Result<Arc<Box<dyn Aggregating>>, Failure> {
    let name = setup.file.name().clone();
    let stored =
        service.store.key(&name, "evaluation").await?.ok_or("there is no evaluation key")?;
    let (store, setup) = (service.store.clone(), Arc::clone(setup));
    let read = move || -> Result<Box<dyn Aggregating>, Failure> {
        let bytes = store.read(&name, Object::EvaluationKey, &stored.hash)?;
        Ok(Arc::clone(&setup.engine).aggregating(&bytes)?)
    };
    Ok(Arc::new(tokio::task::spawn_blocking(read).await??))
}
