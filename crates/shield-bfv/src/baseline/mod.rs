//! The paper's circuit, kept as the baseline that the benchmark runs beside ours.
//!
//! The paper's section "FHE implementation", with its parameters (N = 32,768, log q = 540, t =
//! 65,537) on the `fhe` crate: one ciphertext per teacher, masked with ones where the teacher is
//! not drawn, all of them multiplied in a tree (a), then the sum over classes by rotating, masking
//! and re-populating (c), then "not found yet" as a tree of products over the rounds, all rounds
//! packed together (d).
//!
//! Three readings are in its favour. A teacher's samples come packed in one ciphertext that is
//! masked with a plaintext, where the paper adds up a ciphertext per sample. The draws of a round
//! share one product, because drawing a teacher twice selects the same bits. And dummies are a
//! plaintext factor. It needs a term of degree one: then some round succeeds, and what wraps around
//! behind the last round is multiplied by zero. The student's view is not protected: see
//! [`crate::flooding`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use fhe::bfv::{
    BfvParameters, BfvParametersBuilder, Ciphertext, Encoding, EvaluationKey, EvaluationKeyBuilder,
    Multiplicator, Plaintext, PublicKey, RelinearizationKey, SecretKey,
};
use fhe_traits::{FheDecoder, FheDecrypter, FheEncoder, FheEncrypter};
use rand::{CryptoRng, RngCore};
use rayon::prelude::*;
use shield_core::{Class, Drawn, Draws, Election, Label, Seed, Urn, Votes};
use thiserror::Error;

/// The paper's ring.
const DEGREE: usize = 32_768;
/// The paper's modulus: 540 bits.
const MODULI: [usize; 9] = [60; 9];
const PLAINTEXT: u64 = 65_537;

/// What the baseline cannot do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PublishedError {
    /// A round of every sample must succeed.
    #[error("the paper's circuit is run with a term of degree 1 only; add `+X` to the polynomial")]
    CanFail,
    /// The rounds of even two samples do not fit into one ciphertext.
    #[error(
        "{rounds} rounds of {classes} classes do not fit into one ciphertext of the published \
         circuit; use fewer"
    )]
    TooWide {
        /// How many rounds.
        rounds: usize,
        /// How many classes.
        classes: usize,
    },
    /// The library failed.
    #[error("the baseline's library failed: {0}")]
    Library(#[from] fhe::Error),
}

/// What a run of the baseline gave.
#[derive(Debug)]
pub struct PublishedRun {
    /// The labels.
    pub labels: Vec<Label>,
    /// The time of the aggregation alone.
    pub aggregation: Duration,
}

/// Where round, sample and class lie: half of the samples per row, rounds as blocks of columns.
#[derive(Clone, Copy)]
struct Packing {
    half: usize,
    run: usize,
    rounds: usize,
}

impl Packing {
    fn slot(self, round: usize, sample: usize, class: usize) -> usize {
        let (row, column) = (sample / self.half, sample % self.half);
        row * DEGREE / 2 + (round * self.half + column) * self.run + class
    }
}

struct Published {
    parameters: Arc<BfvParameters>,
    secret: SecretKey,
    public: PublicKey,
    rotations: EvaluationKey,
    multiplicator: Multiplicator,
    packing: Packing,
}

/// Runs the paper's circuit on an election, every role, and times the server's.
pub fn run<R: RngCore + CryptoRng>(
    election: &Election,
    votes: &Votes,
    seed: &Seed,
    rng: &mut R,
) -> Result<PublishedRun, PublishedError> {
    let polynomial = &election.setting().polynomial;
    if polynomial.can_fail() {
        return Err(PublishedError::CanFail);
    }
    let rounds = polynomial.round_count();
    let classes = election.classes().count();
    let run = classes.next_power_of_two();
    let most = DEGREE / 2 / (run * rounds);
    if most == 0 {
        return Err(PublishedError::TooWide { rounds, classes });
    }
    let half = most.min(election.samples().div_ceil(2));
    let circuit = Published::new(Packing { half, run, rounds }, rng)?;
    let mut labels = Vec::with_capacity(election.samples());
    let mut aggregation = Duration::ZERO;
    for start in (0..election.samples()).step_by(2 * half) {
        let samples = start..(start + 2 * half).min(election.samples());
        let ballots = (0..votes.teachers())
            .map(|teacher| circuit.encrypt(&votes.teacher(teacher, samples.clone()), rng))
            .collect::<Result<Vec<_>, _>>()?;
        let begin = Instant::now();
        let draws: Vec<Draws> = samples
            .clone()
            .map(|sample| {
                let voters = (0_u32..).zip(votes.sample(sample)).filter(|(_, vote)| vote.is_some());
                let voters = voters.map(|(teacher, _)| teacher).collect();
                let urn = Urn::of(voters, election.classes(), election.setting().offset);
                Draws::seeded(election.setting(), &urn, seed, sample as u64)
            })
            .collect();
        let result = circuit.aggregate(ballots, &draws)?;
        aggregation += begin.elapsed();
        labels.extend(circuit.decrypt(&result, samples.len(), classes)?);
    }
    Ok(PublishedRun { labels, aggregation })
}

impl Published {
    fn new<R: RngCore + CryptoRng>(packing: Packing, rng: &mut R) -> Result<Self, PublishedError> {
        let parameters = BfvParametersBuilder::new()
            .set_degree(DEGREE)
            .set_plaintext_modulus(PLAINTEXT)
            .set_moduli_sizes(&MODULI)
            .build_arc()?;
        let secret = SecretKey::random(&parameters, rng);
        let public = PublicKey::new(&secret, rng);
        let mut builder = EvaluationKeyBuilder::new(&secret)?;
        let columns = DEGREE / 2;
        for bit in 0..packing.run.ilog2() {
            builder.enable_column_rotation(1 << bit)?;
            builder.enable_column_rotation(columns - (1 << bit))?;
        }
        for step in packing.steps() {
            builder.enable_column_rotation(step)?;
        }
        let rotations = builder.build(rng)?;
        let multiplicator = Multiplicator::default(&RelinearizationKey::new(&secret, rng)?)?;
        Ok(Self { parameters, secret, public, rotations, multiplicator, packing })
    }

    fn plaintext(&self, slots: &[u64]) -> Result<Plaintext, PublishedError> {
        Ok(Plaintext::try_encode(slots, Encoding::simd(), &self.parameters)?)
    }

    /// A teacher's votes, repeated for every round.
    fn encrypt<R: RngCore + CryptoRng>(
        &self,
        votes: &[Label],
        rng: &mut R,
    ) -> Result<Ciphertext, PublishedError> {
        let mut slots = vec![0; DEGREE];
        for (sample, vote) in votes.iter().enumerate() {
            for round in 0..self.packing.rounds {
                if let Some(class) = vote {
                    slots[self.packing.slot(round, sample, class.index())] = 1;
                }
            }
        }
        Ok(self.public.try_encrypt(&self.plaintext(&slots)?, rng)?)
    }

    fn aggregate(
        &self,
        ballots: Vec<Ciphertext>,
        draws: &[Draws],
    ) -> Result<Ciphertext, PublishedError> {
        let masked = self.select(ballots, draws)?;
        let outcome = self.product(masked)?;
        let failure = self.not_found(&outcome)?;
        self.first(outcome, failure)
    }

    /// Algorithm "teacher selection": a teacher's votes where it is drawn, ones where it is not.
    fn select(
        &self,
        ballots: Vec<Ciphertext>,
        draws: &[Draws],
    ) -> Result<Vec<Ciphertext>, PublishedError> {
        let mut drawn = vec![vec![0_u64; DEGREE]; ballots.len()];
        let mut allowed = vec![0_u64; DEGREE];
        for (sample, draws) in draws.iter().enumerate() {
            for (round, (_, entries)) in draws.rounds().enumerate() {
                let run = |class| self.packing.slot(round, sample, class);
                (0..self.packing.run).for_each(|class| allowed[run(class)] = 1);
                for entry in entries {
                    match *entry {
                        Drawn::Teacher(teacher) => (0..self.packing.run)
                            .for_each(|class| drawn[teacher as usize][run(class)] = 1),
                        Drawn::Dummy(own) => (0..self.packing.run)
                            .filter(|&class| class != own.index())
                            .for_each(|class| allowed[run(class)] = 0),
                    }
                }
            }
        }
        ballots
            .into_par_iter()
            .zip(&mut drawn)
            .enumerate()
            .map(|(teacher, (ballot, drawn))| {
                let mut ones: Vec<u64> = drawn.iter().map(|drawn| 1 - drawn).collect();
                if teacher == 0 {
                    // Dummies, and zeros where no round stands, come in with the first teacher.
                    drawn.iter_mut().zip(&allowed).for_each(|(x, allowed)| *x *= allowed);
                    ones.iter_mut().zip(&allowed).for_each(|(x, allowed)| *x *= allowed);
                }
                let mut masked = &ballot * &self.plaintext(drawn)?;
                masked += &self.plaintext(&ones)?;
                Ok(masked)
            })
            .collect()
    }

    fn product(&self, mut factors: Vec<Ciphertext>) -> Result<Ciphertext, PublishedError> {
        while factors.len() > 1 {
            factors = factors
                .par_chunks(2)
                .map(|pair| match pair {
                    [a, b] => Ok(self.multiplicator.multiply(a, b)?),
                    _ => Ok(pair[0].clone()),
                })
                .collect::<Result<_, PublishedError>>()?;
        }
        Ok(factors.swap_remove(0))
    }

    /// One minus the sum over classes, in every slot: summed, masked, re-populated.
    fn not_found(&self, outcome: &Ciphertext) -> Result<Ciphertext, PublishedError> {
        let mut sum = outcome.clone();
        for bit in 0..self.packing.run.ilog2() {
            sum += &self.rotations.rotates_columns_by(&sum, 1 << bit)?;
        }
        let first: Vec<u64> =
            (0..DEGREE).map(|slot| u64::from(slot % self.packing.run == 0)).collect();
        sum = &sum * &self.plaintext(&first)?;
        for bit in 0..self.packing.run.ilog2() {
            sum += &self.rotations.rotates_columns_by(&sum, DEGREE / 2 - (1 << bit))?;
        }
        let mut failure = -&sum;
        failure += &self.plaintext(&vec![1; DEGREE])?;
        Ok(failure)
    }

    /// The outcome of the first round that succeeded, in the first block.
    fn first(
        &self,
        mut outcome: Ciphertext,
        mut failure: Ciphertext,
    ) -> Result<Ciphertext, PublishedError> {
        for step in self.packing.steps() {
            let later = self.rotations.rotates_columns_by(&outcome, step)?;
            let rest = self.rotations.rotates_columns_by(&failure, step)?;
            let product = |x| self.multiplicator.multiply(&failure, x);
            let (found, still) = rayon::join(|| product(&later), || product(&rest));
            let (found, still) = (found?, still?);
            outcome += &found;
            failure = still;
        }
        Ok(outcome)
    }

    fn decrypt(
        &self,
        result: &Ciphertext,
        samples: usize,
        classes: usize,
    ) -> Result<Vec<Label>, PublishedError> {
        let slots = Vec::<u64>::try_decode(&self.secret.try_decrypt(result)?, Encoding::simd())?;
        let label = |sample| {
            let class =
                (0..classes).find(|&class| slots[self.packing.slot(0, sample, class)] == 1)?;
            Some(Class(class as u16))
        };
        Ok((0..samples).map(label).collect())
    }
}

impl Packing {
    /// Column rotations that bring later rounds forward: one block, two, four, ...
    fn steps(self) -> impl Iterator<Item = usize> {
        let block = self.half * self.run;
        (0..self.rounds.next_power_of_two().ilog2()).map(move |bit| (block << bit) % (DEGREE / 2))
    }
}
