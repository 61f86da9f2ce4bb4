//! Creating, watching, closing and calling off elections.

use std::sync::{Arc, PoisonError};

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use jiff::SignedDuration;
use serde::Serialize;
use shield_privacy::price::LogMoment;
use shield_protocol::ElectionFile;
use shield_protocol::Name;
use shield_protocol::credentials::{Role, TokenHash};
use shield_protocol::hex::hex;
use shield_protocol::messages::{NewElection, NewToken, Status, Submitted};
use shield_protocol::seed::Purpose;
use shield_protocol::turnout::VoterCounts;
use utoipa::ToSchema;

use crate::caller::{Caller, Operator};
use crate::evidence;
use crate::objects::see_through;
use crate::pricing::{as_price, known, labels};
use crate::problem::Problem;
use crate::schema;
use crate::service::{Service, plan};
use crate::store::{
    BookedPrice, Freeze, Roll, Stage, StoreError, Stored, StoredBallot, StoredElection,
};
use crate::tokens::Fresh;
use crate::turnout::{turnout, with_quorum};
use shield_protocol::ledger::distance_of;

/// An election that was created.
#[derive(Serialize, ToSchema)]
pub(crate) struct Created {
    name: Name,
    /// The digest of the election file: the same for all parties.
    #[schema(value_type = schema::Digest)]
    digest: String,
    /// A digest of the server's part of the seed.
    #[schema(value_type = Option<schema::Digest>)]
    commitment: Option<String>,
    /// How much memory the server takes at most to aggregate a batch, in bytes.
    memory: usize,
}

pub(crate) async fn create(
    State(service): State<Arc<Service>>,
    operator: Operator,
    Json(new): Json<NewElection>,
) -> Result<(StatusCode, Json<Created>), Problem> {
    see_through(async move {
        let file = read(new.file).await?;
        if file.parties().is_some() {
            return Err(Problem::unusable(
                "this election is signed, and a server keeps no boards: hold it over folders \
                 (shield board new), or write names without public keys into the file",
            ));
        }
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
        if file.deadline().is_some_and(|deadline| service.clock.may_have_passed(deadline)) {
            return Err(Problem::unusable("the deadline has passed; set a later one"));
        }
        let memory = service.memory(&file).await?;
        let stored = service.create(&file, &tokens).await?;
        let status = if stored == Stored::New { StatusCode::CREATED } else { StatusCode::OK };
        if stored == Stored::New {
            tracing::info!(election = %name, teachers = file.teachers().len(), "election created");
            let detail = format!("{} teachers, {}", file.teachers().len(), file.group());
            service.log(&operator.0, "election created", Some(&name), &detail).await?;
        }
        let digest = file.digest();
        let part = service.store.seed_part(&name).await?;
        let commitment = part.map(|part| hex(&part.commitment(&digest)));
        Ok((status, Json(Created { name, digest: hex(&digest), commitment, memory })))
    })
    .await
}

/// Reads an election file, or says everything that is wrong with it: away from the threads that
/// answer others.
pub(crate) async fn read(text: String) -> Result<Arc<ElectionFile>, Problem> {
    let read = tokio::task::spawn_blocking(move || ElectionFile::parse(&text));
    read.await.map_err(Problem::internal)?.map(Arc::new).map_err(|error| {
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
    Ok(Json(service.status(&election, &caller.role).await?))
}

pub(crate) async fn file(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<Name>,
) -> Result<String, Problem> {
    caller.party(&name)?;
    Ok(service.planned(&name).await?.canonical())
}

pub(crate) async fn close(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<Name>,
) -> Result<(StatusCode, Json<Status>), Problem> {
    see_through(async move {
        caller.student_or_operator(&name)?;
        if service.close(&name).await? == Stored::New {
            service.log(&caller, "election closed", Some(&name), "").await?;
        }
        let election = service.store.election(&name).await?;
        Ok((StatusCode::ACCEPTED, Json(service.status(&election, &caller.role).await?)))
    })
    .await
}

pub(crate) async fn withdraw(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<Name>,
) -> Result<StatusCode, Problem> {
    see_through(async move {
        caller.operator()?;
        // Not beside the creation of another election, whose teachers it might let go.
        let _one_at_a_time = service.booking.lock().await;
        service.store.withdraw(&name).await?;
        tracing::info!(election = %name, "election withdrawn");
        service.log(&caller, "election called off", Some(&name), "").await?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

pub(crate) async fn reissue(
    State(service): State<Arc<Service>>,
    operator: Operator,
    Path(name): Path<Name>,
    Json(new): Json<NewToken>,
) -> Result<Json<Fresh>, Problem> {
    see_through(async move {
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
        let whose = new.teacher.as_deref().unwrap_or("student");
        service.log(&operator.0, "token replaced", Some(&name), whose).await?;
        Ok(Json(Fresh::of(&new.token, &role, service.teacher(&role).await?)))
    })
    .await
}

impl Service {
    /// How much memory a batch of an election takes at most, in bytes. Refuses what is more than
    /// the server has.
    pub(crate) async fn memory(&self, file: &Arc<ElectionFile>) -> Result<usize, Problem> {
        let planned = plan(Arc::clone(file)).await?;
        self.heavy.needed(&planned)?;
        Ok(planned.engine().memory_bytes())
    }

    /// Creates an election, if its group can afford it. What it costs is proven before anything is
    /// locked; two elections that fit the budget only one by one do not both get in.
    async fn create(
        &self,
        file: &Arc<ElectionFile>,
        tokens: &[(TokenHash, Role)],
    ) -> Result<Stored, Problem> {
        for _ in 0..5 {
            match self.store.election(file.name()).await {
                Ok(_) => return Ok(self.store.create_election(file, tokens).await?),
                Err(StoreError::NoElection) => {}
                Err(error) => return Err(error.into()),
            }
            let budget = self.group_budget(file).await?;
            self.price_group(file.group()).await?;
            let price = self.reservation(file, budget).await?;
            let _one_at_a_time = self.booking.lock().await;
            self.be_alone().await?;
            // Somebody may have made the group, or booked something, while this was proven.
            let stored = self.store.budget(file.group()).await?.unwrap_or(budget);
            if stored.order.to_bits() != budget.order.to_bits() {
                continue;
            }
            let Ok(others) = self.booked(file.group(), file.name()).await? else { continue };
            Self::afford(file, stored, &others, as_price(price))?;
            let paid = Some((stored, price));
            return Ok(self.store.create_priced_election(file, tokens, paid).await?);
        }
        Err(Problem::busy("the group's elections are being priced"))
    }

    /// Freezes the ballots, books the cost, and wakes the aggregation.
    ///
    /// Books the most that each label can cost, which is proven already: nobody waits for a proof.
    /// If the budget was lowered and pays for less than that, what the turnouts really cost is
    /// proven first, outside of the transaction.
    pub(crate) async fn close(&self, name: &Name) -> Result<Stored, Problem> {
        let file = self.planned(name).await?;
        // What is frozen goes on as it was: nothing is booked.
        if self.store.election(name).await?.stage != Stage::Open {
            let never = async |_: &Roll| -> Result<Freeze, Problem> {
                Err(Problem::busy("the election was opened just now"))
            };
            let stored = self.store.freeze(name, never).await?;
            self.work.notify_one();
            return Ok(stored);
        }
        let part = self.store.seed_part(name).await?.ok_or(StoreError::Damaged("seed"))?;
        let key = self.store.key(name, "evaluation").await?;
        // Whoever's ballot is lost is missing.
        self.say_lost(&self.store.lost_of(name).await?).await;
        let mut tight: Option<(VoterCounts, LogMoment)> = None;
        for _ in 0..5 {
            self.price_group(file.group()).await?;
            let alone = self.booking.lock().await;
            self.be_alone().await?;
            // Read before the transaction: inside it, a second connection might never come, with
            // all of them waiting in line behind the row that the transaction holds.
            let Ok(others) = self.booked(file.group(), name).await? else { continue };
            let budget = self.group_budget(&file).await?;
            let each = self.store.booking(name).await?.and_then(|own| own.price.each_label);
            let mut dear = None;
            let stored = self
                .store
                .freeze(name, async |roll: &Roll| -> Result<_, Problem> {
                    let voters = turnout(&file, roll)?;
                    let voters = with_quorum(&file, &voters, roll.voters.len())?;
                    let labels = labels(&voters);
                    let each = each.ok_or_else(|| Problem::internal("there is no price"))?;
                    let proven = tight.as_ref().filter(|(known, _)| *known == voters);
                    let price = BookedPrice {
                        log_moment: Some(proven.map_or(each.times(labels), |known| known.1)),
                        distance: Some(distance_of(&file, labels, 0)),
                        each_label: Some(each),
                        tight: proven.is_some(),
                    };
                    if let Err(problem) = Self::afford(&file, budget, &others, as_price(price)) {
                        if proven.is_none() {
                            dear = Some((voters, each));
                        }
                        return Err(problem);
                    }
                    let frozen = evidence::frozen(&file, key.as_ref(), roll)?;
                    let seed = part.seed(Purpose::Draws, &frozen.digest());
                    Ok(Freeze { voters, seed, price: Some(price) })
                })
                .await;
            drop(alone);
            if let Some((voters, each)) = dear {
                let (file, counts) = (file.clone(), voters.clone());
                let proven = self.prove(move |accountant| {
                    accountant.by_turnout(&file, &counts, budget.order, each)
                });
                tight = Some((voters, proven.await?));
                continue;
            }
            let stored = stored?;
            tracing::info!(election = %name, again = stored == Stored::Again, "election closed");
            self.work.notify_one();
            self.prices.notify_one();
            return Ok(stored);
        }
        Err(Problem::busy("the group's elections are being priced"))
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
        let is_teacher = matches!(role, Role::Teacher { .. });
        let is_needed = !matches!(election.stage, Stage::Released | Stage::Withdrawn);
        let own = match *role {
            Role::Teacher { teacher, .. } if is_needed => {
                Some(self.store.batches_there(name, teacher).await?)
            }
            Role::Teacher { teacher, .. } => {
                Some(self.store.ballots_of(name, teacher..teacher + 1).await?)
            }
            _ => None,
        };
        let voted = if is_teacher { Vec::new() } else { self.store.voters(name).await? };
        let names = || {
            voted
                .iter()
                .filter_map(|&number| file.teachers().get(number as usize))
                .map(Name::to_string)
        };
        let budget = self.store.budget(file.group()).await?;
        let price = self.store.booking(name).await?.as_ref().and_then(known);
        let epsilon =
            budget.zip(price).map(|(budget, price)| budget.add_up(&[price]).epsilon.get());
        let commitment = self.store.seed_part(name).await?;
        let commitment = commitment.map(|part| hex(&part.commitment(&election.digest)));
        let receipt = own.as_deref().and_then(|own| evidence::receipt(own, batches));
        let submitted = |ballot: StoredBallot| Submitted { batch: ballot.batch, hash: ballot.hash };
        let submitted = own.map(|own| own.into_iter().map(submitted).collect());
        let audits = self.audits(name).await?;
        Ok(Status {
            name: name.to_string(),
            group: file.group().to_string(),
            stage: election.stage.name().to_owned(),
            digest: hex(&election.digest),
            key_id: self.store.key(name, "public").await?.map(|key| key.key_id),
            samples: file.election().samples(),
            batches,
            released_batches: self.store.count_releases(name).await?,
            teachers: file.teachers().len(),
            voted: election.voted as usize,
            voters: (!is_teacher).then(|| names().collect()),
            missing: (!is_teacher).then(|| {
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
            delta: budget.map_or(self.budget.delta, |budget| budget.delta).get(),
            submitted,
            commitment,
            receipt,
            rehearsed: self.store.is_rehearsed(name).await?,
            audits,
        })
    }

    /// Closes what is past its deadline and has its quorum: by both clocks, at two readings.
    pub(crate) async fn close_overdue(&self) -> Result<(), Problem> {
        const APART: SignedDuration = SignedDuration::from_secs(1);
        let now = self.clock.steady();
        for election in self.store.elections().await? {
            let name = election.file.name();
            let overdue = election.stage == Stage::Open
                && election.file.deadline().is_some_and(|at| self.clock.has_passed(at));
            let seen = {
                let mut seen = self.overdue.lock().unwrap_or_else(PoisonError::into_inner);
                if !overdue {
                    seen.remove(name);
                    continue;
                }
                now.duration_since(*seen.entry(name.clone()).or_insert(now)).abs()
            };
            if seen < APART {
                continue;
            }
            match self.close(name).await {
                Ok(_) => self.log_own("election closed", Some(name), "by its deadline").await,
                Err(problem) => self.incident(Some(name), problem.detail()),
            }
        }
        Ok(())
    }
}
