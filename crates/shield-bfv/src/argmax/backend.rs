//! The batched argmax behind the trait that all engines share.

use std::fmt;

use rand::{CryptoRng, RngCore};
use shield::backend::noisy_argmax::noisy_one_hot;
use shield::backend::{Backend, BallotBox, Keys, KeysOf, Presence, check_key_fits};
use shield::framing::{Kind, MadeFor};
use shield::privacy::skellam::Sensitivity;
use shield::shared_noise::SharedNoise;
use shield::shared_noise::Shares;
use shield::votes::Vote;
use shield::{Class, Election, Label, Seed};
use zeroize::Zeroizing;

use super::aggregation::{Aggregation, Safeguards};
use super::error::ArgmaxError;
use super::keys::{self, ArgmaxEvaluationKey};
use super::layout::Places;
use super::plan::{ArgmaxPlan, Rings};
use super::sign;
use crate::ballot::BfvBallot;
use crate::bytes;
use crate::keys::{PublicKey, SecretKey};
use crate::release::{self, Release};
use crate::ring::{Context, PLAINTEXT};
use crate::scheme::Ciphertext;

/// The engine, set up for one election and some noise.
pub struct ArgmaxBackend {
    election: Election,
    noise: SharedNoise,
    sensitivity: Sensitivity,
    shares: Shares,
    plan: ArgmaxPlan,
    context: Context,
    places: Places,
    coefficients: Vec<i64>,
    pub(crate) binding: [u8; 32],
    pub(crate) safeguards: Safeguards,
}

impl fmt::Debug for ArgmaxBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArgmaxBackend")
            .field("election", &self.election)
            .field("noise", &self.noise)
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}

impl ArgmaxBackend {
    /// For an election of as many teachers as share the noise, each with one vote per sample. The
    /// election's setting, which is SHIELD's, is not used.
    pub fn new(election: Election, noise: SharedNoise) -> Result<Self, ArgmaxError> {
        Self::with_counts(election, noise, Sensitivity::Vote)
    }

    /// The same, for ballots that may hold counts: see [`Self::encrypt_counts`].
    pub fn with_counts(
        election: Election,
        noise: SharedNoise,
        sensitivity: Sensitivity,
    ) -> Result<Self, ArgmaxError> {
        Self::in_rings(election, noise, sensitivity, Rings::Secure)
    }

    pub(crate) fn in_rings(
        election: Election,
        noise: SharedNoise,
        sensitivity: Sensitivity,
        rings: Rings,
    ) -> Result<Self, ArgmaxError> {
        if election.teachers() != noise.teachers() {
            let (noise, election) = (noise.teachers(), election.teachers());
            return Err(ArgmaxError::Teachers { noise, election });
        }
        let plan = ArgmaxPlan::in_rings(&election, &noise, sensitivity, rings)?;
        let ring = plan.ring();
        let context = Context::new(ring.degree, ring.prime_bits, ring.limbs);
        Ok(Self {
            places: Places::new(ring.degree, plan.pairing().run()),
            coefficients: sign::coefficients(plan.range()),
            binding: binding(&election, &noise, sensitivity, &plan),
            shares: Shares::new(&noise),
            safeguards: Safeguards::Whole,
            election,
            noise,
            sensitivity,
            plan,
            context,
        })
    }

    /// The plan.
    pub fn plan(&self) -> &ArgmaxPlan {
        &self.plan
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// A ballot of histograms: for each sample of the batch, how many voters behind this member
    /// chose each class. They may sum to as much as the election's bound; none at all is an
    /// abstention.
    pub fn encrypt_counts<R: RngCore + CryptoRng>(
        &self,
        key: &PublicKey,
        batch: usize,
        counts: &[Vec<u32>],
        rng: &mut R,
    ) -> Result<BfvBallot, ArgmaxError> {
        // Whether there is such a batch, and one histogram for each of its samples.
        self.check_votes(batch, &vec![None; counts.len()])?;
        check_key_fits(Kind::PublicKey, self.is_ours(key))?;
        let (classes, bound) = (self.plan.classes(), self.sensitivity.bound());
        let mut numbers = Zeroizing::new(Vec::with_capacity(counts.len() * classes));
        for (sample, counts) in counts.iter().enumerate() {
            let bad = |found| Err(ArgmaxError::Counts { sample, found, classes, bound });
            if counts.len() != classes {
                return bad(format!("{} counts", counts.len()));
            }
            let sum: u64 = counts.iter().map(|&count| u64::from(count)).sum();
            if sum > u64::from(bound) {
                return bad("the counts sum to more than the bound".to_owned());
            }
            numbers.extend(counts.iter().map(|&count| i64::from(count) + self.shares.share(rng)));
        }
        Ok(self.encrypt_numbers(key, batch, &numbers, rng))
    }

    /// A ballot of numbers, one for each sample and class, that hold their noise already.
    pub(crate) fn encrypt_numbers<R: RngCore + CryptoRng>(
        &self,
        key: &PublicKey,
        batch: usize,
        numbers: &[i64],
        rng: &mut R,
    ) -> BfvBallot {
        let (classes, pairing) = (self.plan.classes(), self.plan.pairing());
        let mut slots = Zeroizing::new(vec![0; self.context.degree()]);
        for (sample, numbers) in numbers.chunks_exact(classes).enumerate() {
            for (slot, &place) in self.places.of(sample).iter().enumerate() {
                let number = numbers[pairing.class(slot)];
                slots[place as usize] = number.rem_euclid(PLAINTEXT.cast_signed()).cast_unsigned();
            }
        }
        let mut ciphertext = key.key.zero(&self.context, self.context.limbs(), rng);
        ciphertext.add_slots(&self.context, std::mem::take(&mut *slots));
        // Who abstains adds its share all the same, so everybody is present on every sample.
        let presence = Presence::new((0..self.batch(batch).len()).map(|_| true));
        let ciphertexts = vec![ciphertext];
        BfvBallot { ciphertexts, presence, batch, key: key.id, digest: [0; 32] }
    }

    fn is_ours(&self, key: &PublicKey) -> bool {
        let part = &key.key.parts[0];
        part.degree() == self.context.degree() && part.limbs() == self.context.limbs()
    }

    pub(crate) fn aggregation<'a>(
        &'a self,
        key: &'a ArgmaxEvaluationKey,
        batch: usize,
        seed: &'a Seed,
    ) -> Aggregation<'a> {
        Aggregation {
            context: &self.context,
            plan: &self.plan,
            places: &self.places,
            coefficients: &self.coefficients,
            noise: &self.noise,
            key,
            seed,
            batch,
            samples: self.batch(batch).len(),
            safeguards: self.safeguards,
        }
    }

    /// The slot of each class, sample by sample.
    pub(crate) fn class_slots(&self, slots: &[u64], samples: usize) -> Vec<Vec<u64>> {
        let classes = self.plan.classes();
        let of = |sample| {
            let places = &self.places.of(sample)[..classes];
            places.iter().map(|&place| slots[place as usize]).collect()
        };
        (0..samples).map(of).collect()
    }
}

fn binding(
    election: &Election,
    noise: &SharedNoise,
    sensitivity: Sensitivity,
    plan: &ArgmaxPlan,
) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("shield 2026 bfv noisy argmax binding v1");
    hasher.update(&election.fingerprint());
    hasher.update(noise.family().name().as_bytes());
    hasher.update(&noise.scale().get().to_le_bytes());
    hasher.update(&noise.shares().to_le_bytes());
    hasher.update(&sensitivity.bound().to_le_bytes());
    let numbers = [
        plan.ring_degree(),
        plan.moduli_bits().len(),
        plan.pairing().run(),
        plan.blocks().babies,
        plan.blocks().count,
        plan.start(),
        plan.wins(),
    ];
    for number in numbers {
        hasher.update(&(number as u64).to_le_bytes());
    }
    *hasher.finalize().as_bytes()
}

impl Backend for ArgmaxBackend {
    type SecretKey = SecretKey;
    type PublicKey = PublicKey;
    type EvaluationKey = ArgmaxEvaluationKey;
    type Ballot = BfvBallot;
    type Release = Release;
    type Error = ArgmaxError;

    fn name(&self) -> &'static str {
        "bfv"
    }

    fn election(&self) -> &Election {
        &self.election
    }

    fn samples_per_batch(&self) -> usize {
        self.plan.samples_per_batch()
    }

    fn generate_keys<R: RngCore + CryptoRng>(
        &self,
        rng: &mut R,
    ) -> Result<KeysOf<Self>, ArgmaxError> {
        let name = |key: &_| bytes::key_id(keys::NAME, &self.context, key);
        let (secret, public, evaluation) = keys::generate(&self.context, &self.plan, name, rng);
        Ok(Keys { secret, public, evaluation })
    }

    fn encrypt<R: RngCore + CryptoRng>(
        &self,
        key: &PublicKey,
        batch: usize,
        votes: &[Vote],
        rng: &mut R,
    ) -> Result<BfvBallot, ArgmaxError> {
        self.check_votes(batch, votes)?;
        check_key_fits(Kind::PublicKey, self.is_ours(key))?;
        let classes = self.election.classes();
        let numbers = Zeroizing::new(noisy_one_hot(classes, votes, &self.shares, rng));
        Ok(self.encrypt_numbers(key, batch, &numbers, rng))
    }

    fn encrypt_counts<R: RngCore + CryptoRng>(
        &self,
        key: &PublicKey,
        batch: usize,
        counts: &[Vec<u32>],
        rng: &mut R,
    ) -> Option<Result<BfvBallot, ArgmaxError>> {
        Some(Self::encrypt_counts(self, key, batch, counts, rng))
    }

    fn aggregate<B: BallotBox<BfvBallot>>(
        &self,
        key: &ArgmaxEvaluationKey,
        batch: usize,
        ballots: &B,
        seed: &Seed,
    ) -> Result<Release, ArgmaxError> {
        self.check_batch(batch)?;
        check_key_fits(Kind::EvaluationKey, key.fits(&self.plan))?;
        self.aggregation(key, batch, seed).run(ballots)
    }

    /// The labels of one batch. A sample without exactly one winner has none: noise beyond the
    /// plan's range, or a ballot that was no ballot.
    fn decrypt(
        &self,
        key: &SecretKey,
        batch: usize,
        release: &Release,
    ) -> Result<Vec<Label>, ArgmaxError> {
        self.check_batch(batch)?;
        let degree = self.context.degree();
        let fits = |c: &Ciphertext| c.limbs() == 1 && c.parts[0].degree() == degree;
        let fits = release.ciphertexts.len() == 1 && release.ciphertexts.iter().all(fits);
        release.made_for().check_release(MadeFor { batch, key: key.id }, fits)?;
        check_key_fits(Kind::SecretKey, key.secret.coefficients().len() == degree)?;
        let slots = release::slots(&self.context, &key.secret, release).concat();
        let label = |slots: Vec<u64>| {
            let mut zeros = (0..).zip(&slots).filter(|(_, slot)| **slot == 0);
            let winner = zeros.next().map(|(class, _)| Class(class));
            winner.filter(|_| zeros.next().is_none())
        };
        let samples = self.batch(batch).len();
        Ok(self.class_slots(&slots, samples).into_iter().map(label).collect())
    }
}
