//! A rehearsal: do the keys work, before anyone votes?
//!
//! The server makes ballots of its own under the public key, aggregates them under the evaluation
//! key, and hands the release to the student. The student's labels must be those of the operator in
//! the clear, which the server computes from its own votes and the same draws. A key that is
//! damaged or forged, and would cost every label and the budget with them, is found here. Nobody
//! learns anything: all votes are the server's, and made up.

use std::sync::Arc;

use rand::CryptoRng;
use shield::backend::{BallotBoxError, Presence};
use shield::framing::{DecodeError, KeyId};
use shield::votes::Vote;
use shield::{Class, Draws, Label, Seed, Urn};
use thiserror::Error;

use crate::election_file::ElectionFile;
use crate::engine::{BallotBytes, EngineError, Mechanism};

/// Teachers whose ballots are made up, where the mechanism does not need more.
const TEACHERS: u32 = 3;

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

/// What the student is to read out of a release of made-up ballots.
#[derive(Clone, Debug)]
pub struct Rehearsal {
    /// What the student gets: the release of the first batch.
    pub release: Vec<u8>,
    expected: Expected,
    key: KeyId,
}

/// What labels there should be.
#[derive(Clone, Debug)]
enum Expected {
    /// Exactly these.
    Exactly(Vec<Label>),
    /// Some label for each of so many samples: nobody knows the noise.
    Some(usize),
}

impl Rehearsal {
    /// Makes ballots and aggregates them.
    pub fn new(
        file: &ElectionFile,
        public_key: &[u8],
        evaluation_key: &[u8],
        rng: &mut dyn CryptoRng,
    ) -> Result<Self, RehearsalError> {
        let (election, engine) = (file.election(), file.engine());
        let voting = Arc::clone(&engine).voting(public_key)?;
        let aggregating = Arc::clone(&engine).aggregating(evaluation_key)?;
        let key = voting.key();
        if key != aggregating.key() {
            return Err(RehearsalError::Keys);
        }
        let (samples, classes) = (engine.batch(0).len(), election.classes().count());
        let teachers = match file.choice().mechanism() {
            Mechanism::Shield => election.teachers().min(TEACHERS),
            // As many as the noise needs.
            Mechanism::NoisyArgmax(_) => election.teachers(),
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
            .map(|teacher| voting.encrypt(0, &votes(teacher), rng))
            .collect::<Result<_, _>>()?;
        let ballots = MadeUp { ballots, samples };
        let mut seed = [0; 32];
        rng.fill_bytes(&mut seed);
        let seed = Seed::from_bytes(seed);
        let release = aggregating.aggregate(0, &ballots, &seed)?;
        let expected = match file.choice().mechanism() {
            Mechanism::NoisyArgmax(_) => Expected::Some(samples),
            Mechanism::Shield => {
                let setting = election.setting();
                let urn = Urn::of((0..teachers).collect(), election.classes(), setting.offset);
                let label = |sample: usize| {
                    let draws = Draws::seeded(setting, &urn, &seed, sample as u64);
                    shield::operator::elect(&draws, |teacher| class(teacher, sample))
                };
                Expected::Exactly((0..samples).map(label).collect())
            }
        };
        Ok(Self { release, expected, key })
    }

    /// The keys it was made with.
    pub fn key(&self) -> KeyId {
        self.key
    }

    /// Whether the student's labels are right; says what is wrong otherwise.
    pub fn check(&self, labels: &[Label]) -> Result<usize, String> {
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
             evaluation key does that); make new ones with `shield keygen`"
        ))
    }
}

/// Student: the labels of a rehearsal.
pub fn labels(
    file: &ElectionFile,
    secret_key: &std::path::Path,
    release: &[u8],
) -> Result<Vec<Label>, crate::ProtocolError> {
    let revealing = crate::reveal::open_secret_key(&file.engine(), secret_key)?;
    revealing.reveal(0, release).map_err(|error| crate::ProtocolError::Rehearsal(error.to_string()))
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
