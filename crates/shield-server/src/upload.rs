//! Bytes on their way in: bounded in number, size, patience and pace, for each token and for all.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;
use serde::Serialize;
use shield_protocol::hex::unhex;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;
use utoipa::ToSchema;

use crate::caller::Caller;
use crate::limits::Turn;
use crate::parts::Part;
use crate::problem::Problem;
use crate::service::Service;
use crate::store::Incoming;

/// The right to take up room with an upload, which lasts as long as the work on it.
pub(crate) struct Room {
    _of_all: OwnedSemaphorePermit,
    _of_token: Turn,
}

/// A body in a temporary file, and the room it takes.
pub(crate) struct Upload {
    pub(crate) incoming: Incoming,
    pub(crate) room: Room,
}

/// What came in.
pub(crate) enum Received {
    /// All of it.
    Whole(Box<Upload>),
    /// A part; more is to come.
    Part,
}

/// Streams a body of at most `limit` bytes into a temporary file.
///
/// Too many at once are sent away with `Retry-After`, whoever sends too many of them, too: memory
/// and disk stay bounded, and nobody takes the room of all. An honest pace may take as long as it
/// takes.
pub(crate) async fn receive(
    service: &Service,
    caller: &Caller,
    headers: &HeaderMap,
    body: Body,
    limit: usize,
) -> Result<Received, Problem> {
    let part = Part::of(headers)?;
    let announced = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.parse::<u64>().ok());
    let all = part.as_ref().map_or(announced, |part| Some(part.total));
    if all.is_some_and(|bytes| bytes > limit as u64) {
        return Err(too_large(limit));
    }
    // Before the last byte is gone: the database needs some, too.
    let free = service.store.free_bytes()?;
    if free < service.settings.disk_reserve {
        return Err(Problem::busy("the server's disk is full"));
    }
    let of_token = service.uploading.enter(&caller.token).ok_or_else(|| {
        Problem::too_many("this token has as many uploads under way as it may; wait for one")
    })?;
    let full = "the server has as many uploads as it takes at once";
    let of_all =
        Arc::clone(&service.uploads).try_acquire_owned().map_err(|_| Problem::busy(full))?;
    let room = Room { _of_all: of_all, _of_token: of_token };
    let Some(part) = part else {
        let mut incoming = service.store.incoming()?;
        stream(service, body, limit as u64, &mut incoming).await?;
        return Ok(Received::Whole(Box::new(Upload { incoming, room })));
    };
    let begun = service.parts.take(&caller.token, &part, || Ok(service.store.incoming()?))?;
    let Some(mut incoming) = begun else {
        let received = service.parts.received(&caller.token, &part.hash);
        let detail = format!("{received} bytes have arrived; go on from there");
        return Err(Problem::conflict("part", detail).with("received", received));
    };
    let streamed = stream(service, body, part.total, &mut incoming).await;
    if let Err(problem) = streamed {
        // What has arrived counts, unless it is more than there should be.
        if problem.status() != StatusCode::PAYLOAD_TOO_LARGE {
            service.parts.keep(&caller.token, &part, incoming);
        }
        return Err(problem);
    }
    if incoming.bytes() < part.total {
        service.parts.keep(&caller.token, &part, incoming);
        return Ok(Received::Part);
    }
    if incoming.hash() != part.hash {
        return Err(Problem::unusable(
            "the parts do not make up the file that was announced; send it from its start",
        ));
    }
    Ok(Received::Whole(Box::new(Upload { incoming, room })))
}

fn too_large(limit: usize) -> Problem {
    let detail =
        format!("more than the {limit} bytes that this can have; send the file as it was made");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", detail)
}

/// Appends a body, as long as it comes at an honest pace.
async fn stream(
    service: &Service,
    mut body: Body,
    limit: u64,
    incoming: &mut Incoming,
) -> Result<(), Problem> {
    let settings = &service.settings;
    let stalled = || {
        let detail = "the upload stalled; send it again";
        Problem::new(StatusCode::REQUEST_TIMEOUT, "stalled", detail)
    };
    let (start, before) = (Instant::now(), incoming.bytes());
    loop {
        let frame = timeout(settings.patience, body.frame()).await.map_err(|_| stalled())?;
        let Some(frame) = frame else { return Ok(()) };
        let frame = frame.map_err(|_| {
            Problem::new(
                StatusCode::BAD_REQUEST,
                "broken-off",
                "the upload broke off; send it again",
            )
        })?;
        let Some(chunk) = frame.data_ref() else { continue };
        if incoming.bytes() + chunk.len() as u64 > limit {
            return Err(too_large(usize::try_from(limit).unwrap_or(usize::MAX)));
        }
        incoming.write(chunk).map_err(Problem::internal)?;
        let arrived = incoming.bytes() - before;
        if is_too_slow(arrived, start.elapsed(), settings.patience, settings.pace) {
            return Err(stalled());
        }
    }
}

/// Whether an upload brings less than the pace, once its patience is used up.
fn is_too_slow(arrived: u64, elapsed: Duration, patience: Duration, pace: u64) -> bool {
    let counted = elapsed.saturating_sub(patience).as_secs();
    arrived < pace.saturating_mul(counted)
}

/// How much of an upload has arrived.
#[derive(Serialize, ToSchema)]
pub(crate) struct Arrived {
    /// In bytes.
    received: u64,
}

/// How much of a file has arrived from the caller.
pub(crate) async fn received(
    State(service): State<Arc<Service>>,
    caller: Caller,
    Path(hash): Path<String>,
) -> Result<Json<Arrived>, Problem> {
    if unhex::<32>(&hash).is_none() {
        return Err(Problem::unusable("a hash is 64 hexadecimal digits"));
    }
    Ok(Json(Arrived { received: service.parts.received(&caller.token, &hash) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_honest_pace_may_take_long_and_a_trickle_may_not() {
        let slow = |arrived, seconds| {
            is_too_slow(arrived, Duration::from_secs(seconds), Duration::from_secs(30), 4 << 10)
        };
        // 30 MB at 1.8 Mbit/s: 133 seconds.
        for seconds in 1..=133 {
            assert!(!slow(seconds * 225_000, seconds), "{seconds}");
        }
        // A byte per second.
        assert!(!slow(30, 30));
        assert!(slow(31, 31));
    }
}
