//! Keys, ballots and results: what goes through the server, and who may send or fetch it.

use std::future::Future;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use shield::backend::{Backend, BackendBytes, Ballot};
use shield_bfv::KeyId;
use tracing::Instrument;

use super::caller::Caller;
use super::problem::Problem;
use super::upload::{Upload, receive};
use super::{Service, Setup};
use crate::credentials::{Role, hex, unhex};
use crate::name::Name;
use crate::store::{Object, Stored};

fn answer(stored: Stored) -> StatusCode {
    match stored {
        Stored::New => StatusCode::CREATED,
        Stored::Again => StatusCode::OK,
    }
}

pub(super) async fn put_key(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path((name, kind)): Path<(Name, String)>,
    headers: HeaderMap,
    body: Body,
) -> Result<StatusCode, Problem> {
    caller.student(&name)?;
    let kind = key_kind(&kind)?;
    let setup = service.setup(&name).await?;
    let limit = match kind {
        "public" => setup.backend.plan().public_key_bytes(),
        _ => setup.backend.plan().evaluation_key_bytes(),
    };
    let Upload { incoming, room } = receive(&service, &headers, body, limit).await?;
    see_through(async move {
        let _room = room;
        let checked = service
            .check(move || {
                let bytes = incoming.read().map_err(Problem::internal)?;
                let id = match kind {
                    "public" => setup.backend.decode_public_key(&bytes).map(|key| key.id()),
                    _ => setup.backend.decode_evaluation_key(&bytes).map(|key| key.id()),
                };
                Ok((id.map_err(Problem::unusable)?, incoming))
            })
            .await;
        let (id, incoming) =
            checked.inspect_err(|problem| service.refused(&name, "key", problem))?;
        let stored = service.store.add_key(&name, kind, &hex(id.as_bytes()), incoming).await?;
        tracing::info!(election = %name, kind, "key stored");
        Ok(answer(stored))
    })
    .await
}

pub(super) async fn get_key(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path((name, kind)): Path<(Name, String)>,
) -> Result<Bytes, Problem> {
    caller.party(&name)?;
    let kind = key_kind(&kind)?;
    let object = match kind {
        "public" => Object::PublicKey,
        _ => Object::EvaluationKey,
    };
    let key = service.store.key(&name, kind).await?.ok_or_else(|| {
        Problem::not_found("the student has not uploaded this key yet; try again later")
    })?;
    service.file(name, object, key.hash).await
}

fn key_kind(kind: &str) -> Result<&'static str, Problem> {
    match kind {
        "public" => Ok("public"),
        "evaluation" => Ok("evaluation"),
        _ => Err(Problem::not_found("there are the keys `public` and `evaluation`")),
    }
}

pub(super) async fn put_ballot(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path((name, teacher, batch)): Path<(Name, Name, u32)>,
    headers: HeaderMap,
    body: Body,
) -> Result<StatusCode, Problem> {
    caller.party(&name)?;
    let setup = service.setup(&name).await?;
    let number = setup
        .file
        .teacher(teacher.as_str())
        .ok_or_else(|| Problem::not_found("the election file does not name that teacher"))?;
    caller.teacher(&name, number)?;
    if batch as usize >= setup.backend.batches() {
        let batches = setup.backend.batches();
        return Err(Problem::not_found(format!(
            "there is no such batch; there are {batches}, from 0"
        )));
    }
    if setup.file.deadline().is_some_and(|deadline| deadline <= Timestamp::now()) {
        return Err(Problem::conflict(
            "deadline",
            "the deadline has passed; no ballot is taken any more",
        ));
    }
    let key =
        service.store.key(&name, "public").await?.ok_or_else(|| {
            Problem::conflict("stage", "the student has not uploaded the keys yet")
        })?;
    let key = key_id(&key.key_id)?;
    let limit = setup.backend.plan().ballot_bytes();
    let Upload { incoming, room } = receive(&service, &headers, body, limit).await?;
    see_through(async move {
        let _room = room;
        let checked = service
            .check(move || {
                let bytes = incoming.read().map_err(Problem::internal)?;
                let ballot = setup
                    .backend
                    .decode_ballot(&bytes, batch as usize, key)
                    .map_err(Problem::unusable)?;
                Ok((ballot.presence().clone(), incoming))
            })
            .await;
        let what = format!("ballot of {teacher}");
        let (presence, incoming) =
            checked.inspect_err(|problem| service.refused(&name, &what, problem))?;
        let bytes = incoming.bytes();
        let stored = service
            .store
            .add_ballot(&name, number, batch, &presence, incoming)
            .await
            .map_err(Problem::from)
            .inspect_err(|problem| service.refused(&name, &what, problem))?;
        if stored == Stored::New {
            service.metrics.ballots.inc();
            service.metrics.ballot_bytes.inc_by(bytes);
        }
        tracing::info!(election = %name, %teacher, batch, again = stored == Stored::Again, "ballot stored");
        Ok(answer(stored))
    })
    .await
}

/// Goes on though the caller hangs up. What was begun would go on anyway, on a thread that nobody
/// can stop: so it keeps its room until it is over, and no file stays half stored.
pub(super) async fn see_through<T: Send + 'static>(
    work: impl Future<Output = Result<T, Problem>> + Send + 'static,
) -> Result<T, Problem> {
    tokio::spawn(work.in_current_span()).await.map_err(Problem::internal)?
}

pub(super) async fn get_result(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path((name, batch)): Path<(Name, u32)>,
) -> Result<Bytes, Problem> {
    caller.student(&name)?;
    let releases = service.store.releases(&name).await?;
    let release = releases.into_iter().find(|release| release.batch == batch);
    let release = release.ok_or_else(|| {
        Problem::not_found(
            "this batch is not aggregated yet; `shield status --watch` shows when it is",
        )
    })?;
    service.file(name, Object::Release { batch }, release.hash).await
}

/// A key's name from the tables.
pub(crate) fn key_id(text: &str) -> Result<KeyId, Problem> {
    unhex(text)
        .map(KeyId::from_bytes)
        .ok_or_else(|| Problem::internal("a stored key's name is damaged"))
}

impl Service {
    /// Checks an upload away from the threads that answer, a few at a time.
    pub(super) async fn check<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let turn = Arc::clone(&self.checks).acquire_owned().await.map_err(Problem::internal)?;
        // The turn ends with the work, not with the one who waits for it.
        let work = move || {
            let _turn = turn;
            work()
        };
        tokio::task::spawn_blocking(work).await.map_err(Problem::internal)?
    }

    async fn file(&self, name: Name, object: Object, hash: String) -> Result<Bytes, Problem> {
        let store = self.store.clone();
        let read = tokio::task::spawn_blocking(move || store.read(&name, object, &hash));
        Ok(Bytes::from(read.await.map_err(Problem::internal)??))
    }

    /// Counts and remembers an upload that was refused.
    fn refused(&self, election: &Name, what: &str, problem: &Problem) {
        self.metrics.refused.inc();
        tracing::warn!(%election, what, status = problem.status().as_u16(), reason = problem.detail(), "refused");
        self.incident(Some(election), &format!("{what} refused: {}", problem.detail()));
    }
}

/// Who is calling, what the server is, and what time it has: for `shield preflight`.
pub(super) async fn whoami(
    State(service): State<Arc<Service>>,
    caller: Caller,
) -> Result<axum::Json<serde_json::Value>, Problem> {
    let teacher = match &caller.0 {
        Role::Teacher { election, teacher } => {
            let setup: Arc<Setup> = service.setup(election).await?;
            setup.file.teachers().get(*teacher as usize).map(Name::to_string)
        }
        _ => None,
    };
    Ok(axum::Json(serde_json::json!({
        "role": caller.0.name(),
        "election": caller.0.election(),
        "teacher": teacher,
        "version": env!("CARGO_PKG_VERSION"),
        "format": shield_bfv::codec::VERSION,
        "time": Timestamp::now(),
    })))
}
