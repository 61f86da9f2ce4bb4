//! The server's one piece of work: frozen ballots in, releases out, batch by batch.
//!
//! Elections take turns: each gets as many batches in a round as its priority says, so that a small
//! one does not wait for all of a large one. Whenever it is stopped it goes on where it was:
//! batches that have a release are done, and the others come out the same from the stored seed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use shield_protocol::job::Releases;
use shield_protocol::results::Place;
use shield_protocol::{Job, Name};

use crate::audits;
use crate::jobs::{Aggregation, Failure};
use crate::service::Service;
use crate::store::{Erasure, StoreError};

/// How many elections have their keys in memory at once.
const READY: usize = 4;

/// How often files that are lost are looked for.
const LOOK: Duration = Duration::from_hours(1);

/// Works off every closing election, then waits to be woken. Ends when the service is stopping.
pub(crate) async fn run(service: Arc<Service>, aggregation: Aggregation) {
    let (mut own, mut looked) = (HashMap::new(), Instant::now());
    loop {
        let worked = match aggregation {
            Aggregation::Here => take_turns(&service, &mut own).await,
            Aggregation::Elsewhere => take_turns_of_others(&service).await,
        };
        match worked {
            // There may be more.
            Ok(true) if !service.is_stopping() => continue,
            Ok(_) => {}
            Err(error) => {
                tracing::error!(%error, "the aggregation cannot read the store");
                service.incident(None, &format!("the aggregation cannot read the store: {error}"));
            }
        }
        if service.is_stopping() {
            return;
        }
        let _ = tokio::time::timeout(Duration::from_secs(2), service.work.notified()).await;
        keep_house(&service).await;
        if looked.elapsed() >= LOOK {
            look_for_files(&service).await;
            looked = Instant::now();
        }
    }
}

/// Says what is lost, lets lost releases be computed again, and lost ballots count as missing.
async fn look_for_files(service: &Service) {
    for election in service.store.elections().await.unwrap_or_default() {
        match service.store.lost_of(election.file.name()).await {
            Ok(lost) => service.say_lost(&lost).await,
            Err(error) => tracing::error!(%error, "cannot look for lost files"),
        }
    }
}

/// What is due by the clock.
async fn keep_house(service: &Arc<Service>) {
    if let Err(problem) = service.close_overdue().await {
        tracing::error!(reason = problem.detail(), "cannot look for overdue elections");
    }
    let Some(kept) = service.settings.keep_ballots else { return };
    // Not by a clock that has jumped ahead.
    let Some(now) = service.clock.settled() else { return };
    let Ok(before) = now.checked_sub(kept) else { return };
    for name in service.store.with_old_ballots(before).await.unwrap_or_default() {
        match service.store.erase(&name, Erasure::Ballots).await {
            Ok(()) => service.log_own("ballots deleted", Some(&name), "by their age").await,
            Err(error) => service.incident(Some(&name), &format!("cannot delete: {error}")),
        }
    }
}

/// One round: some batches of every election that is not paused. Gives whether any was computed.
pub(crate) async fn take_turns(
    service: &Arc<Service>,
    works: &mut HashMap<Name, Work>,
) -> Result<bool, StoreError> {
    let closing = service.store.closing().await?;
    let others = if closing.is_empty() { Others::Idle } else { Others::Waiting };
    works.retain(|name, _| closing.contains(name));
    let mut worked = false;
    for name in closing {
        let turn = service.store.turn(&name).await?;
        if turn.paused {
            works.remove(&name);
            continue;
        }
        for _ in 0..turn.priority.max(1) {
            if service.is_stopping() {
                return Ok(false);
            }
            match step(service, works, &name).await {
                Ok(Step::Batch) => worked = true,
                Ok(Step::Done) => {
                    service.store.finish(&name, None).await?;
                    tracing::info!(election = %name, "election released");
                    works.remove(&name);
                    break;
                }
                Err(error) => {
                    tracing::error!(election = %name, %error, "aggregation failed");
                    service.incident(Some(&name), &format!("aggregation failed: {error}"));
                    // Perhaps for what is not there.
                    service.say_lost(&service.store.lost_of(&name).await?).await;
                    service.store.finish(&name, Some(&error.to_string())).await?;
                    works.remove(&name);
                    break;
                }
            }
        }
    }
    Ok(work_off_audits(service, others).await? || worked)
}

/// Takes what others have computed of every election that is not paused. Gives whether there is
/// more to do at once.
async fn take_turns_of_others(service: &Arc<Service>) -> Result<bool, StoreError> {
    for name in service.store.closing().await? {
        if !service.store.turn(&name).await?.paused && service.take(&name).await {
            service.store.finish(&name, None).await?;
            tracing::info!(election = %name, "election released");
        }
    }
    work_off_audits(service, Others::Idle).await
}

/// Whether elections wait for their batches while audits are computed.
#[derive(Clone, Copy, PartialEq)]
enum Others {
    Waiting,
    Idle,
}

/// Audits take turns like elections. Each opens its key anew, so that one that nobody waits behind
/// is computed without a stop. Gives whether there are more batches of any.
async fn work_off_audits(service: &Arc<Service>, others: Others) -> Result<bool, StoreError> {
    let audited = service.store.rounds_to_do().await?;
    let is_alone = others == Others::Idle && audited.len() == 1;
    let mut is_left = false;
    for name in audited {
        let turn = service.store.turn(&name).await?;
        let batches = if is_alone { usize::MAX } else { turn.priority.max(1) as usize };
        match audits::work_off(service, &name, batches).await {
            Ok(more) => is_left |= more,
            Err(error) => {
                tracing::error!(election = %name, %error, "audit failed");
                service.incident(Some(&name), &format!("audit failed: {error}"));
            }
        }
    }
    Ok(is_left)
}

/// An election that is being aggregated.
pub(crate) struct Work {
    job: Arc<Job>,
    /// Its key and its seed, in memory as long as there is work.
    releases: Arc<Releases>,
    /// The batches that are left, the next one last.
    left: Vec<u32>,
}

enum Step {
    /// A batch was computed and stored.
    Batch,
    /// There is none left.
    Done,
}

async fn begin(service: &Service, name: &Name) -> Result<Work, Failure> {
    let (job, releases) = service.opened(name).await?;
    let done = service.store.released_batches(name).await?;
    let batches = (0..).take(job.file().batches());
    let mut left: Vec<u32> = batches.filter(|batch| !done.contains(batch)).collect();
    left.reverse();
    Ok(Work { job, releases, left })
}

/// Aggregates the next batch of an election.
async fn step(
    service: &Arc<Service>,
    works: &mut HashMap<Name, Work>,
    name: &Name,
) -> Result<Step, Failure> {
    if !works.contains_key(name) {
        let work = begin(service, name).await?;
        if works.len() >= READY || !service.heavy.is_ample_for(work.job.file()) {
            works.clear();
        }
        works.insert(name.clone(), work);
    }
    let work = works.get_mut(name).ok_or("the election is gone")?;
    let Some(&batch) = work.left.last() else { return Ok(Step::Done) };
    let start = Instant::now();
    let (job, releases) = (Arc::clone(&work.job), Arc::clone(&work.releases));
    let what = format!("batch {batch}");
    let begun = service.heavy.begin(&service.store, job.file(), &what).await?;
    let compute = move || {
        let _begun = begun;
        releases.release(job.transcript(), Place { round: 0, batch: batch as usize })
    };
    let release = tokio::task::spawn_blocking(compute).await??;
    service.store.add_release(name, batch, &release).await?;
    work.left.pop();
    let seconds = start.elapsed().as_secs_f64();
    service.metrics.batches.inc();
    service.metrics.aggregation_seconds.inc_by(seconds);
    tracing::info!(election = %name, batch, seconds, "batch released");
    Ok(Step::Batch)
}
