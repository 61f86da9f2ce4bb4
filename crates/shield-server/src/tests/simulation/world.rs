//! A server that can be stopped, started again, and given an older database.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use rand::SeedableRng;
use rand::rngs::StdRng;
use shield_protocol::credentials::{Role, Token};
use tempfile::TempDir;
use tower::ServiceExt;

use super::history::Faults;
use crate::page::{Page, Speaks};
use crate::serve::router;
use crate::service::{Service, Settings};
use crate::tests::token;
use shield_protocol::ledger::Budget;

/// An answer: its status and its body.
pub(super) type Answer = (StatusCode, Vec<u8>);

pub(super) struct World {
    pub(super) service: Arc<Service>,
    pub(super) operator: Token,
    router: axum::Router,
    settings: Settings,
    seed: u64,
    /// How often the process was started.
    starts: u64,
    faults: Faults,
    folder: TempDir,
}

/// A folder whose syncs cost nothing, where there is one.
fn quick_folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { TempDir::new_in(memory).unwrap() } else { TempDir::new().unwrap() }
}

impl World {
    pub(super) async fn new(seed: u64, faults: Faults) -> Self {
        let folder = quick_folder();
        let settings = Settings {
            data: folder.path().join("data"),
            budget: Budget { epsilon: 60.0, ..Budget::default() },
            disk_reserve: 0,
            ..Settings::default()
        };
        let (service, router) = start(&settings, faults, seed << 16).await;
        let operator = token(0);
        service.add(&operator.hash(), &Role::Operator).await.unwrap();
        Self { service, operator, router, settings, seed, starts: 1, faults, folder }
    }

    pub(super) fn data(&self) -> &Path {
        &self.settings.data
    }

    /// Sends a request through the real routes.
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        bearer: &Token,
        body: Vec<u8>,
    ) -> Answer {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {}", bearer.secret()))
            .header("content-type", "application/json")
            .body(Body::from(body))
            .unwrap();
        let answer = self.router.clone().oneshot(request).await.unwrap();
        let status = answer.status();
        let body = answer.into_body().collect().await.map(|body| body.to_bytes().to_vec());
        (status, body.unwrap_or_default())
    }

    /// Stops the process, whatever it was doing, and starts it again.
    pub(super) async fn restart(&mut self) {
        self.stop().await;
        self.begin().await;
    }

    async fn stop(&mut self) {
        self.service.stop();
        self.router = axum::Router::new();
        self.service.store.close_database().await.unwrap();
    }

    async fn begin(&mut self) {
        self.service.let_go();
        let seed = self.seed << 16 | self.starts;
        (self.service, self.router) = start(&self.settings, self.faults, seed).await;
        self.starts += 1;
    }

    fn saved(&self) -> PathBuf {
        self.folder.path().join("saved.sqlite")
    }

    /// Saves the database, without the folder.
    pub(super) async fn save(&mut self) {
        self.stop().await;
        std::fs::copy(self.data().join("shield.sqlite"), self.saved()).unwrap();
        self.begin().await;
    }

    /// Brings the saved database back, if there is one.
    pub(super) async fn bring_back(&mut self) -> bool {
        if !self.saved().exists() {
            return false;
        }
        self.stop().await;
        for end in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(self.data().join(format!("shield.sqlite{end}")));
        }
        std::fs::copy(self.saved(), self.data().join("shield.sqlite")).unwrap();
        self.begin().await;
        true
    }

    pub(super) fn crash_after(&self, points: i64) {
        self.service.store.crash.store(points, Ordering::Relaxed);
    }

    pub(super) fn fill_disk(&self, full: bool) {
        self.service.store.full.store(full, Ordering::Relaxed);
    }
}

async fn start(settings: &Settings, faults: Faults, seed: u64) -> (Arc<Service>, axum::Router) {
    let service = Service::open(settings).await.unwrap();
    *service.store.repeatable.lock().unwrap() = Some(StdRng::seed_from_u64(seed));
    let planted = faults == Faults::Planted;
    service.store.forgetful.store(planted, Ordering::Relaxed);
    let router = router(Arc::clone(&service), Page::new(Speaks::Plain, None), Speaks::Plain);
    (service, router)
}
