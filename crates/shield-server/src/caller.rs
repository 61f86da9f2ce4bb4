//! Who is calling: the role behind the bearer token, and what it may do.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{ConnectInfo, FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use http_body::Body as _;
use shield_protocol::credentials::{Role, Token, TokenHash};

use crate::problem::Problem;
use crate::service::Service;
use crate::store::{Deed, token_name};

use shield_protocol::Name;

/// A caller with a valid token.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) role: Role,
    /// The hash of its token.
    pub(crate) token: TokenHash,
    /// Where it calls from.
    pub(crate) address: String,
}

impl Caller {
    /// Writes who it is into every line that is logged about the request.
    fn record(&self) {
        let span = tracing::Span::current();
        span.record("role", self.role.name());
        span.record("who", token_name(&self.token));
    }

    /// Only for whoever runs the server.
    pub(crate) fn operator(&self) -> Result<(), Problem> {
        match self.role {
            Role::Operator => Ok(()),
            _ => Err(Problem::forbidden("only the operator may do this")),
        }
    }

    /// Only for this election's student.
    pub(crate) fn student(&self, election: &Name) -> Result<(), Problem> {
        match &self.role {
            Role::Student { election: own } if own == election => Ok(()),
            _ => Err(Problem::forbidden("only this election's student may do this")),
        }
    }

    /// Only for this election's student, or whoever runs the server.
    pub(crate) fn student_or_operator(&self, election: &Name) -> Result<(), Problem> {
        self.operator().or_else(|_| self.student(election)).map_err(|_| {
            Problem::forbidden("only this election's student and the operator may do this")
        })
    }

    /// Only for this very teacher of this election.
    pub(crate) fn teacher(&self, election: &Name, teacher: u32) -> Result<(), Problem> {
        match &self.role {
            Role::Teacher { election: own, teacher: number }
                if own == election && *number == teacher =>
            {
                Ok(())
            }
            Role::Teacher { .. } => {
                Err(Problem::forbidden("a teacher may submit only its own ballot"))
            }
            _ => Err(Problem::forbidden("only a teacher may submit a ballot")),
        }
    }

    /// For everybody who takes part in this election, and whoever runs the server.
    pub(crate) fn party(&self, election: &Name) -> Result<(), Problem> {
        match &self.role {
            Role::Operator => Ok(()),
            role if role.election() == Some(election) => Ok(()),
            _ => Err(Problem::forbidden("your token is for another election")),
        }
    }
}

impl FromRequestParts<Arc<Service>> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(
        parts: &mut Parts,
        service: &Arc<Service>,
    ) -> Result<Self, Problem> {
        if let Some(known) = parts.extensions.get::<Self>() {
            return Ok(known.clone());
        }
        let Some(authorization) = parts.headers.get(header::AUTHORIZATION) else {
            return at_the_page(parts, service).await;
        };
        let token = authorization
            .to_str()
            .ok()
            .and_then(|value| value.strip_prefix("Bearer "))
            .and_then(|token| token.trim().parse::<Token>().ok())
            .map(|token| token.hash());
        let role = match &token {
            Some(token) => service.role(token).await?,
            None => None,
        };
        let address = address(parts);
        let Some((token, role)) = token.zip(role) else {
            // Whoever tries many leaves a trace.
            tracing::warn!(address, "a wrong token");
            return Err(Problem::unauthorised());
        };
        let caller = Self { role, token, address };
        caller.record();
        Ok(caller)
    }
}

impl Service {
    /// Whose token it is. Nobody waits for a database that is known not to answer, whether that was
    /// known before or is found out meanwhile.
    pub(crate) async fn role(&self, token: &TokenHash) -> Result<Option<Role>, Problem> {
        let mut database = self.database.subscribe();
        let gone = async {
            let _ = database.wait_for(|answers| !answers).await;
        };
        tokio::select! {
            biased;
            () = gone => Err(Problem::busy("the server's database does not answer")),
            role = self.store.role(token) => Ok(role?),
        }
    }

    /// Writes into the log who did what.
    pub(crate) async fn log(
        &self,
        caller: &Caller,
        action: &str,
        election: Option<&Name>,
        detail: &str,
    ) -> Result<(), Problem> {
        let deed = Deed {
            role: caller.role.name(),
            who: token_name(&caller.token),
            address: &caller.address,
            action,
            election,
            detail,
        };
        Ok(self.store.log(deed).await?)
    }
}

/// Where a request comes from. A proxy on this machine says for whom it asks.
pub(crate) fn address(parts: &Parts) -> String {
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
    let Some(peer) = peer else { return "unknown".to_owned() };
    let forwarded = parts.headers.get("x-forwarded-for").and_then(|value| value.to_str().ok());
    let last = forwarded.and_then(|list| list.rsplit(',').next()).map(str::trim);
    let last = last.and_then(|address| address.parse::<IpAddr>().ok());
    match last {
        Some(behind) if peer.is_loopback() => behind.to_string(),
        _ => peer.to_string(),
    }
}

/// Knows who has signed in at the page.
pub(crate) trait SignIns: Send + Sync {
    /// The hash of the token that somebody has signed in with.
    fn token(&self, headers: &HeaderMap) -> Option<TokenHash>;
}

/// Refuses forms that another site sends. The cookie is not sent along from there either; this is
/// the second lock.
pub(crate) fn from_this_page(headers: &HeaderMap) -> Result<(), Problem> {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let origin = text(header::ORIGIN.as_str()).and_then(|origin| origin.split_once("://"));
    let same_host = match (origin, text(header::HOST.as_str())) {
        (Some(("http" | "https", origin)), Some(host)) => origin.eq_ignore_ascii_case(host),
        _ => false,
    };
    if same_host && text("sec-fetch-site").is_none_or(|site| site == "same-origin") {
        Ok(())
    } else {
        Err(Problem::forbidden("this form was not sent from this server's own page"))
    }
}

/// An operator who is signed in at the page, whose script calls. What changes anything must come
/// from the page itself: the cookie alone would not tell it from another site's.
async fn at_the_page(parts: &Parts, service: &Arc<Service>) -> Result<Caller, Problem> {
    let page = parts.extensions.get::<Arc<dyn SignIns>>().ok_or_else(Problem::unauthorised)?;
    let token = page.token(&parts.headers).ok_or_else(Problem::unauthorised)?;
    if !parts.method.is_safe() {
        from_this_page(&parts.headers)?;
    }
    match service.role(&token).await? {
        Some(Role::Operator) => {
            let caller = Caller { role: Role::Operator, token, address: address(parts) };
            caller.record();
            Ok(caller)
        }
        _ => Err(Problem::unauthorised()),
    }
}

/// Whoever runs the server: looked at before anything of the body is read.
pub(crate) struct Operator(pub(crate) Caller);

impl FromRequestParts<Arc<Service>> for Operator {
    type Rejection = Problem;

    async fn from_request_parts(
        parts: &mut Parts,
        service: &Arc<Service>,
    ) -> Result<Self, Problem> {
        let caller = Caller::from_request_parts(parts, service).await?;
        caller.operator()?;
        Ok(Self(caller))
    }
}

/// Where a request comes from, for those who have no token yet.
pub(crate) struct From(pub(crate) String);

impl<S: Sync> FromRequestParts<S> for From {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(Self(address(parts)))
    }
}

/// Lets callers with a valid token pass, before anything else of the request is looked at.
pub(crate) async fn admit(
    State(service): State<Arc<Service>>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let (mut parts, body) = request.into_parts();
    let caller = Caller::from_request_parts(&mut parts, &service).await?;
    // A document is in memory until it is answered. Uploads go to the disk, and count elsewhere.
    let _turn = if parts.method == Method::PUT || body.is_end_stream() {
        None
    } else {
        let turn = service.documents.enter(&caller.token);
        Some(turn.ok_or_else(|| {
            Problem::too_many("this token has as many requests under way as it may; wait for one")
        })?)
    };
    parts.extensions.insert(caller);
    Ok(next.run(Request::from_parts(parts, body)).await)
}
