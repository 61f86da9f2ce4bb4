//! Audits after a spoiled release: whose ballot is no vote, and those samples once more without it.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use axum::Json;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use shield_privacy::filter::Price;
use shield_protocol::job::audit::{Answer, Question};
use shield_protocol::job::turnout_again;
use shield_protocol::messages::AuditStatus;
use shield_protocol::results::Place;
use shield_protocol::transcript::Round;
use shield_protocol::turnout::VoterCounts;
use shield_protocol::{ElectionFile, Name, PlannedElection};

use crate::caller::Caller;
use crate::jobs::Failure;
use crate::objects::see_through;
use crate::pricing::{known, labels};
use crate::problem::Problem;
use crate::service::Service;
use crate::store::{BookedPrice, RoundFile, RoundStage, Stage, StoreError, Stored, StoredRound};
use crate::turnout::with_quorum;
use shield_protocol::ledger::distance_of;

/// Largest question of an audit: a few digits for each of some millions of samples.
const LARGEST_QUESTION: usize = 64 << 20;

/// The student asks whose ballots spoiled some samples.
pub(crate) async fn ask(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<Name>,
    body: Body,
) -> Result<(StatusCode, Json<AuditStatus>), Problem> {
    caller.student(&name)?;
    let _turn = service
        .rehearsing
        .enter(&caller.token)
        .ok_or_else(|| Problem::too_many("a question of this token is being read; wait for it"))?;
    let body = to_bytes(body, LARGEST_QUESTION).await.map_err(|_| {
        let detail = "the question is too large: ask about fewer samples at once";
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", detail)
    })?;
    let question: Question = Problem::parse(&body)?;
    let file = service.planned(&name).await?;
    let stage = service.store.election(&name).await?.stage;
    if stage != Stage::Released {
        let needed = "an audit is about results";
        return Err(StoreError::Stage { stage, needed }.into());
    }
    if file.engine().audit_bytes().is_none() {
        return Err(Problem::unusable(shield_protocol::engine::NoAudit));
    }
    let text = serde_json::to_string(&question).map_err(Problem::internal)?;
    let rounds = service.store.rounds(&name).await?;
    // The same again is what it was, however far it has come.
    let known = rounds.iter().find(|round| round.question == text);
    let stored = if known.is_some() {
        Stored::Again
    } else {
        let (_, transcript) = service.transcript(&file).await?;
        question.check(&file, &transcript).map_err(Problem::unusable)?;
        let round = u32::try_from(transcript.rounds.len() + 1).map_err(Problem::internal)?;
        service.store.ask(&name, round, &text).await?
    };
    if let Some(failed) = known.filter(|known| known.stage == RoundStage::Failed) {
        let stage =
            if failed.answer.is_some() { RoundStage::Aggregating } else { RoundStage::Auditing };
        service.store.move_round(&name, failed.round, stage, None).await?;
    }
    if stored == Stored::New {
        tracing::info!(election = %name, samples = question.samples(), "audit asked for");
        service.log(&caller, "audit asked for", Some(&name), "").await?;
    }
    service.work.notify_one();
    let audits = service.audits(&name).await?;
    let own = match known.map(|known| known.round) {
        Some(round) => audits.into_iter().find(|audit| audit.round == round),
        None => audits.into_iter().last(),
    };
    let own = own.ok_or_else(|| Problem::internal("the audit is gone"))?;
    Ok((StatusCode::ACCEPTED, Json(own)))
}

/// The student names those whose ballots are no votes.
pub(crate) async fn answer(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path((name, round)): Path<(Name, u32)>,
    body: Bytes,
) -> Result<(StatusCode, Json<AuditStatus>), Problem> {
    see_through(async move {
        caller.student(&name)?;
        let answer: Answer = Problem::parse(&body)?;
        let file = service.planned(&name).await?;
        let text = serde_json::to_string(&answer).map_err(Problem::internal)?;
        check_the_accused(&file, &answer.accused)?;
        service.price_group(file.group()).await?;
        let _one_at_a_time = service.booking.lock().await;
        service.be_alone().await?;
        let known = service.round(&name, round).await?;
        if known.answer.is_none() {
            if known.stage != RoundStage::Audited {
                let detail = "the audit is not computed yet; try again in a moment";
                return Err(Problem::conflict("stage", detail));
            }
            let (voters, price) = service.price_again(&file, &known, &answer).await?;
            service.store.answer(&name, round, &text, &voters, price).await?;
            service.prices.notify_one();
            let accused: Vec<&str> = answer.accused.iter().map(Name::as_str).collect();
            tracing::warn!(election = %name, accused = accused.join(", "), "teachers excluded");
            service
                .incident(Some(&name), &format!("excluded after an audit: {}", accused.join(", ")));
            service.log(&caller, "audit answered", Some(&name), &accused.join(", ")).await?;
            service.work.notify_one();
        } else if known.answer != Some(text) {
            let conflict = StoreError::Conflict { what: "another answer to this audit" };
            return Err(conflict.into());
        } else if known.stage == RoundStage::Failed {
            // It is paid for, and its draws are fixed: the same answer goes on where it failed.
            service.store.move_round(&name, round, RoundStage::Aggregating, None).await?;
            service.work.notify_one();
        }
        let audits = service.audits(&name).await?;
        let own = audits.into_iter().find(|audit| audit.round == round);
        Ok((StatusCode::ACCEPTED, Json(own.ok_or_else(|| Problem::internal("the audit is gone"))?)))
    })
    .await
}

/// Everybody who is accused is a teacher, and is named once.
fn check_the_accused(file: &ElectionFile, accused: &[Name]) -> Result<(), Problem> {
    let teachers: HashSet<&Name> = file.teachers().iter().collect();
    let named: HashSet<&Name> = accused.iter().collect();
    if accused.is_empty() || !named.is_subset(&teachers) {
        return Err(Problem::unusable("it accuses nobody, or somebody who is no teacher"));
    }
    if named.len() < accused.len() {
        return Err(Problem::unusable("it accuses somebody twice"));
    }
    Ok(())
}

pub(crate) async fn checks(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path((name, round, batch)): Path<(Name, u32, u32)>,
) -> Result<Response, Problem> {
    caller.student(&name)?;
    service.send_round_file(&caller, name, round, RoundFile::Audit, batch).await
}

pub(crate) async fn results(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path((name, round, batch)): Path<(Name, u32, u32)>,
) -> Result<Response, Problem> {
    caller.student_or_operator(&name)?;
    service.send_round_file(&caller, name, round, RoundFile::Again, batch).await
}

impl Service {
    /// An election's audits, for its parties.
    pub(crate) async fn audits(&self, name: &Name) -> Result<Vec<AuditStatus>, Problem> {
        let rounds = self.store.rounds(name).await?;
        rounds
            .into_iter()
            .map(|round| {
                let damaged = |_| Problem::internal("a stored audit is damaged");
                let question: Question = serde_json::from_str(&round.question).map_err(damaged)?;
                let answer = round.answer.as_deref().map(serde_json::from_str::<Answer>);
                let answer = answer.transpose().map_err(damaged)?;
                Ok(AuditStatus {
                    round: round.round,
                    stage: round.stage.name().to_owned(),
                    samples: question.samples(),
                    accused: answer.map(|answer| answer.accused),
                    problem: round.problem,
                })
            })
            .collect()
    }

    /// Sends a file of an audit. One that is lost is computed again.
    async fn send_round_file(
        &self,
        caller: &Caller,
        name: Name,
        round: u32,
        kind: RoundFile,
        batch: u32,
    ) -> Result<Response, Problem> {
        let hash = self.store.round_file(&name, round, kind, batch).await?;
        let hash = hash.ok_or_else(|| Problem::not_found("this is not computed yet"))?;
        let object = kind.object(round, batch);
        if self.store.is_lost(&name, object, &hash) && self.store.erased(&name).await?.is_empty() {
            let again = match (kind, self.round(&name, round).await?.stage) {
                (RoundFile::Audit, RoundStage::Audited) => Some(RoundStage::Auditing),
                (RoundFile::Again, RoundStage::Released) => Some(RoundStage::Aggregating),
                _ => None,
            };
            if let Some(stage) = again {
                self.store.move_round(&name, round, stage, None).await?;
                self.work.notify_one();
            }
            return Err(Problem::busy("this file was lost and is computed again"));
        }
        self.send(caller, name, object, hash).await
    }

    async fn round(&self, name: &Name, round: u32) -> Result<StoredRound, Problem> {
        let rounds = self.store.rounds(name).await?;
        rounds
            .into_iter()
            .find(|known| known.round == round)
            .ok_or_else(|| Problem::not_found("there is no such audit"))
    }

    /// What the ledger says once some samples are aggregated again without the accused, if the
    /// group can afford it. They are paid for again: the server cannot see that they had no label.
    /// What they can cost at most is known since the election was created; the background proves
    /// the rest.
    async fn price_again(
        &self,
        file: &PlannedElection,
        round: &StoredRound,
        answer: &Answer,
    ) -> Result<(VoterCounts, BookedPrice), Problem> {
        let (file, name) = (&file, file.name());
        let damaged = |_| Problem::internal("a stored audit is damaged");
        let question: Question = serde_json::from_str(&round.question).map_err(damaged)?;
        if answer.question != question.digest() || answer.election != question.election {
            return Err(Problem::unusable("this is the answer to another audit"));
        }
        let (job, mut transcript) = self.transcript(file).await?;
        let (asked, accused) = (question.asked.clone(), answer.accused.clone());
        transcript.rounds.push(Round { asked, accused });
        let turnout = turnout_again(job.ballots(), &transcript, transcript.rounds.len());
        let more = with_quorum(file, &turnout, job.ballots().voted())?;
        let unpriced = || Problem::busy("the group's elections are being priced");
        let before = self.store.booking(name).await?;
        let before = before.ok_or_else(|| Problem::internal("the election is not booked"))?;
        let known = known(&before).ok_or_else(unpriced)?;
        let each = before.price.each_label.ok_or_else(unpriced)?;
        let again = question.asked.len() as u64;
        let labels = labels(&more);
        let own = Price {
            log_moment: known.log_moment + each.times(labels),
            distance: known.distance + distance_of(file, labels, again) - distance_of(file, 0, 0),
        };
        let others = self.booked(file.group(), name).await?.map_err(|_| unpriced())?;
        let budget = self.group_budget(file).await?;
        Self::afford(file, budget, &others, own)?;
        let mut sum: BTreeMap<u32, u64> = BTreeMap::new();
        for (voters, count) in before.voters.into_iter().chain(more) {
            *sum.entry(voters).or_default() += count;
        }
        let price = BookedPrice {
            log_moment: Some(own.log_moment),
            distance: Some(own.distance),
            each_label: Some(each),
            tight: false,
        };
        Ok((sum.into_iter().collect(), price))
    }
}

/// Computes what the latest audit of an election waits for, but no more than some batches. Gives
/// whether there are more.
pub(crate) async fn work_off(
    service: &Arc<Service>,
    name: &Name,
    batches: usize,
) -> Result<bool, Failure> {
    let rounds = service.store.rounds(name).await?;
    for round in rounds {
        let (kind, done) = match round.stage {
            RoundStage::Auditing => (RoundFile::Audit, RoundStage::Audited),
            RoundStage::Aggregating => (RoundFile::Again, RoundStage::Released),
            _ => continue,
        };
        let (stage, problem) = match compute(service, name, &round, kind, batches).await {
            Ok(true) => (done, None),
            Ok(false) => return Ok(!service.is_stopping()),
            Err(error) => (RoundStage::Failed, Some(error.to_string())),
        };
        service.store.move_round(name, round.round, stage, problem.as_deref()).await?;
        if let Some(problem) = problem {
            return Err(problem.into());
        }
        tracing::info!(election = %name, round = round.round, stage = stage.name(), "audit");
    }
    Ok(false)
}

/// Computes files of an audit, of no more than some batches. Gives whether all are there.
async fn compute(
    service: &Arc<Service>,
    name: &Name,
    round: &StoredRound,
    kind: RoundFile,
    mut batches: usize,
) -> Result<bool, Failure> {
    let (job, releases) = service.opened(name).await?;
    let transcript = service.transcript(job.file()).await;
    let (_, transcript) = transcript.map_err(|problem| problem.detail().to_owned())?;
    let question: Question = serde_json::from_str(&round.question)?;
    let shared = Arc::new((releases, transcript, question.asked));
    for place in 0..shared.2.len() {
        let batch = u32::try_from(shared.2[place].batch)?;
        let done = service.store.round_file(name, round.round, kind, batch).await?;
        let object = kind.object(round.round, batch);
        if done.is_some_and(|hash| !service.store.is_lost(name, object, &hash)) {
            continue;
        }
        if batches == 0 || service.is_stopping() {
            return Ok(false);
        }
        batches -= 1;
        let (shared, round) = (Arc::clone(&shared), round.round);
        let what = format!("batch {batch} of audit {round}");
        let begun = service.heavy.begin(&service.store, job.file(), &what).await?;
        let work = move || {
            let _begun = begun;
            let (releases, transcript, asked) = &*shared;
            match kind {
                RoundFile::Audit => releases.checks(transcript, asked, &asked[place]),
                RoundFile::Again => {
                    let batch = asked[place].batch;
                    releases.release(transcript, Place { round: round as usize, batch })
                }
            }
        };
        let bytes = tokio::task::spawn_blocking(work).await??;
        service.store.add_round_file(name, round, kind, batch, &bytes).await?;
    }
    Ok(true)
}
