//! One aggregation that anybody may compute, batch by batch or shard by shard.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyTuple, PyType};
use rand::TryRngCore;
use rand::rngs::OsRng;
use shield_protocol::{Inputs, Job as Frozen, Name, ProtocolError};

use crate::calls;
use crate::election::Election;
use crate::errors::{protocol, refuse};
use crate::store::storage;

/// A frozen aggregation. The seed stays in its folder: no method takes it or gives it.
#[pyclass(frozen, module = "shield_pate._native")]
pub(crate) struct Job {
    job: Arc<Frozen>,
}

/// A shard as bytes or as an array of them, such as one that lies in Ray's object store.
#[derive(FromPyObject)]
enum Packed {
    Bytes(PyBackedBytes),
    Array(Py<PyArray1<u8>>),
}

/// Does some work on shards where they are: they are too large to be copied.
fn with_slices<T: Send>(
    shards: &[Packed],
    work: impl FnOnce(&[&[u8]]) -> Result<T, ProtocolError> + Send,
) -> PyResult<T> {
    Python::attach(|py| {
        let borrow = |shard: &Packed| match shard {
            Packed::Bytes(_) => Ok(None),
            Packed::Array(array) => array.bind(py).try_readonly().map(Some).map_err(refuse),
        };
        let arrays = shards.iter().map(borrow).collect::<PyResult<Vec<_>>>()?;
        let mut slices: Vec<&[u8]> = Vec::with_capacity(shards.len());
        for (shard, array) in shards.iter().zip(&arrays) {
            match (shard, array) {
                (Packed::Bytes(bytes), _) => slices.push(bytes),
                (_, Some(array)) => slices.push(array.as_slice().map_err(refuse)?),
                (_, None) => {}
            }
        }
        py.detach(|| work(&slices)).map_err(protocol)
    })
}

impl Job {
    /// Does some work on the job, without the GIL.
    fn call<T: Send + 'static>(
        &self,
        py: Python<'_>,
        threads: Option<usize>,
        work: impl FnOnce(&Frozen) -> PyResult<T> + Send + 'static,
    ) -> PyResult<T> {
        let job = Arc::clone(&self.job);
        calls::run(py, threads, None, move |_| work(&job))?
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
            let mut rng = OsRng.unwrap_err();
            let (file, evaluation_key, ballots) = (&file, &*evaluation_key, &*ballots);
            let inputs = Inputs { file, evaluation_key, ballots, storage };
            Frozen::freeze(&inputs, &out, None, &mut rng, watch)
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
        self.job.ballots().voted()
    }

    /// Teachers without a ballot.
    #[getter]
    fn absent<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.job.absent().iter().map(Name::as_str).collect::<Vec<_>>())
    }

    /// How many samples have how many voters.
    #[getter]
    fn voters(&self) -> Vec<(u32, u64)> {
        self.job.voters()
    }

    /// Computes one batch: the same bytes, whoever does it.
    #[pyo3(signature = (batch, threads=None))]
    fn run_batch<'py>(
        &self,
        py: Python<'py>,
        batch: usize,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let release = self.call(py, threads, move |job| job.run_batch(batch).map_err(protocol))?;
        Ok(PyBytes::new(py, &release))
    }

    /// What the ballots of teachers `first` to before `end` add to a batch. Shards are large, so
    /// they leave as arrays, which take over the bytes, and come back without a copy.
    #[pyo3(signature = (batch, first, end, threads=None))]
    fn run_shard<'py>(
        &self,
        py: Python<'py>,
        batch: usize,
        first: u32,
        end: u32,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray1<u8>>> {
        let shard =
            self.call(py, threads, move |job| job.run_shard(batch, first..end).map_err(protocol))?;
        Ok(PyArray1::from_vec(py, shard))
    }

    /// Shards of neighbours, in order, as one.
    #[pyo3(signature = (batch, shards, threads=None))]
    fn merge_shards<'py>(
        &self,
        py: Python<'py>,
        batch: usize,
        shards: Vec<Packed>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray1<u8>>> {
        let merged = self.call(py, threads, move |job| {
            with_slices(&shards, |shards| job.merge_shards(batch, shards))
        })?;
        Ok(PyArray1::from_vec(py, merged))
    }

    /// A batch from the shard of all teachers.
    #[pyo3(signature = (batch, whole, threads=None))]
    fn release_shards<'py>(
        &self,
        py: Python<'py>,
        batch: usize,
        whole: Packed,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let released = self.call(py, threads, move |job| {
            with_slices(&[whole], |whole| job.release_shards(batch, whole[0]))
        })?;
        Ok(PyBytes::new(py, &released))
    }

    /// Adds a batch that somebody computed. The same again is fine; other bytes are refused.
    fn put(&self, py: Python<'_>, batch: usize, release: PyBackedBytes) -> PyResult<()> {
        self.call(py, None, move |job| job.put(batch, &release).map_err(protocol))
    }

    /// Writes the results, whole or not at all, once all batches are there.
    fn finish(&self, py: Python<'_>, out: PathBuf) -> PyResult<()> {
        self.call(py, None, move |job| job.finish(&out).map_err(protocol))
    }
}
