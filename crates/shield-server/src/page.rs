//! The page at `/`, for the people who run the server: elections, ledger, recent errors.
//!
//! Whoever is not signed in gets a form and nothing else. Signing in takes the operator's token and
//! gives a cookie that no script can read and no other site can use. The page comes whole from the
//! server and loads nothing; its script only fetches it again.

mod history;
mod view;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use askama::Template;
use axum::extract::rejection::FormRejection;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Form, Json};
use jiff::Timestamp;
use rand::TryRngCore;
use rand::rngs::OsRng;
use serde::Deserialize;
use shield_privacy::explore::page::Shape;
use shield_privacy::explore::{Answer, Calculator, Question, page as explore};
use shield_protocol::credentials::{Role, Token, TokenHash};
use shield_protocol::hex::hex;
use tokio::sync::Semaphore;
use utoipa::ToSchema;

use crate::caller::{Caller, From, Operator, SignIns, from_this_page};
use crate::problem::Problem;
use crate::service::Service;
use crate::sessions::{By, Sessions};
use view::{Dashboard, View};

const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = concat!(include_str!("page/refresh.js"), include_str!("page/actions.js"));

/// How long a wrong token takes to be refused.
const DELAY: Duration = Duration::from_millis(500);

/// How old what is shown may be: many who look at once cost the store no more than one.
const STALE: Duration = Duration::from_millis(900);

/// How the server itself is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaks {
    /// HTTP over TLS.
    Tls,
    /// HTTP; perhaps a proxy in front of it speaks TLS.
    Plain,
}

/// What a page runs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Script {
    /// Nothing.
    None,
    /// The calculator, and what fetches the page again; without scripts the browser does so itself.
    Live,
}

/// What the page needs to remember.
pub(crate) struct Page {
    sessions: Sessions,
    /// How many wrong tokens may wait for their refusal.
    refusals: Semaphore,
    started: Instant,
    speaks: Speaks,
    latest: tokio::sync::Mutex<Option<(Instant, Arc<View>)>>,
    /// The server's own certificate, as PEM, if invitations must carry it.
    certificate: Option<String>,
    calculator: Arc<Calculator>,
}

impl SignIns for Page {
    fn token(&self, headers: &HeaderMap) -> Option<TokenHash> {
        self.token_by(By::Person, headers)
    }
}

impl Page {
    /// A page that nobody has looked at.
    pub(crate) fn new(speaks: Speaks, certificate: Option<String>) -> Self {
        Self {
            sessions: Sessions::default(),
            refusals: Semaphore::new(8),
            started: Instant::now(),
            speaks,
            latest: tokio::sync::Mutex::default(),
            certificate,
            calculator: Arc::default(),
        }
    }

    /// The cookie's name. The prefix keeps other hosts of the domain from setting it, and needs
    /// TLS.
    fn cookie(&self, headers: &HeaderMap) -> (&'static str, bool) {
        // A proxy in front that speaks TLS says so. Whoever lies here only loses the cookie.
        let by_proxy = headers.get("x-forwarded-proto").is_some_and(|proto| proto == "https");
        if self.speaks == Speaks::Tls || by_proxy {
            ("__Host-shield", true)
        } else {
            ("shield", false)
        }
    }

    fn session<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let (wanted, _) = self.cookie(headers);
        headers
            .get_all(header::COOKIE)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|cookies| cookies.split(';'))
            .filter_map(|cookie| cookie.trim().split_once('='))
            .find_map(|(name, value)| (name == wanted).then_some(value))
    }

    fn token_by(&self, by: By, headers: &HeaderMap) -> Option<TokenHash> {
        self.session(headers).and_then(|name| self.sessions.token(name, Instant::now(), by))
    }

    async fn is_signed_in(
        &self,
        service: &Service,
        headers: &HeaderMap,
        by: By,
    ) -> Result<bool, Problem> {
        let Some(token) = self.token_by(by, headers) else { return Ok(false) };
        match service.role(&token).await {
            Ok(role) => Ok(role == Some(Role::Operator)),
            // The page is where to see that the database does not answer.
            Err(_) if !*service.database.borrow() => Ok(true),
            Err(problem) => Err(problem),
        }
    }

    /// Sends the browser to the page, with a cookie.
    fn go_home(&self, headers: &HeaderMap, value: &str, seconds: Option<u32>) -> Response {
        let (name, secure) = self.cookie(headers);
        let mut cookie = format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict");
        if secure {
            cookie.push_str("; Secure");
        }
        if let Some(seconds) = seconds {
            let _ = write!(cookie, "; Max-Age={seconds}");
        }
        let headers = [(header::LOCATION, "/".to_owned()), (header::SET_COOKIE, cookie)];
        (StatusCode::SEE_OTHER, headers).into_response()
    }

    async fn view(&self, service: &Service) -> Arc<View> {
        let mut latest = self.latest.lock().await;
        if let Some((made, view)) = &*latest
            && made.elapsed() < STALE
        {
            return Arc::clone(view);
        }
        let view = Arc::new(View::read(service).await);
        *latest = Some((Instant::now(), Arc::clone(&view)));
        view
    }
}

pub(crate) async fn show(
    State(service): State<Arc<Service>>,
    Extension(page): Extension<Arc<Page>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let query = query.as_deref();
    // Its script fetches the part that changes, and a browser without scripts the whole again.
    let by = if matches!(query, Some("fragment" | "again")) { By::Page } else { By::Person };
    if !page.is_signed_in(&service, &headers, by).await? {
        return Ok(form(StatusCode::UNAUTHORIZED, None));
    }
    let view = page.view(&service).await;
    let certificate = page.certificate.as_deref().unwrap_or_default();
    let body = Dashboard {
        view: &view,
        uptime: page.started.elapsed(),
        now: Timestamp::now(),
        certificate,
        calculator: explore::calculator("/v1/calculator", &Shape::default()),
    };
    if query == Some("fragment") {
        return Ok(send(StatusCode::OK, &nonce(), &body));
    }
    Ok(document(StatusCode::OK, "SHIELD server", body, Script::Live))
}

/// The calculator's answers, for the operator.
pub(crate) async fn calculate(
    Extension(page): Extension<Arc<Page>>,
    _: Operator,
    Json(question): Json<Question>,
) -> Result<Json<Answer>, Problem> {
    let calculator = Arc::clone(&page.calculator);
    // Away from the threads that answer others.
    tokio::task::spawn_blocking(move || calculator.answer(&question))
        .await
        .map_err(Problem::internal)?
        .map(Json)
        .map_err(Problem::unusable)
}

/// The form to sign in.
#[derive(Deserialize, ToSchema)]
pub(crate) struct SignIn {
    /// The operator's token.
    #[schema(format = "password")]
    token: String,
}

pub(crate) async fn sign_in(
    State(service): State<Arc<Service>>,
    Extension(page): Extension<Arc<Page>>,
    From(address): From,
    headers: HeaderMap,
    body: Result<Form<SignIn>, FormRejection>,
) -> Result<Response, Problem> {
    from_this_page(&headers)?;
    let token = body.ok().and_then(|Form(body)| body.token.trim().parse::<Token>().ok());
    if let Some(token) = token {
        let hash = token.hash();
        if service.role(&hash).await? == Some(Role::Operator) {
            tracing::info!(address, "an operator signed in");
            let caller = Caller { role: Role::Operator, token: hash.clone(), address };
            service.log(&caller, "signed in", None, "").await?;
            let name = page.sessions.begin(hash, Instant::now());
            return Ok(page.go_home(&headers, &name, None));
        }
    }
    // Right tokens pass at once; wrong ones wait, few at a time, so that trying many is slow and
    // costs us little.
    let Ok(_turn) = page.refusals.try_acquire() else {
        return Ok(form(StatusCode::TOO_MANY_REQUESTS, Some("Too many attempts. Wait a moment.")));
    };
    tracing::warn!(address, "a wrong token at the page");
    tokio::time::sleep(DELAY).await;
    Ok(form(StatusCode::UNAUTHORIZED, Some("This is not the operator's token.")))
}

pub(crate) async fn sign_out(
    Extension(page): Extension<Arc<Page>>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    from_this_page(&headers)?;
    if let Some(name) = page.session(&headers) {
        page.sessions.end(name);
    }
    Ok(page.go_home(&headers, "", Some(0)))
}

/// The form to sign in, perhaps with what went wrong.
#[derive(Template)]
#[template(path = "sign-in.html")]
struct SignInForm {
    message: Option<&'static str>,
}

fn form(status: StatusCode, message: Option<&'static str>) -> Response {
    let mut response = document(status, "Sign in", SignInForm { message }, Script::None);
    if status == StatusCode::UNAUTHORIZED {
        let headers = response.headers_mut();
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// A whole page.
#[derive(Template)]
#[template(path = "layout.html")]
struct Layout<'a, B: Template> {
    title: &'static str,
    nonce: &'a str,
    body: B,
    script: Script,
}

/// A whole page around a body.
pub(crate) fn document(
    status: StatusCode,
    title: &'static str,
    body: impl Template,
    script: Script,
) -> Response {
    let nonce = nonce();
    send(status, &nonce, &Layout { title, nonce: &nonce, body, script })
}

/// What marks script and style as ours, in one answer.
fn nonce() -> String {
    let mut bytes = [0; 16];
    OsRng.unwrap_err().try_fill_bytes(&mut bytes).unwrap_or_else(|never| match never {});
    hex(&bytes)
}

/// HTML, with a policy that lets the browser run our script and style and load nothing at all.
fn send(status: StatusCode, nonce: &str, page: &impl Template) -> Response {
    let html = match page.render() {
        Ok(html) => html,
        Err(error) => return Problem::internal(error).into_response(),
    };
    let policy = format!(
        "default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; connect-src \
         'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    );
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8".to_owned()),
        (header::CONTENT_SECURITY_POLICY, policy),
        // Not `no-referrer`: the browser would then hide from us where a form comes from.
        (header::REFERRER_POLICY, "same-origin".to_owned()),
        (header::X_FRAME_OPTIONS, "DENY".to_owned()),
    ];
    (status, headers, html).into_response()
}

#[cfg(test)]
mod tests;
