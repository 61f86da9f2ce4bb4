//! SPEED's noisy argmax without encryption: the reference for the encrypted one.
//!
//! A teacher's ballot holds, for each sample and class, its one-hot vote plus its share of the
//! noise ([`crate::shared_noise::polya`], [`crate::shared_noise::skellam`]). Who abstains sends the
//! shares alone: so nobody sees who abstained, and the noise is whole. The output is the class with
//! the largest sum, the lowest where several tie.

use rand::{CryptoRng, RngCore};
use thiserror::Error;

use super::key::{self, ClearKey, ClearRelease};
use crate::backend::{
    Backend, Ballot, BallotBox, BallotBoxError, BallotError, KeysOf, Presence, open_ballot,
};
use crate::election::Election;
use crate::framing::MadeFor;
use crate::parameters::{Class, Classes};
use crate::seed::Seed;
use crate::shared_noise::SharedNoise;
use crate::shared_noise::{NoiseFamily, Shares};
use crate::votes::{Label, Vote};

/// Too many teachers are missing.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error(
    "{ballots} of {teachers} teachers sent a ballot, and the noise is shared out for {shares} at \
     least; with fewer the labels would have less noise than was promised: wait for the others, \
     or vote again with more dropouts allowed"
)]
pub struct TooFewShares {
    /// How many sent a ballot.
    pub ballots: u32,
    /// How many teachers there are.
    pub teachers: u32,
    /// How many must take part.
    pub shares: u32,
}

/// What one teacher adds to the counts of a batch: vote and share, class by class, sample by
/// sample.
pub fn noisy_one_hot<R: RngCore + CryptoRng>(
    classes: Classes,
    votes: &[Vote],
    shares: &Shares,
    rng: &mut R,
) -> Vec<i64> {
    let mut numbers = Vec::with_capacity(votes.len() * classes.count());
    for vote in votes {
        for class in classes.all() {
            numbers.push(i64::from(*vote == Some(class)) + shares.share(rng));
        }
    }
    numbers
}

/// The teachers who sent a ballot, if they are enough.
pub fn contributors<B: Ballot>(
    noise: &SharedNoise,
    ballots: &impl BallotBox<B>,
) -> Result<Result<Vec<u32>, TooFewShares>, BallotBoxError> {
    let mut present = Vec::new();
    for teacher in 0..noise.teachers() {
        if !ballots.presence(teacher)?.is_nobody() {
            present.push(teacher);
        }
    }
    let count = u32::try_from(present.len()).expect("teachers are numbered in 32 bits");
    let (teachers, shares) = (noise.teachers(), noise.shares());
    let few = TooFewShares { ballots: count, teachers, shares };
    Ok(if count < shares { Err(few) } else { Ok(present) })
}

/// The class with the largest count, the lowest of several.
pub fn argmax(counts: &[i64]) -> Class {
    let mut best = 0;
    for (class, count) in counts.iter().enumerate() {
        if *count > counts[best] {
            best = class;
        }
    }
    Class(u16::try_from(best).expect("Classes::MAX fits in 16 bits"))
}

/// The noisy argmax on votes that anyone can read. Never for real votes.
#[derive(Clone, Debug)]
pub struct ClearNoisyArgmax {
    election: Election,
    noise: SharedNoise,
    shares: Shares,
    pub(super) binding: [u8; 32],
}

/// A ballot that anyone can read.
#[derive(Clone)]
pub struct NoisyBallot {
    pub(super) numbers: Vec<i64>,
    pub(super) presence: Presence,
    pub(super) made_for: MadeFor,
}

impl std::fmt::Debug for NoisyBallot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NoisyBallot").field("samples", &self.presence.len()).finish_non_exhaustive()
    }
}

impl Ballot for NoisyBallot {
    fn presence(&self) -> &Presence {
        &self.presence
    }

    fn made_for(&self) -> MadeFor {
        self.made_for
    }
}

/// What can go wrong in the clear.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ClearNoisyError {
    /// Something is wrong with the votes, or with a key, ballot or release.
    #[error(transparent)]
    Ballot(#[from] BallotError),
    /// Too many teachers are missing.
    #[error(transparent)]
    Shares(#[from] TooFewShares),
}

impl ClearNoisyArgmax {
    const SAMPLES_PER_BATCH: usize = 512;

    /// For an election of as many teachers as share the noise. Its setting, which is SHIELD's, is
    /// not used.
    ///
    /// # Panics
    /// If the noise was shared out among another number of teachers.
    pub fn new(election: Election, noise: SharedNoise) -> Self {
        assert_eq!(election.teachers(), noise.teachers(), "noise for another election");
        let purpose = "shield 2026 clear noisy argmax binding v1";
        let mut hasher = blake3::Hasher::new_derive_key(purpose);
        hasher.update(&key::binding(purpose, &election, Self::SAMPLES_PER_BATCH));
        hasher.update(&noise.scale().get().to_le_bytes());
        hasher.update(&noise.shares().to_le_bytes());
        if noise.family() == NoiseFamily::Skellam {
            hasher.update(noise.family().name().as_bytes());
        }
        let binding = *hasher.finalize().as_bytes();
        Self { election, noise, shares: Shares::new(&noise), binding }
    }
}

impl Backend for ClearNoisyArgmax {
    type SecretKey = ClearKey;
    type PublicKey = ClearKey;
    type EvaluationKey = ClearKey;
    type Ballot = NoisyBallot;
    type Release = ClearRelease;
    type Error = ClearNoisyError;

    fn name(&self) -> &'static str {
        "clear"
    }

    fn election(&self) -> &Election {
        &self.election
    }

    fn samples_per_batch(&self) -> usize {
        Self::SAMPLES_PER_BATCH
    }

    fn distance(&self) -> f64 {
        0.0
    }

    fn generate_keys<R: RngCore + CryptoRng>(
        &self,
        rng: &mut R,
    ) -> Result<KeysOf<Self>, ClearNoisyError> {
        Ok(ClearKey::generate(rng))
    }

    fn encrypt<R: RngCore + CryptoRng>(
        &self,
        key: &ClearKey,
        batch: usize,
        votes: &[Vote],
        rng: &mut R,
    ) -> Result<NoisyBallot, ClearNoisyError> {
        self.check_votes(batch, votes)?;
        let numbers = noisy_one_hot(self.election.classes(), votes, &self.shares, rng);
        let presence = Presence::new(votes.iter().map(|_| true));
        Ok(NoisyBallot { numbers, presence, made_for: MadeFor { batch, key: key.id() } })
    }

    fn aggregate<B: BallotBox<NoisyBallot>>(
        &self,
        key: &ClearKey,
        batch: usize,
        ballots: &B,
        _: &Seed,
    ) -> Result<ClearRelease, ClearNoisyError> {
        self.check_batch(batch)?;
        let classes = self.election.classes().count();
        let made_for = MadeFor { batch, key: key.id() };
        let mut counts = vec![0_i64; self.batch(batch).len() * classes];
        for teacher in contributors(&self.noise, ballots).map_err(BallotError::from)?? {
            let fits = |ballot: &NoisyBallot| ballot.numbers.len() == counts.len();
            let ballot = open_ballot(ballots, teacher, made_for, fits)?;
            for (count, number) in counts.iter_mut().zip(&ballot.numbers) {
                *count = count.wrapping_add(*number);
            }
        }
        let labels = counts.chunks(classes).map(|counts| Some(argmax(counts))).collect();
        Ok(ClearRelease { labels, made_for })
    }

    fn decrypt(
        &self,
        key: &ClearKey,
        batch: usize,
        release: &ClearRelease,
    ) -> Result<Vec<Label>, ClearNoisyError> {
        self.check_batch(batch)?;
        Ok(release.labels_for(MadeFor { batch, key: key.id() }, self.batch(batch).len())?)
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::backend::suite::{self, Case, vectors};
    use crate::backend::{BackendBytes, MemoryBallotBox};
    use crate::parameters::Noise;
    use crate::privacy::distributed_argmax::DistributedArgmax;
    use crate::setting::Setting;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;
    use statrs::distribution::{ChiSquared, ContinuousCDF};

    fn backend(scale: f64, teachers: u32, dropouts: u32, samples: usize) -> ClearNoisyArgmax {
        let noise = SharedNoise::new(Noise::new(scale).unwrap(), teachers, dropouts).unwrap();
        let classes = Classes::new(3).unwrap();
        let election = Election::new(teachers as usize, classes, samples, Setting::default());
        ClearNoisyArgmax::new(election.unwrap(), noise)
    }

    #[test]
    fn ties_go_to_the_lowest_class() {
        assert_eq!(argmax(&[2, 5, 5]), Class(1));
        assert_eq!(argmax(&[-4, -4, -4]), Class(0));
        assert_eq!(argmax(&[1, 0, 2]), Class(2));
    }

    #[test]
    fn labels_follow_the_law() {
        let (samples, teachers) = (500, 9_u32);
        let backend = backend(3.0, teachers, 3, samples);
        let key = ClearKey::default();
        let mut seen = [0.0; 3];
        let runs = 20;
        for run in 0..runs {
            let mut rng = ChaCha20Rng::seed_from_u64(run);
            let ballots = (0..teachers)
                .map(|teacher| {
                    // Five votes for class 0, three for class 1, and one abstains.
                    let vote = [0, 0, 0, 0, 0, 1, 1, 1].get(teacher as usize).map(|&k| Class(k));
                    backend.encrypt(&key, 0, &vec![vote; samples], &mut rng).ok()
                })
                .collect();
            let ballots = MemoryBallotBox::new(samples, ballots);
            let release = backend.aggregate(&key, 0, &ballots, &Seed::from_number(0)).unwrap();
            for class in release.labels.iter().flatten() {
                seen[class.index()] += 1.0;
            }
        }
        let histogram = crate::Histogram::new(vec![5, 3, 0]).unwrap();
        let law = DistributedArgmax::new(&backend.noise, 3).law(&histogram);
        let total = (samples as u64 * runs) as f64;
        let cells = law.probabilities().zip(seen);
        let chi: f64 = cells.map(|(p, s)| (s - total * p).powi(2) / (total * p)).sum();
        let p = ChiSquared::new(2.0).unwrap().sf(chi);
        assert!(p > 1e-3, "p = {p}: {seen:?} {law:?}");
    }

    #[test]
    fn too_few_shares_are_refused() {
        let backend = backend(3.0, 5, 2, 1);
        let key = ClearKey::default();
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let mut ballots: Vec<_> =
            (0..5).map(|_| backend.encrypt(&key, 0, &[Some(Class(1))], &mut rng).ok()).collect();
        let result = |ballots: &[Option<NoisyBallot>]| {
            let ballots = MemoryBallotBox::new(1, ballots.to_vec());
            backend.aggregate(&key, 0, &ballots, &Seed::from_number(0))
        };
        ballots[0] = None;
        ballots[4] = None;
        assert!(result(&ballots).is_ok());
        ballots[2] = None;
        assert!(matches!(result(&ballots), Err(ClearNoisyError::Shares(_))));
    }

    /// An election with noise, and the same elsewhere.
    fn engines(case: &Case, family: NoiseFamily) -> [ClearNoisyArgmax; 2] {
        let teachers = case.election.teachers();
        let noise = SharedNoise::of(family, Noise::new(1.0).unwrap(), teachers, 0).unwrap();
        let elsewhere = case.election.clone().bound_to([7; 32]);
        [case.election.clone(), elsewhere].map(|election| ClearNoisyArgmax::new(election, noise))
    }

    #[test]
    fn only_sound_bytes_are_read() {
        for case in suite::small_elections() {
            let [backend, elsewhere] = engines(&case, NoiseFamily::Laplace);
            let mut rng = ChaCha20Rng::seed_from_u64(3);
            let keys = suite::sent_keys(&backend, &backend.generate_keys(&mut rng).unwrap());
            suite::bad_votes_are_refused(&backend, &keys, &case, &mut rng);
            let votes = &case.votes;
            suite::only_sound_bytes_are_read(&backend, &elsewhere, &keys, votes, &mut rng);
        }
    }

    #[test]
    fn a_ballot_that_leaves_a_sample_out_is_refused() {
        let [backend, _] = engines(&suite::small_elections()[1], NoiseFamily::Laplace);
        let key = ClearKey::default();
        let mut rng = ChaCha20Rng::seed_from_u64(4);
        let mut ballot = backend.encrypt(&key, 0, &[None; 5], &mut rng).unwrap();
        assert!(suite::sent_ballot(&backend, &ballot, 0).presence.is_complete());
        ballot.presence = Presence::new([true, true, false, true, true].into_iter());
        let bytes = backend.encode_ballot(&ballot);
        assert!(backend.decode_ballot(&bytes, 0, key.id()).is_err());
        assert!(backend.peek_presence(&bytes, 0).is_err());
    }

    /// The frozen vectors, a folder for each family of noise.
    fn frozen() -> [(PathBuf, Case, [ClearNoisyArgmax; 2]); 2] {
        let names = [
            ("clear_noisy_argmax", NoiseFamily::Laplace),
            ("clear_noisy_argmax_skellam", NoiseFamily::Skellam),
        ];
        names.map(|(name, family)| {
            let case = suite::small_elections().swap_remove(3);
            let engines = engines(&case, family);
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(name);
            (folder, case, engines)
        })
    }

    #[test]
    fn frozen_vectors_are_read() {
        for (folder, case, [backend, elsewhere]) in frozen() {
            vectors::check(&folder, &backend, &elsewhere, &case);
        }
    }

    #[test]
    #[ignore = "writes the frozen vectors anew"]
    fn write_frozen_vectors() {
        for (folder, case, [backend, elsewhere]) in frozen() {
            vectors::write(&folder, &backend, &elsewhere, &case);
        }
    }
}
