//! Errors as `application/problem+json` (RFC 9457): what is wrong, and what to do.

#![expect(
    clippy::needless_pass_by_value,
    reason = "whatever says what is wrong is made for that, and handed over"
)]

use std::collections::BTreeMap;

use axum::Json;
use axum::body::to_bytes;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::store::StoreError;

/// Turns every other error answer (of the framework's own) into a problem, so that callers need to
/// know only one kind.
pub(crate) async fn speak_problems(request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    let status = response.status();
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let spoken = kind.is_some_and(|kind| {
        kind.starts_with("application/problem+json") || kind.starts_with("text/html")
    });
    if spoken || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let text = to_bytes(response.into_body(), 4096).await.unwrap_or_default();
    let detail = match String::from_utf8_lossy(&text).trim() {
        "" => status.canonical_reason().unwrap_or("this cannot be answered").to_owned(),
        text => text.to_owned(),
    };
    Problem::new(status, "request", detail).into_response()
}

/// An answer that says no.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    kind: &'static str,
    detail: String,
    more: Vec<(&'static str, Value)>,
    retry_after: Option<u32>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, kind: &'static str, detail: impl ToString) -> Self {
        Self { status, kind, detail: detail.to_string(), more: Vec::new(), retry_after: None }
    }

    /// With one more fact, for programs to read.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.more.push((name, value.into()));
        self
    }

    pub(crate) fn unauthorised() -> Self {
        let detail = "no valid token; send `Authorization: Bearer <token>` with the token of your \
            invitation";
        Self::new(StatusCode::UNAUTHORIZED, "unauthorised", detail)
    }

    pub(crate) fn forbidden(detail: impl ToString) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", detail)
    }

    pub(crate) fn not_found(detail: impl ToString) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", detail)
    }

    pub(crate) fn conflict(kind: &'static str, detail: impl ToString) -> Self {
        Self::new(StatusCode::CONFLICT, kind, detail)
    }

    pub(crate) fn unusable(detail: impl ToString) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "unusable", detail)
    }

    /// A JSON document, read after it is known who sent it.
    pub(crate) fn parse<T: serde::de::DeserializeOwned>(body: &[u8]) -> Result<T, Self> {
        serde_json::from_slice(body).map_err(Self::unusable)
    }

    /// Not now: for a caller who comes back by itself.
    pub(crate) fn busy(detail: &str) -> Self {
        let detail = format!("{detail}; try again in a moment");
        let mut problem = Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail);
        problem.retry_after = Some(1);
        problem
    }

    /// One caller has as much under way as it may have.
    pub(crate) fn too_many(detail: &str) -> Self {
        let mut problem = Self::new(StatusCode::TOO_MANY_REQUESTS, "too-many", detail);
        problem.retry_after = Some(2);
        problem
    }

    /// The database has too much to do: nothing is wrong, and whoever waits gets through.
    fn overtaxed(error: impl std::fmt::Display) -> Self {
        tracing::warn!(%error, "the database is busy");
        let detail = "the server's database is busy; try again in a moment";
        let mut problem = Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail);
        problem.retry_after = Some(2);
        problem
    }

    /// Something on the server's side: the log has the reason, the caller only learns where to
    /// look.
    pub(crate) fn internal(error: impl std::fmt::Display) -> Self {
        tracing::error!(%error, "internal error");
        let detail = "the server could not do this; its log says why, under the request's id";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }
}

/// RFC 9457. Some types carry further members: `mistakes`, `voted`, `quorum`, `budget`, `before`,
/// `alone`, `after`, `received`.
#[derive(Serialize, ToSchema)]
#[schema(as = Problem, example = json!({
    "type": "urn:shield:problem:quorum",
    "title": "Conflict",
    "status": 409,
    "detail": "2 of 5 teachers have voted, and 100 of 100 samples have fewer voters than the \
               quorum of 4; wait for more ballots",
    "voted": 2,
    "quorum": 4
}))]
pub(crate) struct Document {
    /// What is wrong, for programs.
    #[serde(rename = "type")]
    #[schema(pattern = "^urn:shield:problem:[a-z-]+$")]
    kind: String,
    title: Option<&'static str>,
    status: u16,
    /// What is wrong and what to do, for people.
    detail: String,
    #[serde(flatten)]
    #[schema(ignore)]
    more: BTreeMap<&'static str, Value>,
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NoElection | StoreError::NoGroup | StoreError::NoToken => {
                Self::not_found(error)
            }
            StoreError::NameTaken => Self::conflict("name-taken", error),
            StoreError::OtherGroup { .. } => Self::conflict("other-group", error),
            StoreError::Stage { .. } => Self::conflict("stage", error),
            StoreError::Conflict { .. } => Self::conflict("conflict", error),
            StoreError::Replayed => Self::conflict("replayed", error),
            StoreError::DrawnBefore { .. } => Self::conflict("drawn-before", error),
            StoreError::Blocked { .. } => Self::conflict("blocked", error),
            StoreError::LastOperator => Self::conflict("last-operator", error),
            StoreError::Database(_) if error.is_busy() => Self::overtaxed(error),
            StoreError::Database(_)
            | StoreError::OpenWay { .. }
            | StoreError::NotEmpty(_)
            | StoreError::Backup(_)
            | StoreError::DamagedDatabase { .. }
            | StoreError::Io(_)
            | StoreError::Damaged(_) => Self::internal(error),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let document = Document {
            kind: format!("urn:shield:problem:{}", self.kind),
            title: self.status.canonical_reason(),
            status: self.status.as_u16(),
            detail: self.detail,
            more: self.more.into_iter().collect(),
        };
        let mut response = (self.status, Json(document)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_data_base_asks_to_come_back_and_a_broken_one_does_not() {
        let answer =
            |error: sqlx::Error| Problem::from(StoreError::Database(error)).into_response();
        let busy = answer(sqlx::Error::PoolTimedOut);
        assert_eq!(busy.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(busy.headers().get(header::RETRY_AFTER).unwrap(), "2");
        let broken = answer(sqlx::Error::PoolClosed);
        assert_eq!(broken.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert!(!broken.headers().contains_key(header::RETRY_AFTER));
    }
}
