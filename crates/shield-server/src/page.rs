//! The page at `/`, for the people who run the server: elections, ledger, recent errors.
//!
//! Whoever is not signed in gets a form and nothing else. Signing in takes the operator's token and
//! gives a cookie that no script can read and no other site can use. The page comes whole from the
//! server and loads nothing; its script only fetches it again.

mod actions;
mod history;
mod markup;
mod view;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::rejection::FormRejection;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Form, Json};
use jiff::Timestamp;
use rand::TryRngCore;
use rand::rngs::OsRng;
use serde::Deserialize;
use shield_protocol::credentials::{Role, Token, TokenHash};
use shield_protocol::hex::hex;
use tokio::sync::Semaphore;

use crate::calculator::{Answer, Calculator, Question};
use crate::caller::{Caller, From, Operator, SignIns, from_this_page};
use crate::problem::Problem;
use crate::service::Service;
use crate::sessions::Sessions;
pub(crate) use markup::{Markup, Template};
use view::View;

const LAYOUT: &str = include_str!("page/layout.html");
const STYLE: &str =
    concat!(include_str!("page/style.css"), include_str!("calculator/calculator.css"));
const CALCULATOR: &str = include_str!("calculator/calculator.html");

/// What makes the calculator move.
pub(crate) const CALCULATE: &str =
    concat!(include_str!("calculator/chart.js"), include_str!("calculator/calculator.js"));
const SIGN_IN: &str = include_str!("page/sign-in.html");
const SCRIPT: &str = concat!(
    include_str!("page/refresh.js"),
    include_str!("page/actions.js"),
    include_str!("calculator/chart.js"),
    include_str!("calculator/calculator.js"),
);

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
    /// Something that fetches the page again; without scripts the browser does so itself.
    Live(&'static str),
    /// Something that stays.
    Still(&'static str),
}

/// What the calculator starts with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) teachers: u32,
    pub(crate) classes: usize,
    pub(crate) queries: usize,
}

/// The calculator, which asks at that address.
pub(crate) fn calculator(address: &str, shape: Shape) -> Markup {
    Template::new(CALCULATOR)
        .text("address", address)
        .text("polynomial", shield::Polynomial::default())
        .text("teachers", shape.teachers)
        .text("classes", shape.classes)
        .text("queries", shape.queries)
        .fill()
}

/// Answers the calculator, away from the threads that answer others.
pub(crate) async fn answer(
    calculator: Arc<Calculator>,
    question: Question,
) -> Result<Json<Answer>, Problem> {
    tokio::task::spawn_blocking(move || calculator.answer(&question))
        .await
        .map_err(Problem::internal)?
        .map(Json)
        .map_err(Problem::unusable)
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
        self.session(headers).and_then(|name| self.sessions.token(name, Instant::now()))
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

    async fn is_signed_in(&self, service: &Service, headers: &HeaderMap) -> Result<bool, Problem> {
        let Some(token) = self.token(headers) else { return Ok(false) };
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
    if !page.is_signed_in(&service, &headers).await? {
        return Ok(form(StatusCode::UNAUTHORIZED, None));
    }
    let view = page.view(&service).await;
    let certificate = page.certificate.as_deref().unwrap_or_default();
    let body = view.body(page.started.elapsed(), Timestamp::now(), certificate);
    if query.as_deref() == Some("fragment") {
        return Ok(send(StatusCode::OK, &nonce(), body));
    }
    Ok(document(StatusCode::OK, "SHIELD server", body, Script::Live(SCRIPT)))
}

/// The calculator's answers, for the operator.
pub(crate) async fn calculate(
    Extension(page): Extension<Arc<Page>>,
    _: Operator,
    Json(question): Json<Question>,
) -> Result<Json<Answer>, Problem> {
    answer(Arc::clone(&page.calculator), question).await
}

#[derive(Deserialize)]
pub(crate) struct SignIn {
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
fn form(status: StatusCode, message: Option<&'static str>) -> Response {
    let message = message.map_or_else(Markup::default, |message| {
        Template::new("<p class=\"notice bad\" role=\"alert\">{{message}}</p>\n    ")
            .text("message", message)
            .fill()
    });
    let body = Template::new(SIGN_IN).markup("message", message).fill();
    let mut response = document(status, "Sign in", body, Script::None);
    if status == StatusCode::UNAUTHORIZED {
        let headers = response.headers_mut();
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// A whole page.
pub(crate) fn document(
    status: StatusCode,
    title: &'static str,
    body: Markup,
    script: Script,
) -> Response {
    let nonce = nonce();
    let run = match script {
        Script::None => Markup::default(),
        Script::Live(script) | Script::Still(script) => {
            Template::new("\n<script nonce=\"{{nonce}}\">{{script}}</script>")
                .text("nonce", &nonce)
                .markup("script", Markup::fixed(script))
                .fill()
        }
    };
    let head = match script {
        // Without scripts the browser itself loads the page again.
        Script::Live(_) => {
            Markup::fixed("<noscript><meta http-equiv=\"refresh\" content=\"15\"></noscript>\n")
        }
        _ => Markup::default(),
    };
    let page = Template::new(LAYOUT)
        .text("title", title)
        .text("nonce", &nonce)
        .markup("style", Markup::fixed(STYLE))
        .markup("head", head)
        .markup("body", Markup::join([body, run]))
        .fill();
    send(status, &nonce, page)
}

/// What marks script and style as ours, in one answer.
fn nonce() -> String {
    let mut bytes = [0; 16];
    OsRng.unwrap_err().try_fill_bytes(&mut bytes).unwrap_or_else(|never| match never {});
    hex(&bytes)
}

/// HTML, with a policy that lets the browser run our script and style and load nothing at all.
fn send(status: StatusCode, nonce: &str, page: Markup) -> Response {
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
    (status, headers, page.into_string()).into_response()
}

#[cfg(test)]
mod tests;
