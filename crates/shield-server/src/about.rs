//! What the server says about itself: metrics, its API, what went wrong, who is calling.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde::Serialize;
use shield_protocol::Name;
use shield_protocol::credentials::Role;
use utoipa::ToSchema;

use crate::caller::{Caller, Operator};
use crate::metrics::{InStage, OfGroup};
use crate::problem::Problem;
use crate::schema;
use crate::service::{Incident, Service};
use crate::store::Stage;

pub(crate) async fn metrics_text(
    State(service): State<Arc<Service>>,
    caller: Caller,
) -> Result<Response, Problem> {
    if !matches!(caller.role, Role::Operator | Role::Monitor) {
        return Err(Problem::forbidden("only the operator and monitors may do this"));
    }
    service.measure().await;
    let text = service.metrics.text().map_err(Problem::internal)?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

pub(crate) async fn incidents(
    State(service): State<Arc<Service>>,
    _: Operator,
) -> Result<Json<Vec<Incident>>, Problem> {
    Ok(Json(service.incidents()))
}

/// The caller and the server.
#[derive(Serialize, ToSchema)]
pub(crate) struct WhoAmI {
    #[schema(value_type = schema::Role)]
    role: &'static str,
    election: Option<Name>,
    teacher: Option<Name>,
    /// The server's version.
    version: &'static str,
    /// The version of keys, ballots and releases.
    format: u32,
    /// The server's clock.
    time: Timestamp,
}

/// Who is calling, what the server is, and what time it has: for `shield election preflight`.
pub(crate) async fn whoami(
    State(service): State<Arc<Service>>,
    caller: Caller,
) -> Result<Json<WhoAmI>, Problem> {
    Ok(Json(WhoAmI {
        role: caller.role.name(),
        election: caller.role.election().cloned(),
        teacher: service.teacher(&caller.role).await?,
        version: env!("CARGO_PKG_VERSION"),
        format: shield_core::framing::VERSION.into(),
        time: service.clock.system(),
    }))
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Service {
    /// Measures what is not counted as it happens.
    pub(crate) async fn measure(&self) {
        let metrics = &self.metrics;
        let problems = self.not_ready();
        let database = !problems.iter().any(|problem| problem.contains("database"));
        metrics.ready.set(i64::from(problems.is_empty()));
        metrics.database.set(i64::from(database));
        metrics.uploads.set(i64::from(self.uploading.under_way()));
        metrics.downloads.set(i64::from(self.downloads.under_way()));
        metrics.incidents.set(count(self.incidents().len()));
        if let Ok(free) = self.store.free_bytes() {
            metrics.disk_free.set(i64::try_from(free).unwrap_or(i64::MAX));
        }
        // What the database says stays as it was while it says nothing.
        if !database {
            return;
        }
        if let Ok(unpriced) = self.store.unpriced().await {
            metrics.unpriced.set(count(unpriced.len()));
        }
        if let Ok(elections) = self.store.elections().await {
            for stage in Stage::ALL {
                let there = elections.iter().filter(|election| election.stage == stage).count();
                let label = InStage { stage: stage.name() };
                metrics.elections.get_or_create(&label).set(count(there));
            }
        }
        if let Ok(accounts) = self.accounts().await {
            for account in accounts {
                let left = (account.budget - account.reserved.get()).max(0.0);
                metrics.budget_left.get_or_create(&OfGroup { group: account.group }).set(left);
            }
        }
    }
}
