//! Everything behind a socket: layers around the routes, and the worker beside them.

use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{DefaultBodyLimit, MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router};
use axum_server::tls_rustls::RustlsConfig;
use axum_server::{Handle, Server};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::request_id::{MakeRequestUuid, PropagateRequestIdLayer, SetRequestIdLayer};
use tower_http::set_header::SetResponseHeaderLayer;
use tower_http::timeout::TimeoutLayer;
use tower_http::trace::TraceLayer;

use crate::caller::{self, Caller, SignIns};
use crate::error::ServeError;
use crate::page::{Page, Speaks};
use crate::problem::{self, Problem};
use crate::service::Service;
use crate::{metrics, routes, tls, worker};

/// Largest body of a request that is not an upload.
const SMALL_BODY: usize = 16 << 20;

/// Largest body of a request without a bearer token: a form with a token in it, which has 71 bytes.
const OPEN_BODY: usize = 1 << 10;

/// How long a caller may take for the headers of a request, the first and every other.
pub(crate) const HEADER_PATIENCE: Duration = Duration::from_secs(10);

/// The API.
pub(crate) fn router(service: Arc<Service>, page: Page) -> Router {
    let request_id = HeaderName::from_static("x-request-id");
    let no_store = SetResponseHeaderLayer::if_not_present(
        header::CACHE_CONTROL,
        HeaderValue::from_static("no-store"),
    );
    let no_sniff = SetResponseHeaderLayer::overriding(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    let trace = TraceLayer::new_for_http().make_span_with(|request: &Request| {
        let id =
            request.headers().get("x-request-id").and_then(|id| id.to_str().ok()).unwrap_or("");
        tracing::info_span!("request", id, method = %request.method(), path = request.uri().path())
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
        .layer(middleware::from_fn_with_state(Arc::clone(&service), observe))
        .layer(CatchPanicLayer::custom(|_| Problem::internal("a handler panicked").into_response()))
        .layer(TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, Duration::from_mins(2)))
        .layer(middleware::from_fn(problem::speak_problems))
        .layer(no_store)
        .layer(no_sniff)
        .layer(trace)
        .layer(PropagateRequestIdLayer::new(request_id.clone()))
        .layer(SetRequestIdLayer::new(request_id, MakeRequestUuid))
        .with_state(service)
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
    service.metrics.requests.get_or_create(&metrics::Request { method, route, status }).inc();
    service.metrics.request_seconds.observe(start.elapsed().as_secs_f64());
    response
}

/// Answers on a socket until `stop` comes, then finishes what is under way.
///
/// Without a certificate it speaks plain HTTP: for tests, or behind a proxy on the same machine.
pub async fn serve(
    service: Arc<Service>,
    listener: TcpListener,
    certificate: Option<tls::Certificate>,
    stop: impl Future<Output = ()> + Send,
) -> Result<(), ServeError> {
    listener.set_nonblocking(true)?;
    let tls = certificate.as_ref().map(tls::Certificate::config).transpose()?;
    let handle: Handle<SocketAddr> = Handle::new();
    let speaks = if tls.is_some() { Speaks::Tls } else { Speaks::Plain };
    let page = Page::new(speaks, certificate.as_ref().and_then(tls::Certificate::own));
    let worker = tokio::spawn(worker::run(Arc::clone(&service)));
    let application = router(Arc::clone(&service), page).into_make_service();
    let answer = async {
        let Some(tls) = tls else {
            let server = axum_server::from_tcp(listener)?.handle(handle.clone());
            return be_patient(server).serve(application).await;
        };
        let tls = RustlsConfig::from_config(Arc::new(tls));
        let server = axum_server::from_tcp_rustls(listener, tls)?.handle(handle.clone());
        be_patient(server).serve(application).await
    };
    tokio::pin!(answer);
    let answered = tokio::select! {
        answered = &mut answer => answered,
        () = stop => {
            tracing::info!("stopping: finishing what is under way");
            service.stop();
            handle.graceful_shutdown(Some(Duration::from_secs(30)));
            answer.await
        }
    };
    service.stop();
    let _ = worker.await;
    Ok(answered?)
}

/// Callers who send their headers too slowly are sent away. That holds for HTTP/1 alone, and only
/// if hyper need not find out first which version it is.
fn be_patient<A>(server: Server<SocketAddr, A>) -> Server<SocketAddr, A> {
    let mut server = server.http1_only();
    server
        .http_builder()
        .http1()
        .timer(hyper_util::rt::TokioTimer::new())
        .header_read_timeout(HEADER_PATIENCE);
    server
}
