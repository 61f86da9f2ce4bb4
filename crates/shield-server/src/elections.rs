//! Creating, watching, closing and calling off elections.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use jiff::Timestamp;
use rand::TryRngCore;
use rand::rngs::OsRng;
use serde_json::{Value, json};
use shield_protocol::ElectionFile;
use shield_protocol::Name;
use shield_protocol::credentials::Role;
use shield_protocol::hex::hex;
use shield_protocol::messages::{NewElection, NewToken, Status, Submitted};
use shield_protocol::seed::{Purpose, SeedPart};

use crate::caller::{Caller, Operator};
use crate::evidence;
use crate::ledger::Cost;
use crate::problem::Problem;
use crate::service::Service;
use crate::store::{Stage, StoreError, Stored, StoredBallot, StoredElection};
use crate::turnout::{complete, turnout, with_quorum};

pub(crate) async fn create(
    State(service): State<Arc<Service>>,
    _: Operator,
    Json(new): Json<NewElection>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let file = read(&new.file)?;
    let name = file.name().clone();
    let mut tokens = vec![(new.student, Role::Student { election: name.clone() })];
    for (number, teacher) in (0..).zip(file.teachers()) {
        let hash = new.teachers.get(teacher.as_str()).ok_or_else(|| {
            Problem::unusable(format!("the token's hash of the teacher {teacher} is missing"))
        })?;
        tokens.push((hash.clone(), Role::Teacher { election: name.clone(), teacher: number }));
    }
    if new.teachers.len() != file.teachers().len() {
        return Err(Problem::unusable("there are tokens for teachers who are not in the file"));
    }
    if file.deadline().is_some_and(|deadline| deadline <= Timestamp::now()) {
        return Err(Problem::unusable("the deadline has passed; set a later one"));
    }
    // One at a time: two elections that fit the budget only one by one must not both get in.
    let _one_at_a_time = service.booking.lock().await;
    let known = match service.store.election(&name).await {
        Ok(_) => true,
        Err(StoreError::NoElection) => false,
        Err(error) => return Err(error.into()),
    };
    if !known {
        let others = service.costs(&file).await?;
        let budget = service.group_budget(&file).await?;
        service.afford(&file, budget, others, Cost::reserved(&file)).await?;
        service.store.set_first_budget(file.group(), budget).await?;
    }
    let stored = service.store.create_election(&file, &tokens).await?;
    let status = if stored == Stored::New { StatusCode::CREATED } else { StatusCode::OK };
    if stored == Stored::New {
        tracing::info!(election = %name, teachers = file.teachers().len(), "election created");
    }
    let digest = file.digest();
    let part = service.store.seed_part(&name).await?;
    let commitment = part.map(|part| hex(&part.commitment(&digest)));
    let created = json!({ "name": name, "digest": hex(&digest), "commitment": commitment });
    Ok((status, Json(created)))
}

/// Reads an election file, or says everything that is wrong with it.
pub(crate) fn read(text: &str) -> Result<ElectionFile, Problem> {
    ElectionFile::parse(text).map_err(|error| {
        let mistakes: Vec<String> = error.mistakes.iter().map(ToString::to_string).collect();
        Problem::unusable(&error).with("mistakes", mistakes)
    })
}

pub(crate) async fn list(
    State(service): State<Arc<Service>>,
    caller: Caller,
) -> Result<Json<Vec<Status>>, Problem> {
    caller.operator()?;
    let mut statuses = Vec::new();
    for election in service.store.elections().await? {
        statuses.push(service.status(&election, &Role::Operator).await?);
    }
    Ok(Json(statuses))
}

pub(crate) async fn status(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<Name>,
) -> Result<Json<Status>, Problem> {
    caller.party(&name)?;
    let election = service.store.election(&name).await?;
    Ok(Json(service.status(&election, &caller.0).await?))
}

pub(crate) async fn file(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<Name>,
) -> Result<String, Problem> {
    caller.party(&name)?;
    Ok(service.setup(&name).await?.file.canonical())
}

pub(crate) async fn close(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<Name>,
) -> Result<(StatusCode, Json<Status>), Problem> {
    caller.student_or_operator(&name)?;
    service.close(&name).await?;
    let election = service.store.election(&name).await?;
    Ok((StatusCode::ACCEPTED, Json(service.status(&election, &caller.0).await?)))
}

pub(crate) async fn withdraw(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<Name>,
) -> Result<StatusCode, Problem> {
    caller.operator()?;
    // Not beside the creation of another election, whose teachers it might let go.
    let _one_at_a_time = service.booking.lock().await;
    service.store.withdraw(&name).await?;
    tracing::info!(election = %name, "election withdrawn");
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn reissue(
    State(service): State<Arc<Service>>,
    _: Operator,
    Path(name): Path<Name>,
    Json(new): Json<NewToken>,
) -> Result<Json<Value>, Problem> {
    let election = service.store.election(&name).await?;
    let role = match &new.teacher {
        None => Role::Student { election: name.clone() },
        Some(teacher) => {
            let number = election.file.teacher(teacher).ok_or_else(|| {
                Problem::not_found(format!("{name} has no teacher of the name {teacher}"))
            })?;
            Role::Teacher { election: name.clone(), teacher: number }
        }
    };
    service.store.replace_token(&new.token, &role).await?;
    tracing::info!(election = %name, role = role.name(), "token replaced");
    Ok(Json(json!({ "election": name, "role": role.name(), "teacher": new.teacher })))
}

impl Service {
    /// Freezes the ballots, books the cost, and wakes the aggregation.
    pub(crate) async fn close(&self, name: &Name) -> Result<Stored, Problem> {
        let setup = self.setup(name).await?;
        // An election that is older than commitments has none; then its part is drawn now.
        let fresh = SeedPart::random(&mut OsRng.unwrap_err());
        let part = self.store.set_seed_part(name, &fresh).await?;
        let key = self.store.key(name, "evaluation").await?;
        let _one_at_a_time = self.booking.lock().await;
        // Read before the transaction: inside it, a second connection might never come, with all of
        // them waiting in line behind the row that the transaction holds.
        let others = self.costs(&setup.file).await?;
        let budget = self.group_budget(&setup.file).await?;
        let stored = self
            .store
            .freeze(name, async |ballots: &[StoredBallot]| -> Result<_, Problem> {
                let voters = turnout(&setup, ballots, &[])?;
                let voters = with_quorum(&setup, &voters, ballots)?;
                let cost = Cost::new(&setup.file, voters.clone());
                self.afford(&setup.file, budget, others, cost).await?;
                let frozen = evidence::frozen(&setup, key.as_ref(), ballots)?;
                Ok((voters, part.seed(Purpose::Draws, &frozen.digest())))
            })
            .await?;
        tracing::info!(election = %name, again = stored == Stored::Again, "election closed");
        self.work.notify_one();
        Ok(stored)
    }

    /// An election as one of its parties may see it.
    pub(crate) async fn status(
        &self,
        election: &StoredElection,
        role: &Role,
    ) -> Result<Status, Problem> {
        let file = &election.file;
        let name = file.name();
        let batches = file.batches();
        let ballots = self.store.ballots(name).await?;
        let voted = complete(&ballots, batches);
        let names = || {
            voted
                .iter()
                .filter_map(|&number| file.teachers().get(number as usize))
                .map(Name::to_string)
        };
        let booking = self.store.bookings(file.group()).await?;
        let booking = booking.into_iter().find(|booking| booking.election == *name);
        let budget = self.group_budget(file).await?;
        let epsilon = match booking {
            Some(booking) => {
                Some(self.sum(vec![Cost::booked(file, &booking)], budget).await?.epsilon.get())
            }
            None => None,
        };
        let commitment = self.store.seed_part(name).await?;
        let commitment = commitment.map(|part| hex(&part.commitment(&file.digest())));
        let receipt = match role {
            Role::Teacher { teacher, .. } => evidence::receipt(&ballots, *teacher, batches),
            _ => None,
        };
        let audits = self.audits(name).await?;
        let submitted = match role {
            Role::Teacher { teacher, .. } => {
                let own = ballots.iter().filter(|ballot| ballot.teacher == *teacher);
                let submitted = |ballot: &StoredBallot| Submitted {
                    batch: ballot.batch,
                    hash: ballot.hash.clone(),
                };
                Some(own.map(submitted).collect())
            }
            _ => None,
        };
        Ok(Status {
            name: name.to_string(),
            group: file.group().to_string(),
            stage: election.stage.name().to_owned(),
            digest: hex(&file.digest()),
            key_id: self.store.key(name, "public").await?.map(|key| key.key_id),
            samples: file.election().samples(),
            batches,
            released_batches: self.store.releases(name).await?.len(),
            teachers: file.teachers().len(),
            voted: voted.len(),
            voters: (!matches!(role, Role::Teacher { .. })).then(|| names().collect()),
            missing: (!matches!(role, Role::Teacher { .. })).then(|| {
                let numbered = (0..).zip(file.teachers());
                let late = numbered.filter(|(number, _)| voted.binary_search(number).is_err());
                late.map(|(_, name)| name.to_string()).collect()
            }),
            quorum: file.quorum(),
            deadline: file.deadline(),
            created: election.created,
            closed: election.closed,
            problem: election.problem.clone(),
            epsilon: epsilon.filter(|epsilon| epsilon.is_finite()),
            delta: budget.delta.get(),
            submitted,
            commitment,
            receipt,
            rehearsed: self.store.is_rehearsed(name).await?,
            audits,
        })
    }

    /// Closes what is past its deadline and has its quorum.
    pub(crate) async fn close_overdue(&self) -> Result<(), Problem> {
        for election in self.store.elections().await? {
            let overdue = election.file.deadline().is_some_and(|at| at <= Timestamp::now());
            if election.stage == Stage::Open && overdue {
                let name = election.file.name();
                if let Err(problem) = self.close(name).await {
                    self.incident(Some(name), problem.detail());
                }
            }
        }
        Ok(())
    }
}
