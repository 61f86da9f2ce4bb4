//! A job: one aggregation as a folder, which can be stopped, resumed and shared.
//!
//! | file | what it is |
//! |---|---|
//! | `job.toml` | what was frozen, as digests; written last, so that a job is whole or none |
//! | `election.toml` | the election file |
//! | `evaluation.key` | the student's evaluation key |
//! | `ballots.index` | which ballots there are, and what each batch of them hashes to |
//! | `seed` | the seed of all draws, for its owner alone |
//! | `parts/<n>.release` | what the student gets for batch n |
//! | `leases/<n>` | who computes batch n right now: see [`lease`](super::lease) |
//!
//! Ballots stay where they are, which may be the job's own folder: then a job can be moved, and be
//! seen by other machines under another path. Only the record among the ballots ties them to the
//! job: see [`freeze`](super::freeze). Every batch is a pure function of what is frozen, so that it
//! does not matter who computes it, how often, or in which order.

use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rand::CryptoRng;
use serde::{Deserialize, Serialize};
use shield_core::Watch;
use shield_core::framing::{KeyId, Kind};

use super::ballot_folder::BallotFolder;
use super::freeze::{self, Frozen};
use super::inputs::{Checked, Inputs, read_key, same_folder};
use super::releases::Releases;
use super::storage::{LocalFiles, Storage};
use crate::election_file::PlannedElection;
use crate::error::{Problem, ProtocolError, Refused};
use crate::files::{
    Existing, check_folder_of, read_bounded, read_election, read_toml, write_or_find,
};
use crate::hex::{hex, unhex};
use crate::name::Name;
use crate::new_file::{Readers, folder_of};
use crate::private;
use crate::results::{self, Place};
use crate::seed::SeedPart;
use crate::transcript::Transcript;
use crate::turnout::VoterCounts;

const VERSION: u32 = 3;
const MAX_JOB_FILE: usize = 1 << 16;
const MAX_INDEX: usize = 1 << 40;

/// What `job.toml` says.
#[derive(Debug, Serialize, Deserialize)]
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
}

impl Written {
    /// What was frozen in a folder.
    fn read(folder: &Path) -> Result<Self, Refused> {
        let path = folder.join(JOB);
        let version = read_toml::<Version>(&path, MAX_JOB_FILE)?.version;
        if version != VERSION {
            return Err(Refused::new(
                &path,
                Problem::JobVersion { found: version, known: VERSION },
            ));
        }
        read_toml(&path, MAX_JOB_FILE)
    }
}

/// As much of `job.toml` as every version has.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

const JOB: &str = "job.toml";
const KEY: &str = "evaluation.key";
const INDEX: &str = "ballots.index";

/// One aggregation, frozen.
pub struct Job {
    path: PathBuf,
    key: KeyId,
    frozen: Frozen,
    /// Where the ballots are.
    folder: PathBuf,
    ballots: BallotFolder,
    transcript: Transcript,
    releases: Mutex<Option<Arc<Releases>>>,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Job {
    /// Checks key and ballots, draws the seed, and writes all of it down. The same again gives the
    /// same job; anything else in its place is refused, and so is a second job for the ballots.
    /// `committed` is the part of the seed that the server committed to before anyone voted, as
    /// [`freeze::commit`] wrote it.
    pub fn freeze<R: CryptoRng>(
        inputs: &Inputs<'_>,
        out: &Path,
        committed: Option<&Path>,
        rng: &mut R,
        watch: &Watch,
    ) -> Result<Self, ProtocolError> {
        inputs.check_place(out)?;
        let address = inputs.storage.address(inputs.ballots);
        let address = address.map_err(|error| Refused::new(inputs.ballots, error))?;
        let (checked, _) = inputs.open_once(watch)?;
        make_folder(out)?;
        let seed = out.join("seed");
        let place = freeze::Place { out, seed: &seed };
        let (releases, _) = checked.freeze(inputs, place, committed, rng)?;
        let key = releases.aggregating.key();
        let commitment = releases.part.commitment(&releases.frozen.election);
        let Releases { frozen, ballots, .. } = releases;
        let job = Self::of(out, PathBuf::from(&address), frozen, ballots, key, &commitment);
        job.copy_key(inputs.evaluation_key)?;
        let (text, index) = job.written(within(out, &address), &commitment)?;
        job.write(&text, &index)?;
        Ok(job)
    }

    /// The job of a server's election, in the folder that holds its ballots. The server has checked
    /// what it is frozen from, and drawn its part of the seed. A job of other ballots makes room:
    /// the server knows that nobody has computed anything of it.
    pub fn keep(
        out: &Path,
        ballots: BallotFolder,
        evaluation_key: (&Path, [u8; 32], KeyId),
        part: &SeedPart,
    ) -> Result<Self, ProtocolError> {
        let (from, evaluation_key, key) = evaluation_key;
        let (election, digests) = (ballots.file.digest(), ballots.digests());
        let frozen = Frozen { election, evaluation_key, ballots: digests };
        let commitment = part.commitment(&election);
        let job = Self::of(out, out.join("ballots"), frozen, ballots, key, &commitment);
        let (text, index) = job.written("ballots".to_owned(), &commitment)?;
        if fs::read(out.join(JOB)).is_ok_and(|known| known == text.as_bytes()) {
            return Ok(job);
        }
        Self::remove(out).map_err(|error| ProtocolError::cannot_write(out, error))?;
        make_folder(out)?;
        let (seed, bound) = (out.join("seed"), freeze::encode_part(&job.frozen, part));
        write_or_find(&seed, Readers::Owner, &bound, Problem::OtherJob)?;
        // The same file under a second name, where there can be one.
        if fs::hard_link(from, out.join(KEY)).is_err() {
            job.copy_key(from)?;
        }
        job.write(&text, &index)?;
        Ok(job)
    }

    fn of(
        path: &Path,
        folder: PathBuf,
        frozen: Frozen,
        ballots: BallotFolder,
        key: KeyId,
        commitment: &[u8; 32],
    ) -> Self {
        let turnout = ballots.turnout_without(&[]);
        let transcript = Transcript::new(&frozen, commitment, turnout.voters());
        let (path, releases) = (path.to_owned(), Mutex::default());
        Self { path, key, frozen, folder, ballots, transcript, releases }
    }

    /// Removes what was frozen in a job's folder: nothing that was computed, and no ballots.
    pub fn remove(out: &Path) -> io::Result<()> {
        for name in [JOB, KEY, INDEX, "election.toml", "seed"] {
            match fs::remove_file(out.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// What `job.toml` says, and `ballots.index`.
    fn written(
        &self,
        ballots: String,
        commitment: &[u8; 32],
    ) -> Result<(String, Vec<u8>), Refused> {
        let index = self.ballots.index()?;
        let written = Written {
            version: VERSION,
            ballots,
            election: hex(&self.frozen.election),
            evaluation_key: hex(&self.frozen.evaluation_key),
            key: hex(self.key.as_bytes()),
            index: hex(blake3::hash(&index).as_bytes()),
            commitment: hex(commitment),
        };
        Ok((toml::to_string(&written).expect("numbers and strings"), index))
    }

    /// Copies the evaluation key, which must be the one that was frozen.
    fn copy_key(&self, from: &Path) -> Result<(), ProtocolError> {
        let refuse = |problem| Refused::new(from, problem);
        let limit = self.file().engine().max_bytes(Kind::EvaluationKey);
        let bytes = read_bounded(from, limit).map_err(refuse)?;
        if *blake3::hash(&bytes).as_bytes() != self.frozen.evaluation_key {
            return Err(refuse(Problem::Damaged).into());
        }
        write_or_find(&self.path.join(KEY), Readers::Everyone, &bytes, Problem::OtherJob)
    }

    /// Writes down the rest, `job.toml` last: a job is whole or none.
    fn write(&self, text: &str, index: &[u8]) -> Result<(), ProtocolError> {
        let election = self.file().canonical();
        for (name, bytes) in
            [("election.toml", election.as_bytes()), (INDEX, index), (JOB, text.as_bytes())]
        {
            write_or_find(&self.path.join(name), Readers::Everyone, bytes, Problem::OtherJob)?;
        }
        Ok(())
    }

    /// Opens a job that was frozen. Reads neither the seed nor the key before they are needed.
    pub fn open(path: &Path) -> Result<Self, ProtocolError> {
        Self::open_in(&(Arc::new(LocalFiles) as Arc<dyn Storage>), path)
    }

    /// Where the ballots of a job are, to choose the storage by.
    pub fn ballots_of(path: &Path) -> Result<String, ProtocolError> {
        Ok(Written::read(path)?.ballots)
    }

    /// [`Self::open`] with ballots that are kept somewhere else.
    pub fn open_in(storage: &Arc<dyn Storage>, path: &Path) -> Result<Self, ProtocolError> {
        let written = Written::read(path)?;
        let damaged = |name: &str| Refused::new(&path.join(name), Problem::Damaged);
        let digest = |text: &str| unhex::<32>(text).ok_or_else(|| damaged(JOB));
        let file = read_election(&path.join("election.toml"))?;
        if file.digest() != digest(&written.election)? {
            return Err(damaged("election.toml").into());
        }
        let index_path = path.join(INDEX);
        let index = read_bounded(&index_path, MAX_INDEX)
            .map_err(|problem| Refused::new(&index_path, problem))?;
        if *blake3::hash(&index).as_bytes() != digest(&written.index)? {
            return Err(damaged(INDEX).into());
        }
        let folder = found_from(path, &written.ballots);
        let ballots = BallotFolder::from_index(&file, storage, &folder, &index)
            .ok_or_else(|| damaged(INDEX))?;
        let frozen = Frozen {
            election: file.digest(),
            evaluation_key: digest(&written.evaluation_key)?,
            ballots: ballots.digests(),
        };
        let (key, commitment) = (digest(&written.key)?, digest(&written.commitment)?);
        Ok(Self::of(path, folder, frozen, ballots, KeyId::from_bytes(key), &commitment))
    }

    /// The election.
    pub fn file(&self) -> &PlannedElection {
        &self.ballots.file
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Everything that its releases follow from, besides the seed.
    pub fn frozen(&self) -> &Frozen {
        &self.frozen
    }

    /// What is published with its results.
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// Its ballots.
    pub fn ballots(&self) -> &BallotFolder {
        &self.ballots
    }

    /// Teachers without a ballot.
    pub fn absent(&self) -> Vec<Name> {
        self.ballots.teachers(false)
    }

    /// How many samples have how many voters.
    pub fn voters(&self) -> VoterCounts {
        self.transcript.voter_counts()
    }

    /// The batches that nobody has computed yet, in order.
    pub fn missing(&self) -> Vec<usize> {
        (0..self.file().batches()).filter(|&batch| !self.has(batch)).collect()
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
        fs::rename(&path, &aside).map_err(|error| ProtocolError::cannot_write(&path, error))
    }

    fn read(&self, batch: usize) -> Result<Vec<u8>, Refused> {
        let path = self.part(batch);
        let limit = self.file().engine().max_bytes(Kind::Release);
        let bytes = read_bounded(&path, limit).map_err(|problem| Refused::new(&path, problem))?;
        self.check_release(batch, &bytes)?;
        Ok(bytes)
    }

    fn check_release(&self, batch: usize, release: &[u8]) -> Result<(), Refused> {
        let checked = self.file().engine().check_release(release, batch, self.key);
        checked.map_err(|source| Refused::new(&self.part(batch), Problem::Batch { batch, source }))
    }

    /// Computes one batch: the same bytes, whoever does it. Writes nothing.
    pub fn run_batch(&self, batch: usize) -> Result<Vec<u8>, ProtocolError> {
        self.check(batch)?;
        self.once()?.release(&self.transcript, Place { round: 0, batch })
    }

    /// What some teachers' ballots add to a batch, where the engine can add up shards. Shards are
    /// merged in any order of neighbours, and then released: the same bytes as [`Self::run_batch`].
    pub fn run_shard(&self, batch: usize, teachers: Range<u32>) -> Result<Vec<u8>, ProtocolError> {
        self.check(batch)?;
        let (releases, ballots) = (self.once()?, self.ballots.batch_of(batch, teachers.clone()));
        Ok(releases.aggregating.shard(batch, &ballots, &releases.draws(), teachers)?)
    }

    /// Several shards of neighbours, in order, as one.
    pub fn merge_shards(&self, batch: usize, shards: &[&[u8]]) -> Result<Vec<u8>, ProtocolError> {
        self.check(batch)?;
        Ok(self.once()?.aggregating.merge_shards(batch, shards)?)
    }

    /// A batch from the shard of all teachers. Opens no ballot.
    pub fn release_shards(&self, batch: usize, whole: &[u8]) -> Result<Vec<u8>, ProtocolError> {
        self.check(batch)?;
        let (releases, ballots) = (self.once()?, self.ballots.batch(batch));
        Ok(releases.aggregating.release_shards(batch, &ballots, &releases.draws(), whole)?)
    }

    /// Adds a batch that somebody computed. Adding the same again is fine; other bytes for a batch
    /// that is there are refused.
    pub fn put(&self, batch: usize, release: &[u8]) -> Result<(), ProtocolError> {
        self.check(batch)?;
        self.check_release(batch, release)?;
        let other = Problem::OtherRelease { batch };
        write_or_find(&self.part(batch), Readers::Everyone, release, other)
    }

    /// Writes the results, once all batches are there: each is checked again. Never over another
    /// file, unless it has the very same bytes.
    pub fn finish(&self, out: &Path) -> Result<(), ProtocolError> {
        let (missing, batches) = (self.missing(), self.file().batches());
        if !missing.is_empty() {
            return Err(ProtocolError::Unfinished { missing, batches });
        }
        check_folder_of(out)?;
        if same_folder(folder_of(out), &self.folder) {
            return Err(Refused::new(out, Problem::AmongBallots).into());
        }
        let releases = (0..batches).map(|batch| Ok(self.read(batch)?));
        results::write(out, Existing::Compared, self.file(), &self.transcript, releases)
    }

    fn part(&self, batch: usize) -> PathBuf {
        self.path.join("parts").join(format!("{batch}.release"))
    }

    pub(super) fn check(&self, batch: usize) -> Result<(), ProtocolError> {
        let batches = self.file().batches();
        if batch < batches { Ok(()) } else { Err(ProtocolError::NoBatch { batch, batches }) }
    }

    /// Key and seed, read once.
    fn once(&self) -> Result<Arc<Releases>, ProtocolError> {
        let mut known = self.releases.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(releases) = &*known {
            return Ok(Arc::clone(releases));
        }
        let made = Arc::new(self.releases()?);
        *known = Some(Arc::clone(&made));
        Ok(made)
    }

    /// Reads key and seed, for as long as the caller needs them.
    pub fn releases(&self) -> Result<Releases, ProtocolError> {
        let path = self.path.join(KEY);
        let (key, aggregating) = read_key(self.file(), &path)?;
        if key != self.frozen.evaluation_key {
            return Err(Refused::new(&path, Problem::Damaged).into());
        }
        let part = freeze::stored_part(&self.frozen, &self.path.join("seed"))?;
        let (frozen, ballots) = (self.frozen.clone(), self.ballots.clone());
        Ok(Checked { frozen, ballots, aggregating }.with(part))
    }
}

/// The folder of a job and that of its parts.
fn make_folder(job: &Path) -> Result<(), ProtocolError> {
    let parts = job.join("parts");
    private::make_folder(&parts).map_err(|error| ProtocolError::cannot_write(&parts, error))
}

/// The address of the ballots, relative to the job's folder if they are in it.
fn within(job: &Path, address: &str) -> String {
    let own = job.canonicalize().ok();
    let rest =
        own.and_then(|own| Some(Path::new(address).strip_prefix(own).ok()?.to_str()?.into()));
    rest.unwrap_or_else(|| address.to_owned())
}

/// Where the ballots are, as seen from here.
fn found_from(job: &Path, address: &str) -> PathBuf {
    if address.contains("://") { address.into() } else { job.join(address) }
}
