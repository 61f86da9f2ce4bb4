//! The noisy argmax behind the trait that all engines share.

use rand::{CryptoRng, RngCore};
use rayon::prelude::*;
use shield::backend::noisy_argmax::{contributors, noisy_one_hot};
use shield::backend::{Backend, BallotBox, Keys, KeysOf, Presence, open_ballot};
use shield::framing::MadeFor;
use shield::shared_noise::SharedNoise;
use shield::shared_noise::{NoiseFamily, Shares};
use shield::votes::Vote;
use shield::{Class, Election, Label, Seed};

use super::digits::{CENTRE, digit};
use super::plan::{ArgmaxPlan, BALLOT_BITS};
use super::tournament::Tournament;
use crate::bootstrapped::backend::{read_code, release_words};
use crate::bootstrapped::codec::{Attendance, Format, payloads};
use crate::bootstrapped::keys::{self, Packed};
use crate::bootstrapped::lookup::Lookup;
use crate::bootstrapped::parameters::{RING, torus};
use crate::bootstrapped::torus::{Lwe, Table};
use crate::bootstrapped::{
    BootstrappedBallot, BootstrappedError, BootstrappedRelease, EvaluationKey, PublicKey, SecretKey,
};

/// The engine, set up for one election and some noise.
pub struct NoisyArgmaxBackend {
    election: Election,
    noise: SharedNoise,
    shares: Shares,
    plan: ArgmaxPlan,
    tournament: Tournament,
    code: Table,
    binding: [u8; 32],
}

impl std::fmt::Debug for NoisyArgmaxBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NoisyArgmaxBackend")
            .field("election", &self.election)
            .field("noise", &self.noise)
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}

impl NoisyArgmaxBackend {
    /// For an election of as many teachers as share the noise. Its setting, which is SHIELD's, is
    /// not used.
    pub fn new(election: Election, noise: SharedNoise) -> Result<Self, BootstrappedError> {
        if election.teachers() != noise.teachers() {
            let (shares, teachers) = (noise.teachers(), election.teachers());
            return Err(BootstrappedError::OtherTeachers { shares, teachers });
        }
        let plan = ArgmaxPlan::new(&election, &noise)?;
        let steps = 2.0 * plan.code_base() as f64;
        Ok(Self {
            shares: Shares::new(&noise),
            tournament: Tournament::new(),
            code: Table::new(|x| digit(x) / steps),
            binding: binding(&election, &noise, &plan),
            election,
            noise,
            plan,
        })
    }

    /// The plan.
    pub fn plan(&self) -> &ArgmaxPlan {
        &self.plan
    }

    fn format(&self) -> Format {
        Format {
            ballot_bits: BALLOT_BITS,
            attendance: Attendance::EverySample,
            numbers: self.election.classes().count(),
            digits: self.plan.names(),
        }
    }

    /// A number of votes, in turns.
    fn encode(&self, number: i64) -> u64 {
        number.cast_unsigned() << (63 - 4 * self.plan.digits())
    }

    /// A ballot of numbers that were drawn before.
    pub(crate) fn encrypt_numbers<R: RngCore + CryptoRng>(
        &self,
        key: &PublicKey,
        batch: usize,
        numbers: &[i64],
        rng: &mut R,
    ) -> BootstrappedBallot {
        let numbers: Vec<u64> = numbers.iter().map(|&number| self.encode(number)).collect();
        let packed = key.encrypt(&numbers, BALLOT_BITS, rng);
        let presence = Presence::new((0..self.batch(batch).len()).map(|_| true));
        BootstrappedBallot { packed, presence, made_for: MadeFor { batch, key: key.id() } }
    }

    /// All ballots of a batch, added up.
    fn sum<B: BallotBox<BootstrappedBallot>>(
        &self,
        key: &EvaluationKey,
        batch: usize,
        ballots: &B,
    ) -> Result<Packed, BootstrappedError> {
        let numbers = self.batch(batch).len() * self.election.classes().count();
        let mut sum = Packed { mask: vec![0; RING], bodies: vec![0; numbers] };
        let made_for = MadeFor { batch, key: key.id() };
        for teacher in contributors(&self.noise, ballots)?? {
            let fits = |ballot: &BootstrappedBallot| ballot.packed.bodies.len() == numbers;
            let ballot = open_ballot(ballots, teacher, made_for, fits)?;
            let words = ballot.packed.mask.iter().chain(&ballot.packed.bodies);
            for (sum, word) in sum.mask.iter_mut().chain(&mut sum.bodies).zip(words) {
                *sum = sum.wrapping_add(*word);
            }
        }
        Ok(sum)
    }

    pub(crate) fn aggregate_sample(
        &self,
        lookup: &mut Lookup,
        key: &EvaluationKey,
        sum: &Packed,
        sample: usize,
        first: usize,
        seed: &Seed,
    ) -> Vec<u16> {
        let classes = self.election.classes().count();
        let counts: Vec<Lwe> = (sample * classes..(sample + 1) * classes)
            .map(|place| {
                let mut count = sum.number(place);
                count.shift(self.encode(self.plan.reach()));
                count
            })
            .collect();
        let names = self.plan.names();
        let winner = self.tournament.winner(lookup, &counts, self.plan.digits(), names);
        let codes = winner.into_iter().map(|mut digit| {
            digit.shift(torus(CENTRE));
            lookup.look_up(&self.code, &digit)
        });
        let codes: Vec<Lwe> = codes.collect();
        let place = (first + sample) as u64 * names as u64;
        release_words(self.plan.flooding(), lookup, &key.public, codes, seed, place)
    }
}

fn binding(election: &Election, noise: &SharedNoise, plan: &ArgmaxPlan) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("shield 2026 tfhe noisy argmax setting v1");
    hasher.update(&election.fingerprint());
    hasher.update(&noise.scale().get().to_le_bytes());
    hasher.update(&noise.shares().to_le_bytes());
    if noise.family() == NoiseFamily::Skellam {
        hasher.update(noise.family().name().as_bytes());
    }
    for number in [plan.digits(), plan.names(), RING] {
        hasher.update(&(number as u64).to_le_bytes());
    }
    *hasher.finalize().as_bytes()
}

payloads!(NoisyArgmaxBackend);

impl Backend for NoisyArgmaxBackend {
    type SecretKey = SecretKey;
    type PublicKey = PublicKey;
    type EvaluationKey = EvaluationKey;
    type Ballot = BootstrappedBallot;
    type Release = BootstrappedRelease;
    type Error = BootstrappedError;

    fn name(&self) -> &'static str {
        "tfhe"
    }

    fn election(&self) -> &Election {
        &self.election
    }

    fn samples_per_batch(&self) -> usize {
        RING / self.election.classes().count()
    }

    fn generate_keys<R: RngCore + CryptoRng>(
        &self,
        rng: &mut R,
    ) -> Result<KeysOf<Self>, BootstrappedError> {
        let (secret, public, evaluation) = keys::generate(rng);
        Ok(Keys { secret, public, evaluation })
    }

    fn encrypt<R: RngCore + CryptoRng>(
        &self,
        key: &PublicKey,
        batch: usize,
        votes: &[Vote],
        rng: &mut R,
    ) -> Result<BootstrappedBallot, BootstrappedError> {
        self.check_votes(batch, votes)?;
        let numbers = noisy_one_hot(self.election.classes(), votes, &self.shares, rng);
        Ok(self.encrypt_numbers(key, batch, &numbers, rng))
    }

    fn aggregate<B: BallotBox<BootstrappedBallot>>(
        &self,
        key: &EvaluationKey,
        batch: usize,
        ballots: &B,
        seed: &Seed,
    ) -> Result<BootstrappedRelease, BootstrappedError> {
        self.check_batch(batch)?;
        let samples = self.batch(batch);
        let sum = self.sum(key, batch, ballots)?;
        let words: Vec<Vec<u16>> = (0..samples.len())
            .into_par_iter()
            .map_init(
                || Lookup::new(key),
                |lookup, sample| {
                    self.aggregate_sample(lookup, key, &sum, sample, samples.start, seed)
                },
            )
            .collect();
        let made_for = MadeFor { batch, key: key.id() };
        Ok(BootstrappedRelease { words: words.concat(), made_for })
    }

    fn decrypt(
        &self,
        key: &SecretKey,
        batch: usize,
        release: &BootstrappedRelease,
    ) -> Result<Vec<Label>, BootstrappedError> {
        self.check_batch(batch)?;
        let names = self.plan.names();
        release.check(key, batch, self.batch(batch).len() * names)?;
        let base = self.plan.code_base();
        let label = |(sample, digits): (usize, &[u16])| {
            let codes = digits.chunks(RING + 1).map(|words| read_code(key, words, base));
            let codes: Vec<usize> = codes.collect();
            let class = codes.iter().rev().fold(0, |class, code| class * base + code);
            let class = u16::try_from(class).ok().map(Class);
            let valid = class.filter(|&class| self.election.classes().contains(class));
            match valid {
                Some(class) if codes.iter().all(|&code| code < base) => Ok(Some(class)),
                _ => Err(BootstrappedError::NotALabel { sample }),
            }
        };
        release.words.chunks(names * (RING + 1)).enumerate().map(label).collect()
    }
}
