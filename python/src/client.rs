//! What operator, student and teachers do with a server, each with its own invitation.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pyo3::prelude::*;
use rand::TryRngCore;
use rand::rngs::OsRng;
use shield_client::{self as client, ClientError, Invitation};
use shield_core::Watch;
use shield_protocol::{KeyFiles, Name, PlannedElection};

use crate::analysis::document;
use crate::calls;
use crate::election::Election;
use crate::errors::{client as failed, refuse};

struct Connection {
    client: client::Client,
    invitation: Invitation,
    election: Option<Name>,
}

impl Connection {
    fn election(&self) -> Result<Name, ClientError> {
        client::election_of(&self.invitation, self.election.as_ref())
    }

    fn file(&self) -> Result<PlannedElection, ClientError> {
        client::election_file(&self.client, &self.election()?)
    }
}

/// A connection to a server, with somebody's invitation.
#[pyclass(frozen, subclass, module = "shield_pate._native")]
pub(crate) struct Client {
    connection: Arc<Connection>,
}

impl Client {
    fn call<T: Send + 'static>(
        &self,
        py: Python<'_>,
        progress: Option<&Bound<'_, PyAny>>,
        work: impl FnOnce(&Connection, &Watch) -> Result<T, ClientError> + Send + 'static,
    ) -> PyResult<T> {
        let connection = Arc::clone(&self.connection);
        calls::run(py, None, progress, move |watch| work(&connection, watch))?.map_err(failed)
    }
}

#[pymethods]
impl Client {
    #[new]
    #[pyo3(signature = (invitation, *, election=None, patience=90.0))]
    fn new(invitation: PathBuf, election: Option<&str>, patience: f64) -> PyResult<Self> {
        let invitation = Invitation::read(&invitation).map_err(refuse)?;
        let patience = Duration::try_from_secs_f64(patience).map_err(refuse)?;
        let client = client::Client::new(&invitation).map_err(failed)?.with_patience(patience);
        let election = election.map(str::parse).transpose().map_err(refuse)?;
        Ok(Self { connection: Arc::new(Connection { client, invitation, election }) })
    }

    fn __repr__(&self) -> String {
        let invitation = &self.connection.invitation;
        let who = match (&invitation.teacher, &invitation.election) {
            (Some(teacher), Some(election)) => format!("teacher {teacher} of {election}"),
            (None, Some(election)) => format!("student of {election}"),
            _ => invitation.role.clone(),
        };
        format!("<Client of {}: {who}>", invitation.server)
    }

    #[getter]
    fn server(&self) -> &str {
        &self.connection.invitation.server
    }

    #[getter]
    fn role(&self) -> &str {
        &self.connection.invitation.role
    }

    #[getter]
    fn teacher(&self) -> Option<&str> {
        self.connection.invitation.teacher.as_ref().map(Name::as_str)
    }

    /// Operator: creates an election, and writes everybody's invitation into a folder.
    fn create(
        &self,
        py: Python<'_>,
        election: &Election,
        invitations: PathBuf,
    ) -> PyResult<Vec<PathBuf>> {
        let file = election.file.clone();
        self.call(py, None, move |connection, _| {
            let (client, own) = (&connection.client, &connection.invitation);
            let made =
                client::create_election(client, own, &file, &invitations, &mut OsRng.unwrap_err());
            Ok(made?.invitations)
        })
    }

    /// The election, from the server.
    fn election(&self, py: Python<'_>) -> PyResult<Election> {
        Ok(Election::of(self.call(py, None, |connection, _| connection.file())?))
    }

    /// Where the election is, as a document.
    fn _status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let status = self.call(py, None, |connection, _| {
            client::status(&connection.client, &connection.election()?)
        })?;
        document(py, &status)
    }

    /// Student: uploads a key; says which one it was. A secret key is refused.
    fn submit_key(&self, py: Python<'_>, path: PathBuf) -> PyResult<&'static str> {
        let kind = self.call(py, None, move |connection, _| {
            client::submit_key(&connection.client, &connection.election()?, &path)
        })?;
        Ok(kind.name())
    }

    /// Student: proves that the keys work, so that teachers can vote; gives how many labels were
    /// right. The other two keys are beside the secret one.
    fn rehearse(&self, py: Python<'_>, secret_key: PathBuf) -> PyResult<usize> {
        self.call(py, None, move |connection, _| {
            let keys = KeyFiles::beside(&secret_key);
            client::rehearse(&connection.client, &connection.election()?, &keys)
        })
    }

    /// Teacher: uploads a ballot; gives the digest that the server knows it by.
    #[pyo3(signature = (path, progress=None))]
    fn submit_ballot(
        &self,
        py: Python<'_>,
        path: PathBuf,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let receipt = self.call(py, progress, move |connection, watch| {
            let (client, own) = (&connection.client, &connection.invitation);
            client::submit_ballot(client, own, &connection.file()?, &path, watch)
        })?;
        Ok(receipt.ballot)
    }

    /// Operator: closes the election; gives where it is, as a document.
    fn _close<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let status = self.call(py, None, |connection, _| {
            client::close(&connection.client, &connection.election()?)
        })?;
        document(py, &status)
    }

    /// Teacher: fetches the public key into a file.
    fn fetch_public_key(&self, py: Python<'_>, out: PathBuf) -> PyResult<()> {
        self.call(py, None, move |connection, _| {
            client::fetch_public_key(&connection.client, &connection.file()?, &out)
        })
    }

    /// Student: fetches the results into a file.
    #[pyo3(signature = (out, progress=None))]
    fn fetch_results(
        &self,
        py: Python<'_>,
        out: PathBuf,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        self.call(py, progress, move |connection, watch| {
            client::fetch_results(&connection.client, &connection.file()?, &out, watch)
        })
    }
}
