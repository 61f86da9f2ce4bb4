//! The server from outside, over a socket; and what only tests inside the crate can see.

mod closing;
mod connections;
mod figures;
mod limits;
mod openapi;
mod refusals;
mod running;
mod simulation;

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::StdRng;
use shield_protocol::credentials::Token;
use tempfile::TempDir;
use ureq::http::{Request, Response};
use ureq::tls::{RootCerts, TlsConfig};

use crate::ledger::Budget;
use crate::serve;
use crate::service::{Service, Settings};
use crate::tls::{Certificate, self_signed};

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
        runtime.block_on(service.add_operator(&operator.hash())).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let certificate = certificate(&data);
        let chain = certificate.as_ref().map(|certificate| &certificate.chain);
        let pem = chain.map(|chain| std::fs::read_to_string(chain).unwrap());
        runtime.spawn(serve(Arc::clone(&service), listener, certificate, std::future::pending()));
        Self { service, address, operator, data, pem, runtime, _folder: folder }
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
        let mut tls = TlsConfig::builder();
        if let Some(pem) = &self.pem {
            let root = ureq::tls::Certificate::from_pem(pem.as_bytes()).unwrap();
            tls = tls.root_certs(RootCerts::new_with_certs(&[root]));
        }
        let config = ureq::Agent::config_builder()
            .tls_config(tls.build())
            .http_status_as_error(false)
            .max_redirects(0)
            .allow_non_standard_methods(true)
            .timeout_global(Some(Duration::from_mins(2)))
            .build();
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.origin()));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = config.new_agent().run(request.body(body.to_owned()).unwrap()).unwrap();
        let (parts, mut body) = answer.into_parts();
        Response::from_parts(parts, body.read_to_string().unwrap())
    }

    pub(crate) fn bearer(&self) -> String {
        format!("Bearer {}", self.operator.secret())
    }
}

/// One of a few tokens.
pub(crate) fn token(number: u64) -> Token {
    Token::random(&mut StdRng::seed_from_u64(number))
}

pub(crate) fn header<'a>(answer: &'a Response<String>, name: &str) -> &'a str {
    answer.headers().get(name).map_or("", |value| value.to_str().unwrap())
}
