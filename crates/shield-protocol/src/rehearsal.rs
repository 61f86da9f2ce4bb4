//! A rehearsal: whether the keys work, before anyone votes.
//!
//! Student and server each compute one and the same release of made-up votes: ballots, draws and
//! flooding follow from a seed that anyone can compute, the hash of the election and of the keys.
//! The student decrypts the release that it computed itself, sees that its labels are those of the
//! operator in the clear, and tells the server a digest of what it computed. The server compares
//! that with its own. So a key that is damaged or forged, and would cost every label and the budget
//! with them, is found before anyone votes, and so is a server that holds other keys than the
//! student's.
//!
//! Nobody learns anything, because nothing in it is secret but the student's key, and that touches
//! nothing that came from somebody else: no release, and no label of one, is ever exchanged. (A
//! student who decrypts what a server sends, and says what it read, reads ballots to it.)

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use shield_core::engine::{BallotBoxError, Presence};
use shield_core::framing::{DecodeError, KeyId, Kind};
use shield_core::votes::Vote;
use shield_core::{Class, Draws, Label, Seed, Urn};
use thiserror::Error;

use crate::election_file::PlannedElection;
use crate::engine::{BallotBytes, EngineError, EngineName};
use crate::error::{ProtocolError, Refused};
use crate::files::read_bounded;
use crate::hex::hex;
use crate::keys::KeyFiles;

/// Teachers whose ballots are made up, where the mechanism does not need more.
const TEACHERS: u32 = 3;

const SEED: &str = "shield 2026 seed of a rehearsal v1";
const BALLOTS: &str = "shield 2026 ballots of a rehearsal v1";
const DIGEST: &str = "shield 2026 digest of a rehearsal v1";

/// Why there was no rehearsal.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RehearsalError {
    /// A key is not of this election.
    #[error(transparent)]
    Key(#[from] DecodeError),
    /// The keys are of two sets.
    #[error(
        "public key and evaluation key are of different sets; give those of one `shield keygen`"
    )]
    Keys,
    /// The engine gave up.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// What the student tells the server: it has rehearsed, and computed this.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Rehearsed {
    /// The rehearsal's digest.
    pub digest: String,
}

/// A release of made-up ballots, and what it decrypts to.
#[derive(Clone, Debug)]
pub struct Rehearsal {
    release: Vec<u8>,
    expected: Expected,
    key: KeyId,
    digest: String,
}

/// What labels there should be.
#[derive(Clone, Debug)]
enum Expected {
    /// Exactly these.
    Exactly(Vec<Label>),
    /// Some label for each of so many samples: the noise is not computed in the clear.
    Some(usize),
}

impl Rehearsal {
    /// Makes ballots and aggregates them: the same for all who have these keys.
    pub fn new(
        file: &PlannedElection,
        public_key: &[u8],
        evaluation_key: &[u8],
    ) -> Result<Self, RehearsalError> {
        let (election, engine) = (file.election(), file.engine());
        let voting = Arc::clone(engine).voting(public_key)?;
        let aggregating = Arc::clone(engine).aggregating(evaluation_key)?;
        let key = voting.key();
        if key != aggregating.key() {
            return Err(RehearsalError::Keys);
        }
        let mut hasher = blake3::Hasher::new_derive_key(SEED);
        for part in [file.digest(), hash(public_key), hash(evaluation_key)] {
            hasher.update(&part);
        }
        let seed = Seed::from_bytes(*hasher.finalize().as_bytes());
        let (samples, classes) = (engine.batch(0).len(), election.classes().count());
        let teachers = match file.spec().argmax() {
            None => election.teachers().min(TEACHERS),
            // As many as the noise needs.
            Some(_) => election.teachers(),
        };
        let class = |teacher: u32, sample: usize| {
            let class =
                (sample + usize::from((sample + teacher as usize).is_multiple_of(5))) % classes;
            Class(u16::try_from(class).unwrap_or_default())
        };
        let votes = |teacher| -> Vec<Vote> {
            (0..samples).map(|sample| Some(class(teacher, sample))).collect()
        };
        let ballots: Vec<Vec<u8>> = (0..teachers)
            .map(|teacher| {
                let mut rng = seed.stream(BALLOTS, teacher.into());
                voting.encrypt(0, teacher, &votes(teacher), &mut rng)
            })
            .collect::<Result<_, _>>()?;
        let release = aggregating.aggregate(0, &MadeUp { ballots, samples }, &seed)?;
        let expected = if file.spec().argmax().is_some() {
            Expected::Some(samples)
        } else {
            let setting = election.setting();
            let urn = Urn::of((0..teachers).collect(), election.classes(), setting.offset);
            let label = |sample: usize| {
                let draws = Draws::seeded(setting, &urn, &seed, sample as u64);
                shield_core::operator::elect(&draws, |teacher| class(teacher, sample))
            };
            Expected::Exactly((0..samples).map(label).collect())
        };
        let mut hasher = blake3::Hasher::new_derive_key(DIGEST);
        hasher.update(seed.as_bytes());
        // What goes through floating point may have other bytes on another processor.
        if file.spec().engine_name() != EngineName::Tfhe {
            hasher.update(&release);
        }
        let digest = hex(hasher.finalize().as_bytes());
        Ok(Self { release, expected, key, digest })
    }

    /// The keys it was made with.
    pub fn key(&self) -> KeyId {
        self.key
    }

    /// What was computed, as both sides know it.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Student: decrypts it, and gives how many labels there are if all are right.
    pub fn hold(&self, file: &PlannedElection, secret_key: &Path) -> Result<usize, ProtocolError> {
        let revealing = crate::reveal::open_secret_key(file, secret_key)?;
        let failed = |reason: String| ProtocolError::Rehearsal(reason);
        let labels = revealing.reveal(0, &self.release).map_err(|e| failed(e.to_string()))?;
        self.check(&labels).map_err(failed)
    }

    /// Whether the labels are right; says what is wrong otherwise.
    fn check(&self, labels: &[Label]) -> Result<usize, String> {
        let (wrong, of) = match &self.expected {
            Expected::Exactly(expected) => {
                let pairs = expected.iter().zip(labels);
                let right = pairs.filter(|(expected, label)| expected == label).count();
                (expected.len().max(labels.len()) - right, expected.len())
            }
            Expected::Some(samples) => {
                let right = labels.iter().filter(|label| label.is_some()).count();
                (samples.max(&labels.len()) - right, *samples)
            }
        };
        if wrong == 0 {
            return Ok(of);
        }
        Err(format!(
            "{wrong} of {of} labels of the rehearsal are wrong: the keys do not work (a damaged \
             evaluation key does that); make new ones with `shield keygen`. If a server has these \
             already, its operator calls the election off and creates it anew"
        ))
    }
}

/// Student: holds a rehearsal with keys in files.
pub fn rehearse(
    file: &PlannedElection,
    keys: &KeyFiles,
) -> Result<(usize, Rehearsed), ProtocolError> {
    let read = |path: &Path, kind| {
        let read = read_bounded(path, file.engine().max_bytes(kind));
        read.map_err(|problem| Refused { path: path.to_owned(), problem })
    };
    let public = read(&keys.public, Kind::PublicKey)?;
    let evaluation = read(&keys.evaluation, Kind::EvaluationKey)?;
    let rehearsal = Rehearsal::new(file, &public, &evaluation).map_err(|error| match error {
        RehearsalError::Engine(error) => ProtocolError::Engine(error),
        keys => ProtocolError::Unrehearsed(keys.to_string()),
    })?;
    let labels = rehearsal.hold(file, &keys.secret)?;
    Ok((labels, Rehearsed { digest: rehearsal.digest }))
}

fn hash(bytes: &[u8]) -> [u8; 32] {
    *blake3::hash(bytes).as_bytes()
}

/// Ballots in memory.
struct MadeUp {
    ballots: Vec<Vec<u8>>,
    samples: usize,
}

impl BallotBytes for MadeUp {
    fn presence(&self, teacher: u32) -> Result<Presence, BallotBoxError> {
        let there = (teacher as usize) < self.ballots.len();
        Ok(Presence::new((0..self.samples).map(|_| there)))
    }

    fn bytes(&self, teacher: u32) -> Result<Vec<u8>, BallotBoxError> {
        let ballot = self.ballots.get(teacher as usize).cloned();
        ballot.ok_or_else(|| BallotBoxError { teacher, source: "there is none".into() })
    }
}
