//! The rehearsal: whether the student's keys work, before anyone votes.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use shield_protocol::Name;
use shield_protocol::rehearsal::{Rehearsal, Rehearsed};

use crate::caller::Caller;
use crate::problem::Problem;
use crate::service::Service;
use crate::store::Object;

/// Computes the rehearsal from the keys that are here, and compares it with the student's.
pub(crate) async fn confirm(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(name): Path<Name>,
    body: Bytes,
) -> Result<Json<Rehearsed>, Problem> {
    caller.student(&name)?;
    let theirs: Rehearsed = Problem::parse(&body)?;
    // It takes two keys in memory and a whole aggregation: once at a time for a student.
    let turn = service.rehearsing.enter(&caller.token).ok_or_else(|| {
        Problem::too_many("a rehearsal is being held for this token; wait for it")
    })?;
    let file = service.planned(&name).await?;
    let mut keys = Vec::new();
    for (kind, object) in [("public", Object::PublicKey), ("evaluation", Object::EvaluationKey)] {
        let key = service.store.key(&name, kind).await?.ok_or_else(|| {
            Problem::conflict("stage", "the rehearsal needs both keys; submit them first")
        })?;
        keys.push((object, key.hash));
    }
    let begun = service.heavy.begin(&service.store, &file, "the rehearsal").await?;
    let (store, election) = (service.store.clone(), name.clone());
    let own = service
        .check(move || {
            let (_turn, _begun) = (turn, begun);
            let read = |(object, hash): &(Object, String)| store.read(&election, *object, hash);
            let (public, evaluation) = (read(&keys[0])?, read(&keys[1])?);
            let own = Rehearsal::new(&file, &public, &evaluation).map_err(Problem::unusable)?;
            Ok(Rehearsed { digest: own.digest().to_owned() })
        })
        .await?;
    if own == theirs {
        service.store.set_rehearsed(&name).await?;
        tracing::info!(election = %name, "the keys work");
        return Ok(Json(own));
    }
    let problem = "the student and the server computed different rehearsals: they have different \
                   keys, or programs of different versions";
    tracing::warn!(election = %name, "rehearsal failed");
    service.incident(Some(&name), problem);
    let detail = format!(
        "{problem}. Rehearse with the keys that were submitted; if they are lost, call this \
         election off and create it anew"
    );
    Err(Problem::conflict("rehearsal-failed", detail))
}
