//! The batched argmax behind the trait that all engines share.

mod ballots;

use std::fmt;

use rand::{CryptoRng, RngCore};
use shield_core::engine::{
    BallotBox, BallotError, Counts, Engine, Envelope, Holder, Keys, KeysOf, Presence, Setup,
    check_key_fits,
};
use shield_core::framing::{Kind, MadeFor, Reader};
use shield_core::shared_noise::{SharedNoise, Shares};
use shield_core::votes::Vote;
use shield_core::{Class, Election, Label, Seed};
use shield_privacy::skellam::Sensitivity;

use super::aggregation::{Aggregation, Safeguards};
use super::error::ArgmaxError;
use super::keys::{self, ArgmaxEvaluationKey};
use super::plan::{ArgmaxPlan, BallotKind, Rings};
use super::sign;
use crate::ballot::{self, BfvBallot, Maker};
use crate::bytes;
use crate::keys::{KeyId, PublicKey, SecretKey};
use crate::layout::Places;
use crate::noise::Lengths;
use crate::proof::Proof;
use crate::quorum::{self, Trustees, check_single_key};
use crate::release::{self, Release};
use crate::ring::Context;
use crate::scheme::Ciphertext;

/// The engine, set up for one election and some noise.
pub struct ArgmaxEngine {
    setup: Setup,
    pub(super) noise: SharedNoise,
    sensitivity: Sensitivity,
    pub(super) threshold: Option<u32>,
    shares: Shares,
    plan: ArgmaxPlan,
    pub(crate) context: Context,
    places: Places,
    coefficients: Vec<i64>,
    pub(crate) safeguards: Safeguards,
}

impl fmt::Debug for ArgmaxEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArgmaxEngine")
            .field("election", self.election())
            .field("noise", &self.noise)
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}

impl ArgmaxEngine {
    /// For an election of as many teachers as share the noise, each with one vote per sample. The
    /// election's setting, which is SHIELD's, is not used.
    pub fn new(election: Election, noise: SharedNoise) -> Result<Self, ArgmaxError> {
        Self::with_counts(election, noise, Sensitivity::Vote, None)
    }

    /// The same, for ballots that may hold counts: see [`Counts`]. With a threshold, a sample whose
    /// largest noisy count is below it has no label: it is the public count of a class more, which
    /// the server adds to the sum of the ballots.
    pub fn with_counts(
        election: Election,
        noise: SharedNoise,
        sensitivity: Sensitivity,
        threshold: Option<u32>,
    ) -> Result<Self, ArgmaxError> {
        Self::in_rings(election, noise, sensitivity, threshold, Rings::Secure)
    }

    /// The same for an election whose key trustees hold: see [`crate::trustees`].
    pub fn with_trustees(
        election: Election,
        noise: SharedNoise,
        sensitivity: Sensitivity,
        threshold: Option<u32>,
        trustees: Trustees,
    ) -> Result<Self, ArgmaxError> {
        let of = (sensitivity, threshold);
        let (kind, lengths) = (BallotKind::Checked, Lengths::Assumed);
        Self::held_by(election, noise, of, Rings::Secure, Some(trustees), kind, lengths)
    }

    /// For ballots of votes that carry a proof that they are short and that their makers know them:
    /// see `proof`. The student holds the key, or trustees do.
    pub fn with_proofs(
        election: Election,
        noise: SharedNoise,
        threshold: Option<u32>,
        trustees: Option<Trustees>,
    ) -> Result<Self, ArgmaxError> {
        let of = (Sensitivity::Vote, threshold);
        let (kind, lengths) = (BallotKind::Checked, Lengths::Proven);
        Self::held_by(election, noise, of, Rings::Secure, trustees, kind, lengths)
    }

    pub(crate) fn in_rings(
        election: Election,
        noise: SharedNoise,
        sensitivity: Sensitivity,
        threshold: Option<u32>,
        rings: Rings,
    ) -> Result<Self, ArgmaxError> {
        let of = (sensitivity, threshold);
        Self::held_by(election, noise, of, rings, None, BallotKind::Checked, Lengths::Assumed)
    }

    /// The engine for either holder of the key and either kind of ballots: for tiny ones, what
    /// follows the differences.
    pub(crate) fn held_by(
        election: Election,
        noise: SharedNoise,
        (sensitivity, threshold): (Sensitivity, Option<u32>),
        rings: Rings,
        trustees: Option<Trustees>,
        kind: BallotKind,
        lengths: Lengths,
    ) -> Result<Self, ArgmaxError> {
        if election.teachers() != noise.teachers() {
            let (noise, election) = (noise.teachers(), election.teachers());
            return Err(ArgmaxError::Teachers { noise, election });
        }
        let of = (sensitivity, threshold);
        let plan = ArgmaxPlan::held_by(&election, &noise, of, rings, trustees, kind, lengths)?;
        let ring = plan.ring();
        let context = Context::new(ring.degree, ring.prime_bits, ring.limbs);
        let binding = binding(&election, &noise, sensitivity, threshold, &plan);
        Ok(Self {
            places: plan.places(),
            coefficients: sign::coefficients(plan.range()),
            shares: Shares::new(&noise),
            safeguards: Safeguards::Whole,
            setup: Setup { election, samples_per_batch: plan.samples_per_batch(), binding },
            noise,
            sensitivity,
            threshold,
            plan,
            context,
        })
    }

    /// The plan.
    pub fn plan(&self) -> &ArgmaxPlan {
        &self.plan
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
            binding: &self.setup.binding,
            threshold: self.threshold,
            key,
            seed,
            batch,
            samples: self.batch(batch).len(),
            safeguards: self.safeguards,
        }
    }

    /// The labels that the slots of a release of some batch show.
    pub(crate) fn labels(&self, batch: usize, slots: &[u64]) -> Vec<Label> {
        let classes = self.election().classes().count();
        let label = |slots: Vec<u64>| {
            let mut zeros = (0..).zip(&slots).filter(|(_, slot)| **slot == 0);
            let winner = zeros.next().map(|(class, _)| Class(class));
            // The class behind all others is the threshold.
            winner.filter(|winner| zeros.next().is_none() && winner.index() < classes)
        };
        let samples = self.batch(batch).len();
        self.class_slots(slots, samples).into_iter().map(label).collect()
    }

    /// Whether every sample of an honest run has a label.
    pub(crate) fn always_labels(&self) -> bool {
        self.threshold.is_none()
    }

    /// The slot of each class, sample by sample.
    pub(crate) fn class_slots(&self, slots: &[u64], samples: usize) -> Vec<Vec<u64>> {
        let classes = self.plan.classes();
        let of = |sample| {
            let places = &self.places.slots(0, sample)[..classes];
            places.iter().map(|&place| slots[place as usize]).collect()
        };
        (0..samples).map(of).collect()
    }
}

fn binding(
    election: &Election,
    noise: &SharedNoise,
    sensitivity: Sensitivity,
    threshold: Option<u32>,
    plan: &ArgmaxPlan,
) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("shield 2026 bfv noisy argmax binding v1");
    hasher.update(&election.fingerprint());
    hasher.update(noise.family().name().as_bytes());
    hasher.update(&noise.scale().get().to_le_bytes());
    hasher.update(&noise.shares().to_le_bytes());
    hasher.update(&sensitivity.bound().to_le_bytes());
    if let Some(threshold) = threshold {
        hasher.update(b"threshold").update(&threshold.to_le_bytes());
    }
    if plan.proofs() {
        hasher.update(b"proofs");
    }
    let numbers = [
        plan.ring_degree(),
        plan.moduli_bits().len(),
        plan.pairing().run(),
        plan.blocks().babies,
        plan.blocks().count,
        plan.start(),
        plan.wins(),
    ];
    if let Some(dimension) = plan.dimension() {
        hasher.update(b"tiny").update(&(dimension as u64).to_le_bytes());
    }
    for number in numbers {
        hasher.update(&(number as u64).to_le_bytes());
    }
    quorum::bind(&mut hasher, plan.trustees());
    *hasher.finalize().as_bytes()
}

impl Engine for ArgmaxEngine {
    type SecretKey = SecretKey;
    type PublicKey = PublicKey;
    type EvaluationKey = ArgmaxEvaluationKey;
    type Ballot = BfvBallot;
    type Release = Release;
    type Error = ArgmaxError;

    const NAME: &'static str = "bfv";
    const KEY_NAME: &'static str = keys::NAME;

    fn setup(&self) -> &Setup {
        &self.setup
    }

    fn generate_keys<R: RngCore + CryptoRng>(
        &self,
        rng: &mut R,
    ) -> Result<KeysOf<Self>, ArgmaxError> {
        check_single_key(self.plan.trustees())?;
        let name = |key: &_| bytes::key_id(Self::KEY_NAME, &self.context, key);
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
        if self.plan.proofs() {
            return Err(BallotError::Unnamed.into());
        }
        check_key_fits(Kind::PublicKey, bytes::fits(&self.context, key))?;
        let numbers = self.noisy_votes(batch, votes, rng)?;
        Ok(self.encrypt_numbers(key, batch, &numbers, rng))
    }

    fn encrypt_as<R: RngCore + CryptoRng>(
        &self,
        key: &PublicKey,
        batch: usize,
        teacher: u32,
        votes: &[Vote],
        rng: &mut R,
    ) -> Result<BfvBallot, ArgmaxError> {
        if !self.plan.proofs() {
            return self.encrypt(key, batch, votes, rng);
        }
        check_key_fits(Kind::PublicKey, bytes::fits(&self.context, key))?;
        let numbers = self.noisy_votes(batch, votes, rng)?;
        Ok(self.prove_numbers(key, batch, teacher, &numbers, rng))
    }

    fn check_proof(
        &self,
        key: Holder<'_, Self>,
        teacher: u32,
        ballot: &BfvBallot,
    ) -> Result<(), ArgmaxError> {
        let key = match key {
            Holder::Public(key) => &key.key,
            Holder::Evaluation(key) => &key.public,
        };
        if self.plan.proofs() {
            let maker = Maker { binding: self.binding(), teacher };
            ballot::check(&self.context, key, maker, ballot)?;
        }
        Ok(())
    }

    fn aggregate(
        &self,
        key: &ArgmaxEvaluationKey,
        batch: usize,
        ballots: &dyn BallotBox<BfvBallot>,
        seed: &Seed,
    ) -> Result<Release, ArgmaxError> {
        self.setup.check_batch(batch)?;
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
        check_single_key(self.plan.trustees())?;
        self.setup.check_batch(batch)?;
        let degree = self.context.degree();
        let fits = |c: &Ciphertext| c.limbs() == 1 && c.parts[0].degree() == degree;
        let fits = release.ciphertexts.len() == 1 && release.ciphertexts.iter().all(fits);
        release.made_for().check_release(MadeFor { batch, key: key.id }, fits)?;
        check_key_fits(Kind::SecretKey, key.secret.coefficients().len() == degree)?;
        let slots = release::slots(&self.context, &key.secret, release).concat();
        Ok(self.labels(batch, &slots))
    }

    fn counts(&self) -> Option<&dyn Counts<Self>> {
        (!self.plan.proofs()).then_some(self)
    }

    fn payload_bytes(&self, kind: Kind, samples: usize) -> usize {
        self.plan.payload_bytes(kind, samples)
    }

    fn memory_bytes(&self, threads: usize) -> usize {
        self.plan.memory_bytes(threads)
    }

    /// Who abstains sends a vote for nobody: a ballot that leaves a sample out is none.
    fn accepts(&self, presence: &Presence) -> bool {
        presence.is_complete()
    }

    fn release_made_for(&self, release: &Release) -> MadeFor {
        release.made_for()
    }

    fn write_secret_key(&self, out: &mut Vec<u8>, key: &SecretKey) {
        bytes::write_secret(out, key);
    }

    fn write_public_key(&self, out: &mut Vec<u8>, key: &PublicKey) {
        bytes::write_public(out, &self.context, &key.key);
    }

    fn write_evaluation_key(&self, out: &mut Vec<u8>, key: &ArgmaxEvaluationKey) {
        bytes::write_public(out, &self.context, &key.public);
        for key in [&key.relinearisation, &key.step.key, &key.leap.key] {
            bytes::write_switch(out, &self.context, key);
        }
    }

    fn write_votes(&self, out: &mut Vec<u8>, ballot: &BfvBallot) {
        bytes::write_ciphertexts(out, &self.context, &ballot.ciphertexts);
        if let Some(proof) = &ballot.proof {
            proof.write(out);
        }
    }

    fn write_release(&self, out: &mut Vec<u8>, release: &Release) {
        bytes::write_ciphertexts(out, &self.context, &release.ciphertexts);
    }

    fn read_secret_key(&self, payload: &mut Reader, id: KeyId) -> Option<SecretKey> {
        bytes::read_secret(payload, self.context.degree(), id)
    }

    fn read_public_key(&self, payload: &mut Reader, id: KeyId) -> Option<PublicKey> {
        Some(PublicKey { key: bytes::read_public(payload, &self.context)?, id })
    }

    fn read_evaluation_key(&self, payload: &mut Reader, id: KeyId) -> Option<ArgmaxEvaluationKey> {
        let (context, plan) = (&self.context, &self.plan);
        let public = bytes::read_public(payload, context)?;
        let relinearisation =
            bytes::read_relinearisation(payload, context, plan.start(), plan.ring().trustees)?;
        let mut rotation = |by: usize, limbs: usize| {
            bytes::read_rotation(payload, context, keys::exponent(plan, by), limbs)
        };
        let step = rotation(1, plan.step())?;
        let leap = rotation(plan.steps().leap(), plan.wins())?;
        Some(ArgmaxEvaluationKey { public, relinearisation, step, leap, id })
    }

    fn read_votes(&self, payload: &mut Reader, envelope: Envelope) -> Option<BfvBallot> {
        let limbs = self.context.limbs();
        let ciphertexts = bytes::read_ciphertexts(payload, &self.context, 1, limbs)?;
        let mut proof = None;
        if self.plan.proofs() {
            proof = Some(Proof::read(payload, self.context.degree(), 1)?);
        }
        Some(BfvBallot::new(ciphertexts, envelope, proof))
    }

    fn read_release(
        &self,
        payload: &mut Reader,
        MadeFor { batch, key }: MadeFor,
    ) -> Option<Release> {
        let ciphertexts =
            bytes::read_ciphertexts(payload, &self.context, 1, self.plan.released_limbs())?;
        Some(Release { ciphertexts, batch, key })
    }
}

impl Counts<Self> for ArgmaxEngine {
    /// The counts on a sample may sum to as much as the election's bound; none at all is an
    /// abstention.
    fn encrypt_counts(
        &self,
        key: &PublicKey,
        batch: usize,
        counts: &[Vec<u32>],
        mut rng: &mut dyn CryptoRng,
    ) -> Result<BfvBallot, ArgmaxError> {
        check_key_fits(Kind::PublicKey, bytes::fits(&self.context, key))?;
        let numbers = self.noisy_counts(batch, counts, rng)?;
        Ok(self.encrypt_numbers(key, batch, &numbers, &mut rng))
    }
}
