//! A page on this machine with nothing but the calculator, for whoever started it.

use std::future::Future;
use std::net::TcpListener;
use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use rand::TryRngCore;
use rand::rngs::OsRng;
use shield::Histogram;
use shield_protocol::hex::hex;
use shield_protocol::this_machine::is_this_machine;

use crate::ServeError;
use crate::calculator::{Answer, Calculator, Question};
use crate::page::{self, Script, Template};
use crate::problem::Problem;
use crate::waiting::Waiting;

const BODY: &str = include_str!("page/explore.html");

/// A page that waits to be looked at.
pub struct Explorer {
    listener: TcpListener,
    calculator: Arc<Calculator>,
    key: String,
}

impl Explorer {
    /// A page on this address, which must be this machine's own.
    pub fn new(listener: TcpListener, calculator: Calculator) -> Self {
        let mut key = [0; 16];
        OsRng.unwrap_err().try_fill_bytes(&mut key).unwrap_or_else(|never| match never {});
        Self { listener, calculator: Arc::new(calculator), key: hex(&key) }
    }

    /// Where it is. The address has a random part: figures may depend on votes, and others on this
    /// machine need not see them.
    pub fn url(&self) -> Result<String, ServeError> {
        Ok(format!("http://{}/{}/", self.listener.local_addr()?, self.key))
    }

    /// Answers until `stop` comes.
    pub fn serve<'a>(
        self,
        stop: impl Future<Output = ()> + Send + 'a,
    ) -> Waiting<'a, Result<(), ServeError>> {
        self.serve_boxed(Box::pin(stop))
    }

    fn serve_boxed(self, stop: Waiting<'_, ()>) -> Waiting<'_, Result<(), ServeError>> {
        Box::pin(self.answer_until(stop))
    }

    async fn answer_until(self, stop: Waiting<'_, ()>) -> Result<(), ServeError> {
        self.listener.set_nonblocking(true)?;
        let routes = Router::new()
            .route(&format!("/{}/", self.key), get(show))
            .route(&format!("/{}/calculator", self.key), post(answer))
            .fallback(async || StatusCode::NOT_FOUND)
            .layer(DefaultBodyLimit::max(64 << 10))
            .layer(middleware::from_fn(only_this_machine))
            .with_state(self.calculator);
        let server = axum_server::from_tcp(self.listener)?.serve(routes.into_make_service());
        tokio::select! {
            ended = server => Ok(ended?),
            () = stop => Ok(()),
        }
    }
}

/// A page elsewhere whose name was pointed at this machine must not get in.
async fn only_this_machine(request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let name = host.and_then(|host| host.rsplit_once(':')).map(|(name, _)| name);
    match name {
        Some(name) if is_this_machine(name) => next.run(request).await,
        _ => StatusCode::FORBIDDEN.into_response(),
    }
}

async fn show(State(calculator): State<Arc<Calculator>>) -> Response {
    let observed = calculator.observed();
    let classes =
        observed.and_then(|votes| votes.histograms.first()).map_or(10, Histogram::classes);
    let shape = page::Shape {
        teachers: observed.map_or(250, |votes| votes.teachers),
        classes,
        queries: observed.map_or(100, |votes| votes.histograms.len()),
    };
    let body = Template::new(BODY).markup("calculator", page::calculator("calculator", shape));
    page::document(StatusCode::OK, "SHIELD explorer", body.fill(), Script::Still(page::CALCULATE))
}

async fn answer(
    State(calculator): State<Arc<Calculator>>,
    Json(question): Json<Question>,
) -> Result<Json<Answer>, Problem> {
    page::answer(calculator, question).await
}
