//! The server from outside, over a socket; and what only tests inside the crate can see.

mod closing;
mod connections;
#[path = "../../tests/server/described.rs"]
mod described;
mod figures;
mod limits;
mod openapi;
mod refusals;
mod running;
mod simulation;
mod working;

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::StdRng;
use serde_json::Value;
use shield_core::engine::Presence;
use shield_protocol::Name;
use shield_protocol::credentials::{Role, Token};
use shield_protocol::engine::faults;
use tempfile::TempDir;
use ureq::http::{Request, Response};
use ureq::tls::{RootCerts, TlsConfig};

use crate::service::{Service, Settings};
use crate::store::{StoreError, Stored};
use crate::tls::{Certificate, self_signed};
use crate::{Aggregation, openapi, serve};
use described::{Answered, check};
use shield_protocol::ledger::Budget;

pub(crate) fn settings(data: &Path) -> Settings {
    Settings {
        data: data.to_owned(),
        database: None,
        budget: Budget::default(),
        uploads: 8,
        patience: Duration::from_secs(5),
        ..Settings::default()
    }
}

/// A server on a port of its own, until it is dropped.
pub(crate) struct Running {
    pub(crate) service: Arc<Service>,
    pub(crate) address: String,
    pub(crate) operator: Token,
    pub(crate) data: PathBuf,
    /// The certificate, PEM, if it speaks TLS.
    pem: Option<String>,
    described: Value,
    agent: ureq::Agent,
    runtime: tokio::runtime::Runtime,
    _folder: TempDir,
}

impl Running {
    pub(crate) fn start() -> Self {
        Self::start_with(|_| None)
    }

    /// The same, with a self-signed certificate.
    pub(crate) fn start_tls() -> Self {
        Self::start_with(|folder| Some(self_signed(folder).unwrap()))
    }

    /// The same as [`Self::start`], with other settings.
    pub(crate) fn with(change: impl FnOnce(&mut Settings)) -> Self {
        Self::start_as(|_| None, change)
    }

    fn start_with(certificate: impl FnOnce(&Path) -> Option<Certificate>) -> Self {
        Self::start_as(certificate, |_| ())
    }

    fn start_as(
        certificate: impl FnOnce(&Path) -> Option<Certificate>,
        change: impl FnOnce(&mut Settings),
    ) -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let mut settings = settings(&data);
        change(&mut settings);
        let service = runtime.block_on(Service::open(&settings)).unwrap();
        let operator = token(0);
        runtime.block_on(service.add(&operator.hash(), &Role::Operator)).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let certificate = certificate(&data);
        let chain = certificate.as_ref().map(|certificate| &certificate.chain);
        let pem = chain.map(|chain| std::fs::read_to_string(chain).unwrap());
        let (here, never) = (Aggregation::Here, std::future::pending);
        runtime.spawn(serve(Arc::clone(&service), listener, certificate, here, never(), never));
        let mut tls = TlsConfig::builder();
        if let Some(pem) = &pem {
            let root = ureq::tls::Certificate::from_pem(pem.as_bytes()).unwrap();
            tls = tls.root_certs(RootCerts::new_with_certs(&[root]));
        }
        let agent = ureq::Agent::config_builder()
            .tls_config(tls.build())
            .http_status_as_error(false)
            .max_redirects(0)
            // A server that refuses hangs up, perhaps only after the next request was sent.
            .max_idle_connections(0)
            .allow_non_standard_methods(true)
            .timeout_global(Some(Duration::from_mins(2)))
            .build()
            .new_agent();
        Self {
            service,
            address,
            operator,
            data,
            pem,
            described: openapi(),
            agent,
            runtime,
            _folder: folder,
        }
    }

    /// The server's address as a browser shows it.
    pub(crate) fn origin(&self) -> String {
        let scheme = if self.pem.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    pub(crate) fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// Sends a request and gives the answer, whatever it is.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Response<String> {
        let answer = self.fetch(method, path, headers, body.as_bytes());
        let (status, kind) = (answer.status().as_u16(), header(&answer, "content-type"));
        let body = answer.body().as_bytes();
        check(&self.described, &Answered { method, path, status, kind, body });
        answer
    }

    /// The same, of any bytes, and unchecked.
    fn fetch(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Response<String> {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.origin()));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = self.agent.run(request.body(body).unwrap()).unwrap();
        let (parts, mut body) = answer.into_parts();
        Response::from_parts(parts, body.read_to_string().unwrap())
    }

    /// Sends a JSON document, or nothing, with a token.
    pub(crate) fn ask(
        &self,
        method: &str,
        path: &str,
        token: &Token,
        body: &str,
    ) -> Response<String> {
        let headers = [("authorization", &*bearer(token)), ("content-type", "application/json")];
        self.send(method, path, &headers, body)
    }

    /// Fills in the form of the page.
    pub(crate) fn sign_in(&self, token: &str, more: &[(&str, &str)]) -> Response<String> {
        let origin = self.origin();
        let form = ("content-type", "application/x-www-form-urlencoded");
        let headers = [&[("origin", &*origin), form], more].concat();
        self.send("POST", "/session", &headers, &format!("token={token}"))
    }

    /// A way to the tables behind the server's back.
    pub(crate) fn run_sql(&self, statements: &[&'static str]) {
        self.wait(async {
            let url = format!("sqlite://{}", self.data.join("shield.sqlite").display());
            let pool = sqlx::AnyPool::connect(&url).await.unwrap();
            for statement in statements {
                sqlx::query(*statement).execute(&pool).await.unwrap();
            }
            pool.close().await;
        });
    }
}

/// What a request with a token says.
pub(crate) fn bearer(token: &Token) -> String {
    format!("Bearer {}", token.secret())
}

/// The cookie of an answer, as a browser would send it back.
pub(crate) fn cookie(answer: &Response<String>) -> String {
    header(answer, "set-cookie").split(';').next().unwrap().to_owned()
}

/// An election file of the engine without encryption, whose batches are small.
pub(crate) fn text(name: &str, teachers: usize, samples: usize, quorum: usize) -> String {
    let teachers: Vec<String> = (0..teachers).map(|number| format!("t{number}")).collect();
    format!(
        "name = \"{name}\"\ngroup = \"g\"\nclasses = 3\nsamples = {samples}\npolynomial = \
         \"8X^4+6X^3+4X^2+X\"\noffset = 20\nquorum = {quorum}\n{}\nteachers = {teachers:?}",
        faults::engine_line()
    )
}

/// Keeps the files of both keys, whatever is in them.
pub(crate) async fn keep_keys(service: &Service, name: &Name, id: &str, keys: [&[u8]; 2]) {
    for (kind, bytes) in ["public", "evaluation"].into_iter().zip(keys) {
        let mut incoming = service.store.incoming().unwrap();
        incoming.write(bytes).unwrap();
        service.store.add_key(name, kind, id, incoming).await.unwrap();
    }
}

/// Keeps a teacher's ballot for one batch, whatever is in it.
pub(crate) async fn keep_ballot(
    service: &Service,
    name: &Name,
    (teacher, batch): (u32, u32),
    presence: &Presence,
    bytes: &[u8],
) -> Result<Stored, StoreError> {
    let mut incoming = service.store.incoming()?;
    incoming.write(bytes)?;
    service.store.add_ballot(name, teacher, batch, presence, incoming).await
}

/// One of a few tokens.
pub(crate) fn token(number: u64) -> Token {
    Token::random(&mut StdRng::seed_from_u64(number))
}

pub(crate) fn header<'a>(answer: &'a Response<String>, name: &str) -> &'a str {
    answer.headers().get(name).map_or("", |value| value.to_str().unwrap())
}
