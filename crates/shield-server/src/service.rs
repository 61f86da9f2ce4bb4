//! What all handlers and the worker share: the store, the accountant, and the engines in use.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;
use shield_protocol::credentials::{Role, TokenHash};
use shield_protocol::{ElectionFile, Job, Name, PlannedElection, private};
use tokio::sync::{Notify, Semaphore, watch};
use utoipa::ToSchema;

use crate::clock::Clock;
use crate::error::ServeError;
use crate::heavy::Heavy;
use crate::identity;
use crate::limits::PerToken;
use crate::metrics::Metrics;
use crate::parts::Parts;
use crate::problem::Problem;
use crate::store::{DatabaseUrl, Deed, LockState, Lost, ServerLock, Store, StoreError};
use crate::waiting::Waiting;
use shield_protocol::ledger::{Accountant, Budget};

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
    /// How long an uploader may take for the next piece, and be slower than `pace` at the start.
    pub patience: Duration,
    /// How many bytes per second an upload must bring on average, once it has used up `patience`.
    pub pace: u64,
    /// How many uploads one token may have under way.
    pub uploads_per_token: u32,
    /// How many files one token may fetch at once.
    pub downloads_per_token: u32,
    /// How long a connection may take nothing of what is sent to it.
    pub write_patience: Duration,
    /// How long an answer may take to begin.
    pub answer_limit: Duration,
    /// The server is not ready with less than this free on the disk, in bytes.
    pub disk_reserve: u64,
    /// How much memory the process may take, in bytes.
    pub memory: u64,
    /// The certificate that invitations carry, as PEM; none where machines trust the server's.
    pub authority: Option<String>,
    /// The host that requests must be for; any without one.
    pub public_host: Option<String>,
    /// After how long the ballots of a released election are deleted; never without one.
    pub keep_ballots: Option<Duration>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            data: PathBuf::from("data"),
            database: None,
            budget: Budget::default(),
            uploads: 32,
            patience: Duration::from_secs(30),
            pace: 4 << 10,
            uploads_per_token: 4,
            downloads_per_token: 4,
            write_patience: Duration::from_secs(30),
            answer_limit: Duration::from_mins(2),
            disk_reserve: 256 << 20,
            memory: u64::MAX,
            authority: None,
            public_host: None,
            keep_ballots: None,
        }
    }
}

/// Something that went wrong, for the people who run the server.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Incident {
    pub(crate) moment: Timestamp,
    pub(crate) election: Option<String>,
    pub(crate) message: String,
}

/// An election with its engine, made away from the threads that answer.
pub(crate) async fn plan(file: Arc<ElectionFile>) -> Result<PlannedElection, Problem> {
    let plan = tokio::task::spawn_blocking(move || PlannedElection::from(file));
    plan.await.map_err(Problem::internal)
}

/// Computes costs. Tests share what has been proven.
fn accountant() -> Arc<Accountant> {
    #[cfg(test)]
    {
        static SHARED: std::sync::OnceLock<Arc<Accountant>> = std::sync::OnceLock::new();
        Arc::clone(SHARED.get_or_init(Arc::default))
    }
    #[cfg(not(test))]
    {
        Arc::default()
    }
}

/// Everything that the handlers share.
pub struct Service {
    pub(crate) store: Store,
    pub(crate) accountant: Arc<Accountant>,
    pub(crate) budget: Budget,
    pub(crate) metrics: Metrics,
    pub(crate) settings: Settings,
    pub(crate) clock: Clock,
    /// Why the server is not ready, as of the last look.
    pub(crate) health: Mutex<Vec<String>>,
    /// Whether the database answered at the last look.
    pub(crate) database: watch::Sender<bool>,
    /// How many uploads may still come in.
    pub(crate) uploads: Arc<Semaphore>,
    /// Uploads under way, by token.
    pub(crate) uploading: PerToken,
    /// Uploads that come in parts.
    pub(crate) parts: Parts,
    /// Files on their way out, by token.
    pub(crate) downloads: PerToken,
    /// Documents on their way into memory, by token.
    pub(crate) documents: PerToken,
    /// Rehearsals and questions of audits, which take more than others, by token.
    pub(crate) rehearsing: PerToken,
    /// Batches, audits and rehearsals under way, and the memory that they may take.
    pub(crate) heavy: Heavy,
    /// How many uploads may be checked at once.
    pub(crate) checks: Arc<Semaphore>,
    /// How many proofs of prices may run at once.
    pub(crate) proofs: Arc<Semaphore>,
    /// Held while a cost is compared with the budget and booked: never while anything is proven.
    pub(crate) booking: tokio::sync::Mutex<()>,
    /// Wakes the worker.
    pub(crate) work: Notify,
    /// Wakes whoever proves prices.
    pub(crate) prices: Notify,
    /// When an election was first seen to be past its deadline.
    pub(crate) overdue: Mutex<HashMap<Name, Timestamp>>,
    planned: Mutex<HashMap<Name, PlannedElection>>,
    /// Held while a closed election is written down as a job.
    pub(crate) freezing: tokio::sync::Mutex<()>,
    /// Closed elections, which do not change.
    pub(crate) jobs: Mutex<HashMap<Name, Arc<Job>>>,
    incidents: Mutex<VecDeque<Incident>>,
    /// Elections that were drawn and that the database does not know: nothing can be booked.
    unknown: Mutex<Vec<String>>,
    stopping: AtomicBool,
    /// Held as long as the server runs: on the folder, and on the database.
    #[cfg_attr(not(test), expect(dead_code, reason = "held, not used"))]
    lock: fs::File,
    pub(crate) server_lock: ServerLock,
}

impl Service {
    /// Opens the store.
    pub fn open(settings: &Settings) -> Waiting<'_, Result<Arc<Self>, ServeError>> {
        Box::pin(Self::open_with(settings))
    }

    async fn open_with(settings: &Settings) -> Result<Arc<Self>, ServeError> {
        // The locks come first: sweeping takes away what looks left over, and what another server
        // is receiving right now looks just like that. So does everything, to a database that is
        // another folder's.
        private::make_folder(&settings.data)?;
        if private::is_open_to_others(&settings.data)? {
            return Err(ServeError::Exposed(settings.data.clone()));
        }
        let lock = fs::File::create(settings.data.join("lock"))?;
        lock.try_lock().map_err(|_| ServeError::Locked(settings.data.clone()))?;
        let database = settings.database.as_ref().map(DatabaseUrl::secret);
        let server_lock = ServerLock::take(&settings.data, database).await?;
        let server_lock = server_lock.ok_or(ServeError::DatabaseLocked)?;
        let store = Store::open(&settings.data, database).await?;
        identity::bind(&settings.data, &store).await?;
        let newest = store.newest().await?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let service = Arc::new(Self {
            store,
            accountant: accountant(),
            budget: settings.budget,
            metrics: Metrics::new(),
            settings: settings.clone(),
            clock: Clock::after(newest),
            health: Mutex::default(),
            database: watch::Sender::new(true),
            uploads: Arc::new(Semaphore::new(settings.uploads)),
            uploading: PerToken::new(settings.uploads_per_token),
            parts: Parts::default(),
            downloads: PerToken::new(settings.downloads_per_token),
            documents: PerToken::new(4),
            rehearsing: PerToken::new(1),
            heavy: Heavy::new(settings.memory),
            checks: Arc::new(Semaphore::new(cores)),
            proofs: Arc::new(Semaphore::new(2)),
            booking: tokio::sync::Mutex::new(()),
            work: Notify::new(),
            prices: Notify::new(),
            overdue: Mutex::default(),
            planned: Mutex::default(),
            freezing: tokio::sync::Mutex::new(()),
            jobs: Mutex::default(),
            incidents: Mutex::default(),
            unknown: Mutex::default(),
            stopping: AtomicBool::new(false),
            lock,
            server_lock,
        });
        service.look_around().await?;
        Ok(service)
    }

    /// Says what the tables name and the folder does not have, to the people who run the server.
    pub(crate) async fn say_lost(&self, lost: &Lost) {
        let say = |election, message: &str| {
            tracing::error!(%election, message);
            self.incident(Some(election), message);
        };
        for (election, teacher, batch) in lost.ballots.iter().take(20) {
            let file = self.store.election_file(election.as_str()).await;
            let teachers = file.as_ref().map_or(&[][..], |(file, _)| file.teachers());
            let teacher = teachers.get(*teacher as usize).map_or("?", Name::as_str);
            let message = format!(
                "the file of batch {batch} of {teacher}'s ballot is lost; sending the ballot again \
                 restores it"
            );
            say(election, &message);
        }
        for (election, batch) in &lost.releases {
            say(election, &format!("the release of batch {batch} is lost and computed again"));
        }
        for (election, kind) in &lost.keys {
            let restores = "sending the key again restores it";
            say(election, &format!("the file of the {kind} key is lost; {restores}"));
        }
    }

    /// What the folder and the tables do not have in common, for the people who run the server.
    async fn look_around(&self) -> Result<(), ServeError> {
        self.say_lost(&self.store.compare().await?.1).await;
        for election in self.store.forgotten().await? {
            let message = StoreError::DrawnBefore { election: election.clone() }.to_string();
            tracing::error!(%election, message);
            self.incident(Some(&election), &message);
        }
        let unknown = self.store.unknown().await?;
        for election in &unknown {
            let message = format!("{election} was released, and this database does not know it");
            tracing::error!(election, message);
            self.incident(None, &message);
        }
        *self.unknown.lock().unwrap_or_else(PoisonError::into_inner) = unknown;
        Ok(())
    }

    /// Refuses to book anything while another server may be doing the same, or where the ledger has
    /// forgotten what was spent.
    pub(crate) async fn be_alone(&self) -> Result<(), Problem> {
        let unknown = self.unknown.lock().unwrap_or_else(PoisonError::into_inner).join(", ");
        if !unknown.is_empty() {
            return Err(Problem::conflict(
                "drawn-before",
                format!(
                    "the folder holds releases of {unknown}, which this database does not know: it \
                     is older, and the ledger has forgotten what was spent. Stop the server and \
                     bring the latest database back; nothing can be created or closed until then"
                ),
            ));
        }
        if self.server_lock.state().await == LockState::Held {
            return Ok(());
        }
        let detail = "this server has lost its lock on the database, perhaps to another server";
        self.incident(None, detail);
        Err(Problem::busy(detail))
    }

    /// Writes into the log what the server does by itself.
    pub(crate) async fn log_own(&self, action: &str, election: Option<&Name>, detail: &str) {
        let deed = Deed { role: "server", who: "", address: "", action, election, detail };
        if let Err(error) = self.store.log(deed).await {
            tracing::error!(%error, action, "cannot write the audit log");
        }
    }

    /// Gives a role to the bearer of a token. One that is in use keeps its role, and then it is not
    /// the one that was meant.
    pub fn add<'a>(
        &'a self,
        token: &'a TokenHash,
        wanted: &'a Role,
    ) -> Waiting<'a, Result<(), ServeError>> {
        Box::pin(async move {
            self.store.add_token(token, wanted).await?;
            match self.store.role(token).await? {
                Some(role) if role == *wanted => Ok(()),
                _ => Err(ServeError::OtherRole(wanted.name())),
            }
        })
    }

    /// Whether anybody has a role: the operator's, or a monitor's.
    pub fn has_role<'a>(&'a self, role: &'a Role) -> Waiting<'a, Result<bool, ServeError>> {
        Box::pin(async { Ok(self.store.has_role(role).await?) })
    }

    pub(crate) async fn planned(&self, name: &Name) -> Result<PlannedElection, Problem> {
        let known = || self.planned.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = known().get(name) {
            return Ok(file.clone());
        }
        let file = self.store.election(name).await?.file;
        let file = plan(file).await?;
        let mut known = known();
        // An engine takes a few megabytes; elections that are over need none.
        if known.len() >= 32 {
            known.clear();
        }
        known.insert(name.clone(), file.clone());
        Ok(file)
    }

    /// Lets go of both locks, as a process that dies does.
    #[cfg(test)]
    pub(crate) fn let_go(&self) {
        self.lock.unlock().unwrap();
        self.server_lock.let_go();
    }

    /// Forgets what was kept in memory of an election.
    pub(crate) fn forget(&self, name: &Name) {
        self.planned.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    /// Remembers that something went wrong, among the latest few: in all, and of one election, so
    /// that its parties cannot push out what is known of others.
    pub(crate) fn incident(&self, election: Option<&Name>, message: &str) {
        const KEPT: usize = 50;
        const OF_ONE: usize = 12;
        let mut incidents = self.incidents.lock().unwrap_or_else(PoisonError::into_inner);
        let election = election.map(Name::to_string);
        // What is tried again and again is one incident, not fifty.
        incidents.retain(|known| known.election != election || known.message != message);
        let mut own = 1;
        incidents.retain(|known| {
            let is_own = election.is_some() && known.election == election;
            own += usize::from(is_own);
            !is_own || own <= OF_ONE
        });
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

    /// Lets what is under way finish, and starts nothing new.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.heavy.forgive();
        self.work.notify_one();
        self.prices.notify_one();
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
}
