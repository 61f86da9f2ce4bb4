//! A job: one aggregation as a folder, which can be stopped, resumed and shared.
//!
//! | file | what it is |
//! |---|---|
//! | `job.toml` | what was frozen, as digests; written last, so that a job is whole or none |
//! | `election.toml` | the election file |
//! | `evaluation.key` | the student's evaluation key |
//! | `ballots.index` | which ballots there are, and what each batch of them hashes to |
//! | `ballots.checksums` | what each batch of them ends with: saves opening a ballot for it |
//! | `seed` | the seed of all draws, for its owner alone |
//! | `parts/<n>.release` | what the student gets for batch n |
//! | `leases/<n>` | who computes batch n right now: see [`lease`](super::lease) |
//!
//! Ballots stay where they are, which may be the job's own folder: then a job can be moved, and be
//! seen by other machines under another path. Only the record among the ballots ties them to the
//! job: see [`freeze`](super::freeze). Every batch is a pure function of what is frozen, so that it
//! does not matter who computes it, how often, or in which order.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rand::CryptoRng;
use serde::{Deserialize, Serialize};
use shield::Seed;
use shield::framing::{KeyId, Kind};

use super::aggregate::same_folder;
use super::ballot_folder::BallotFolder;
use super::checked::{Checked, Progress};
use super::freeze::{self, Destination, Frozen, settle};
use super::storage::{Storage, local_files};
use crate::election_file::ElectionFile;
use crate::engine::{Aggregating, Engine};
use crate::error::{Problem, ProtocolError, Refused};
use crate::files::{Existing, check_folder_of, read_bounded, read_election};
use crate::hex::{hex, unhex};
use crate::name::Name;
use crate::new_file::{Readers, Unnamed, folder_of};
use crate::private;
use crate::results;
use crate::seed::Purpose;
use crate::transcript::Transcript;
use crate::turnout::VoterCounts;

const VERSION: u32 = 2;
/// More than any job file has: names of a million teachers.
const MAX_JOB_FILE: usize = 128 << 20;
const MAX_INDEX: usize = 1 << 40;

/// What `job.toml` says.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    version: u32,
    /// The folder of the ballots; relative if it is in the job's own folder.
    ballots: String,
    election: String,
    evaluation_key: String,
    key: String,
    index: String,
    /// The commitment to the server's part of the seed.
    commitment: String,
    /// Teachers without a ballot.
    missing: Vec<Name>,
    /// How many samples have how many voters.
    voters: VoterCounts,
}

/// What a job is frozen from, and where it goes.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    /// The student's evaluation key.
    pub evaluation_key: &'a Path,
    /// The folder of the ballots.
    pub ballots: &'a Path,
    /// The job's folder.
    pub out: &'a Path,
    /// The part of the seed that the server committed to before anyone voted.
    pub committed: Option<&'a Path>,
}

/// One aggregation, frozen.
pub struct Job {
    path: PathBuf,
    file: ElectionFile,
    engine: Arc<dyn Engine>,
    key: KeyId,
    frozen: Frozen,
    /// Where the ballots are.
    folder: PathBuf,
    ballots: BallotFolder,
    missing: Vec<Name>,
    voters: VoterCounts,
    commitment: [u8; 32],
    work: Mutex<Option<Arc<Work>>>,
}

/// What it takes to compute a batch.
struct Work {
    aggregating: Box<dyn Aggregating>,
    seed: Seed,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Job {
    /// Checks key and ballots, draws the seed, and writes all of it down. The same again gives the
    /// same job; anything else in its place is refused, and so is a second job for the ballots.
    pub fn freeze<R: CryptoRng>(
        file: &ElectionFile,
        evaluation_key: &Path,
        ballots: &Path,
        out: &Path,
        rng: &mut R,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Self, ProtocolError> {
        Self::freeze_committed(file, evaluation_key, ballots, out, None, rng, progress)
    }

    /// The same, with the part of the seed that the server committed to before anyone voted: the
    /// file that [`freeze::commit`] wrote.
    pub fn freeze_committed<R: CryptoRng>(
        file: &ElectionFile,
        evaluation_key: &Path,
        ballots: &Path,
        out: &Path,
        committed: Option<&Path>,
        rng: &mut R,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Self, ProtocolError> {
        let storage = local_files();
        let places = Places { evaluation_key, ballots, out, committed };
        Self::freeze_in(&storage, file, places, rng, progress)
    }

    /// The same with ballots that are kept somewhere else; the job itself is a folder here.
    pub fn freeze_in<R: CryptoRng>(
        storage: &Arc<dyn Storage>,
        file: &ElectionFile,
        places: Places<'_>,
        rng: &mut R,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Self, ProtocolError> {
        let Places { evaluation_key, ballots, out, committed } = places;
        check_folder_of(out)?;
        if same_folder(folder_of(out), ballots) || same_folder(out, ballots) {
            return Err(refused(out, Problem::AmongBallots).into());
        }
        let checked = Checked::new(file, evaluation_key, storage, ballots, progress)?;
        let (frozen, index) = (&checked.frozen, checked.folder.index()?);
        let address = storage.address(ballots).map_err(|error| refused(ballots, error.into()))?;
        let ballots = PathBuf::from(&address);
        let address = within(out, address);
        let place = Place(out);
        let known = place.read()?;
        let committed =
            committed.map(|path| freeze::committed(path, &file.digest())).transpose()?;
        let mut written = Written {
            version: VERSION,
            commitment: known.as_ref().map_or_else(String::new, |job| job.commitment.clone()),
            ballots: address,
            election: hex(&frozen.election),
            evaluation_key: hex(&frozen.evaluation_key),
            key: hex(checked.aggregating.key().as_bytes()),
            index: hex(blake3::hash(&index).as_bytes()),
            missing: checked.missing,
            voters: checked.voters,
        };
        if let Some(known) = known
            && known != written
        {
            return Err(refused(&place.job_file(), Problem::OtherJob).into());
        }
        let key = Place::read_key(evaluation_key, &*file.engine(), &frozen.evaluation_key)?;
        private::make_folder(&place.parts()).map_err(|error| cannot(&place.parts(), error))?;
        place.write("election.toml", file.canonical().as_bytes())?;
        place.write("evaluation.key", &key)?;
        place.write("ballots.index", &index)?;
        let destination = Destination::Job(out);
        let part = settle(frozen, &**storage, &ballots, destination, committed, rng)?.part;
        written.commitment = hex(&part.commitment(&frozen.election));
        let text = toml::to_string(&written).expect("strings, numbers and lists of them");
        place.write("job.toml", text.as_bytes())?;
        Self::open_in(storage, out)
    }

    /// Opens a job that was frozen. Reads neither the seed nor the key before they are needed.
    pub fn open(path: &Path) -> Result<Self, ProtocolError> {
        Self::open_in(&local_files(), path)
    }

    /// Where the ballots of a job are, to choose the storage by.
    pub fn ballots_of(path: &Path) -> Result<String, ProtocolError> {
        let place = Place(path);
        let not_found = || refused(&place.job_file(), Problem::Io(io::ErrorKind::NotFound.into()));
        Ok(place.read()?.ok_or_else(not_found)?.ballots)
    }

    /// [`Self::open`] with ballots that are kept somewhere else.
    pub fn open_in(storage: &Arc<dyn Storage>, path: &Path) -> Result<Self, ProtocolError> {
        let place = Place(path);
        let job_file = place.job_file();
        let written = place.read()?;
        let written = written
            .ok_or_else(|| refused(&job_file, Problem::Io(io::ErrorKind::NotFound.into())))?;
        if written.version != VERSION {
            let problem = Problem::JobVersion { found: written.version, known: VERSION };
            return Err(refused(&job_file, problem).into());
        }
        let damaged = |name: &str| refused(&path.join(name), Problem::Damaged);
        let digest = |text: &str| unhex::<32>(text).ok_or_else(|| damaged("job.toml"));
        let file = read_election(&path.join("election.toml"))?;
        if file.digest() != digest(&written.election)? {
            return Err(damaged("election.toml").into());
        }
        let index_path = path.join("ballots.index");
        let index = read_bounded(&index_path, MAX_INDEX)
            .map_err(|problem| refused(&index_path, problem))?;
        if *blake3::hash(&index).as_bytes() != digest(&written.index)? {
            return Err(damaged("ballots.index").into());
        }
        let engine = file.engine();
        let folder = found_from(path, &written.ballots);
        let teachers = file.teachers().len();
        let ballots = BallotFolder::from_index(&engine, storage, &folder, teachers, &index)
            .ok_or_else(|| damaged("ballots.index"))?;
        let frozen = Frozen {
            election: file.digest(),
            evaluation_key: digest(&written.evaluation_key)?,
            ballots: ballots.digests(&file),
        };
        Ok(Self {
            path: path.to_owned(),
            key: KeyId::from_bytes(digest(&written.key)?),
            missing: written.missing,
            voters: written.voters,
            commitment: digest(&written.commitment)?,
            work: Mutex::default(),
            file,
            engine,
            frozen,
            folder,
            ballots,
        })
    }

    /// The election.
    pub fn file(&self) -> &ElectionFile {
        &self.file
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Everything that its releases follow from, besides the seed.
    pub fn frozen(&self) -> &Frozen {
        &self.frozen
    }

    /// How many teachers have a ballot in it.
    pub fn voted(&self) -> usize {
        self.ballots.len()
    }

    /// Teachers without a ballot.
    pub fn absent(&self) -> &[Name] {
        &self.missing
    }

    /// How many samples have how many voters.
    pub fn voters(&self) -> &VoterCounts {
        &self.voters
    }

    /// The batches that nobody has computed yet, in order.
    pub fn missing(&self) -> Vec<usize> {
        (0..self.engine.batches()).filter(|&batch| !self.has(batch)).collect()
    }

    /// Whether a batch is computed.
    pub(super) fn has(&self, batch: usize) -> bool {
        self.part(batch).is_file()
    }

    /// A batch that somebody computed, checked; none if nobody has.
    pub fn finished(&self, batch: usize) -> Result<Option<Vec<u8>>, ProtocolError> {
        self.check(batch)?;
        if self.has(batch) { self.read(batch).map(Some).map_err(Into::into) } else { Ok(None) }
    }

    /// Puts a batch aside that is not what it should be, so that it is computed again.
    pub fn set_aside(&self, batch: usize) -> Result<(), ProtocolError> {
        let path = self.part(batch);
        let aside = path.with_extension("refused");
        std::fs::rename(&path, &aside).map_err(|error| cannot(&path, error))
    }

    fn read(&self, batch: usize) -> Result<Vec<u8>, Refused> {
        let path = self.part(batch);
        let refuse = |problem| refused(&path, problem);
        let limit = self.engine.max_bytes(Kind::Release);
        let bytes = read_bounded(&path, limit).map_err(refuse)?;
        let checked = self.engine.check_release(&bytes, batch, self.key);
        checked.map_err(|source| refuse(Problem::Batch { batch, source }))?;
        Ok(bytes)
    }

    /// Computes one batch: the same bytes, whoever does it. Writes nothing.
    pub fn run_batch(&self, batch: usize) -> Result<Vec<u8>, ProtocolError> {
        self.check(batch)?;
        let work = self.work()?;
        Ok(work.aggregating.aggregate(batch, &self.ballots.batch(batch), &work.seed)?)
    }

    /// What some teachers' ballots add to a batch, where the engine can add up shards. Shards are
    /// merged in any order of neighbours, and then released: the same bytes as [`Self::run_batch`].
    pub fn run_shard(&self, batch: usize, teachers: Range<u32>) -> Result<Vec<u8>, ProtocolError> {
        self.check(batch)?;
        let work = self.work()?;
        let ballots = self.ballots.batch_of(batch, teachers.clone());
        Ok(work.aggregating.shard(batch, &ballots, &work.seed, teachers)?)
    }

    /// Several shards of neighbours, in order, as one.
    pub fn merge_shards(&self, batch: usize, shards: &[&[u8]]) -> Result<Vec<u8>, ProtocolError> {
        self.check(batch)?;
        Ok(self.work()?.aggregating.merge_shards(batch, shards)?)
    }

    /// A batch from the shard of all teachers. Opens no ballot.
    pub fn release_shards(&self, batch: usize, whole: &[u8]) -> Result<Vec<u8>, ProtocolError> {
        self.check(batch)?;
        let work = self.work()?;
        let ballots = self.ballots.batch(batch);
        Ok(work.aggregating.release_shards(batch, &ballots, &work.seed, whole)?)
    }

    /// Adds a batch that somebody computed. Adding the same again is fine; other bytes for a batch
    /// that is there are refused.
    pub fn put(&self, batch: usize, release: &[u8]) -> Result<(), ProtocolError> {
        self.check(batch)?;
        let path = self.part(batch);
        self.engine
            .check_release(release, batch, self.key)
            .map_err(|source| refused(&path, Problem::Batch { batch, source }))?;
        let written = Unnamed::write(&path, Readers::Everyone, release);
        match written.and_then(|file| file.name_or_find(&path)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(refused(&path, Problem::OtherRelease { batch }).into())
            }
            named => named.map_err(|error| cannot(&path, error)),
        }
    }

    /// Writes the results, once all batches are there: each is checked again. Never over another
    /// file, unless it has the very same bytes.
    pub fn finish(&self, out: &Path) -> Result<(), ProtocolError> {
        let missing = self.missing();
        if !missing.is_empty() {
            return Err(ProtocolError::Unfinished { missing, batches: self.engine.batches() });
        }
        check_folder_of(out)?;
        if same_folder(folder_of(out), &self.folder) {
            return Err(refused(out, Problem::AmongBallots).into());
        }
        let turnout = self.ballots.turnout(&self.file);
        let transcript = Transcript::new(&self.frozen, &self.commitment, turnout.voters());
        let release = |results::Place { batch, .. }| Ok(self.read(batch)?);
        results::write(out, Existing::Compared, &self.file, &transcript, release)?;
        transcript.publish(out)
    }

    fn part(&self, batch: usize) -> PathBuf {
        Place(&self.path).parts().join(format!("{batch}.release"))
    }

    pub(super) fn check(&self, batch: usize) -> Result<(), ProtocolError> {
        let batches = self.engine.batches();
        if batch < batches { Ok(()) } else { Err(ProtocolError::NoBatch { batch, batches }) }
    }

    /// Key and seed, read once.
    fn work(&self) -> Result<Arc<Work>, ProtocolError> {
        let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(work) = &*work {
            return Ok(Arc::clone(work));
        }
        let path = self.path.join("evaluation.key");
        let bytes = Place::read_key(&path, &*self.engine, &self.frozen.evaluation_key)?;
        let aggregating = Arc::clone(&self.engine)
            .aggregating(&bytes)
            .map_err(|error| refused(&path, error.into()))?;
        let part = freeze::stored_part(&self.frozen, &Destination::Job(&self.path).seed_path())?;
        let seed = part.seed(Purpose::Draws, &self.frozen.digest());
        let made = Arc::new(Work { aggregating, seed });
        *work = Some(Arc::clone(&made));
        Ok(made)
    }
}

/// The address of the ballots, relative to the job's folder if they are in it.
fn within(job: &Path, address: String) -> String {
    let own = job.canonicalize().ok();
    let rest =
        own.and_then(|own| Some(Path::new(&address).strip_prefix(own).ok()?.to_str()?.into()));
    rest.unwrap_or(address)
}

/// Where the ballots are, as seen from here.
fn found_from(job: &Path, address: &str) -> PathBuf {
    if address.contains("://") { address.into() } else { job.join(address) }
}

/// Where the files of a job are.
struct Place<'a>(&'a Path);

impl Place<'_> {
    fn job_file(&self) -> PathBuf {
        self.0.join("job.toml")
    }

    fn parts(&self) -> PathBuf {
        self.0.join("parts")
    }

    /// What was frozen; nothing if the job is not whole.
    fn read(&self) -> Result<Option<Written>, Refused> {
        let path = self.job_file();
        let bytes = match read_bounded(&path, MAX_JOB_FILE) {
            Err(Problem::Io(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(|problem| refused(&path, problem))?,
        };
        let text = String::from_utf8(bytes).ok();
        let written = text.and_then(|text| toml::from_str(&text).ok());
        written.ok_or_else(|| refused(&path, Problem::Damaged)).map(Some)
    }

    /// A key that is the one that was frozen.
    fn read_key(path: &Path, engine: &dyn Engine, digest: &[u8; 32]) -> Result<Vec<u8>, Refused> {
        let limit = engine.max_bytes(Kind::EvaluationKey);
        let bytes = read_bounded(path, limit).map_err(|problem| refused(path, problem))?;
        if blake3::hash(&bytes).as_bytes() == digest {
            return Ok(bytes);
        }
        Err(refused(path, Problem::Damaged))
    }

    /// Writes a file, unless it is there with the same bytes.
    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), ProtocolError> {
        let path = self.0.join(name);
        let written = Unnamed::write(&path, Readers::Everyone, bytes);
        match written.and_then(|file| file.name_or_find(&path)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(refused(&path, Problem::OtherJob).into())
            }
            named => named.map_err(|error| cannot(&path, error)),
        }
    }
}

fn refused(path: &Path, problem: Problem) -> Refused {
    Refused { path: path.to_owned(), problem }
}

fn cannot(path: &Path, source: io::Error) -> ProtocolError {
    ProtocolError::Write { path: path.to_owned(), source }
}
