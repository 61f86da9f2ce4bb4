//! The engine without encryption: the reference, and what the encrypted ones are measured against.
//! Its keys and bytes are as strict as any engine's, so that it serves tests of everything around
//! an engine.
//!
//! | kind | payload |
//! |---|---|
//! | keys | the 32 bytes that all three are |
//! | ballot | a class per sample in 2 bytes, all ones for an abstention; of the noisy argmax a number of 8 bytes per sample and class |
//! | release | a class per sample in 2 bytes, all ones for no label |

#[cfg(test)]
mod tests;

use std::fmt;

use rand::{CryptoRng, RngCore};
use thiserror::Error;

use super::noisy_argmax::{TooFewShares, argmax_from, contributors, noisy_one_hot};
use super::{
    Ballot, BallotBox, BallotBoxError, BallotError, Engine, Envelope, Key, Keys, KeysOf, Presence,
    Setup, open_ballot, urns,
};
use crate::draws::Draws;
use crate::election::Election;
use crate::framing::{KeyId, Kind, MadeFor, Reader};
use crate::operator::elect;
use crate::parameters::{Class, Classes};
use crate::seed::Seed;
use crate::shared_noise::{NoiseFamily, SharedNoise, Shares};
use crate::votes::{Label, Vote};

/// SHIELD, or SPEED's noisy argmax, on votes that anyone can read. Never for real votes.
#[derive(Clone, Debug)]
pub struct ClearEngine {
    setup: Setup,
    /// Of the noisy argmax.
    noise: Option<(SharedNoise, Shares)>,
    /// Noisy votes that its winner must have.
    threshold: Option<u32>,
}

/// A key that locks nothing: student, teachers and server hold the same random bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClearKey([u8; 32]);

/// A ballot that anyone can read.
#[derive(Clone)]
pub struct ClearBallot {
    content: Content,
    presence: Presence,
    made_for: MadeFor,
}

#[derive(Clone)]
enum Content {
    /// For SHIELD.
    Votes(Vec<Vote>),
    /// For the noisy argmax: vote and share, class by class, sample by sample.
    Numbers(Vec<i64>),
}

/// The labels of one batch, for anyone to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClearRelease {
    labels: Vec<Label>,
    made_for: MadeFor,
}

/// What can go wrong in the clear.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ClearError {
    /// Something is wrong with the votes, or with a key, ballot or release.
    #[error(transparent)]
    Ballot(#[from] BallotError),
    /// Too many teachers are missing.
    #[error(transparent)]
    Shares(#[from] TooFewShares),
}

impl From<BallotBoxError> for ClearError {
    fn from(error: BallotBoxError) -> Self {
        Self::Ballot(error.into())
    }
}

impl Key for ClearKey {
    fn id(&self) -> KeyId {
        KeyId::of_public_key(ClearEngine::KEY_NAME, &self.0)
    }
}

impl fmt::Debug for ClearBallot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClearBallot").field("samples", &self.presence.len()).finish_non_exhaustive()
    }
}

impl Ballot for ClearBallot {
    fn presence(&self) -> &Presence {
        &self.presence
    }

    fn made_for(&self) -> MadeFor {
        self.made_for
    }
}

impl ClearEngine {
    /// Small enough for a ballot box of 10,000 teachers to fit in little memory.
    const SAMPLES_PER_BATCH: usize = 512;

    /// SHIELD in the clear for an election.
    pub fn new(election: Election) -> Self {
        Self::with_batches_of(election, Self::SAMPLES_PER_BATCH)
    }

    /// The same in batches of at most that many samples (at least one).
    pub fn with_batches_of(election: Election, samples: usize) -> Self {
        let samples_per_batch = samples.max(1);
        let binding = binding("shield 2026 clear binding v1", &election, samples_per_batch);
        let setup = Setup { election, samples_per_batch, binding };
        Self { setup, noise: None, threshold: None }
    }

    /// The noisy argmax for an election of as many teachers as share the noise. The election's
    /// setting, which is SHIELD's, is not used.
    ///
    /// # Panics
    /// If the noise was shared out among another number of teachers.
    pub fn noisy_argmax(election: Election, noise: SharedNoise) -> Self {
        assert_eq!(election.teachers(), noise.teachers(), "noise for another election");
        let samples_per_batch = Self::SAMPLES_PER_BATCH;
        let purpose = "shield 2026 clear noisy argmax binding v1";
        let mut hasher = blake3::Hasher::new_derive_key(purpose);
        hasher.update(&binding(purpose, &election, samples_per_batch));
        hasher.update(&noise.scale().get().to_le_bytes());
        hasher.update(&noise.shares().to_le_bytes());
        if noise.family() == NoiseFamily::Skellam {
            hasher.update(noise.family().name().as_bytes());
        }
        let binding = *hasher.finalize().as_bytes();
        let noise = Some((noise, Shares::new(&noise)));
        let setup = Setup { election, samples_per_batch, binding };
        Self { setup, noise, threshold: None }
    }

    /// The noisy argmax that gives no label where the largest noisy count is below a threshold.
    #[must_use]
    pub fn with_threshold(mut self, threshold: Option<u32>) -> Self {
        if let Some(threshold) = threshold {
            let mut hasher = blake3::Hasher::new_derive_key("shield 2026 clear threshold v1");
            hasher.update(&self.setup.binding);
            hasher.update(&threshold.to_le_bytes());
            self.setup.binding = *hasher.finalize().as_bytes();
        }
        self.threshold = threshold;
        self
    }

    /// The labels that SHIELD's draws give.
    fn elect(
        &self,
        ballots: &dyn BallotBox<ClearBallot>,
        made_for: MadeFor,
        seed: &Seed,
    ) -> Result<Vec<Label>, ClearError> {
        let (election, samples) = (self.election(), self.batch(made_for.batch));
        let mut all = vec![Vec::new(); election.teachers() as usize];
        for (teacher, votes) in (0..).zip(&mut all) {
            if !ballots.presence(teacher)?.is_nobody() {
                let fits = |ballot: &ClearBallot| ballot.votes().len() == samples.len();
                *votes = open_ballot(ballots, teacher, made_for, fits)?.votes().to_vec();
            }
        }
        let urns = urns(election, samples.len(), ballots)?;
        let labels = urns.iter().zip(samples).enumerate().map(|(place, (urn, sample))| {
            let draws = Draws::seeded(election.setting(), urn, seed, sample as u64);
            elect(&draws, |teacher| {
                all[teacher as usize][place].expect("the urn holds only who voted")
            })
        });
        Ok(labels.collect())
    }

    /// The classes with the largest noisy counts.
    fn count(
        &self,
        noise: &SharedNoise,
        ballots: &dyn BallotBox<ClearBallot>,
        made_for: MadeFor,
    ) -> Result<Vec<Label>, ClearError> {
        let classes = self.election().classes().count();
        let mut counts = vec![0_i64; self.batch(made_for.batch).len() * classes];
        for teacher in contributors(noise, ballots)?? {
            let fits = |ballot: &ClearBallot| ballot.numbers().len() == counts.len();
            let ballot = open_ballot(ballots, teacher, made_for, fits)?;
            for (count, number) in counts.iter_mut().zip(ballot.numbers()) {
                *count = count.wrapping_add(*number);
            }
        }
        Ok(counts.chunks(classes).map(|counts| argmax_from(counts, self.threshold)).collect())
    }
}

impl ClearBallot {
    fn votes(&self) -> &[Vote] {
        if let Content::Votes(votes) = &self.content { votes } else { &[] }
    }

    fn numbers(&self) -> &[i64] {
        if let Content::Numbers(numbers) = &self.content { numbers } else { &[] }
    }
}

/// A digest of the election and the batches.
fn binding(purpose: &str, election: &Election, samples_per_batch: usize) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key(purpose);
    hasher.update(&election.fingerprint());
    hasher.update(&(samples_per_batch as u64).to_le_bytes());
    *hasher.finalize().as_bytes()
}

/// Bytes of a key.
const KEY: usize = 32;
/// Bytes of a class, or of none.
const CLASS: usize = 2;
/// Bytes of a noisy number.
const NUMBER: usize = 8;
/// No class. Classes are at most `Classes::MAX`, far below.
const NONE: u16 = u16::MAX;

fn write_classes(out: &mut Vec<u8>, classes: &[Option<Class>]) {
    out.extend(classes.iter().flat_map(|class| class.map_or(NONE, |class| class.0).to_le_bytes()));
}

fn read_classes(
    payload: &mut Reader,
    classes: Classes,
    count: usize,
) -> Option<Vec<Option<Class>>> {
    let class = |_| match u16::from_le_bytes(payload.array()?) {
        NONE => Some(None),
        id => classes.contains(Class(id)).then_some(Some(Class(id))),
    };
    (0..count).map(class).collect()
}

impl Engine for ClearEngine {
    type SecretKey = ClearKey;
    type PublicKey = ClearKey;
    type EvaluationKey = ClearKey;
    type Ballot = ClearBallot;
    type Release = ClearRelease;
    type Error = ClearError;

    const NAME: &'static str = "clear";
    const KEY_NAME: &'static str = "shield 2026 clear key name v1";

    fn setup(&self) -> &Setup {
        &self.setup
    }

    fn distance(&self) -> f64 {
        0.0
    }

    fn generate_keys<R: RngCore + CryptoRng>(
        &self,
        rng: &mut R,
    ) -> Result<KeysOf<Self>, ClearError> {
        let mut bytes = [0; KEY];
        rng.fill_bytes(&mut bytes);
        let key = ClearKey(bytes);
        Ok(Keys { secret: key, public: key, evaluation: key })
    }

    fn encrypt<R: RngCore + CryptoRng>(
        &self,
        key: &ClearKey,
        batch: usize,
        votes: &[Vote],
        rng: &mut R,
    ) -> Result<ClearBallot, ClearError> {
        self.setup.check_votes(batch, votes)?;
        let content = match &self.noise {
            None => Content::Votes(votes.to_vec()),
            Some((_, shares)) => {
                Content::Numbers(noisy_one_hot(self.election().classes(), votes, shares, rng))
            }
        };
        // Who abstains from a noisy argmax sends its share all the same.
        let present = |vote: &Vote| vote.is_some() || self.noise.is_some();
        let presence = Presence::new(votes.iter().map(present));
        Ok(ClearBallot { content, presence, made_for: MadeFor { batch, key: key.id() } })
    }

    fn aggregate(
        &self,
        key: &ClearKey,
        batch: usize,
        ballots: &dyn BallotBox<ClearBallot>,
        seed: &Seed,
    ) -> Result<ClearRelease, ClearError> {
        self.setup.check_batch(batch)?;
        let made_for = MadeFor { batch, key: key.id() };
        let labels = match &self.noise {
            None => self.elect(ballots, made_for, seed)?,
            Some((noise, _)) => self.count(noise, ballots, made_for)?,
        };
        Ok(ClearRelease { labels, made_for })
    }

    fn decrypt(
        &self,
        key: &ClearKey,
        batch: usize,
        release: &ClearRelease,
    ) -> Result<Vec<Label>, ClearError> {
        self.setup.check_batch(batch)?;
        let fits = release.labels.len() == self.batch(batch).len();
        release.made_for.check_release(MadeFor { batch, key: key.id() }, fits)?;
        Ok(release.labels.clone())
    }

    fn payload_bytes(&self, kind: Kind, samples: usize) -> usize {
        match kind {
            Kind::SecretKey | Kind::PublicKey | Kind::EvaluationKey => KEY,
            Kind::Ballot if self.noise.is_some() => {
                NUMBER * samples * self.election().classes().count()
            }
            Kind::Ballot | Kind::Release => CLASS * samples,
            _ => 0,
        }
    }

    fn accepts(&self, presence: &Presence) -> bool {
        self.noise.is_none() || presence.is_complete()
    }

    fn release_made_for(&self, release: &ClearRelease) -> MadeFor {
        release.made_for
    }

    fn write_secret_key(&self, out: &mut Vec<u8>, key: &ClearKey) {
        out.extend(key.0);
    }

    fn write_public_key(&self, out: &mut Vec<u8>, key: &ClearKey) {
        out.extend(key.0);
    }

    fn write_evaluation_key(&self, out: &mut Vec<u8>, key: &ClearKey) {
        out.extend(key.0);
    }

    fn write_votes(&self, out: &mut Vec<u8>, ballot: &ClearBallot) {
        match &ballot.content {
            Content::Votes(votes) => write_classes(out, votes),
            Content::Numbers(numbers) => out.extend(numbers.iter().flat_map(|n| n.to_le_bytes())),
        }
    }

    fn write_release(&self, out: &mut Vec<u8>, release: &ClearRelease) {
        write_classes(out, &release.labels);
    }

    fn read_secret_key(&self, payload: &mut Reader, id: KeyId) -> Option<ClearKey> {
        Some(ClearKey(payload.array()?)).filter(|key| key.id() == id)
    }

    fn read_public_key(&self, payload: &mut Reader, _: KeyId) -> Option<ClearKey> {
        Some(ClearKey(payload.array()?))
    }

    fn read_evaluation_key(&self, payload: &mut Reader, _: KeyId) -> Option<ClearKey> {
        Some(ClearKey(payload.array()?))
    }

    fn read_votes(&self, payload: &mut Reader, envelope: Envelope) -> Option<ClearBallot> {
        let Envelope { presence, made_for, .. } = envelope;
        let classes = self.election().classes();
        let content = if self.noise.is_some() {
            let number = |_| Some(i64::from_le_bytes(payload.array()?));
            let numbers = (0..presence.len() * classes.count()).map(number);
            Content::Numbers(numbers.collect::<Option<_>>()?)
        } else {
            let votes = read_classes(payload, classes, presence.len())?;
            let voted = Presence::new(votes.iter().map(Option::is_some));
            Content::Votes((voted == presence).then_some(votes)?)
        };
        Some(ClearBallot { content, presence, made_for })
    }

    fn read_release(&self, payload: &mut Reader, made_for: MadeFor) -> Option<ClearRelease> {
        let samples = self.batch(made_for.batch).len();
        let labels = read_classes(payload, self.election().classes(), samples)?;
        Some(ClearRelease { labels, made_for })
    }
}
