//! Requests that are tried again: every one of them may safely arrive twice.

use std::fmt::Display;
use std::io::{self, Read};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rand::rngs::OsRng;
use rand::{Rng, TryRngCore};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;
use ureq::http::request::Builder;
use ureq::http::{Request, Response, StatusCode};
use ureq::tls::TlsConfig;
use ureq::{Agent, Body};

use shield_protocol::credentials::Token;

use crate::authorities::{self, Unreadable};
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
    Json(&'a [u8]),
}

impl Client {
    /// A client for an invitation.
    pub fn new(invitation: &Invitation) -> Result<Self, ClientError> {
        let roots = authorities::trusted(invitation.certificate.as_deref());
        let roots = roots.map_err(|unreadable| match unreadable {
            Unreadable::Invited(problem) => ClientError::Certificate(problem),
            Unreadable::Named(problem) => ClientError::Local(problem),
        })?;
        let tls = TlsConfig::builder().root_certs(roots).build();
        let config = Agent::config_builder()
            .tls_config(tls)
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
    pub(crate) fn server(&self) -> &str {
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
        document: &impl Serialize,
    ) -> Result<T, ClientError> {
        let text = serde_json::to_vec(document);
        let text = text.map_err(|error| ClientError::Local(error.to_string()))?;
        let bytes = self.request("POST", path, &Sent::Json(&text), ANSWER_LIMIT)?;
        self.parse(&bytes)
    }

    /// Removes something.
    pub fn delete(&self, path: &str) -> Result<(), ClientError> {
        self.request("DELETE", path, &Sent::Nothing, ANSWER_LIMIT).map(drop)
    }

    fn parse<T: DeserializeOwned>(&self, bytes: &[u8]) -> Result<T, ClientError> {
        serde_json::from_slice(bytes).map_err(|error| self.strange(error))
    }

    /// That the server's answer is not what it should be.
    pub(crate) fn strange(&self, reason: impl Display) -> ClientError {
        ClientError::Strange { server: self.server.clone(), reason: reason.to_string() }
    }

    /// That the server cannot be reached.
    fn unreachable(&self, reason: impl Display, remedy: &'static str) -> ClientError {
        let (server, reason) = (self.server.clone(), reason.to_string());
        ClientError::Unreachable { server, reason, remedy }
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
        let builder =
            Request::builder().method(method).uri(&url).header("authorization", bearer.as_str());
        let binary = |builder: Builder| builder.header("content-type", "application/octet-stream");
        let (builder, body) = match sent {
            Sent::Nothing => (builder, None),
            Sent::Bytes(bytes) => (binary(builder), Some(*bytes)),
            Sent::Part(bytes, part) => {
                (binary(builder).header("upload-part", part.as_str()), Some(*bytes))
            }
            Sent::Json(text) => (builder.header("content-type", "application/json"), Some(*text)),
        };
        let invalid = |error: ureq::http::Error| self.strange(error);
        let answered = match body {
            Some(body) => self.agent.run(builder.body(body).map_err(invalid)?),
            None => self.agent.run(builder.body(()).map_err(invalid)?),
        };
        match answered {
            Ok(response) => self.judge(response, limit),
            Err(error) => {
                let again = !is_final(&error);
                let error = self.unreachable(&error, remedy(&error));
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
            let reason = format!("the answer broke off: {error}");
            return Ok(Answer::Later(self.unreachable(reason, "try again"), None));
        }
        if bytes.len() as u64 > limit {
            return Err(self.strange(format!("an answer of more than {limit} bytes")));
        }
        if status.is_success() {
            return Ok(Answer::Fine(bytes));
        }
        let problem: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        let text = |key: &str| problem.get(key).and_then(Value::as_str).unwrap_or("").to_owned();
        let detail = match text("detail") {
            // Not an answer of ours: something in between refuses what the server would take.
            detail if detail.is_empty() && status == StatusCode::PAYLOAD_TOO_LARGE => format!(
                "a proxy in front of the server takes no request of this size; the operator must \
                 let it take {} MiB (in nginx: client_max_body_size 64m)",
                PART >> 20
            ),
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
        "nobody whom your invitation or this machine trusts has signed its certificate: ask the \
         operator for an invitation that carries the authority, or name its PEM file in \
         SSL_CERT_FILE"
    } else if matches!(error, ureq::Error::HostNotFound) {
        "the name is not known: check the address in the invitation"
    } else {
        "check that the server runs, and that no firewall is in between"
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;

    use shield_protocol::credentials::Role;

    use super::*;

    /// A stock nginx takes 1 MiB, and teachers once read "the server gives no reason".
    #[test]
    fn a_proxy_that_takes_no_ballot_is_named() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = format!("http://{}", listener.local_addr().unwrap());
        let token = format!("shield_{}", "0".repeat(64)).parse().unwrap();
        let invitation = Invitation::new(&server, &Role::Operator, None, None, token);
        let proxy = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            assert!(lines.take_while(|line| !line.is_empty()).count() > 1);
            let page = "<html>413 Request Entity Too Large</html>";
            let length = page.len();
            let head = format!("HTTP/1.1 413 Too Large\r\ncontent-length: {length}\r\n\r\n{page}");
            stream.write_all(head.as_bytes()).unwrap();
        });
        let refused = Client::new(&invitation).unwrap().put("/v1/x", b"ballot").unwrap_err();
        assert!(refused.to_string().contains("client_max_body_size"), "{refused}");
        proxy.join().unwrap();
    }
}
