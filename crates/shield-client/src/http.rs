//! Requests that are tried again: every one of them may safely arrive twice.

use std::io::{self, Read};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rand::rngs::OsRng;
use rand::{Rng, TryRngCore};
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;
use ureq::http::{Response, StatusCode};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body};

use shield_protocol::credentials::Token;

use crate::invitation::Invitation;
use crate::submission::{Submission, SubmissionError};

/// How long a request is tried again before giving up.
const DEFAULT_PATIENCE: Duration = Duration::from_secs(90);

/// The most bytes of an answer that are read, unless the caller expects more.
const ANSWER_LIMIT: u64 = 64 << 20;

/// What a client could not do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ClientError {
    /// Nobody answers.
    #[error("{server} does not answer: {reason}; {remedy}")]
    Unreachable {
        /// Where.
        server: String,
        /// What the system says.
        reason: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The server says no.
    #[error("{detail} (the server answered {status}{})", named(request.as_deref()))]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The end of the problem's type: `budget`, `quorum`, `stage`, ...
        kind: String,
        /// What the server says.
        detail: String,
        /// What the server calls the request in its log.
        request: Option<String>,
    },
    /// What the server answers is not what it should be.
    #[error(
        "{server} answers like no SHIELD server: {reason}; check the address in the invitation"
    )]
    Strange {
        /// Where.
        server: String,
        /// What is strange.
        reason: String,
    },
    /// The certificate in the invitation cannot be read.
    #[error("the invitation's certificate is not PEM: {0}; ask the operator for a new invitation")]
    Certificate(String),
    /// Something on this side was not what is needed.
    #[error("{0}")]
    Local(String),
    /// Something on this side went wrong that is nobody's input.
    #[error("{0}")]
    Failed(String),
    /// The system would not write.
    #[error("{}: cannot be written: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// A request's name, as the end of a sentence.
fn named(request: Option<&str>) -> String {
    request.map_or_else(String::new, |request| format!(", request {request}"))
}

/// Files larger than this are sent in parts: what has arrived is not sent again.
const PART: usize = 4 << 20;

/// A connection to a server, with a token.
pub struct Client {
    agent: Agent,
    server: String,
    token: Token,
    patience: Duration,
}

enum Sent<'a> {
    Nothing,
    Bytes(&'a [u8]),
    /// Bytes, and the header that says which of which file they are.
    Part(&'a [u8], String),
    Json(&'a Value),
}

impl Client {
    /// A client for an invitation.
    pub fn new(invitation: &Invitation) -> Result<Self, ClientError> {
        let mut tls = TlsConfig::builder();
        if let Some(pem) = &invitation.certificate {
            let mut roots: Vec<Certificate<'static>> = Vec::new();
            for item in parse_pem(pem.as_bytes()) {
                match item {
                    Ok(PemItem::Certificate(certificate)) => roots.push(certificate),
                    Ok(_) => {}
                    Err(error) => return Err(ClientError::Certificate(error.to_string())),
                }
            }
            if roots.is_empty() {
                return Err(ClientError::Certificate("there is no certificate in it".to_owned()));
            }
            tls = tls.root_certs(RootCerts::new_with_certs(&roots));
        }
        let config = Agent::config_builder()
            .tls_config(tls.build())
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .user_agent(concat!("shield/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(Duration::from_secs(10)))
            .timeout_recv_response(Some(Duration::from_mins(2)))
            .timeout_per_read(Some(Duration::from_secs(30)))
            .build();
        Ok(Self {
            agent: config.new_agent(),
            server: invitation.server.clone(),
            token: invitation.token.clone(),
            patience: DEFAULT_PATIENCE,
        })
    }

    /// The same, giving up after this time.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The server's address.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Fetches a JSON document.
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        let bytes = self.request("GET", path, &Sent::Nothing, ANSWER_LIMIT)?;
        self.parse(&bytes)
    }

    /// Fetches bytes, at most `limit` of them.
    pub fn get_bytes(&self, path: &str, limit: u64) -> Result<Vec<u8>, ClientError> {
        self.request("GET", path, &Sent::Nothing, limit)
    }

    /// Sends bytes. Never a secret key: every way of sending bytes leads through here.
    pub fn put(&self, path: &str, bytes: &[u8]) -> Result<(), ClientError> {
        // What starts like a file of ours and cannot be read might be a secret key, too.
        let refused = Submission::of(bytes);
        if let Err(error @ (SubmissionError::SecretKey | SubmissionError::Damaged(_))) = refused {
            return Err(ClientError::Local(error.to_string()));
        }
        if bytes.len() > PART
            && let Some(received) = self.received(bytes)?
        {
            return self.put_parts(path, bytes, received);
        }
        self.request("PUT", path, &Sent::Bytes(bytes), ANSWER_LIMIT).map(drop)
    }

    /// How much of a file has arrived; `None` if the server does not know of parts.
    fn received(&self, bytes: &[u8]) -> Result<Option<usize>, ClientError> {
        let hash = blake3::hash(bytes).to_hex();
        match self.get::<Value>(&format!("/v1/uploads/{hash}")) {
            Ok(answer) => {
                let received = answer.get("received").and_then(Value::as_u64).unwrap_or(0);
                Ok(Some(usize::try_from(received).unwrap_or(0).min(bytes.len())))
            }
            Err(ClientError::Refused { status: 404, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends a file in parts, from where an earlier try ended. A part that breaks off is gone on
    /// with, as long as the server can be reached.
    fn put_parts(&self, path: &str, bytes: &[u8], from: usize) -> Result<(), ClientError> {
        let hash = blake3::hash(bytes).to_hex().to_string();
        let (mut offset, mut again) = (from, 0);
        while offset < bytes.len() {
            let end = bytes.len().min(offset + PART);
            let header = format!("{offset}/{}/{hash}", bytes.len());
            let sent = Sent::Part(&bytes[offset..end], header);
            match self.request("PUT", path, &sent, ANSWER_LIMIT) {
                Ok(_) => (offset, again) = (end, 0),
                // Something of an earlier try is there, or nothing is any more.
                Err(ClientError::Refused { status: 409, kind, .. })
                    if kind == "part" && again < 5 =>
                {
                    again += 1;
                    offset = self.received(bytes)?.unwrap_or(0);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Sends a JSON document, gets one.
    pub fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        document: &Value,
    ) -> Result<T, ClientError> {
        let bytes = self.request("POST", path, &Sent::Json(document), ANSWER_LIMIT)?;
        self.parse(&bytes)
    }

    /// Removes something.
    pub fn delete(&self, path: &str) -> Result<(), ClientError> {
        self.request("DELETE", path, &Sent::Nothing, ANSWER_LIMIT).map(drop)
    }

    fn parse<T: DeserializeOwned>(&self, bytes: &[u8]) -> Result<T, ClientError> {
        serde_json::from_slice(bytes).map_err(|error| ClientError::Strange {
            server: self.server.clone(),
            reason: error.to_string(),
        })
    }

    /// Tries until it is answered, with growing pauses; the server's own wish counts if it has one.
    fn request(
        &self,
        method: &str,
        path: &str,
        sent: &Sent,
        limit: u64,
    ) -> Result<Vec<u8>, ClientError> {
        let start = Instant::now();
        let mut pause = Duration::from_millis(200);
        loop {
            let (error, wish) = match self.attempt(method, path, sent, limit) {
                Ok(Answer::Fine(bytes)) => return Ok(bytes),
                Ok(Answer::Later(error, wish)) => (error, wish),
                Err(error) => return Err(error),
            };
            // A random part, so that a crowd that was sent away does not come back as a crowd.
            let jitter = pause.mul_f64(OsRng.unwrap_err().random_range(0.5..1.5));
            let wait = wish.map_or(jitter, |wish| wish + jitter);
            if start.elapsed() + wait > self.patience {
                return Err(error);
            }
            std::thread::sleep(wait);
            pause = (pause * 2).min(Duration::from_secs(8));
        }
    }

    fn attempt(
        &self,
        method: &str,
        path: &str,
        sent: &Sent,
        limit: u64,
    ) -> Result<Answer, ClientError> {
        let url = format!("{}{path}", self.server);
        let bearer = zeroize::Zeroizing::new(format!("Bearer {}", self.token.secret()));
        let builder = ureq::http::Request::builder()
            .method(method)
            .uri(&url)
            .header("authorization", bearer.as_str());
        let strange = |reason: String| ClientError::Strange { server: self.server.clone(), reason };
        let answered = match sent {
            Sent::Nothing => {
                let request = builder.body(()).map_err(|error| strange(error.to_string()))?;
                self.agent.run(request)
            }
            Sent::Bytes(bytes) => {
                let request = builder
                    .header("content-type", "application/octet-stream")
                    .body(*bytes)
                    .map_err(|error| strange(error.to_string()))?;
                self.agent.run(request)
            }
            Sent::Part(bytes, part) => {
                let request = builder
                    .header("content-type", "application/octet-stream")
                    .header("upload-part", part.as_str())
                    .body(*bytes)
                    .map_err(|error| strange(error.to_string()))?;
                self.agent.run(request)
            }
            Sent::Json(document) => {
                let request = builder
                    .header("content-type", "application/json")
                    .body(document.to_string())
                    .map_err(|error| strange(error.to_string()))?;
                self.agent.run(request)
            }
        };
        match answered {
            Ok(response) => self.judge(response, limit),
            Err(error) => {
                let remedy = remedy(&error);
                let again = !is_final(&error);
                let error = ClientError::Unreachable {
                    server: self.server.clone(),
                    reason: error.to_string(),
                    remedy,
                };
                if again { Ok(Answer::Later(error, None)) } else { Err(error) }
            }
        }
    }

    fn judge(&self, mut response: Response<Body>, limit: u64) -> Result<Answer, ClientError> {
        let status = response.status();
        let wish = response
            .headers()
            .get("retry-after")
            .and_then(|value| value.to_str().ok()?.parse().ok())
            .map(|seconds: u64| Duration::from_secs(seconds.min(60)));
        let request = response.headers().get("x-request-id");
        let request = request.and_then(|id| id.to_str().ok()).map(str::to_owned);
        let mut bytes = Vec::new();
        let read =
            response.body_mut().as_reader().take(limit.saturating_add(1)).read_to_end(&mut bytes);
        if let Err(error) = read {
            let error = ClientError::Unreachable {
                server: self.server.clone(),
                reason: format!("the answer broke off: {error}"),
                remedy: "try again",
            };
            return Ok(Answer::Later(error, None));
        }
        if bytes.len() as u64 > limit {
            let reason = format!("an answer of more than {limit} bytes");
            return Err(ClientError::Strange { server: self.server.clone(), reason });
        }
        if status.is_success() {
            return Ok(Answer::Fine(bytes));
        }
        let problem: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        let text = |key: &str| problem.get(key).and_then(Value::as_str).unwrap_or("").to_owned();
        let detail = match text("detail") {
            detail if detail.is_empty() => "the server gives no reason".to_owned(),
            detail => detail,
        };
        let kind = text("type").rsplit(':').next().unwrap_or("").to_owned();
        let error = ClientError::Refused { status: status.as_u16(), kind, detail, request };
        let later = [
            StatusCode::REQUEST_TIMEOUT,
            StatusCode::TOO_MANY_REQUESTS,
            StatusCode::BAD_GATEWAY,
            StatusCode::SERVICE_UNAVAILABLE,
            StatusCode::GATEWAY_TIMEOUT,
        ];
        if later.contains(&status) { Ok(Answer::Later(error, wish)) } else { Err(error) }
    }
}

enum Answer {
    Fine(Vec<u8>),
    /// Not now; perhaps after a while.
    Later(ClientError, Option<Duration>),
}

/// Whether trying again cannot help: a certificate does not mend itself.
fn is_final(error: &ureq::Error) -> bool {
    matches!(
        error,
        ureq::Error::Rustls(_) | ureq::Error::Tls(_) | ureq::Error::BadUri(_) | ureq::Error::Pem(_)
    ) || error.to_string().contains("certificate")
}

fn remedy(error: &ureq::Error) -> &'static str {
    let text = error.to_string();
    if text.contains("expired") {
        "its certificate has expired: the operator must renew it"
    } else if text.contains("NotValidForName") || text.contains("not valid for name") {
        "its certificate is for another name: use the name that the certificate has"
    } else if text.contains("UnknownIssuer") || text.contains("certificate") {
        "its certificate is not the one in your invitation: ask the operator for a new invitation"
    } else if matches!(error, ureq::Error::HostNotFound) {
        "the name is not known: check the address in the invitation"
    } else {
        "check that the server runs, and that no firewall is in between"
    }
}
