//! What the server says about itself: health, metrics, its API, what went wrong, who is calling.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use shield_protocol::Name;
use shield_protocol::credentials::Role;

use crate::caller::Caller;
use crate::problem::Problem;
use crate::service::{Incident, Service, Setup};

/// The API's description, for programs and the people who write them.
pub const OPENAPI: &str = include_str!("openapi.json");

pub(crate) async fn health(State(service): State<Arc<Service>>) -> Result<&'static str, Problem> {
    service.store.ping().await?;
    Ok("ok\n")
}

pub(crate) async fn metrics_text(
    State(service): State<Arc<Service>>,
    caller: Caller,
) -> Result<Response, Problem> {
    if !matches!(caller.0, Role::Operator | Role::Monitor) {
        return Err(Problem::forbidden("only the operator and monitors may do this"));
    }
    let text = service.metrics.text().map_err(Problem::internal)?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

pub(crate) async fn openapi(_caller: Caller) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], OPENAPI).into_response()
}

pub(crate) async fn incidents(
    State(service): State<Arc<Service>>,
    caller: Caller,
) -> Result<axum::Json<Vec<Incident>>, Problem> {
    caller.operator()?;
    Ok(axum::Json(service.incidents()))
}

/// Who is calling, what the server is, and what time it has: for `shield preflight`.
pub(crate) async fn whoami(
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
        "format": shield::framing::VERSION,
        "time": Timestamp::now(),
    })))
}
