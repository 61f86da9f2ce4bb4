//! A folder of ballots: checked once as a whole, then opened batch by batch.
//!
//! What stays in memory of a ballot is 48 bytes a batch, and a bit a sample if the teacher
//! abstained somewhere; as much again while ballots are compared with each other. The ciphertexts
//! stay on the disk until the engine asks for one.

use std::borrow::Cow;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use shield::backend::{Backend, BackendBytes, BallotBox, BallotBoxError, Presence};
use shield_bfv::{BfvBackend, BfvBallot, KeyId};

use super::freeze::RECORD;
use super::{FileProtocolError, Problem, Refused, parts};
use crate::bundle::{self, BundleReader, Content};
use crate::election_file::ElectionFile;
use crate::turnout::Turnout;

/// One batch in a ballot file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    /// Where its bytes begin.
    place: u64,
    /// How many there are.
    length: usize,
    /// Their digest.
    hash: [u8; 32],
}

/// On which samples a teacher voted.
enum Attendance {
    Everywhere,
    /// One presence a batch.
    Partly(Vec<Presence>),
}

struct BallotFile {
    path: PathBuf,
    parts: Vec<Part>,
    attendance: Attendance,
}

impl BallotFile {
    /// A digest of all its batches: the rest of the file follows from the election and the teacher.
    fn digest(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("shield 2026 ballot file v1");
        for part in &self.parts {
            hasher.update(&part.hash);
        }
        *hasher.finalize().as_bytes()
    }

    /// Every batch with the digest of its bytes.
    fn hashes(&self) -> impl Iterator<Item = (usize, [u8; 32])> + '_ {
        self.parts.iter().map(|part| part.hash).enumerate()
    }

    /// The bytes of one batch, if they are still those that were checked.
    fn read(&self, batch: usize) -> Result<Vec<u8>, Problem> {
        let part = self.parts.get(batch).ok_or(Problem::Changed { batch })?;
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(part.place))?;
        let mut bytes = vec![0; part.length];
        match file.read_exact(&mut bytes) {
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => Err(error.into()),
            Ok(()) if *blake3::hash(&bytes).as_bytes() == part.hash => Ok(bytes),
            _ => Err(Problem::Changed { batch }),
        }
    }
}

/// Whose bytes are whose, batch by batch.
///
/// Ballots are randomised, so that two teachers never have the same bytes, not even of one batch:
/// whoever has another's handed in a copy, and the vote behind it would count twice.
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
pub(super) struct BallotFolder<'a> {
    file: &'a ElectionFile,
    backend: &'a BfvBackend,
    key: KeyId,
    ballots: BTreeMap<u32, BallotFile>,
}

impl<'a> BallotFolder<'a> {
    /// Checks every file of a folder but hidden ones, and says all that is wrong at once.
    pub(super) fn open(
        file: &'a ElectionFile,
        backend: &'a BfvBackend,
        key: KeyId,
        folder: &Path,
        checked: &(dyn Fn(usize) + Sync),
    ) -> Result<Self, FileProtocolError> {
        let paths = list(folder)
            .map_err(|error| Refused { path: folder.to_owned(), problem: error.into() })?;
        let files = paths.len();
        let read: Vec<Result<(u32, BallotFile), Refused>> = paths
            .into_par_iter()
            .map(|path| {
                let ballot = check(file, backend, key, &path);
                checked(files);
                match ballot {
                    Ok((teacher, parts, attendance)) => {
                        Ok((teacher, BallotFile { path, parts, attendance }))
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
            Ok(Self { file, backend, key, ballots })
        } else {
            Err(FileProtocolError::Ballots(refused))
        }
    }

    /// Whether a teacher has a ballot.
    pub(super) fn has(&self, teacher: u32) -> bool {
        self.ballots.contains_key(&teacher)
    }

    /// How many teachers have one.
    pub(super) fn len(&self) -> usize {
        self.ballots.len()
    }

    /// The digest of every ballot, by the teacher's name.
    pub(super) fn digests(&self) -> BTreeMap<String, [u8; 32]> {
        let name = |teacher: &u32| self.file.teachers()[*teacher as usize].to_string();
        self.ballots.iter().map(|(teacher, ballot)| (name(teacher), ballot.digest())).collect()
    }

    /// How many voters each sample has.
    pub(super) fn turnout(&self) -> Turnout {
        let mut turnout = Turnout::nobody(self.file.election().samples());
        for ballot in self.ballots.values() {
            match &ballot.attendance {
                Attendance::Everywhere => turnout.add_everywhere(),
                Attendance::Partly(batches) => {
                    for (batch, presence) in batches.iter().enumerate() {
                        turnout.add(self.backend.batch(batch), presence);
                    }
                }
            }
        }
        turnout
    }

    /// The ballots of one batch.
    pub(super) fn batch(&self, batch: usize) -> BatchBox<'_> {
        BatchBox { folder: self, batch }
    }
}

/// The files of a folder, in a fixed order, but for hidden ones and the server's own record.
fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if !name.as_encoded_bytes().starts_with(b".") && name != RECORD {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}

/// Reads one ballot file from end to end: nothing of it can fail later.
fn check(
    file: &ElectionFile,
    backend: &BfvBackend,
    key: KeyId,
    path: &Path,
) -> Result<(u32, Vec<Part>, Attendance), Problem> {
    let from = File::open(path)?;
    if from.metadata()?.is_dir() {
        return Err(Problem::Folder);
    }
    let batches = backend.batches();
    let mut reader = BundleReader::ballot(BufReader::new(from), &file.digest(), parts(batches))?;
    let Content::Ballot { teacher } = reader.content() else { return Err(Problem::Damaged) };
    let teachers = file.teachers().len();
    if teacher as usize >= teachers {
        return Err(Problem::NoSuchTeacher { number: teacher, teachers });
    }
    let mut found = Vec::with_capacity(batches);
    let mut presences = Vec::with_capacity(batches);
    let mut everywhere = true;
    let mut place = bundle::START;
    while let Some(bytes) = reader.part(backend.plan().ballot_bytes())? {
        let batch = found.len();
        let ballot = backend
            .decode_ballot(&bytes, batch, key)
            .map_err(|source| Problem::Batch { batch, source })?;
        let presence = shield::backend::Ballot::presence(&ballot);
        everywhere &= (0..presence.len()).all(|sample| presence.contains(sample));
        presences.push(presence.clone());
        place += bundle::LENGTH;
        found.push(Part { place, length: bytes.len(), hash: *blake3::hash(&bytes).as_bytes() });
        place += bytes.len() as u64;
    }
    let attendance =
        if everywhere { Attendance::Everywhere } else { Attendance::Partly(presences) };
    Ok((teacher, found, attendance))
}

/// The ballots of one batch, in their files.
pub(super) struct BatchBox<'a> {
    folder: &'a BallotFolder<'a>,
    batch: usize,
}

impl BallotBox<BfvBallot> for BatchBox<'_> {
    fn presence(&self, teacher: u32) -> Result<Presence, BallotBoxError> {
        let samples = self.folder.backend.batch(self.batch).len();
        Ok(match self.folder.ballots.get(&teacher).map(|ballot| &ballot.attendance) {
            None => Presence::none(samples),
            Some(Attendance::Everywhere) => Presence::new((0..samples).map(|_| true)),
            Some(Attendance::Partly(batches)) => {
                batches.get(self.batch).cloned().unwrap_or_else(|| Presence::none(samples))
            }
        })
    }

    fn open(&self, teacher: u32) -> Result<Cow<'_, BfvBallot>, BallotBoxError> {
        let (folder, batch) = (self.folder, self.batch);
        let missing = || BallotBoxError { teacher, source: "there is none in the folder".into() };
        let ballot = folder.ballots.get(&teacher).ok_or_else(missing)?;
        let refuse = |problem| BallotBoxError {
            teacher,
            source: Refused { path: ballot.path.clone(), problem }.into(),
        };
        let bytes = ballot.read(batch).map_err(refuse)?;
        let decoded = folder.backend.decode_ballot(&bytes, batch, folder.key);
        decoded.map(Cow::Owned).map_err(|source| refuse(Problem::Batch { batch, source }))
    }
}
