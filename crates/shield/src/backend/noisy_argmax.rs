//! SPEED's noisy argmax without encryption: the reference for the encrypted one.
//!
//! A teacher's ballot holds, for each sample and class, its one-hot vote plus its share of the
//! noise ([`crate::polya`], [`crate::skellam`]). Who abstains sends the shares alone: so nobody sees who abstained, and
//! the noise is whole. The output is the class with the largest sum, the lowest where several tie.

use rand::{CryptoRng, RngCore};
use thiserror::Error;

use super::{
    Backend, Ballot, BallotBox, BallotBoxError, ClearError, Keys, KeysOf, NoKey, Presence,
};
use crate::election::Election;
use crate::parameters::{Class, Classes};
use crate::polya::SharedNoise;
use crate::seed::Seed;
use crate::shares::Shares;
use crate::votes::{Label, Vote};

/// Too many teachers are missing.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error(
    "{ballots} of {teachers} teachers sent a ballot, and the noise is shared out for {shares} at least; with fewer the labels \
     would have less noise than was promised: wait for the others, or vote again with more dropouts allowed"
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
}

/// A ballot that anyone can read.
#[derive(Clone)]
pub struct NoisyBallot {
    numbers: Vec<i64>,
    presence: Presence,
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
}

/// What can go wrong in the clear.
#[derive(Debug, Error)]
pub enum ClearNoisyError {
    /// Votes that are not one a sample, each for a class, or no such batch.
    #[error(transparent)]
    Votes(#[from] ClearError),
    /// Too many teachers are missing.
    #[error(transparent)]
    Shares(#[from] TooFewShares),
    /// A ballot could not be had.
    #[error(transparent)]
    Ballot(#[from] BallotBoxError),
}

impl ClearNoisyArgmax {
    const SAMPLES_PER_BATCH: usize = 512;

    /// For an election of as many teachers as share the noise. Its mechanism, which is SHIELD's, is
    /// not used.
    ///
    /// # Panics
    /// If the noise was shared out among another number of teachers.
    pub fn new(election: Election, noise: SharedNoise) -> Self {
        assert_eq!(election.teachers(), noise.teachers(), "noise for another election");
        Self { election, noise, shares: Shares::new(&noise) }
    }
}

impl Backend for ClearNoisyArgmax {
    type SecretKey = NoKey;
    type PublicKey = NoKey;
    type EvaluationKey = NoKey;
    type Ballot = NoisyBallot;
    type Release = Vec<Label>;
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

    fn generate_keys<R: RngCore + CryptoRng>(
        &self,
        _: &mut R,
    ) -> Result<KeysOf<Self>, ClearNoisyError> {
        Ok(Keys { secret: NoKey, public: NoKey, evaluation: NoKey })
    }

    fn encrypt<R: RngCore + CryptoRng>(
        &self,
        _: &NoKey,
        batch: usize,
        votes: &[Vote],
        rng: &mut R,
    ) -> Result<NoisyBallot, ClearNoisyError> {
        let samples = self.batch(batch).len();
        if votes.len() != samples {
            return Err(ClearError::VoteCount { votes: votes.len(), samples }.into());
        }
        let classes = self.election.classes();
        for (sample, vote) in votes.iter().enumerate() {
            if let Some(class) = vote.filter(|&class| !classes.contains(class)) {
                let classes = classes.count();
                return Err(ClearError::NotAClass { sample, class, classes }.into());
            }
        }
        let numbers = noisy_one_hot(classes, votes, &self.shares, rng);
        Ok(NoisyBallot { numbers, presence: Presence::new(votes.iter().map(|_| true)) })
    }

    fn aggregate<B: BallotBox<NoisyBallot>>(
        &self,
        _: &NoKey,
        batch: usize,
        ballots: &B,
        _: &Seed,
    ) -> Result<Vec<Label>, ClearNoisyError> {
        let classes = self.election.classes().count();
        let mut counts = vec![0_i64; self.batch(batch).len() * classes];
        for teacher in contributors(&self.noise, ballots)?? {
            let ballot = ballots.open(teacher)?;
            for (count, number) in counts.iter_mut().zip(&ballot.numbers) {
                *count += number;
            }
        }
        Ok(counts.chunks(classes).map(|counts| Some(argmax(counts))).collect())
    }

    fn decrypt(
        &self,
        _: &NoKey,
        _: usize,
        release: &Vec<Label>,
    ) -> Result<Vec<Label>, ClearNoisyError> {
        Ok(release.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::MemoryBallotBox;
    use crate::privacy::distributed_argmax::DistributedArgmax;
    use crate::privacy::noisy_argmax::Noise;
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
        let mut seen = [0.0; 3];
        let runs = 20;
        for run in 0..runs {
            let mut rng = ChaCha20Rng::seed_from_u64(run);
            let ballots = (0..teachers)
                .map(|teacher| {
                    // Five votes for class 0, three for class 1, and one abstains.
                    let vote = [0, 0, 0, 0, 0, 1, 1, 1].get(teacher as usize).map(|&k| Class(k));
                    backend.encrypt(&NoKey, 0, &vec![vote; samples], &mut rng).ok()
                })
                .collect();
            let ballots = MemoryBallotBox::new(samples, ballots);
            let labels = backend.aggregate(&NoKey, 0, &ballots, &Seed::from_number(0)).unwrap();
            for class in labels.iter().flatten() {
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
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let mut ballots: Vec<_> =
            (0..5).map(|_| backend.encrypt(&NoKey, 0, &[Some(Class(1))], &mut rng).ok()).collect();
        let result = |ballots: &[Option<NoisyBallot>]| {
            let ballots = MemoryBallotBox::new(1, ballots.to_vec());
            backend.aggregate(&NoKey, 0, &ballots, &Seed::from_number(0))
        };
        ballots[0] = None;
        ballots[4] = None;
        assert!(result(&ballots).is_ok());
        ballots[2] = None;
        assert!(matches!(result(&ballots), Err(ClearNoisyError::Shares(_))));
    }
}
