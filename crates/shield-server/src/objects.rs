//! Keys, ballots and results: what goes through the server, and who may send or fetch it.

use std::future::Future;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use shield_core::framing::{DecodeError, KeyId, Kind};
use shield_protocol::Name;
use shield_protocol::hex::{hex, unhex};
use tracing::Instrument;

use crate::caller::Caller;
use crate::problem::Problem;
use crate::service::Service;
use crate::store::{Incoming, Lost, Object, Stored};
use crate::upload::{Received, Upload, receive};

fn answer(stored: Stored) -> StatusCode {
    match stored {
        Stored::New => StatusCode::CREATED,
        Stored::Again => StatusCode::OK,
    }
}

pub(crate) async fn put_key(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path((name, kind)): Path<(Name, String)>,
    headers: HeaderMap,
    body: Body,
) -> Result<StatusCode, Problem> {
    caller.student(&name)?;
    let kind = key_kind(&kind)?;
    let file = service.planned(&name).await?;
    let limit = match kind {
        "public" => file.engine().max_bytes(Kind::PublicKey),
        _ => file.engine().max_bytes(Kind::EvaluationKey),
    };
    let upload = receive(&service, &caller, &headers, body, limit).await?;
    let Received::Whole(upload) = upload else { return Ok(StatusCode::ACCEPTED) };
    let Upload { incoming, room } = *upload;
    see_through(async move {
        let _room = room;
        let look = move |bytes: &[u8]| match kind {
            "public" => file.engine().check_public_key(bytes),
            _ => file.engine().check_evaluation_key(bytes),
        };
        let (id, incoming) = service.look_at(&name, "key", incoming, look).await?;
        let stored = service.store.add_key(&name, kind, &hex(id.as_bytes()), incoming).await?;
        tracing::info!(election = %name, kind, "key stored");
        if stored == Stored::New {
            service.log(&caller, "key stored", Some(&name), kind).await?;
        }
        Ok(answer(stored))
    })
    .await
}

pub(crate) async fn get_key(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path((name, kind)): Path<(Name, String)>,
) -> Result<Response, Problem> {
    caller.party(&name)?;
    let kind = key_kind(&kind)?;
    let object = match kind {
        "public" => Object::PublicKey,
        _ => Object::EvaluationKey,
    };
    let key = service.store.key(&name, kind).await?.ok_or_else(|| {
        Problem::not_found("the student has not uploaded this key yet; try again later")
    })?;
    service.send(&caller, name, object, key.hash).await
}

fn key_kind(kind: &str) -> Result<&'static str, Problem> {
    match kind {
        "public" => Ok("public"),
        "evaluation" => Ok("evaluation"),
        _ => Err(Problem::not_found("there are the keys `public` and `evaluation`")),
    }
}

pub(crate) async fn put_ballot(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path((name, teacher, batch)): Path<(Name, Name, u32)>,
    headers: HeaderMap,
    body: Body,
) -> Result<StatusCode, Problem> {
    caller.party(&name)?;
    let file = service.planned(&name).await?;
    let number = file
        .teacher(teacher.as_str())
        .ok_or_else(|| Problem::not_found("the election file does not name that teacher"))?;
    caller.teacher(&name, number)?;
    if batch as usize >= file.engine().batches() {
        let batches = file.engine().batches();
        return Err(Problem::not_found(format!(
            "there is no such batch; there are {batches}, from 0"
        )));
    }
    let is_late = file.deadline().is_some_and(|deadline| service.clock.may_have_passed(deadline));
    // A ballot that came in time and was lost may come again, the very same, until it is needed.
    if is_late && !service.store.is_ballot_lost(&name, number, batch).await? {
        return Err(Problem::conflict(
            "deadline",
            "the deadline has passed; no ballot is taken any more",
        ));
    }
    let key =
        service.store.key(&name, "public").await?.ok_or_else(|| {
            Problem::conflict("stage", "the student has not uploaded the keys yet")
        })?;
    let (key, public) = (key_id(&key.key_id)?, key.hash);
    if !service.store.is_rehearsed(&name).await? {
        return Err(Problem::conflict(
            "rehearsal",
            "the student has not confirmed yet that the keys work (`shield election rehearse`); \
             try again later",
        ));
    }
    let limit = file.engine().max_bytes(Kind::Ballot);
    let upload = receive(&service, &caller, &headers, body, limit).await?;
    let Received::Whole(upload) = upload else { return Ok(StatusCode::ACCEPTED) };
    let Upload { incoming, room } = *upload;
    see_through(async move {
        let _room = room;
        let what = format!("ballot of {teacher}");
        let planned = file.clone();
        let look = move |bytes: &[u8]| planned.engine().check_ballot(bytes, batch as usize, key);
        let (presence, mut incoming) = service.look_at(&name, &what, incoming, look).await?;
        if file.spec().proofs() {
            let (store, election) = (service.store.clone(), name.clone());
            let checked = service.check(move || {
                let public = store.read(&election, Object::PublicKey, &public)?;
                let voting = Arc::clone(file.engine()).voting(&public);
                let bytes = incoming.read().map_err(Problem::internal)?;
                let voting = voting.map_err(Problem::internal)?;
                let proof = voting.check_proof(batch as usize, number, &bytes);
                proof.map_err(Problem::unusable).map(|()| incoming)
            });
            let checked = checked.await;
            incoming = checked.inspect_err(|problem| service.refused(&name, &what, problem))?;
        }
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
        let again = stored == Stored::Again;
        tracing::info!(election = %name, %teacher, batch, again, "ballot stored");
        // One line for a ballot, not for each of its batches.
        if !again && service.store.is_whole(&name, number).await? {
            service.log(&caller, "ballot complete", Some(&name), teacher.as_str()).await?;
        }
        Ok(answer(stored))
    })
    .await
}

/// Goes on though the caller hangs up. What was begun would go on anyway, on a thread that nobody
/// can stop: so it keeps its room until it is over, and no file stays half stored. And whoever
/// changes something cannot keep that out of the log by hanging up before it is written.
pub(crate) async fn see_through<T: Send + 'static>(
    work: impl Future<Output = Result<T, Problem>> + Send + 'static,
) -> Result<T, Problem> {
    tokio::spawn(work.in_current_span()).await.map_err(Problem::internal)?
}

pub(crate) async fn get_result(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path((name, batch)): Path<(Name, u32)>,
) -> Result<Response, Problem> {
    caller.student_or_operator(&name)?;
    let hash = service.store.release_hash(&name, batch).await?;
    let hash = hash.ok_or_else(|| {
        Problem::not_found(
            "this batch is not aggregated yet; `shield election status --watch` shows when it is",
        )
    })?;
    let object = Object::Release { batch };
    if service.store.is_lost(&name, object, &hash) && service.store.erased(&name).await?.is_empty()
    {
        service.store.aggregate_again(&name).await?;
        service.say_lost(&Lost { releases: vec![(name, batch)], ..Lost::default() }).await;
        service.work.notify_one();
        return Err(Problem::busy("this batch was lost and is computed again"));
    }
    service.send(&caller, name, object, hash).await
}

/// A key's name from the tables.
fn key_id(text: &str) -> Result<KeyId, Problem> {
    unhex(text)
        .map(KeyId::from_bytes)
        .ok_or_else(|| Problem::internal("a stored key's name is damaged"))
}

impl Service {
    /// Checks an upload away from the threads that answer, a few at a time.
    pub(crate) async fn check<T: Send + 'static>(
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

    /// Looks at an upload, and remembers it if it is refused.
    async fn look_at<T: Send + 'static>(
        &self,
        election: &Name,
        what: &str,
        incoming: Incoming,
        look: impl FnOnce(&[u8]) -> Result<T, DecodeError> + Send + 'static,
    ) -> Result<(T, Incoming), Problem> {
        let work = move || {
            let bytes = incoming.read().map_err(Problem::internal)?;
            Ok((look(&bytes).map_err(Problem::unusable)?, incoming))
        };
        let checked = self.check(work).await;
        checked.inspect_err(|problem| self.refused(election, what, problem))
    }

    /// Counts and remembers an upload that was refused.
    fn refused(&self, election: &Name, what: &str, problem: &Problem) {
        self.metrics.refused.inc();
        let (status, reason) = (problem.status().as_u16(), problem.detail());
        tracing::warn!(%election, what, status, reason, "refused");
        self.incident(Some(election), &format!("{what} refused: {}", problem.detail()));
    }
}
