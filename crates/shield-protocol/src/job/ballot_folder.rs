//! A folder of ballots: checked once as a whole, then opened batch by batch.
//!
//! A ballot is a file with all of its batches, as its teacher wrote it, or a folder with a file for
//! each, as a server received them.
//!
//! What stays in memory of a ballot is 48 bytes a batch, and a bit a sample if the teacher
//! abstained somewhere; as much again while ballots are compared with each other. The ciphertexts
//! stay on the disk until the engine asks for one.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;
use shield_core::Watch;
use shield_core::engine::{BallotBoxError, Presence};
use shield_core::framing::Kind;

use super::freeze::{RECORD, is_audit_record};
use super::storage::{ByteRange, LocalFiles, Storage};
use crate::bundle::{self, BundleReader, Content};
use crate::election_file::PlannedElection;
use crate::engine::{Aggregating, BallotBytes, votes_checksum};
use crate::error::{Problem, ProtocolError, Refused};
use crate::files::parts;
use crate::hex::hex;
use crate::name::Name;
use crate::transcript::ballot_digest;
use crate::turnout::{Turnout, VoterCounts};

/// One batch in a ballot file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Where its bytes begin.
    pub(super) place: u64,
    /// How many there are.
    pub(super) length: usize,
    /// Their digest.
    pub(super) hash: [u8; 32],
    /// The checksum of the votes in them, without the nonce: two teachers never share it.
    pub(super) votes: [u8; 32],
}

/// On which samples a teacher voted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Attendance {
    Everywhere,
    /// One presence a batch.
    Partly(Vec<Presence>),
}

impl Attendance {
    /// From one presence a batch.
    fn of(presences: Vec<Presence>) -> Self {
        let whole = |presence: &Presence| (0..presence.len()).all(|s| presence.contains(s));
        if presences.iter().all(whole) { Self::Everywhere } else { Self::Partly(presences) }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BallotFile {
    /// The file, or the folder of the batches.
    pub(super) path: PathBuf,
    /// Whether each batch is a file of its own, named after its number and its digest.
    pub(super) is_split: bool,
    pub(super) parts: Vec<Part>,
    pub(super) attendance: Attendance,
}

impl BallotFile {
    /// A digest of all its batches: the rest of the file follows from the election and the teacher.
    fn digest(&self) -> [u8; 32] {
        ballot_digest(self.parts.iter().map(|part| &part.hash))
    }

    /// Every batch with the checksum of its votes.
    fn hashes(&self) -> impl Iterator<Item = (usize, [u8; 32])> + '_ {
        self.parts.iter().map(|part| part.votes).enumerate()
    }

    /// Where one batch is.
    fn range(&self, batch: usize) -> Option<ByteRange> {
        let &Part { place, length, hash, .. } = self.parts.get(batch)?;
        Some(if self.is_split {
            let path = self.path.join(format!("{batch}-{}", hex(&hash)));
            ByteRange { path, start: 0, length }
        } else {
            ByteRange { path: self.path.clone(), start: place, length }
        })
    }

    /// The bytes of one batch, if they are still those that were checked.
    fn checked(&self, batch: usize, bytes: Vec<u8>) -> Result<Vec<u8>, Problem> {
        match self.parts.get(batch) {
            Some(part) if *blake3::hash(&bytes).as_bytes() == part.hash => Ok(bytes),
            _ => Err(Problem::Changed { batch }),
        }
    }
}

/// One batch of a ballot that a server has checked and kept, as a file of its own.
#[derive(Clone, Debug)]
pub struct KeptBatch {
    /// How many bytes it has.
    pub length: usize,
    /// Their BLAKE3 hash.
    pub hash: [u8; 32],
    /// What [`votes_checksum`] says of them.
    pub votes: [u8; 32],
    /// On which of its samples the teacher voted.
    pub presence: Presence,
}

impl BallotFile {
    /// A ballot in a folder of its own, batch by batch.
    fn kept(path: PathBuf, batches: Vec<KeptBatch>) -> Self {
        let part = |kept: &KeptBatch| Part {
            place: 0,
            length: kept.length,
            hash: kept.hash,
            votes: kept.votes,
        };
        let parts = batches.iter().map(part).collect();
        let presences = batches.into_iter().map(|kept| kept.presence).collect();
        Self { path, is_split: true, parts, attendance: Attendance::of(presences) }
    }
}

/// Whose bytes are whose, batch by batch.
///
/// Ballots are randomised, so that two teachers never have the same bytes, not even of one batch:
/// whoever has another's handed in a copy, and the vote behind it would count twice. The nonce
/// does not count: anybody can write another one.
#[derive(Default)]
struct Owners(HashMap<(usize, [u8; 32]), u32>);

impl Owners {
    fn add(&mut self, teacher: u32, ballot: &BallotFile) {
        self.0.extend(ballot.hashes().map(|part| (part, teacher)));
    }

    /// Another teacher who has the same bytes in some batch.
    fn copied_from(&self, teacher: u32, ballot: &BallotFile) -> Option<u32> {
        ballot.hashes().find_map(|part| self.0.get(&part).copied().filter(|&of| of != teacher))
    }
}

/// Ballots that are all for this election, these keys, and one a teacher.
#[derive(Clone)]
pub struct BallotFolder {
    pub(super) file: PlannedElection,
    pub(super) storage: Arc<dyn Storage>,
    pub(super) ballots: Arc<BTreeMap<u32, BallotFile>>,
}

impl BallotFolder {
    /// Checks every file of a folder but hidden ones, and says all that is wrong at once.
    pub(super) fn open(
        file: &PlannedElection,
        aggregating: &dyn Aggregating,
        storage: &Arc<dyn Storage>,
        folder: &Path,
        watch: &Watch,
    ) -> Result<Self, ProtocolError> {
        let paths = list(&**storage, folder)
            .map_err(|error| Refused { path: folder.to_owned(), problem: error.into() })?;
        watch.begin("checking ballots", paths.len() as u64);
        let read: Vec<Result<(u32, BallotFile), Refused>> = paths
            .into_par_iter()
            .map(|path| {
                let ballot = check(file, aggregating, &**storage, &path);
                watch.add(1);
                match ballot {
                    Ok((teacher, parts, attendance)) => {
                        Ok((teacher, BallotFile { path, is_split: false, parts, attendance }))
                    }
                    Err(problem) => Err(Refused { path, problem }),
                }
            })
            .collect();
        let mut ballots: BTreeMap<u32, BallotFile> = BTreeMap::new();
        let mut owners = Owners::default();
        let mut refused = Vec::new();
        let name = |teacher: u32| file.teachers()[teacher as usize].clone();
        for ballot in read {
            let (teacher, ballot) = match ballot {
                Ok(sound) => sound,
                Err(bad) => {
                    refused.push(bad);
                    continue;
                }
            };
            let original = owners.copied_from(teacher, &ballot);
            if let Some((&of, first)) = original.and_then(|of| ballots.get_key_value(&of)) {
                let other = first.path.clone();
                let problem = Problem::Copied { teacher: name(teacher), of: name(of), other };
                refused.push(Refused { path: ballot.path, problem });
                continue;
            }
            match ballots.entry(teacher) {
                Entry::Vacant(place) => {
                    owners.add(teacher, &ballot);
                    place.insert(ballot);
                }
                // The same bytes under two names are one ballot.
                Entry::Occupied(first) if first.get().parts == ballot.parts => {}
                Entry::Occupied(first) => {
                    let other = first.get().path.clone();
                    let problem = Problem::SecondBallot { teacher: name(teacher), other };
                    refused.push(Refused { path: ballot.path, problem });
                }
            }
        }
        if refused.is_empty() {
            let storage = Arc::clone(storage);
            Ok(Self { file: file.clone(), storage, ballots: Arc::new(ballots) })
        } else {
            Err(ProtocolError::Ballots(refused))
        }
    }

    /// Checks one more ballot and adds it; gives the teacher's number.
    pub(super) fn take_in(
        &mut self,
        aggregating: &dyn Aggregating,
        path: &Path,
    ) -> Result<u32, Refused> {
        let refuse = |problem| Refused::new(path, problem);
        let (teacher, parts, attendance) =
            check(&self.file, aggregating, &*self.storage, path).map_err(refuse)?;
        let ballot = BallotFile { path: path.to_owned(), is_split: false, parts, attendance };
        let mut owners = Owners::default();
        for (&of, known) in &*self.ballots {
            owners.add(of, known);
        }
        let name = |teacher: u32| self.file.teachers()[teacher as usize].clone();
        if let Some(of) = owners.copied_from(teacher, &ballot) {
            let other = self.path(of).unwrap_or(path).to_owned();
            return Err(refuse(Problem::Copied { teacher: name(teacher), of: name(of), other }));
        }
        if let Some(other) = self.path(teacher).map(Path::to_owned) {
            return Err(refuse(Problem::SecondBallot { teacher: name(teacher), other }));
        }
        Arc::make_mut(&mut self.ballots).insert(teacher, ballot);
        Ok(teacher)
    }

    /// No ballots yet, for a server that adds what it has checked and kept on this machine.
    pub fn empty(file: &PlannedElection) -> Self {
        Self { file: file.clone(), storage: Arc::new(LocalFiles), ballots: Arc::default() }
    }

    /// Adds a teacher's ballot: a folder under `ballots` that is named after its number, with a
    /// file `<batch>-<hash>` for each batch. Nothing is added if it is none of this election.
    pub fn add(&mut self, ballots: &Path, teacher: u32, batches: Vec<KeptBatch>) -> Option<()> {
        let is_ours = (teacher as usize) < self.file.teachers().len();
        if !is_ours || batches.len() != self.file.batches() {
            return None;
        }
        let ballot = BallotFile::kept(ballots.join(teacher.to_string()), batches);
        Arc::make_mut(&mut self.ballots).insert(teacher, ballot);
        Some(())
    }

    /// How many teachers have a ballot.
    pub fn voted(&self) -> usize {
        self.ballots.len()
    }

    /// Where a teacher's ballot is.
    pub(super) fn path(&self, teacher: u32) -> Option<&Path> {
        self.ballots.get(&teacher).map(|ballot| ballot.path.as_path())
    }

    /// The teachers who have a ballot, or those who have none.
    pub(super) fn teachers(&self, have: bool) -> Vec<Name> {
        let numbered = (0..).zip(self.file.teachers());
        let wanted = numbered.filter(|(number, _)| self.ballots.contains_key(number) == have);
        wanted.map(|(_, name)| name.clone()).collect()
    }

    /// The digest of every ballot, by the teacher's name.
    pub(super) fn digests(&self) -> BTreeMap<String, [u8; 32]> {
        let name = |teacher: &u32| self.file.teachers()[*teacher as usize].to_string();
        self.ballots.iter().map(|(teacher, ballot)| (name(teacher), ballot.digest())).collect()
    }

    /// How many voters each sample has, some teachers left out.
    pub fn turnout_without(&self, excluded: &[u32]) -> Turnout {
        let mut turnout = Turnout::nobody(self.file.election().samples());
        let counted = self.ballots.iter().filter(|(teacher, _)| !excluded.contains(teacher));
        for (_, ballot) in counted {
            match &ballot.attendance {
                Attendance::Everywhere => turnout.add_everywhere(),
                Attendance::Partly(batches) => {
                    for (batch, presence) in batches.iter().enumerate() {
                        turnout.add(self.file.engine().batch(batch), presence);
                    }
                }
            }
        }
        turnout
    }

    /// How many samples of a turnout have how many voters, if all of them have a quorum.
    pub(super) fn quorum(
        &self,
        turnout: &Turnout,
        excluded: &[u32],
    ) -> Result<VoterCounts, ProtocolError> {
        let quorum = self.file.quorum();
        turnout.with_quorum(quorum).map_err(|short| ProtocolError::Quorum {
            voted: self.voted().saturating_sub(excluded.len()),
            teachers: self.file.teachers().len(),
            short: short.samples,
            samples: turnout.voters().len(),
            quorum,
            first: short.first + 1,
            voters: short.voters,
            missing: self.teachers(false),
        })
    }

    /// The ballots of one batch.
    pub(super) fn batch(&self, batch: usize) -> BatchBox<'_> {
        self.batch_of(batch, 0..u32::MAX)
    }

    /// The ballots of one batch, for somebody who opens those of these teachers only.
    pub(super) fn batch_of(&self, batch: usize, teachers: Range<u32>) -> BatchBox<'_> {
        let at_once = self.storage.read_ahead().max(1);
        let wanted: Vec<u32> = self.ballots.range(teachers).map(|(&teacher, _)| teacher).collect();
        let groups = wanted.chunks(at_once).map(|group| (group[0], group.to_vec())).collect();
        let ahead = Mutex::new(Ahead { groups, ballots: BTreeMap::new() });
        BatchBox { folder: self, batch, ahead: (at_once > 1).then_some(ahead) }
    }
}

/// The files of a folder, in a fixed order, but for hidden ones and the server's own records.
fn list(storage: &dyn Storage, folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = storage.list(folder)?;
    paths.retain(|path| {
        let name = path.file_name().unwrap_or_default();
        !name.as_encoded_bytes().starts_with(b".") && name != RECORD && !is_audit_record(name)
    });
    paths.sort();
    Ok(paths)
}

/// Reads one ballot file from end to end: nothing of it can fail later.
fn check(
    file: &PlannedElection,
    aggregating: &dyn Aggregating,
    storage: &dyn Storage,
    path: &Path,
) -> Result<(u32, Vec<Part>, Attendance), Problem> {
    let from = storage.open(path).map_err(|error| match error.kind() {
        io::ErrorKind::IsADirectory => Problem::Folder,
        _ => error.into(),
    })?;
    let (engine, batches) = (file.engine(), file.batches());
    let mut reader = BundleReader::ballot(from, &file.digest(), parts(batches))?;
    let Content::Ballot { teacher } = reader.content() else { return Err(Problem::Damaged) };
    let teachers = file.teachers().len();
    if teacher as usize >= teachers {
        return Err(Problem::NoSuchTeacher { number: teacher, teachers });
    }
    let mut found = Vec::with_capacity(batches);
    let mut presences = Vec::with_capacity(batches);
    let mut place = bundle::START;
    while let Some(bytes) = reader.part(engine.max_bytes(Kind::Ballot))? {
        let batch = found.len();
        let presence = engine
            .check_ballot(&bytes, batch, aggregating.key())
            .map_err(|source| Problem::Batch { batch, source })?;
        if file.spec().proofs() {
            let proof = aggregating.check_proof(batch, teacher, &bytes);
            proof.map_err(|source| Problem::Proof { batch, source })?;
        }
        presences.push(presence);
        place += bundle::LENGTH;
        let (hash, votes) = (*blake3::hash(&bytes).as_bytes(), votes_checksum(&bytes));
        found.push(Part { place, length: bytes.len(), hash, votes });
        place += bytes.len() as u64;
    }
    Ok((teacher, found, Attendance::of(presences)))
}

/// The ballots of one batch, in their files.
pub(super) struct BatchBox<'a> {
    folder: &'a BallotFolder,
    batch: usize,
    /// What to read at once, where that pays.
    ahead: Option<Mutex<Ahead>>,
}

/// Ballots that are read in groups. The groups are fixed beforehand: whoever asks for ballots in
/// whatever order, no group is read twice.
struct Ahead {
    /// Neighbours that nobody has asked for yet, by the first of them.
    groups: BTreeMap<u32, Vec<u32>>,
    /// Ballots that were read with others and not asked for yet.
    ballots: BTreeMap<u32, Vec<u8>>,
}

impl Ahead {
    /// The group of a teacher, if nobody has asked for it yet.
    fn take_group(&mut self, teacher: u32) -> Option<Vec<u32>> {
        let (&first, group) = self.groups.range(..=teacher).next_back()?;
        if group.contains(&teacher) { self.groups.remove(&first) } else { None }
    }
}

impl BatchBox<'_> {
    /// A ballot's bytes, read with those that are likely to be asked for next.
    fn read(&self, teacher: u32) -> io::Result<Option<Vec<u8>>> {
        let Some(ahead) = &self.ahead else { return Ok(self.fetch(&[teacher])?.pop()) };
        // Held while reading, so that threads that want neighbours wait for them.
        let mut ahead = ahead.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(group) = ahead.take_group(teacher) {
            let fetched = self.fetch(&group)?;
            ahead.ballots.extend(group.into_iter().zip(fetched));
        }
        if let Some(bytes) = ahead.ballots.remove(&teacher) {
            return Ok(Some(bytes));
        }
        drop(ahead);
        // Somebody wants it again.
        Ok(self.fetch(&[teacher])?.pop())
    }

    /// The bytes of some teachers' ballots, which all are in the folder.
    fn fetch(&self, teachers: &[u32]) -> io::Result<Vec<Vec<u8>>> {
        let range = |teacher| self.folder.ballots.get(teacher)?.range(self.batch);
        let wanted: Vec<ByteRange> = teachers.iter().filter_map(range).collect();
        self.folder.storage.ranges(&wanted)
    }
}

impl BallotBytes for BatchBox<'_> {
    fn presence(&self, teacher: u32) -> Result<Presence, BallotBoxError> {
        let samples = self.folder.file.engine().batch(self.batch).len();
        Ok(match self.folder.ballots.get(&teacher).map(|ballot| &ballot.attendance) {
            None => Presence::none(samples),
            Some(Attendance::Everywhere) => Presence::new((0..samples).map(|_| true)),
            Some(Attendance::Partly(batches)) => {
                batches.get(self.batch).cloned().unwrap_or_else(|| Presence::none(samples))
            }
        })
    }

    fn bytes(&self, teacher: u32) -> Result<Vec<u8>, BallotBoxError> {
        let missing = || BallotBoxError { teacher, source: "there is none in the folder".into() };
        let ballot = self.folder.ballots.get(&teacher).ok_or_else(missing)?;
        let refuse = |problem| BallotBoxError {
            teacher,
            source: Refused { path: ballot.path.clone(), problem }.into(),
        };
        let read = self.read(teacher).map_err(|error| refuse(error.into()))?;
        ballot.checked(self.batch, read.unwrap_or_default()).map_err(refuse)
    }

    fn checksum(&self, teacher: u32) -> Result<Option<[u8; 32]>, BallotBoxError> {
        let Some(ballot) = self.folder.ballots.get(&teacher) else { return Ok(None) };
        Ok(ballot.parts.get(self.batch).map(|part| part.votes))
    }
}
