//! The server: an HTTP API over the store, and one worker that aggregates.

mod accounts;
mod address;
mod caller;
mod elections;
mod identity;
mod metrics;
mod objects;
mod page;
mod problem;
mod routes;
mod sessions;
#[cfg(test)]
mod tests;
pub mod tls;
mod upload;

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, io};

use axum::Router;
use axum::extract::{DefaultBodyLimit, MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum_server::tls_rustls::RustlsConfig;
use axum_server::{Handle, Server};
use jiff::Timestamp;
use serde::Serialize;
use shield_bfv::BfvBackend;
use thiserror::Error;
use tokio::sync::{Notify, Semaphore};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::request_id::{MakeRequestUuid, PropagateRequestIdLayer, SetRequestIdLayer};
use tower_http::set_header::SetResponseHeaderLayer;
use tower_http::timeout::TimeoutLayer;
use tower_http::trace::TraceLayer;

use crate::aggregation;
use crate::credentials::{Role, TokenHash};
use crate::election_file::ElectionFile;
use crate::ledger::{Accountant, Budget};
use crate::name::Name;
use crate::private;
use crate::store::{DatabaseUrl, Store, StoreError};
pub use address::{AddressError, public_url};
use caller::Caller;
pub(crate) use elections::complete;
pub use elections::{NewElection, Status, Submitted};
use metrics::Metrics;
pub(crate) use objects::key_id;
use problem::Problem;

/// The API's description, for programs and the people who write them.
pub const OPENAPI: &str = include_str!("openapi.json");

/// Largest body of a request that is not an upload.
const SMALL_BODY: usize = 16 << 20;

/// Largest body of a request without a bearer token: a form with a token in it, which has 71 bytes.
const OPEN_BODY: usize = 1 << 10;

/// How long a caller may take for the headers of a request, the first and every other.
const HEADER_PATIENCE: Duration = Duration::from_secs(10);

/// How the server is to run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the data are.
    pub data: PathBuf,
    /// A PostgreSQL URL; SQLite in the data folder without one.
    pub database: Option<DatabaseUrl>,
    /// What each group may spend.
    pub budget: Budget,
    /// How many uploads are taken at once.
    pub uploads: usize,
    /// How long an uploader may take for the next piece.
    pub patience: Duration,
}

/// Why the server could not run.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The store would not open.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another server has the data folder.
    #[error("{}: another server is running on this data folder; stop it first", .0.display())]
    Locked(PathBuf),
    /// Others can look into the data folder.
    #[error("{folder}: others can open this folder, and what was drawn for every election is in it; run `chmod 700 {folder}`", folder = .0.display())]
    Exposed(PathBuf),
    /// The data folder was used with another data base.
    #[error("{}: this folder belongs to another data base; give the --database of last time", .0.display())]
    OtherDatabase(PathBuf),
    /// The data base was used with another data folder.
    #[error("{}: the data base belongs to another folder; give the --data of last time, or an empty data base", .0.display())]
    OtherFolder(PathBuf),
    /// A token that is somebody else's.
    #[error(
        "the token that was to make the {0} has another role already; give an invitation of the {0}'s own"
    )]
    OtherRole(&'static str),
    /// The certificate, or its key.
    #[error(transparent)]
    Certificate(#[from] tls::CertificateError),
    /// The network, or the data folder.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl ServeError {
    /// Whether it is for the one who started the server to mend: what was given does not go
    /// together.
    pub fn is_bad_input(&self) -> bool {
        match self {
            Self::Locked(_)
            | Self::Exposed(_)
            | Self::OtherDatabase(_)
            | Self::OtherFolder(_)
            | Self::OtherRole(_)
            | Self::Certificate(_)
            | Self::Store(StoreError::OpenWay { .. }) => true,
            Self::Store(_) | Self::Io(_) => false,
        }
    }
}

/// An election and its engine, ready to use.
pub(crate) struct Setup {
    pub(crate) file: ElectionFile,
    pub(crate) backend: BfvBackend,
}

/// Something that went wrong, for the people who run the server.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Incident {
    pub(crate) moment: Timestamp,
    pub(crate) election: Option<String>,
    pub(crate) message: String,
}

/// Everything that the handlers share.
pub struct Service {
    pub(crate) store: Store,
    pub(crate) accountant: Arc<Accountant>,
    pub(crate) budget: Budget,
    pub(crate) metrics: Metrics,
    /// How many uploads may still come in.
    pub(crate) uploads: Arc<Semaphore>,
    /// How long an uploader may take for the next piece.
    pub(crate) patience: Duration,
    /// How many of them may be checked at once.
    pub(crate) checks: Arc<Semaphore>,
    /// Held while a cost is compared with the budget and booked.
    pub(crate) booking: tokio::sync::Mutex<()>,
    /// Wakes the worker.
    pub(crate) work: Notify,
    page: page::Page,
    setups: Mutex<HashMap<Name, Arc<Setup>>>,
    incidents: Mutex<VecDeque<Incident>>,
    stopping: AtomicBool,
    /// Held as long as the server runs.
    _lock: fs::File,
}

impl Service {
    /// Opens the store.
    pub async fn open(settings: &Settings) -> Result<Arc<Self>, ServeError> {
        // The lock comes first: sweeping takes away what looks left over, and what another server
        // is receiving right now looks just like that. So does everything, to a data base that is
        // another folder's.
        private::make_folder(&settings.data)?;
        if is_open_to_others(&settings.data)? {
            return Err(ServeError::Exposed(settings.data.clone()));
        }
        let lock = fs::File::create(settings.data.join("lock"))?;
        lock.try_lock().map_err(|_| ServeError::Locked(settings.data.clone()))?;
        let database = settings.database.as_ref().map(DatabaseUrl::secret);
        let store = Store::open(&settings.data, database).await?;
        identity::bind(&settings.data, &store).await?;
        store.sweep().await?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Arc::new(Self {
            store,
            accountant: Arc::default(),
            budget: settings.budget,
            metrics: Metrics::new(),
            uploads: Arc::new(Semaphore::new(settings.uploads)),
            patience: settings.patience,
            checks: Arc::new(Semaphore::new(cores)),
            booking: tokio::sync::Mutex::new(()),
            work: Notify::new(),
            page: page::Page::default(),
            setups: Mutex::default(),
            incidents: Mutex::default(),
            stopping: AtomicBool::new(false),
            _lock: lock,
        }))
    }

    /// Lets the bearer of a token run the server.
    pub async fn add_operator(&self, token: &TokenHash) -> Result<(), ServeError> {
        self.add(token, &Role::Operator).await
    }

    /// Lets the bearer of a token read the metrics.
    pub async fn add_monitor(&self, token: &TokenHash) -> Result<(), ServeError> {
        self.add(token, &Role::Monitor).await
    }

    /// Gives a role to the bearer of a token. One that is in use keeps its role, and then it is not
    /// the one that was meant.
    pub async fn add(&self, token: &TokenHash, wanted: &Role) -> Result<(), ServeError> {
        self.store.add_token(token, wanted).await?;
        match self.store.role(token).await? {
            Some(role) if role == *wanted => Ok(()),
            _ => Err(ServeError::OtherRole(wanted.name())),
        }
    }

    /// Whether anybody has a role: the operator's, or a monitor's.
    pub async fn has_role(&self, role: &Role) -> Result<bool, ServeError> {
        Ok(self.store.has_role(role).await?)
    }

    pub(crate) async fn setup(&self, name: &Name) -> Result<Arc<Setup>, Problem> {
        let known = || self.setups.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(setup) = known().get(name) {
            return Ok(Arc::clone(setup));
        }
        let file = self.store.election(name).await?.file;
        let make = tokio::task::spawn_blocking(move || Setup { backend: file.backend(), file });
        let setup = Arc::new(make.await.map_err(Problem::internal)?);
        let mut known = known();
        // An engine takes a few megabytes; elections that are over need none.
        if known.len() >= 32 {
            known.clear();
        }
        known.insert(name.clone(), Arc::clone(&setup));
        Ok(setup)
    }

    /// Remembers that something went wrong, among the latest few.
    pub(crate) fn incident(&self, election: Option<&Name>, message: &str) {
        const KEPT: usize = 50;
        let mut incidents = self.incidents.lock().unwrap_or_else(PoisonError::into_inner);
        let election = election.map(Name::to_string);
        // What is tried again and again is one incident, not fifty.
        incidents.retain(|known| known.election != election || known.message != message);
        incidents.push_front(Incident {
            moment: Timestamp::now(),
            election,
            message: message.to_owned(),
        });
        incidents.truncate(KEPT);
    }

    pub(crate) fn incidents(&self) -> Vec<Incident> {
        self.incidents.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
}

/// Whether others than its owner can enter a folder. Files inside are not looked at: nobody gets to
/// them.
fn is_open_to_others(folder: &Path) -> io::Result<bool> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        Ok(fs::metadata(folder)?.permissions().mode() & 0o077 != 0)
    }
    #[cfg(not(unix))]
    {
        fs::metadata(folder).map(|_| false)
    }
}

/// The API.
pub(crate) fn router(service: Arc<Service>) -> Router {
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
    open.merge(guarded)
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

async fn health(State(service): State<Arc<Service>>) -> Result<&'static str, Problem> {
    service.store.ping().await?;
    Ok("ok\n")
}

async fn metrics_text(
    State(service): State<Arc<Service>>,
    caller: Caller,
) -> Result<Response, Problem> {
    if !matches!(caller.0, Role::Operator | Role::Monitor) {
        return Err(Problem::forbidden("only the operator and monitors may do this"));
    }
    let text = service.metrics.text().map_err(Problem::internal)?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

async fn openapi(_caller: Caller) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], OPENAPI).into_response()
}

async fn incidents(
    State(service): State<Arc<Service>>,
    caller: Caller,
) -> Result<axum::Json<Vec<Incident>>, Problem> {
    caller.operator()?;
    Ok(axum::Json(service.incidents()))
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
    service.page.tls.store(certificate.is_some(), Ordering::Relaxed);
    let worker = tokio::spawn(aggregation::run(Arc::clone(&service)));
    let application = router(Arc::clone(&service)).into_make_service();
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
            service.stopping.store(true, Ordering::Relaxed);
            service.work.notify_one();
            handle.graceful_shutdown(Some(Duration::from_secs(30)));
            answer.await
        }
    };
    service.stopping.store(true, Ordering::Relaxed);
    service.work.notify_one();
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
