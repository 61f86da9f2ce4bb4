//! Everything behind a socket: layers around the routes, and the worker beside them.

use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{ConnectInfo, DefaultBodyLimit, MatchedPath, Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router};
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use axum_server::{Handle, Server};
use shield_protocol::this_machine::is_this_machine;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::request_id::{MakeRequestUuid, PropagateRequestIdLayer, SetRequestIdLayer};
use tower_http::set_header::SetResponseHeaderLayer;
use tower_http::trace::TraceLayer;

use crate::caller::{self, Caller, SignIns};
use crate::error::ServeError;
use crate::jobs::Aggregation;
use crate::page::{Page, Speaks};
use crate::patient::Patient;
use crate::problem::{self, Problem};
use crate::service::Service;
use crate::waiting::Waiting;
use crate::{health, metrics, pricing, routes, tls, worker};

/// Largest body of a request that is not an upload.
const SMALL_BODY: usize = 16 << 20;

/// Largest body of a request without a bearer token: a form with a token in it, which has 71 bytes.
const OPEN_BODY: usize = 1 << 10;

/// Largest head of a request, and how much of a body is read at once: a connection of somebody
/// unknown takes no more.
pub(crate) const HEAD: usize = 64 << 10;

/// How long a caller may take for the headers of a request, the first and every other.
pub(crate) const HEADER_PATIENCE: Duration = Duration::from_secs(10);

/// The API.
pub(crate) fn router(service: Arc<Service>, page: Page, speaks: Speaks) -> Router {
    let request_id = HeaderName::from_static("x-request-id");
    let no_store = SetResponseHeaderLayer::if_not_present(
        header::CACHE_CONTROL,
        HeaderValue::from_static("no-store"),
    );
    let no_sniff = SetResponseHeaderLayer::overriding(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    let only_tls = SetResponseHeaderLayer::overriding(
        header::STRICT_TRANSPORT_SECURITY,
        (speaks == Speaks::Tls).then(|| HeaderValue::from_static("max-age=31536000")),
    );
    let trace = TraceLayer::new_for_http().make_span_with(|request: &Request| {
        let id =
            request.headers().get("x-request-id").and_then(|id| id.to_str().ok()).unwrap_or("");
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
        let address = peer.map_or_else(String::new, |peer| peer.0.ip().to_string());
        tracing::info_span!(
            "request",
            id,
            method = %request.method(),
            path = request.uri().path(),
            address,
            role = tracing::field::Empty,
            who = tracing::field::Empty,
        )
    });
    // Who has no token learns nothing about what else is wrong with a request.
    let guard = middleware::from_fn_with_state(Arc::clone(&service), caller::admit);
    let guarded = routes::guarded().router.fallback(nothing_here).layer(guard);
    // What anybody may send is not worth more memory than a token takes; the narrower limit is the
    // one that counts.
    let open = routes::open().router.layer(DefaultBodyLimit::max(OPEN_BODY));
    let page = Arc::new(page);
    open.merge(guarded)
        .layer(Extension(Arc::clone(&page) as Arc<dyn SignIns>))
        .layer(Extension(page))
        .method_not_allowed_fallback(not_allowed)
        .layer(DefaultBodyLimit::max(SMALL_BODY))
        .layer(middleware::from_fn_with_state(Arc::clone(&service), right_host))
        .layer(middleware::from_fn_with_state(Arc::clone(&service), observe))
        .layer(CatchPanicLayer::custom(|_| Problem::internal("a handler panicked").into_response()))
        .layer(middleware::from_fn_with_state(Arc::clone(&service), in_time))
        .layer(middleware::from_fn(problem::speak_problems))
        .layer(no_store)
        .layer(no_sniff)
        .layer(only_tls)
        .layer(trace)
        .layer(PropagateRequestIdLayer::new(request_id.clone()))
        .layer(SetRequestIdLayer::new(request_id, MakeRequestUuid))
        .layer(middleware::from_fn(own_request_id))
        .with_state(service)
}

/// A request's name is ours to give: one that a caller chose could be another request's.
async fn own_request_id(mut request: Request, next: Next) -> Response {
    request.headers_mut().remove("x-request-id");
    next.run(request).await
}

/// Ends what takes too long. Uploads have a limit of their own: a pace, however long that takes.
async fn in_time(State(service): State<Arc<Service>>, request: Request, next: Next) -> Response {
    if request.method() == Method::PUT {
        return next.run(request).await;
    }
    let answer = tokio::time::timeout(service.settings.answer_limit, next.run(request)).await;
    answer.unwrap_or_else(|_| {
        let detail = "this took too long; try again later, or ask for less at once";
        Problem::new(StatusCode::REQUEST_TIMEOUT, "too-slow", detail).into_response()
    })
}

/// Refuses requests that are for another host: a page elsewhere whose name leads here.
async fn right_host(State(service): State<Arc<Service>>, request: Request, next: Next) -> Response {
    let Some(own) = &service.settings.public_host else { return next.run(request).await };
    // Whoever only asks whether the server is there may call it what they like.
    let is_probe = ["/livez", "/readyz", "/healthz"].contains(&request.uri().path());
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let host = host.and_then(|host| host.parse::<Authority>().ok());
    let is_ours = host.is_some_and(|host| {
        let host = host.host().trim_matches(['[', ']']);
        host.eq_ignore_ascii_case(own) || is_this_machine(host)
    });
    if is_ours || is_probe {
        return next.run(request).await;
    }
    let detail = "this server goes by another name; use the address in your invitation";
    Problem::new(StatusCode::MISDIRECTED_REQUEST, "host", detail).into_response()
}

async fn nothing_here(_caller: Caller) -> Problem {
    Problem::not_found("there is nothing at this address; GET /v1/openapi.json lists what there is")
}

async fn not_allowed(_caller: Caller) -> Problem {
    let detail = "this address does not take that method; GET /v1/openapi.json lists what it takes";
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method", detail)
}

/// Counts and times every request.
async fn observe(
    State(service): State<Arc<Service>>,
    route: Option<MatchedPath>,
    request: Request,
    next: Next,
) -> Response {
    let start = Instant::now();
    let method = metrics::method(request.method());
    let route = route.map_or_else(|| "none".to_owned(), |route| route.as_str().to_owned());
    let response = next.run(request).await;
    let status = response.status().as_u16();
    let seconds = start.elapsed().as_secs_f64();
    let timed = metrics::Route { method, route: route.clone() };
    service.metrics.route_seconds.get_or_create(&timed).observe(seconds);
    service.metrics.requests.get_or_create(&metrics::Request { method, route, status }).inc();
    service.metrics.request_seconds.observe(seconds);
    response
}

/// Answers on a socket until `stop` comes, then finishes what is under way. Whenever `reload`
/// comes, the certificate and its key are read again; what cannot be used is said, and the old one
/// stays.
///
/// Without a certificate it speaks plain HTTP: for tests, or behind a proxy on the same machine.
pub fn serve<'a, R: Future<Output = ()> + Send + 'a>(
    service: Arc<Service>,
    listener: TcpListener,
    certificate: Option<tls::Certificate>,
    aggregation: Aggregation,
    stop: impl Future<Output = ()> + Send + 'a,
    reload: impl Fn() -> R + Send + Sync + 'a,
) -> Waiting<'a, Result<(), ServeError>> {
    let stop: Waiting<'a, ()> = Box::pin(stop);
    let reload = move || -> Waiting<'a, ()> { Box::pin(reload()) };
    Box::pin(answer(service, listener, certificate, aggregation, stop, Box::new(reload)))
}

async fn answer<'a>(
    service: Arc<Service>,
    listener: TcpListener,
    certificate: Option<tls::Certificate>,
    aggregation: Aggregation,
    stop: Waiting<'a, ()>,
    reload: Box<dyn Fn() -> Waiting<'a, ()> + Send + Sync + 'a>,
) -> Result<(), ServeError> {
    listener.set_nonblocking(true)?;
    let tls = certificate.as_ref().map(tls::Certificate::config).transpose()?;
    let tls = tls.map(|tls| RustlsConfig::from_config(Arc::new(tls)));
    let handle: Handle<SocketAddr> = Handle::new();
    let speaks = if tls.is_some() { Speaks::Tls } else { Speaks::Plain };
    let page = Page::new(speaks, service.settings.authority.clone());
    service.look().await;
    let workers = [
        tokio::spawn(worker::run(Arc::clone(&service), aggregation)),
        tokio::spawn(pricing::run(Arc::clone(&service))),
    ];
    let watch = tokio::spawn(health::run(Arc::clone(&service)));
    let application = router(Arc::clone(&service), page, speaks);
    let application = application.into_make_service_with_connect_info::<SocketAddr>();
    let patient = Patient(service.settings.write_patience);
    let answer = async {
        let server = axum_server::from_tcp(listener)?.handle(handle.clone());
        let Some(tls) = tls.clone() else {
            return be_patient(server.acceptor(patient)).serve(application).await;
        };
        let acceptor = RustlsAcceptor::new(tls).acceptor(patient);
        be_patient(server.acceptor(acceptor)).serve(application).await
    };
    let renew = async {
        loop {
            reload().await;
            let (Some(tls), Some(certificate)) = (&tls, &certificate) else { continue };
            match certificate.config() {
                Ok(config) => {
                    tls.reload_from_config(Arc::new(config));
                    tracing::info!("the certificate was read again");
                }
                Err(error) => {
                    tracing::error!(%error, "the certificate cannot be used; the old one stays");
                    service.incident(None, &format!("the new certificate: {error}"));
                }
            }
        }
    };
    tokio::pin!(answer, renew);
    let answered = tokio::select! {
        answered = &mut answer => answered,
        never = &mut renew => never,
        () = stop => {
            tracing::info!("stopping: finishing what is under way");
            service.stop();
            handle.graceful_shutdown(Some(Duration::from_secs(30)));
            answer.await
        }
    };
    service.stop();
    watch.abort();
    for worker in workers {
        let _ = worker.await;
    }
    service.store.close_database().await?;
    Ok(answered?)
}

/// Callers who send their headers too slowly are sent away. That holds for HTTP/1 alone, and only
/// if hyper need not find out first which version it is.
fn be_patient<A>(server: Server<SocketAddr, A>) -> Server<SocketAddr, A> {
    let mut server = server.http1_only();
    server
        .http_builder()
        .http1()
        .max_buf_size(HEAD)
        .timer(hyper_util::rt::TokioTimer::new())
        .header_read_timeout(HEADER_PATIENCE);
    server
}
