//! Bytes on their way in: bounded in number, size and patience.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use crate::problem::Problem;
use crate::service::Service;
use crate::store::Incoming;

/// A body in a temporary file, and the right to take up room with it, which lasts as long as the
/// work on it.
pub(crate) struct Upload {
    pub(crate) incoming: Incoming,
    pub(crate) room: OwnedSemaphorePermit,
}

/// Streams a body of at most `limit` bytes into a temporary file.
///
/// Too many at once are sent away with `Retry-After`: memory and disk stay bounded whatever comes.
pub(crate) async fn receive(
    service: &Service,
    headers: &HeaderMap,
    mut body: Body,
    limit: usize,
) -> Result<Upload, Problem> {
    let too_large = || {
        let detail =
            format!("more than the {limit} bytes that this can have; send the file as it was made");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", detail)
    };
    let announced = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.parse::<u64>().ok());
    if announced.is_some_and(|bytes| bytes > limit as u64) {
        return Err(too_large());
    }
    let room = Arc::clone(&service.uploads).try_acquire_owned().map_err(|_| Problem::busy())?;
    let mut incoming = service.store.incoming()?;
    loop {
        let frame = timeout(service.patience, body.frame()).await.map_err(|_| {
            let detail = "the upload stalled; send it again";
            Problem::new(StatusCode::REQUEST_TIMEOUT, "stalled", detail)
        })?;
        let Some(frame) = frame else { break };
        let frame = frame.map_err(|_| {
            Problem::new(
                StatusCode::BAD_REQUEST,
                "broken-off",
                "the upload broke off; send it again",
            )
        })?;
        let Some(chunk) = frame.data_ref() else { continue };
        if incoming.bytes() + chunk.len() as u64 > limit as u64 {
            return Err(too_large());
        }
        incoming.write(chunk).map_err(Problem::internal)?;
    }
    Ok(Upload { incoming, room })
}
