//! Audits after a spoiled release: whose ballot is no vote, and those samples once more without it.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use shield_protocol::Name;
use shield_protocol::engine::Again;
use shield_protocol::job::audit::{Answer, Question};
use shield_protocol::messages::AuditStatus;
use shield_protocol::seed::Purpose;
use shield_protocol::transcript::{AskedBatch, Round};
use shield_protocol::turnout::VoterCounts;

use crate::ballot_box::{Failure, StoredBox, open_key};
use crate::caller::Caller;
use crate::ledger::Cost;
use crate::problem::Problem;
use crate::service::{Service, Setup};
use crate::store::{Object, RoundFile, RoundStage, Stage, StoreError, Stored, StoredRound};
use crate::turnout::{complete, turnout, with_quorum};

/// The student asks whose ballots spoiled some samples.
pub(crate) async fn ask(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<Name>,
    body: Bytes,
) -> Result<(StatusCode, Json<AuditStatus>), Problem> {
    caller.student(&name)?;
    let question: Question = Problem::parse(&body)?;
    let setup = service.setup(&name).await?;
    let stage = service.store.election(&name).await?.stage;
    if stage != Stage::Released {
        let needed = "an audit is about results";
        return Err(StoreError::Stage { stage, needed }.into());
    }
    if setup.engine.audit_bytes().is_none() {
        return Err(Problem::unusable(shield_protocol::engine::NoAudit));
    }
    let text = serde_json::to_string(&question).map_err(Problem::internal)?;
    let rounds = service.store.rounds(&name).await?;
    // The same again is what it was, however far it has come.
    let known = rounds.iter().find(|round| round.question == text);
    let stored = if known.is_some() {
        Stored::Again
    } else {
        let (_, transcript) = service.transcript(&setup).await?;
        question.check(&setup.file, &transcript).map_err(Problem::unusable)?;
        let round = u32::try_from(transcript.rounds.len() + 1).map_err(Problem::internal)?;
        service.store.ask(&name, round, &text).await?
    };
    if stored == Stored::New {
        tracing::info!(election = %name, samples = question.samples(), "audit asked for");
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
    caller.student(&name)?;
    let answer: Answer = Problem::parse(&body)?;
    let setup = service.setup(&name).await?;
    let text = serde_json::to_string(&answer).map_err(Problem::internal)?;
    let _one_at_a_time = service.booking.lock().await;
    let known = service.round(&name, round).await?;
    if known.answer.is_none() {
        if known.stage != RoundStage::Audited {
            let detail = "the audit is not computed yet; try again in a moment";
            return Err(Problem::conflict("stage", detail));
        }
        let booked = service.price(&setup, &known, &answer).await?;
        service.store.answer(&name, round, &text, &booked).await?;
        let accused: Vec<&str> = answer.accused.iter().map(Name::as_str).collect();
        tracing::warn!(election = %name, accused = accused.join(", "), "teachers excluded");
        service.incident(Some(&name), &format!("excluded after an audit: {}", accused.join(", ")));
        service.work.notify_one();
    } else if known.answer != Some(text) {
        let conflict = StoreError::Conflict { what: "another answer to this audit" };
        return Err(conflict.into());
    }
    let audits = service.audits(&name).await?;
    let own = audits.into_iter().find(|audit| audit.round == round);
    Ok((StatusCode::ACCEPTED, Json(own.ok_or_else(|| Problem::internal("the audit is gone"))?)))
}

pub(crate) async fn checks(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path((name, round, batch)): Path<(Name, u32, u32)>,
) -> Result<Bytes, Problem> {
    caller.student(&name)?;
    let hash = service.store.round_file(&name, round, RoundFile::Audit, batch).await?;
    let hash = hash.ok_or_else(|| Problem::not_found("this is not computed yet"))?;
    service.file(name, Object::Audit { round, batch }, hash).await
}

pub(crate) async fn results(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path((name, round, batch)): Path<(Name, u32, u32)>,
) -> Result<Bytes, Problem> {
    caller.student_or_operator(&name)?;
    let hash = service.store.round_file(&name, round, RoundFile::Again, batch).await?;
    let hash = hash.ok_or_else(|| Problem::not_found("this is not aggregated yet"))?;
    service.file(name, Object::Again { round, batch }, hash).await
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

    async fn round(&self, name: &Name, round: u32) -> Result<StoredRound, Problem> {
        let rounds = self.store.rounds(name).await?;
        rounds
            .into_iter()
            .find(|known| known.round == round)
            .ok_or_else(|| Problem::not_found("there is no such audit"))
    }

    /// What the ledger says once some samples are aggregated again without the accused, if the
    /// group can afford it. They are paid for again: the server cannot see that they had no label.
    async fn price(
        &self,
        setup: &Setup,
        round: &StoredRound,
        answer: &Answer,
    ) -> Result<VoterCounts, Problem> {
        let (file, name) = (&setup.file, setup.file.name());
        let damaged = |_| Problem::internal("a stored audit is damaged");
        let question: Question = serde_json::from_str(&round.question).map_err(damaged)?;
        if answer.question != question.digest() || answer.election != question.election {
            return Err(Problem::unusable("this is the answer to another audit"));
        }
        let unknown = answer.accused.iter().any(|name| file.teacher(name.as_str()).is_none());
        if answer.accused.is_empty() || unknown {
            return Err(Problem::unusable("it accuses nobody, or somebody who is no teacher"));
        }
        let (_, mut transcript) = self.transcript(setup).await?;
        let (asked, accused) = (question.asked.clone(), answer.accused.clone());
        transcript.rounds.push(Round { asked, accused });
        let excluded: Vec<u32> = transcript
            .excluded(transcript.rounds.len())
            .iter()
            .filter_map(|name| file.teacher(name.as_str()))
            .collect();
        let (_, ballots) = self.store.frozen(name).await?;
        let samples = question.asked.iter().flat_map(|asked| {
            let first = setup.engine.batch(asked.batch).start;
            asked.samples.iter().map(move |sample| first + sample)
        });
        let turnout = turnout(setup, &ballots, &excluded)?.only(samples);
        let more = with_quorum(setup, &turnout, &ballots)?;
        let bookings = self.store.bookings(file.group()).await?;
        let before = bookings.into_iter().find(|booking| booking.election == *name);
        let mut sum: BTreeMap<u32, u64> = BTreeMap::new();
        for (voters, count) in before.map(|booking| booking.voters).unwrap_or_default() {
            *sum.entry(voters).or_default() += count;
        }
        for (voters, count) in more {
            *sum.entry(voters).or_default() += count;
        }
        let sum: VoterCounts = sum.into_iter().collect();
        let others = self.costs(file).await?;
        let budget = self.group_budget(file).await?;
        self.afford(file, budget, others, Cost::new(file, sum.clone())).await?;
        Ok(sum)
    }
}

/// Computes what the latest audit of an election waits for.
pub(crate) async fn work_off(service: &Arc<Service>, name: &Name) -> Result<(), Failure> {
    let rounds = service.store.rounds(name).await?;
    for round in rounds {
        let (kind, done) = match round.stage {
            RoundStage::Auditing => (RoundFile::Audit, RoundStage::Audited),
            RoundStage::Aggregating => (RoundFile::Again, RoundStage::Released),
            _ => continue,
        };
        let (stage, problem) = match compute(service, name, &round, kind).await {
            Ok(true) => (done, None),
            Ok(false) => return Ok(()),
            Err(error) => (RoundStage::Failed, Some(error.to_string())),
        };
        service.store.move_round(name, round.round, stage, problem.as_deref()).await?;
        if let Some(problem) = problem {
            return Err(problem.into());
        }
        tracing::info!(election = %name, round = round.round, stage = stage.name(), "audit");
    }
    Ok(())
}

/// Computes the files of an audit. Gives whether all are there: not if the service is stopping.
async fn compute(
    service: &Arc<Service>,
    name: &Name,
    round: &StoredRound,
    kind: RoundFile,
) -> Result<bool, Failure> {
    let setup = service.setup(name).await.map_err(|problem| problem.detail().to_owned())?;
    let problem = |problem: Problem| Failure::from(problem.detail().to_owned());
    let (frozen, transcript) = service.transcript(&setup).await.map_err(problem)?;
    let part = service.store.seed_part(name).await?.ok_or("there is no seed")?;
    let question: Question = serde_json::from_str(&round.question)?;
    let number = round.round as usize;
    let (seed, excluded) = match kind {
        RoundFile::Audit => {
            let bound = transcript.asked(&frozen.digest(), &question.asked);
            (part.seed(Purpose::Audit, &bound), Vec::new())
        }
        RoundFile::Again => {
            let bound = transcript.answered(&frozen.digest(), number);
            let names = transcript.excluded(number);
            let excluded = names.iter().filter_map(|name| setup.file.teacher(name.as_str()));
            (part.seed(Purpose::Again, &bound), excluded.collect())
        }
    };
    let evaluation = open_key(service, &setup).await?;
    let (_, ballots) = service.store.frozen(name).await?;
    let voters = complete(&ballots, setup.engine.batches());
    let shared = Arc::new((ballots, voters, seed, excluded));
    for AskedBatch { batch, samples } in question.asked {
        let small = u32::try_from(batch)?;
        if service.store.round_file(name, round.round, kind, small).await?.is_some() {
            continue;
        }
        if service.is_stopping() {
            return Ok(false);
        }
        let (store, setup) = (service.store.clone(), Arc::clone(&setup));
        let (evaluation, shared) = (Arc::clone(&evaluation), Arc::clone(&shared));
        let work = move || -> Result<Vec<u8>, Failure> {
            let (ballots, voters, seed, excluded) = &*shared;
            let ballots = StoredBox::new(&store, &setup, small, ballots, voters);
            Ok(match kind {
                RoundFile::Audit => evaluation.audit(batch, &ballots, seed, &samples)?,
                RoundFile::Again => {
                    let again = Again { excluded, samples: &samples };
                    evaluation.aggregate_again(batch, &ballots, seed, again)?
                }
            })
        };
        let bytes = tokio::task::spawn_blocking(work).await??;
        service.store.add_round_file(name, round.round, kind, small, &bytes).await?;
    }
    Ok(true)
}
