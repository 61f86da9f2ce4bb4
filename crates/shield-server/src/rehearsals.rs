//! The rehearsal: whether the student's keys work, before anyone votes.

use std::sync::{Arc, PoisonError};

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use rand::TryRngCore;
use rand::rngs::OsRng;
use serde::Deserialize;
use serde_json::{Value, json};
use shield::{Class, Label};
use shield_protocol::Name;
use shield_protocol::rehearsal::Rehearsal;

use crate::caller::Caller;
use crate::problem::Problem;
use crate::service::Service;
use crate::store::Object;

/// What the student read.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Read {
    labels: Vec<Option<u16>>,
}

/// Makes ballots of its own, aggregates them, and hands out the release.
pub(crate) async fn hold(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<Name>,
) -> Result<Bytes, Problem> {
    caller.student(&name)?;
    // It takes two keys in memory and a whole aggregation: once at a time for a student.
    let turn = service.heavy.enter(&caller.token).ok_or_else(|| {
        Problem::too_many("a rehearsal is being held for this token; wait for it")
    })?;
    let setup = service.setup(&name).await?;
    let mut keys = Vec::new();
    for (kind, object) in [("public", Object::PublicKey), ("evaluation", Object::EvaluationKey)] {
        let key = service.store.key(&name, kind).await?.ok_or_else(|| {
            Problem::conflict("stage", "the rehearsal needs both keys; submit them first")
        })?;
        keys.push((object, key.hash));
    }
    let (store, election) = (service.store.clone(), name.clone());
    let held = service
        .check(move || {
            let _turn = turn;
            let read = |(object, hash): &(Object, String)| store.read(&election, *object, hash);
            let (public, evaluation) = (read(&keys[0])?, read(&keys[1])?);
            let mut rng = OsRng.unwrap_err();
            Rehearsal::new(&setup.file, &public, &evaluation, &mut rng).map_err(Problem::unusable)
        })
        .await?;
    let release = Bytes::copy_from_slice(&held.release);
    let mut known = service.rehearsals.lock().unwrap_or_else(PoisonError::into_inner);
    // Each takes a release's bytes; whoever was pushed out asks again.
    if known.len() >= 32 {
        known.clear();
    }
    known.insert(name, held);
    Ok(release)
}

/// Compares the student's labels with those of the operator in the clear.
pub(crate) async fn confirm(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<Name>,
    body: Bytes,
) -> Result<Json<Value>, Problem> {
    caller.student(&name)?;
    let read: Read = Problem::parse(&body)?;
    let held = {
        let mut known = service.rehearsals.lock().unwrap_or_else(PoisonError::into_inner);
        known.remove(&name)
    };
    let held = held.ok_or_else(|| {
        Problem::conflict("stage", "there is no rehearsal to confirm; ask for one first")
    })?;
    let labels: Vec<Label> = read.labels.into_iter().map(|label| label.map(Class)).collect();
    match held.check(&labels) {
        Ok(labels) => {
            service.store.set_rehearsed(&name).await?;
            tracing::info!(election = %name, labels, "the keys work");
            Ok(Json(json!({ "labels": labels })))
        }
        Err(problem) => {
            tracing::warn!(election = %name, problem, "rehearsal failed");
            service.incident(Some(&name), &problem);
            let detail = format!("{problem}; call this election off and create it anew");
            Err(Problem::conflict("rehearsal-failed", detail))
        }
    }
}
