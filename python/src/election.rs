//! One election between parties: its file, and one method per role.

use std::borrow::Cow;
use std::ffi::CString;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use numpy::PyArray1;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyUserWarning};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyType};
use rand::TryRngCore;
use rand::rngs::OsRng;
use shield_protocol::bundle::{BundleWriter, Content};
use shield_protocol::engine::{EngineError, Voting};
use shield_protocol::hex::hex;
use shield_protocol::new_file::{Readers, write_new};
use shield_protocol::results::ResultsReader;
use shield_protocol::reveal::{Inspected, inspect_from};
use shield_protocol::{ElectionFile, PlannedElection, Problem, ProtocolError};

use crate::errors::{damaged, protocol, refuse};
use crate::keys::SecretKey;
use crate::{arrays, calls};

/// Bytes, or the file that holds them.
#[derive(FromPyObject)]
pub(crate) enum Source {
    Bytes(PyBackedBytes),
    Path(PathBuf),
}

impl Source {
    fn read(&self) -> PyResult<Cow<'_, [u8]>> {
        match self {
            Self::Bytes(bytes) => Ok(Cow::Borrowed(bytes)),
            Self::Path(path) => match std::fs::read(path) {
                Ok(bytes) => Ok(Cow::Owned(bytes)),
                Err(error) => {
                    let text = format!("{}: {error}", path.display());
                    Err(std::io::Error::new(error.kind(), text).into())
                }
            },
        }
    }
}

/// A whole number that is not negative.
fn count(name: &str, value: &Bound<'_, PyAny>) -> PyResult<usize> {
    value.extract::<usize>().map_err(|error| {
        if error.is_instance_of::<PyOverflowError>(value.py()) {
            return refuse(format!("{name} is {value}; it cannot be negative or that large"));
        }
        PyTypeError::new_err(format!("{name} is a whole number, not {value}"))
    })
}

/// What all parties agree on before anyone makes a key.
#[pyclass(frozen, module = "shield_pate._native")]
pub(crate) struct Election {
    pub(crate) file: PlannedElection,
}

impl Election {
    pub(crate) fn of(file: PlannedElection) -> Self {
        Self { file }
    }

    /// A ballot, encrypted batch by batch, on threads of this process and without the GIL.
    fn ballot<'py>(
        &self,
        py: Python<'py>,
        public_key: Source,
        teacher: &str,
        encrypt: impl Fn(&dyn Voting, u32, usize, Range<usize>) -> Result<Vec<u8>, EngineError>
        + Send
        + 'static,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let teacher = self.file.teacher(teacher).ok_or_else(|| {
            protocol(ProtocolError::NotATeacher {
                name: teacher.to_owned(),
                known: self.file.teachers().to_vec(),
            })
        })?;
        let parts = u32::try_from(self.file.batches()).map_err(refuse)?;
        let file = self.file.clone();
        let ballot = calls::run(py, None, None, move |_| -> PyResult<Vec<u8>> {
            let (engine, digest) = (file.engine(), file.digest());
            let voting = Arc::clone(engine).voting(&public_key.read()?).map_err(damaged)?;
            let mut ballot = Vec::new();
            let content = Content::Ballot { teacher };
            let mut writer =
                BundleWriter::new(&mut ballot, content, &digest, parts).map_err(refuse)?;
            for batch in 0..engine.batches() {
                let part =
                    encrypt(&*voting, teacher, batch, engine.batch(batch)).map_err(refuse)?;
                writer.part(&part).map_err(refuse)?;
            }
            Ok(ballot)
        })??;
        Ok(PyBytes::new(py, &ballot))
    }
}

#[pymethods]
impl Election {
    /// Reads an election from the text of its file.
    #[new]
    fn new(py: Python<'_>, text: String) -> PyResult<Self> {
        // Reading an election plans it.
        let read = calls::run(py, None, None, move |_| {
            ElectionFile::parse(&text).map(ElectionFile::plan)
        })?;
        Ok(Self::of(read.map_err(refuse)?))
    }

    /// Reads an election file.
    #[classmethod]
    fn load(_class: &Bound<'_, PyType>, py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let read = calls::run(py, None, None, move |_| shield_protocol::read_election(&path))?;
        Ok(Self::of(read.map_err(protocol)?))
    }

    /// Makes an election. Without a quorum every teacher must vote on every sample.
    #[classmethod]
    #[pyo3(signature = (
        name, *, teachers, samples, classes, quorum=None, group=None, setting=None, deadline=None
    ))]
    fn create(
        _class: &Bound<'_, PyType>,
        py: Python<'_>,
        name: &str,
        teachers: Vec<String>,
        samples: &Bound<'_, PyAny>,
        classes: &Bound<'_, PyAny>,
        quorum: Option<&Bound<'_, PyAny>>,
        group: Option<&str>,
        setting: Option<&Bound<'_, PyAny>>,
        deadline: Option<&str>,
    ) -> PyResult<Self> {
        let samples = count("samples", samples)?;
        let classes = count("classes", classes)?;
        let quorum = quorum.map(|quorum| count("quorum", quorum)).transpose()?;
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let names: Vec<String> = teachers.iter().map(|name| quoted(name)).collect();
        let mut text = format!(
            "name = {}\ngroup = {}\nclasses = {classes}\nsamples = {samples}\nquorum = {}\n",
            quoted(name),
            quoted(group.unwrap_or(name)),
            quorum.unwrap_or(teachers.len()),
        );
        if let Some(setting) = setting {
            let part = |key: &str| setting.getattr(key)?.str()?.extract::<String>();
            let (polynomial, offset) = (part("polynomial")?, part("offset")?);
            let sampling = part("sampling")?;
            let _ = writeln!(text, "polynomial = {}", quoted(&polynomial));
            let _ = writeln!(text, "offset = {offset}\nsampling = {}", quoted(&sampling));
        }
        if let Some(deadline) = deadline {
            let _ = writeln!(text, "deadline = {deadline}");
        }
        let _ = writeln!(text, "teachers = [{}]", names.join(", "));
        Self::new(py, text)
    }

    /// Writes the election file; never over another file.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        let text = self.file.canonical();
        Ok(write_new(&path, Readers::Everyone, text.as_bytes())?)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyType>, (String,)) {
        (slf.get_type(), (slf.get().file.canonical(),))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().file == self.file)
    }

    fn __hash__(&self) -> u64 {
        let digest = self.file.digest();
        u64::from_le_bytes(std::array::from_fn(|i| digest[i]))
    }

    fn __repr__(&self) -> String {
        let election = self.file.election();
        format!(
            "<Election {}: {} teachers, {} samples, {} classes, {} batch{}, quorum {}>",
            self.file.name(),
            election.teachers(),
            election.samples(),
            election.classes(),
            self.file.batches(),
            if self.file.batches() == 1 { "" } else { "es" },
            self.file.quorum(),
        )
    }

    #[getter]
    fn name(&self) -> &str {
        self.file.name().as_str()
    }

    #[getter]
    fn group(&self) -> &str {
        self.file.group().as_str()
    }

    #[getter]
    fn teachers(&self, py: Python<'_>) -> PyResult<Py<pyo3::types::PyTuple>> {
        let names = self.file.teachers().iter().map(shield_protocol::Name::as_str);
        Ok(pyo3::types::PyTuple::new(py, names.collect::<Vec<_>>())?.unbind())
    }

    #[getter]
    fn samples(&self) -> usize {
        self.file.election().samples()
    }

    #[getter]
    fn classes(&self) -> usize {
        self.file.election().classes().count()
    }

    #[getter]
    fn batches(&self) -> usize {
        self.file.batches()
    }

    #[getter]
    fn quorum(&self) -> u32 {
        self.file.quorum()
    }

    #[getter]
    fn deadline(&self) -> Option<String> {
        self.file.deadline().map(|deadline| deadline.to_string())
    }

    /// The digest that keys, ballots and results carry.
    #[getter]
    fn digest(&self) -> String {
        hex(&self.file.digest())
    }

    /// The file as the program writes it.
    #[getter]
    fn text(&self) -> String {
        self.file.canonical()
    }

    /// Polynomial, offset and sampling rule; none for an election with a noisy argmax.
    #[getter]
    fn _setting(&self) -> Option<(String, u32, String)> {
        let setting = self.file.election().setting();
        let texts = (setting.polynomial.to_string(), setting.sampling.to_string());
        let shield = self.file.spec().argmax().is_none();
        shield.then_some((texts.0, setting.offset.dummies(), texts.1))
    }

    /// The student's keys: the secret one, and the bytes of the public and the evaluation key.
    fn keygen<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(SecretKey, Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let engine = Arc::clone(self.file.engine());
        let made = calls::run(py, None, None, move |_| engine.make_keys(&mut OsRng.unwrap_err()))?;
        let keys = made.map_err(refuse)?;
        let (public, evaluation) =
            (PyBytes::new(py, &keys.public), PyBytes::new(py, &keys.evaluation));
        let secret = SecretKey::new(keys.secret, self.file.digest(), keys.id);
        Ok((secret, public, evaluation))
    }

    /// Makes the student's keys as three files in a folder; gives their paths.
    fn keygen_files(
        &self,
        py: Python<'_>,
        folder: PathBuf,
    ) -> PyResult<(PathBuf, PathBuf, PathBuf)> {
        let file = self.file.clone();
        let made = calls::run(py, None, None, move |_| {
            shield_protocol::make_keys(&file, &folder, &mut OsRng.unwrap_err())
        })?;
        let files = made.map_err(protocol)?.files;
        Ok((files.secret, files.public, files.evaluation))
    }

    /// A teacher's ballot: its votes, one per sample, -1 where it abstains.
    fn vote<'py>(
        &self,
        py: Python<'py>,
        public_key: Source,
        teacher: &str,
        votes: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        // Lists, frames and missing votes, as everywhere else.
        let checked =
            py.import("shield_pate._votes")?.call_method1("as_labels", (votes, py.None()));
        let votes = arrays::column(&checked?)?;
        if let Some(counts) = self.file.spec().counts() {
            return Err(refuse(format!(
                "the teachers of this election send counts per class, of up to {} voters each: \
                 use vote_counts with a table of samples x classes",
                counts.voters()
            )));
        }
        let samples = self.file.election().samples();
        if votes.len() != samples {
            return Err(refuse(Problem::VoteCount { votes: votes.len(), samples }));
        }
        self.ballot(py, public_key, teacher, move |voting, teacher, batch, samples| {
            let own = votes.get(samples).unwrap_or_default();
            voting.encrypt(batch, teacher, own, &mut OsRng.unwrap_err())
        })
    }

    /// A teacher's ballot in an election with `voters_per_teacher`: how many of the voters behind
    /// it chose each class, samples x classes; a row of zeros abstains.
    fn vote_counts<'py>(
        &self,
        py: Python<'py>,
        public_key: Source,
        teacher: &str,
        counts: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let checked = py.import("shield_pate._votes")?.call_method1("as_counts", (counts,));
        let counts = arrays::counts(&checked?)?;
        let Some(allowed) = self.file.spec().counts() else {
            return Err(refuse(
                "the teachers of this election have one vote per sample: use vote. Counts need an \
                 election with voters_per_teacher",
            ));
        };
        let (samples, classes) = (self.samples(), self.classes());
        if counts.len() != samples {
            return Err(refuse(Problem::CountRows { rows: counts.len(), samples }));
        }
        // The engine refuses these, too, but it counts samples within a batch.
        for (sample, row) in counts.iter().enumerate() {
            let place = sample + 1;
            if row.len() != classes {
                return Err(refuse(format!(
                    "sample {place}: {} counts for {classes} classes; give a column per class",
                    row.len()
                )));
            }
            let voters: u64 = row.iter().map(|&count| u64::from(count)).sum();
            if voters > u64::from(allowed.voters()) {
                return Err(refuse(format!(
                    "sample {place}: {voters} voters, and the election allows {} behind a teacher",
                    allowed.voters()
                )));
            }
        }
        self.ballot(py, public_key, teacher, move |voting, _, batch, samples| {
            let own = counts.get(samples).unwrap_or_default();
            voting.encrypt_counts(batch, own, &mut OsRng.unwrap_err())
        })
    }

    /// The labels of some results.
    fn reveal<'py>(
        &self,
        py: Python<'py>,
        secret: &SecretKey,
        results: Source,
    ) -> PyResult<Bound<'py, PyArray1<i32>>> {
        secret.check(&self.file.digest())?;
        let (file, bytes) = (self.file.clone(), secret.shared());
        let found = calls::run(py, None, None, move |_| open(&file, &bytes, &results.read()?))??;
        if let Some(warning) = found.warning().and_then(|warning| CString::new(warning).ok()) {
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), &warning, 1)?;
        }
        Ok(arrays::to_numpy(py, found.labels.as_slice()))
    }

    /// What the labels cost, if that many teachers vote on every sample.
    fn _cost(&self, py: Python<'_>, voters: Vec<(u32, u64)>, delta: f64) -> PyResult<f64> {
        use shield_protocol::ledger::{Accountant, Cost};
        let delta = shield_core::Delta::new(delta).map_err(refuse)?;
        let file = self.file.clone();
        let cost = calls::run(py, None, None, move |_| {
            Accountant::default().total(&[Cost::new(&file, voters)], delta)
        })?;
        Ok(cost.get())
    }
}

fn open(file: &PlannedElection, secret: &[u8], results: &[u8]) -> PyResult<Inspected> {
    let revealing = Arc::clone(file.engine()).revealing(secret).map_err(damaged)?;
    let reader = ResultsReader::new(results, file).map_err(damaged)?;
    inspect_from(file, &*revealing, reader, Path::new("results")).map_err(protocol)
}
