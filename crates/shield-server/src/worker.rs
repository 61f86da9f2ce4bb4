//! The server's one piece of work: frozen ballots in, releases out, batch by batch.
//!
//! Whenever it is stopped it goes on where it was: batches that have a release are done, and the
//! others come out the same from the stored seed.

use std::sync::Arc;
use std::time::Instant;

use shield_protocol::Name;

use crate::audits;
use crate::ballot_box::{Failure, StoredBox, open_key};
use crate::service::Service;
use crate::store::StoreError;
use crate::turnout::complete;

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
