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
use shield_protocol::engine::Engine;
use shield_protocol::rehearsal::Rehearsal;
use shield_protocol::{ElectionFile, Name, private};
use tokio::sync::{Notify, Semaphore};

use crate::error::ServeError;
use crate::identity;
use crate::ledger::{Accountant, Budget};
use crate::metrics::Metrics;
use crate::problem::Problem;
use crate::store::{DatabaseUrl, Store};

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

/// An election and its engine, ready to use.
pub(crate) struct Setup {
    pub(crate) file: ElectionFile,
    pub(crate) engine: Arc<dyn Engine>,
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
    /// What the student is to read out of a rehearsal that is being held.
    pub(crate) rehearsals: Mutex<HashMap<Name, Rehearsal>>,
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
        // is receiving right now looks just like that. So does everything, to a database that is
        // another folder's.
        private::make_folder(&settings.data)?;
        if private::is_open_to_others(&settings.data)? {
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
            rehearsals: Mutex::default(),
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
        let make = tokio::task::spawn_blocking(move || Setup { engine: file.engine(), file });
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

    /// Lets what is under way finish, and starts nothing new.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.work.notify_one();
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
}
