//! Whether the server lives, and whether it can do its work.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use tokio::time::timeout;

use crate::clock::Reading;
use crate::problem::Problem;
use crate::service::Service;
use crate::store::LockState;

/// How often everything is looked at.
const EVERY: Duration = Duration::from_secs(1);

/// How long a connection may take to say that it is there.
const PATIENCE: Duration = Duration::from_secs(1);

/// Looks at everything, again and again, so that whoever asks is answered at once.
pub(crate) async fn run(service: Arc<Service>) {
    while !service.is_stopping() {
        service.look().await;
        tokio::time::sleep(EVERY).await;
    }
}

impl Service {
    /// Looks at the database, the disk, the lock and the clock.
    pub(crate) async fn look(&self) {
        let mut problems = Vec::new();
        // By the lock's own connection: a pool that is busy is not a database that is gone.
        let lock = self.server_lock.state().await;
        match lock {
            LockState::Held => {}
            LockState::Taken => {
                problems.push("another server has taken the lock on the database".to_owned());
            }
            LockState::Unreachable => problems.push("the database does not answer".to_owned()),
        }
        self.database.send_replace(lock != LockState::Unreachable);
        if lock == LockState::Held
            && let Ok(Err(error)) = timeout(PATIENCE, self.store.ping()).await
            && !error.is_busy()
        {
            problems.push(format!("the database does not answer: {error}"));
        }
        match self.store.free_bytes() {
            Ok(free) if free >= self.settings.disk_reserve => {}
            Ok(free) => problems.push(format!(
                "the disk is full: {} MiB are free, and {} must be",
                free >> 20,
                self.settings.disk_reserve >> 20
            )),
            Err(error) => problems.push(format!("the data folder does not answer: {error}")),
        }
        match self.clock.compare() {
            Reading::Jumped(seconds) => {
                let message = format!(
                    "the system's clock has jumped by {seconds} seconds; no deadline is believed \
                     until it has kept to that for ten minutes"
                );
                tracing::error!(seconds, "the clock has jumped");
                self.incident(None, &message);
            }
            Reading::Believed => {
                self.incident(None, "the system's clock is believed again");
            }
            Reading::Agree | Reading::Apart => {}
        }
        let mut known = self.health.lock().unwrap_or_else(PoisonError::into_inner);
        if *known != problems {
            for problem in &problems {
                tracing::error!(problem, "not ready");
            }
        }
        *known = problems;
    }

    /// Why the server is not ready, as of the last look.
    pub(crate) fn not_ready(&self) -> Vec<String> {
        if self.is_stopping() {
            return vec!["the server is stopping".to_owned()];
        }
        self.health.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The process answers: nothing else is asked.
pub(crate) async fn live() -> &'static str {
    "ok\n"
}

/// Whether it can do its work, by what was found at the last look. The reasons are for the log.
pub(crate) async fn ready(State(service): State<Arc<Service>>) -> Response {
    let problems = service.not_ready();
    if problems.is_empty() {
        return "ok\n".into_response();
    }
    let kinds: Vec<&str> = problems
        .iter()
        .map(|problem| match problem {
            text if text.contains("database") => "database",
            text if text.contains("disk") || text.contains("folder") => "disk",
            _ => "stopping",
        })
        .collect();
    let detail = format!("not ready: {}; the server's log says why", kinds.join(", "));
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "not-ready", detail).into_response()
}
