//! What the server publishes with the results: whose ballots were counted, how many voted on every
//! sample, and what was aggregated again.
//!
//! With its receipt a teacher finds its ballot's digest here; the student sees how full the urns
//! were; and [`verify`](crate::job::verify) recomputes everything from it. There are digests and
//! names in it, and nothing secret.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::bundle::BundleError;
use crate::election_file::PlannedElection;
use crate::error::{Problem, ProtocolError, Refused};
use crate::files::{read_bounded, write_or_find};
use crate::hex::{hex, unhex};
use crate::name::Name;
use crate::new_file::Readers;
use crate::turnout::VoterCounts;

/// Where the transcript of some results is published.
pub fn transcript_path(results: &Path) -> PathBuf {
    let mut name = results.as_os_str().to_owned();
    name.push(".transcript.toml");
    name.into()
}

/// Audits of one election, at most: each of them gives the server a bit for every teacher.
///
/// One finds all cheats but with probability 2^-15 for each of their samples, and the next finds
/// those.
pub const MOST_ROUNDS: usize = 3;

/// The digest of one teacher's ballot, from the BLAKE3 hashes of its batches.
pub fn ballot_digest<'a>(batches: impl Iterator<Item = &'a [u8; 32]>) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("shield 2026 ballot file v1");
    for hash in batches {
        hasher.update(hash);
    }
    *hasher.finalize().as_bytes()
}

/// Everything that a release follows from, besides the server's part of the seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frozen {
    /// The election file's digest.
    pub election: [u8; 32],
    /// The BLAKE3 hash of the evaluation key's bytes.
    pub evaluation_key: [u8; 32],
    /// The digest of every ballot that counts, by the teacher's name.
    pub ballots: BTreeMap<String, [u8; 32]>,
}

impl Frozen {
    /// What the seed of the draws is bound to.
    pub fn digest(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("shield 2026 frozen ballots v1");
        hasher.update(&self.election);
        hasher.update(&self.evaluation_key);
        for (teacher, ballot) in &self.ballots {
            hasher.update(&(teacher.len() as u64).to_le_bytes());
            hasher.update(teacher.as_bytes());
            hasher.update(ballot);
        }
        *hasher.finalize().as_bytes()
    }
}

impl Frozen {
    /// What is not as it was written down: the key's hash, and the ballots' digests.
    pub(crate) fn differences(
        &self,
        evaluation_key: &str,
        ballots: &BTreeMap<String, String>,
    ) -> Vec<String> {
        let mut found = Vec::new();
        if evaluation_key != hex(&self.evaluation_key) {
            found.push("the evaluation key is another one".to_owned());
        }
        for (teacher, digest) in &self.ballots {
            match ballots.get(teacher) {
                None => found.push(format!("the ballot of `{teacher}` was not there")),
                Some(known) if *known != hex(digest) => {
                    found.push(format!("the ballot of `{teacher}` was another one"));
                }
                Some(_) => {}
            }
        }
        let gone = ballots.keys().filter(|&teacher| !self.ballots.contains_key(teacher));
        found.extend(gone.map(|teacher| format!("the ballot of `{teacher}` is missing")));
        found
    }
}

/// Samples of one batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct AskedBatch {
    /// The batch.
    pub batch: usize,
    /// Samples of it, counted from 0 within the batch, in increasing order.
    pub samples: Vec<usize>,
}

/// An audit that was answered, and what was aggregated again after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Round {
    /// Samples that had no label.
    pub asked: Vec<AskedBatch>,
    /// Teachers whose ballots are no votes, by what the student answered.
    pub accused: Vec<Name>,
}

/// What is published with the results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transcript {
    /// The election file's digest.
    pub election: String,
    /// The BLAKE3 hash of the evaluation key's bytes.
    pub evaluation_key: String,
    /// The commitment to the server's part of the seed.
    pub commitment: String,
    /// How many voted on every sample: so many samples in a row, with so many voters each.
    pub turnout: Vec<(usize, u32)>,
    /// The digest of every ballot that was counted, by the teacher's name.
    pub ballots: BTreeMap<String, String>,
    /// Audits, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<Round>,
}

impl Transcript {
    /// The transcript of a first release.
    pub fn new(frozen: &Frozen, commitment: &[u8; 32], turnout: &[u32]) -> Self {
        let runs = turnout.chunk_by(|one, next| one == next);
        Self {
            election: hex(&frozen.election),
            evaluation_key: hex(&frozen.evaluation_key),
            commitment: hex(commitment),
            turnout: runs.map(|run| (run.len(), run[0])).collect(),
            ballots: frozen.ballots.iter().map(|(name, hash)| (name.clone(), hex(hash))).collect(),
            rounds: Vec::new(),
        }
    }

    /// As the bytes of a results file.
    pub fn encode(&self) -> Vec<u8> {
        toml::to_string(self).expect("strings, numbers and lists of them").into_bytes()
    }

    /// From the bytes of a results file; none if no transcript of this election has such bytes.
    pub fn decode(bytes: &[u8], file: &PlannedElection) -> Option<Self> {
        let transcript: Self = toml::from_str(std::str::from_utf8(bytes).ok()?).ok()?;
        let sound = transcript.rounds.len() <= MOST_ROUNDS
            && transcript.rounds.iter().all(|round| is_sound(&round.asked, file));
        sound.then_some(transcript)
    }

    /// Writes it beside the results, for everybody: `<results>.transcript.toml`.
    pub(crate) fn publish(&self, results: &Path) -> Result<(), ProtocolError> {
        let (path, other) = (transcript_path(results), Problem::OtherResults);
        write_or_find(&path, Readers::Everyone, &self.encode(), other)
    }

    /// Reads a transcript that was published for an election.
    pub fn read(path: &Path, file: &PlannedElection) -> Result<Self, ProtocolError> {
        let refuse = |problem| Refused { path: path.to_owned(), problem };
        let most = Self::max_bytes(file.teachers().len(), file.election().samples());
        let bytes = read_bounded(path, most).map_err(refuse)?;
        let read = Self::decode(&bytes, file).ok_or_else(|| refuse(Problem::Damaged))?;
        if read.election == hex(&file.digest()) {
            return Ok(read);
        }
        Err(refuse(BundleError::Election.into()).into())
    }

    /// The most bytes that a transcript takes.
    pub fn max_bytes(teachers: usize, samples: usize) -> usize {
        4096 + teachers * 256 + samples * 32 * (1 + MOST_ROUNDS)
    }

    /// What is frozen, by this transcript; none if a digest is damaged.
    pub fn frozen(&self) -> Option<Frozen> {
        let ballots = self.ballots.iter();
        Some(Frozen {
            election: unhex(&self.election)?,
            evaluation_key: unhex(&self.evaluation_key)?,
            ballots: ballots
                .map(|(name, digest)| Some((name.clone(), unhex(digest)?)))
                .collect::<Option<_>>()?,
        })
    }

    /// How many voted on each sample.
    pub fn voters(&self) -> impl Iterator<Item = u32> + '_ {
        self.turnout.iter().flat_map(|&(samples, voters)| std::iter::repeat_n(voters, samples))
    }

    /// How many samples had how many voters.
    pub fn voter_counts(&self) -> VoterCounts {
        let mut counts = BTreeMap::new();
        for &(samples, voters) in &self.turnout {
            *counts.entry(voters).or_default() += samples as u64;
        }
        counts.into_iter().collect()
    }

    /// Whom the rounds up to this one left out, each once. Rounds are counted from 1.
    pub fn excluded(&self, round: usize) -> Vec<&Name> {
        let rounds = self.rounds.iter().take(round);
        let mut names: Vec<&Name> = rounds.flat_map(|round| &round.accused).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// How many releases the results hold for an election of so many batches.
    pub fn releases(&self, batches: usize) -> usize {
        batches + self.rounds.iter().map(|round| round.asked.len()).sum::<usize>()
    }

    /// What the seed of the next audit is bound to.
    pub fn asked(&self, frozen: &[u8; 32], asked: &[AskedBatch]) -> [u8; 32] {
        let mut chain = Chain::new(frozen);
        self.rounds.iter().for_each(|round| chain.round(round));
        chain.asked(asked);
        chain.digest()
    }

    /// What the seed of a round, counted from 1, is bound to.
    pub fn answered(&self, frozen: &[u8; 32], round: usize) -> [u8; 32] {
        let mut chain = Chain::new(frozen);
        self.rounds.iter().take(round).for_each(|round| chain.round(round));
        chain.digest()
    }
}

/// Whether these are samples of the election, in order, and some.
pub fn is_sound(asked: &[AskedBatch], file: &PlannedElection) -> bool {
    let engine = file.engine();
    !asked.is_empty()
        && asked.windows(2).all(|pair| pair[0].batch < pair[1].batch)
        && asked.iter().all(|asked| {
            let samples = engine.batch(asked.batch).len();
            !asked.samples.is_empty()
                && asked.samples.windows(2).all(|pair| pair[0] < pair[1])
                && asked.samples.iter().all(|&sample| sample < samples)
        })
}

/// Everything that was asked and answered so far, as a digest.
struct Chain(blake3::Hasher);

impl Chain {
    fn new(frozen: &[u8; 32]) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("shield 2026 audits so far v1");
        hasher.update(frozen);
        Self(hasher)
    }

    fn number(&mut self, number: usize) {
        self.0.update(&(number as u64).to_le_bytes());
    }

    fn asked(&mut self, asked: &[AskedBatch]) {
        self.number(asked.len());
        for AskedBatch { batch, samples } in asked {
            self.number(*batch);
            self.number(samples.len());
            for &sample in samples {
                self.number(sample);
            }
        }
    }

    fn round(&mut self, round: &Round) {
        self.asked(&round.asked);
        self.number(round.accused.len());
        for name in &round.accused {
            self.number(name.as_str().len());
            self.0.update(name.as_str().as_bytes());
        }
    }

    fn digest(self) -> [u8; 32] {
        *self.0.finalize().as_bytes()
    }
}
