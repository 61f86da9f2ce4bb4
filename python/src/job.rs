//! One aggregation that anybody may compute, batch by batch or shard by shard.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyTuple, PyType};
use rand::TryRngCore;
use rand::rngs::OsRng;
use shield_protocol::job::Places;
use shield_protocol::{Job as Frozen, Name, Progress, ProtocolError};

use crate::calls;
use crate::election::Election;
use crate::errors::protocol;
use crate::store::storage;

/// A frozen aggregation. The seed stays in its folder: no method takes it or gives it.
#[pyclass(frozen, module = "shield_pate._native")]
pub(crate) struct Job {
    job: Arc<Frozen>,
}

impl Job {
    /// Does some work on the job, and gives bytes.
    fn bytes<'py>(
        &self,
        py: Python<'py>,
        threads: Option<usize>,
        work: impl FnOnce(&Frozen) -> Result<Vec<u8>, ProtocolError> + Send + 'static,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let job = Arc::clone(&self.job);
        let found = calls::run(py, threads, None, move |_| work(&job))?;
        Ok(PyBytes::new(py, &found.map_err(protocol)?))
    }
}

#[pymethods]
impl Job {
    /// Checks key and ballots, draws the seed, and writes down what is to be computed.
    #[classmethod]
    fn freeze(
        _class: &Bound<'_, PyType>,
        py: Python<'_>,
        election: &Election,
        evaluation_key: PathBuf,
        ballots: PathBuf,
        out: PathBuf,
        store: Option<Py<PyAny>>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let (file, storage) = (election.file.clone(), storage(store));
        let job = calls::run(py, None, progress, move |watch| {
            let told = |progress| {
                if let Progress::Checked { of } = progress {
                    watch.set_length(of as u64);
                    let _ = watch.advance(1);
                }
            };
            let mut rng = OsRng.unwrap_err();
            let places = Places {
                evaluation_key: &evaluation_key,
                ballots: &ballots,
                out: &out,
                committed: None,
            };
            Frozen::freeze_in(&storage, &file, places, &mut rng, &told)
        })?;
        Ok(Self { job: Arc::new(job.map_err(protocol)?) })
    }

    /// Opens a job that was frozen.
    #[classmethod]
    fn open(
        _class: &Bound<'_, PyType>,
        py: Python<'_>,
        path: PathBuf,
        store: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let storage = storage(store);
        let job = calls::run(py, None, None, move |_| Frozen::open_in(&storage, &path))?;
        Ok(Self { job: Arc::new(job.map_err(protocol)?) })
    }

    /// Where the ballots of a job are.
    #[staticmethod]
    fn ballots_of(path: PathBuf) -> PyResult<String> {
        Frozen::ballots_of(&path).map_err(protocol)
    }

    #[getter]
    fn election(&self) -> Election {
        Election::of(self.job.file().clone())
    }

    #[getter]
    fn batches(&self) -> usize {
        self.job.file().batches()
    }

    /// The batches that nobody has computed yet.
    #[getter]
    fn missing<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.job.missing())
    }

    /// How many teachers have a ballot.
    #[getter]
    fn voted(&self) -> usize {
        self.job.voted()
    }

    /// Teachers without a ballot.
    #[getter]
    fn absent<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.job.absent().iter().map(Name::as_str).collect::<Vec<_>>())
    }

    /// How many samples have how many voters.
    #[getter]
    fn voters(&self) -> Vec<(u32, u64)> {
        self.job.voters().clone()
    }

    /// Computes one batch: the same bytes, whoever does it.
    #[pyo3(signature = (batch, threads=None))]
    fn run_batch<'py>(
        &self,
        py: Python<'py>,
        batch: usize,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        self.bytes(py, threads, move |job| job.run_batch(batch))
    }

    /// What the ballots of teachers `first` to before `end` add to a batch.
    #[pyo3(signature = (batch, first, end, threads=None))]
    fn run_shard<'py>(
        &self,
        py: Python<'py>,
        batch: usize,
        first: u32,
        end: u32,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        self.bytes(py, threads, move |job| job.run_shard(batch, first..end))
    }

    /// Shards of neighbours, in order, as one.
    #[pyo3(signature = (batch, shards, threads=None))]
    fn merge_shards<'py>(
        &self,
        py: Python<'py>,
        batch: usize,
        shards: Vec<PyBackedBytes>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        self.bytes(py, threads, move |job| {
            let shards: Vec<&[u8]> = shards.iter().map(|shard| &**shard).collect();
            job.merge_shards(batch, &shards)
        })
    }

    /// A batch from the shard of all teachers.
    #[pyo3(signature = (batch, whole, threads=None))]
    fn release_shards<'py>(
        &self,
        py: Python<'py>,
        batch: usize,
        whole: PyBackedBytes,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        self.bytes(py, threads, move |job| job.release_shards(batch, &whole))
    }

    /// Adds a batch that somebody computed. The same again is fine; other bytes are refused.
    fn put(&self, py: Python<'_>, batch: usize, release: PyBackedBytes) -> PyResult<()> {
        let job = Arc::clone(&self.job);
        calls::run(py, None, None, move |_| job.put(batch, &release))?.map_err(protocol)
    }

    /// Writes the results, whole or not at all, once all batches are there.
    fn finish(&self, py: Python<'_>, out: PathBuf) -> PyResult<()> {
        let job = Arc::clone(&self.job);
        calls::run(py, None, None, move |_| job.finish(&out))?.map_err(protocol)
    }
}
