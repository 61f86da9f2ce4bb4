//! The engine behind the trait that all engines share.

use rand::{CryptoRng, RngCore};
use shield_core::engine::{
    Audits, BallotBox, BallotError, Encoding, Engine, Envelope, Holder, Keys, KeysOf, Revealed,
    Setup, Shards, check_key_fits,
};
use shield_core::framing::{Kind, MadeFor, Reader, checksum};
use shield_core::votes::Vote;
use shield_core::{Election, Label, Seed};

use crate::aggregation::{Aggregation, Asked};
use crate::alarms;
use crate::ballot::{self, BfvBallot, HALF, Maker};
use crate::bytes;
use crate::error::BfvError;
use crate::keys::{self, Automorphisms, EvaluationKey, KeyId, PublicKey, SecretKey};
use crate::layout::{Coding, Places};
use crate::plan::Plan;
use crate::proof::{Opening, Proof};
use crate::quorum::{self, Trustees, check_single_key};
use crate::release::{self, Release};
use crate::reveal::Safeguards;
use crate::ring::Context;
use crate::validity::BallotCheck;

/// The engine, set up for one election.
#[derive(Debug)]
pub struct BfvEngine {
    setup: Setup,
    plan: Plan,
    context: Context,
    places: Places,
    pub(crate) safeguards: Safeguards,
    check: BallotCheck,
}

impl BfvEngine {
    /// The engine for an election: plans it, and refuses what no parameter set can do.
    pub fn new(election: Election) -> Result<Self, BfvError> {
        let plan = Plan::new(&election)?;
        Ok(Self::with_plan(election, plan))
    }

    /// The engine for an election whose ballots carry a proof that they are short and that their
    /// makers know them: see `proof`. The student holds the key, or trustees do.
    pub fn with_proofs(election: Election, trustees: Option<Trustees>) -> Result<Self, BfvError> {
        let plan = Plan::with_proofs(&election, trustees)?;
        Ok(Self::with_plan(election, plan))
    }

    /// The engine with a given coding, to compare codings.
    pub fn with_coding(election: Election, coding: Coding) -> Result<Self, BfvError> {
        let plan = Plan::with_coding(&election, coding)?;
        Ok(Self::with_plan(election, plan))
    }

    /// The engine for an election whose key trustees hold: see [`crate::trustees`].
    pub fn with_trustees(election: Election, trustees: Trustees) -> Result<Self, BfvError> {
        let plan = Plan::with_trustees(&election, trustees)?;
        Ok(Self::with_plan(election, plan))
    }

    fn with_plan(election: Election, plan: Plan) -> Self {
        let ring = plan.ring();
        let binding = binding(&election, &plan);
        Self {
            context: Context::new(ring.degree, ring.prime_bits, ring.limbs),
            places: Places::new(plan.layout()),
            setup: Setup { election, samples_per_batch: plan.samples_per_batch(), binding },
            plan,
            safeguards: Safeguards::Whole,
            check: BallotCheck::On,
        }
    }

    /// The same engine, whose aggregations check ballots or do not. They should: see
    /// [`BallotCheck`].
    #[must_use]
    pub fn with_ballot_check(self, check: BallotCheck) -> Self {
        Self { check, ..self }
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// Refuses a batch that does not exist, and an evaluation key of another plan.
    pub(crate) fn check_aggregation(
        &self,
        key: &EvaluationKey,
        batch: usize,
    ) -> Result<(), BfvError> {
        self.setup.check_batch(batch)?;
        let expected = keys::automorphisms(self.plan.layout());
        let part = &key.public.parts[0];
        let fits = part.degree() == self.context.degree()
            && part.limbs() == self.context.limbs()
            && key.run_turns.len() == expected.turns.len()
            && key.run_fills.len() == expected.fills.len()
            && key.group_moves.len() == expected.moves.len();
        Ok(check_key_fits(Kind::EvaluationKey, fits)?)
    }

    /// Refuses what belongs to other keys or to another batch, what does not `fit` the plan, and a
    /// secret key of another plan.
    pub(crate) fn check_decryption(
        &self,
        key: &SecretKey,
        batch: usize,
        what: Kind,
        made_for: MadeFor,
        fits: bool,
    ) -> Result<(), BfvError> {
        self.setup.check_batch(batch)?;
        made_for.check(what, MadeFor { batch, key: key.id }, fits)?;
        let fits = key.secret.coefficients().len() == self.context.degree();
        Ok(check_key_fits(Kind::SecretKey, fits)?)
    }

    /// Refuses votes that are none, and a public key of another plan.
    fn check_vote(&self, key: &PublicKey, batch: usize, votes: &[Vote]) -> Result<(), BfvError> {
        self.setup.check_votes(batch, votes)?;
        Ok(check_key_fits(Kind::PublicKey, bytes::fits(&self.context, key))?)
    }

    /// A ballot with the checksum of its bytes.
    pub(crate) fn sealed(&self, ballot: BfvBallot) -> BfvBallot {
        BfvBallot { digest: checksum(&self.encode_ballot(&ballot)), ..ballot }
    }

    pub(crate) fn aggregation<'a>(
        &'a self,
        key: &'a EvaluationKey,
        batch: usize,
        seed: &'a Seed,
    ) -> Aggregation<'a> {
        Aggregation {
            context: &self.context,
            election: self.election(),
            plan: &self.plan,
            places: &self.places,
            binding: &self.setup.binding,
            key,
            seed,
            batch,
            samples: self.batch(batch),
            safeguards: self.safeguards,
            check: self.check,
            asked: Asked::All,
        }
    }

    /// What the student sees in every slot: for the tests of what a release gives away.
    #[cfg(test)]
    pub(crate) fn slots(&self, key: &SecretKey, release: &Release) -> Vec<Vec<u64>> {
        release::slots(&self.context, &key.secret, release)
    }

    /// What the slots of a release of some batch show.
    pub(crate) fn revealed(&self, batch: usize, slots: &[Vec<u64>]) -> Revealed {
        let samples = self.batch(batch).len();
        alarms::inspect(self.election(), &self.plan, &self.places, slots, samples)
    }

    pub(crate) fn places(&self) -> &Places {
        &self.places
    }
}

/// A digest of all that two parties must agree on. The 0 stands for the reveal, the only release.
fn binding(election: &Election, plan: &Plan) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("shield 2026 bfv setting v2");
    hasher.update(&election.fingerprint());
    hasher.update(&[0]);
    hasher.update(&(plan.ring_degree() as u64).to_le_bytes());
    for bits in plan.moduli_bits() {
        hasher.update(&bits.to_le_bytes());
    }
    hasher.update(&[keys::coding_byte(plan.coding())]);
    for &radix in plan.layout().cells().radices() {
        hasher.update(&(radix as u64).to_le_bytes());
    }
    quorum::bind(&mut hasher, plan.trustees());
    if plan.proofs() {
        hasher.update(b"proofs");
    }
    *hasher.finalize().as_bytes()
}

impl Engine for BfvEngine {
    type SecretKey = SecretKey;
    type PublicKey = PublicKey;
    type EvaluationKey = EvaluationKey;
    type Ballot = BfvBallot;
    type Release = Release;
    type Error = BfvError;

    const NAME: &'static str = "bfv";
    const KEY_NAME: &'static str = keys::NAME;

    fn setup(&self) -> &Setup {
        &self.setup
    }

    fn generate_keys<R: RngCore + CryptoRng>(&self, rng: &mut R) -> Result<KeysOf<Self>, BfvError> {
        check_single_key(self.plan.trustees())?;
        let name = |key: &_| bytes::key_id(Self::KEY_NAME, &self.context, key);
        let (secret, public, evaluation) =
            keys::generate(&self.context, self.plan.layout(), name, rng);
        Ok(Keys { secret, public, evaluation })
    }

    fn encrypt<R: RngCore + CryptoRng>(
        &self,
        key: &PublicKey,
        batch: usize,
        votes: &[Vote],
        rng: &mut R,
    ) -> Result<BfvBallot, BfvError> {
        if self.plan.proofs() {
            return Err(BallotError::Unnamed.into());
        }
        self.check_vote(key, batch, votes)?;
        let slots = ballot::slots(self.plan.layout(), &self.places, votes, 1);
        let encrypted = slots.into_iter().map(|slots| {
            let mut ciphertext = key.key.zero(&self.context, self.context.limbs(), rng);
            ciphertext.add_slots(&self.context, slots);
            ciphertext
        });
        Ok(self.sealed(BfvBallot::unsealed(encrypted.collect(), votes, batch, key.id)))
    }

    fn encrypt_as<R: RngCore + CryptoRng>(
        &self,
        key: &PublicKey,
        batch: usize,
        teacher: u32,
        votes: &[Vote],
        rng: &mut R,
    ) -> Result<BfvBallot, BfvError> {
        if !self.plan.proofs() {
            return self.encrypt(key, batch, votes, rng);
        }
        self.check_vote(key, batch, votes)?;
        let slots = ballot::slots(self.plan.layout(), &self.places, votes, HALF);
        let (ciphertexts, openings): (Vec<_>, Vec<_>) = slots
            .into_iter()
            .map(|slots| Opening::encrypt(&self.context, &key.key, slots, rng))
            .unzip();
        let ballot = BfvBallot::unsealed(ciphertexts, votes, batch, key.id);
        let maker = Maker { binding: self.binding(), teacher };
        let proven = ballot::prove(&self.context, &key.key, maker, ballot, &openings, rng);
        Ok(self.sealed(proven))
    }

    fn check_proof(
        &self,
        key: Holder<'_, Self>,
        teacher: u32,
        ballot: &BfvBallot,
    ) -> Result<(), BfvError> {
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
        key: &EvaluationKey,
        batch: usize,
        ballots: &dyn BallotBox<BfvBallot>,
        seed: &Seed,
    ) -> Result<Release, BfvError> {
        self.check_aggregation(key, batch)?;
        self.aggregation(key, batch, seed).run(&ballots)
    }

    fn decrypt(
        &self,
        key: &SecretKey,
        batch: usize,
        release: &Release,
    ) -> Result<Vec<Label>, BfvError> {
        Ok(self.inspect(key, batch, release)?.labels)
    }

    fn inspect(
        &self,
        key: &SecretKey,
        batch: usize,
        release: &Release,
    ) -> Result<Revealed, BfvError> {
        check_single_key(self.plan.trustees())?;
        let fits = |c: &crate::scheme::Ciphertext| {
            c.limbs() == 1 && c.parts[0].degree() == self.context.degree()
        };
        let expected = self.plan.released_ciphertexts();
        let fits = release.ciphertexts.len() == expected && release.ciphertexts.iter().all(fits);
        self.check_decryption(key, batch, Kind::Release, release.made_for(), fits)?;
        let slots = release::slots(&self.context, &key.secret, release);
        Ok(self.revealed(batch, &slots))
    }

    fn shards(&self) -> Option<&dyn Shards<Self>> {
        Some(self)
    }

    fn audits(&self) -> Option<&dyn Audits<Self>> {
        self.plan.trustees().is_none().then_some(self)
    }

    fn payload_bytes(&self, kind: Kind, _samples: usize) -> usize {
        self.plan.payload_bytes(kind)
    }

    fn memory_bytes(&self, threads: usize) -> usize {
        self.plan.memory_bytes(threads)
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

    fn write_evaluation_key(&self, out: &mut Vec<u8>, key: &EvaluationKey) {
        bytes::write_public(out, &self.context, &key.public);
        bytes::write_switch(out, &self.context, &key.relinearisation);
        for rotation in key.run_turns.iter().chain(&key.run_fills).chain(&key.group_moves) {
            bytes::write_switch(out, &self.context, &rotation.key);
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

    fn read_evaluation_key(&self, payload: &mut Reader, id: KeyId) -> Option<EvaluationKey> {
        let (context, limbs) = (&self.context, self.context.limbs());
        let Automorphisms { turns, fills, moves } = keys::automorphisms(self.plan.layout());
        let public = bytes::read_public(payload, context)?;
        let relinearisation =
            bytes::read_relinearisation(payload, context, limbs, self.plan.ring().trustees)?;
        let mut rotations = |exponents: Vec<u64>| {
            let rotation = |exponent| bytes::read_rotation(payload, context, exponent, limbs);
            exponents.into_iter().map(rotation).collect::<Option<Vec<_>>>()
        };
        Some(EvaluationKey {
            id,
            public,
            relinearisation,
            run_turns: rotations(turns)?,
            run_fills: rotations(fills)?,
            group_moves: rotations(moves)?,
        })
    }

    fn read_votes(&self, payload: &mut Reader, envelope: Envelope) -> Option<BfvBallot> {
        let planes = self.plan.layout().planes();
        let limbs = self.context.limbs();
        let ciphertexts = bytes::read_ciphertexts(payload, &self.context, planes, limbs)?;
        let mut proof = None;
        if self.plan.proofs() {
            proof = Some(Proof::read(payload, self.context.degree(), planes)?);
        }
        Some(BfvBallot::new(ciphertexts, envelope, proof))
    }

    fn read_release(
        &self,
        payload: &mut Reader,
        MadeFor { batch, key }: MadeFor,
    ) -> Option<Release> {
        let count = self.plan.released_ciphertexts();
        let limbs = self.plan.released_limbs();
        let ciphertexts = bytes::read_ciphertexts(payload, &self.context, count, limbs)?;
        Some(Release { ciphertexts, batch, key })
    }
}
