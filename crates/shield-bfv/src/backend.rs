//! The engine behind the trait that all engines share.

use std::ops::Range;

use rand::{CryptoRng, RngCore};
use shield::backend::{Backend, BackendBytes, BallotBox, Keys, KeysOf, ShardError, check_key_fits};
use shield::framing::{Kind, MadeFor, checksum};
use shield::votes::Vote;
use shield::{Election, Label, Seed};

use crate::aggregation::{Aggregation, Asked};
use crate::alarms::{self, Inspection};
use crate::ballot::{self, BfvBallot};
use crate::bytes;
use crate::error::BfvError;
use crate::keys::{self, EvaluationKey, PublicKey, SecretKey};
use crate::layout::{Design, Places};
use crate::plan::{Plan, ReleaseMode};
use crate::release::{self, Release};
use crate::reveal::Safeguards;
use crate::ring::Context;
use crate::validity::BallotCheck;

/// The engine, set up for one election.
#[derive(Debug)]
pub struct BfvBackend {
    election: Election,
    plan: Plan,
    context: Context,
    places: Places,
    pub(crate) binding: [u8; 32],
    pub(crate) safeguards: Safeguards,
    check: BallotCheck,
}

impl BfvBackend {
    /// The engine for an election: plans it, and refuses what no parameter set can do.
    pub fn new(election: Election, release: ReleaseMode) -> Result<Self, BfvError> {
        let plan = Plan::new(&election, release)?;
        Ok(Self::with_plan(election, plan))
    }

    /// The engine with a given design: to compare designs, and to work with keys, ballots and
    /// releases that version 0.1 made ([`Design::VERSION_0_1`]).
    pub fn with_design(
        election: Election,
        release: ReleaseMode,
        design: Design,
    ) -> Result<Self, BfvError> {
        let plan = Plan::with_design(&election, release, design)?;
        Ok(Self::with_plan(election, plan))
    }

    fn with_plan(election: Election, plan: Plan) -> Self {
        let ring = plan.ring();
        let binding = binding(&election, &plan);
        Self {
            context: Context::new(ring.degree, ring.prime_bits, ring.limbs),
            places: Places::new(plan.layout()),
            election,
            plan,
            binding,
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
        self.check_batch(batch)?;
        let expected = keys::automorphisms(self.plan.layout());
        let fits = fits(&self.context, &key.public.parts[0])
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
        self.check_batch(batch)?;
        made_for.check(what, MadeFor { batch, key: key.id }, fits)?;
        let fits = key.secret.coefficients().len() == self.context.degree();
        Ok(check_key_fits(Kind::SecretKey, fits)?)
    }

    pub(crate) fn aggregation<'a>(
        &'a self,
        key: &'a EvaluationKey,
        batch: usize,
        seed: &'a Seed,
    ) -> Aggregation<'a> {
        Aggregation {
            context: &self.context,
            election: &self.election,
            plan: &self.plan,
            places: &self.places,
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

    pub(crate) fn places(&self) -> &Places {
        &self.places
    }
}

/// What version 0.1 made named neither a coding nor an order of cells, because there was one of
/// each; its digest stays what it was. Every other design is named.
fn binding(election: &Election, plan: &Plan) -> [u8; 32] {
    let design = plan.layout().design();
    let version = match design {
        Design::VERSION_0_1 => "shield 2026 bfv setting v1",
        _ => "shield 2026 bfv setting v2",
    };
    let mut hasher = blake3::Hasher::new_derive_key(version);
    hasher.update(&election.fingerprint());
    hasher.update(&[plan.release().byte()]);
    hasher.update(&(plan.ring_degree() as u64).to_le_bytes());
    for bits in plan.moduli_bits() {
        hasher.update(&bits.to_le_bytes());
    }
    if design != Design::VERSION_0_1 {
        hasher.update(&[keys::coding_byte(design.coding)]);
        for &radix in plan.layout().cells().radices() {
            hasher.update(&(radix as u64).to_le_bytes());
        }
    }
    *hasher.finalize().as_bytes()
}

impl Backend for BfvBackend {
    type SecretKey = SecretKey;
    type PublicKey = PublicKey;
    type EvaluationKey = EvaluationKey;
    type Ballot = BfvBallot;
    type Release = Release;
    type Error = BfvError;

    fn name(&self) -> &'static str {
        "bfv"
    }

    fn election(&self) -> &Election {
        &self.election
    }

    fn samples_per_batch(&self) -> usize {
        self.plan.samples_per_batch()
    }

    fn generate_keys<R: RngCore + CryptoRng>(&self, rng: &mut R) -> Result<KeysOf<Self>, BfvError> {
        let name = |key: &_| bytes::key_id(keys::NAME, &self.context, key);
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
        self.check_votes(batch, votes)?;
        check_key_fits(Kind::PublicKey, fits(&self.context, &key.key.parts[0]))?;
        let layout = self.plan.layout();
        let ballot = ballot::encrypt(&self.context, layout, &self.places, key, batch, votes, rng);
        Ok(BfvBallot { digest: checksum(&self.encode_ballot(&ballot)), ..ballot })
    }

    fn aggregate<B: BallotBox<BfvBallot>>(
        &self,
        key: &EvaluationKey,
        batch: usize,
        ballots: &B,
        seed: &Seed,
    ) -> Result<Release, BfvError> {
        self.check_aggregation(key, batch)?;
        self.aggregation(key, batch, seed).run(ballots)
    }

    fn shard_bytes<B: BallotBox<BfvBallot>>(
        &self,
        key: &EvaluationKey,
        batch: usize,
        ballots: &B,
        seed: &Seed,
        teachers: Range<u32>,
    ) -> Result<Vec<u8>, ShardError> {
        Ok(self.encode_shard(&self.shard(key, batch, ballots, seed, teachers)?))
    }

    fn merge_shards(
        &self,
        key: &EvaluationKey,
        batch: usize,
        shards: &[&[u8]],
    ) -> Result<Vec<u8>, ShardError> {
        self.merge_encoded(shards, batch, key.id)
    }

    fn release_shards<B: BallotBox<BfvBallot>>(
        &self,
        key: &EvaluationKey,
        batch: usize,
        ballots: &B,
        seed: &Seed,
        whole: &[u8],
    ) -> Result<Release, ShardError> {
        let whole = self.decode_shard(whole, batch, key.id)?;
        self.release_shard(key, batch, ballots, seed, whole)
    }

    fn decrypt(
        &self,
        key: &SecretKey,
        batch: usize,
        release: &Release,
    ) -> Result<Vec<Label>, BfvError> {
        Ok(self.inspect(key, batch, release)?.labels)
    }
}

impl BfvBackend {
    /// The labels of one batch, and what honest ballots could not have caused.
    pub fn inspect(
        &self,
        key: &SecretKey,
        batch: usize,
        release: &Release,
    ) -> Result<Inspection, BfvError> {
        let fits = |c: &crate::scheme::Ciphertext| {
            c.limbs() == 1 && c.parts[0].degree() == self.context.degree()
        };
        let expected = self.plan.released_ciphertexts();
        let fits = release.ciphertexts.len() == expected && release.ciphertexts.iter().all(fits);
        self.check_decryption(key, batch, Kind::Release, release.made_for(), fits)?;
        let slots = release::slots(&self.context, &key.secret, release);
        let samples = self.batch(batch).len();
        let (election, plan, places) = (&self.election, &self.plan, &self.places);
        Ok(alarms::inspect(election, plan, places, &slots, batch, samples))
    }
}

/// Whether a key is of this ring: its residues must not meet ours otherwise.
fn fits<R>(context: &Context, poly: &crate::ring::Poly<R>) -> bool {
    poly.degree() == context.degree() && poly.limbs() == context.limbs()
}
