//! The engine behind the trait that all engines share.

use rand::{CryptoRng, RngCore};
use shield::backend::{Backend, BallotBox, Keys, KeysOf};
use shield::votes::Vote;
use shield::{Election, Label, Seed};

use crate::aggregation::{Aggregation, Asked};
use crate::alarms::{self, Inspection};
use crate::ballot::{self, BfvBallot};
use crate::codec;
use crate::error::BfvError;
use crate::keys::{self, EvaluationKey, KeyId, PublicKey, SecretKey};
use crate::layout::Places;
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
    binding: [u8; 32],
    pub(crate) safeguards: Safeguards,
    check: BallotCheck,
}

impl BfvBackend {
    /// The engine for an election: plans it, and refuses what no parameter set can do.
    pub fn new(election: Election, release: ReleaseMode) -> Result<Self, BfvError> {
        let plan = Plan::new(&election, release)?;
        let ring = plan.ring();
        let binding = binding(&election, &plan);
        Ok(Self {
            context: Context::new(ring.degree, ring.prime_bits, ring.limbs),
            places: Places::new(plan.layout()),
            election,
            plan,
            binding,
            safeguards: Safeguards::Whole,
            check: BallotCheck::On,
        })
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

    /// A digest of the election and the plan: every key, ballot and release carries it.
    pub fn binding(&self) -> &[u8; 32] {
        &self.binding
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    fn check_batch(&self, batch: usize) -> Result<(), BfvError> {
        let batches = self.batches();
        if batch < batches { Ok(()) } else { Err(BfvError::Batch { batch, batches }) }
    }

    /// Refuses a batch that does not exist, and an evaluation key of another plan.
    pub(crate) fn check_aggregation(
        &self,
        key: &EvaluationKey,
        batch: usize,
    ) -> Result<(), BfvError> {
        self.check_batch(batch)?;
        check_key("evaluation key", &self.context, &key.public.parts[0])?;
        let (sums, moves) = keys::automorphisms(self.plan.layout());
        if key.class_sums.len() != sums.len() || key.group_moves.len() != moves.len() {
            return Err(BfvError::Foreign { what: "evaluation key", of: "election" });
        }
        Ok(())
    }

    /// Refuses what belongs to other keys or to another batch, and a secret key of another plan.
    pub(crate) fn check_decryption(
        &self,
        key: &SecretKey,
        made_for: KeyId,
        batch: usize,
        made_in: usize,
        what: &'static str,
    ) -> Result<(), BfvError> {
        self.check_batch(batch)?;
        if made_for != key.id {
            return Err(BfvError::Foreign { what, of: "set of keys" });
        }
        if made_in != batch {
            return Err(BfvError::Foreign { what, of: "batch" });
        }
        if key.secret.coefficients().len() != self.context.degree() {
            return Err(BfvError::Foreign { what: "secret key", of: "election" });
        }
        Ok(())
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

fn binding(election: &Election, plan: &Plan) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("shield 2026 bfv setting v1");
    hasher.update(&election.fingerprint());
    hasher.update(&[keys::mode_byte(plan.release())]);
    hasher.update(&(plan.ring_degree() as u64).to_le_bytes());
    for bits in plan.moduli_bits() {
        hasher.update(&bits.to_le_bytes());
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
        let name = |key: &_| codec::key_id(&self.context, key);
        let (secret, public, evaluation) = keys::generate(&self.context, &self.plan, name, rng);
        Ok(Keys { secret, public, evaluation })
    }

    fn encrypt<R: RngCore + CryptoRng>(
        &self,
        key: &PublicKey,
        batch: usize,
        votes: &[Vote],
        rng: &mut R,
    ) -> Result<BfvBallot, BfvError> {
        self.check_batch(batch)?;
        check_key("public key", &self.context, &key.key.parts[0])?;
        let samples = self.batch(batch).len();
        if votes.len() != samples {
            return Err(BfvError::VoteCount { votes: votes.len(), samples });
        }
        let classes = self.election.classes();
        for (sample, vote) in votes.iter().enumerate() {
            if let Some(class) = vote.filter(|&class| !classes.contains(class)) {
                return Err(BfvError::NotAClass { sample, class, classes: classes.count() });
            }
        }
        let layout = self.plan.layout();
        let ballot = ballot::encrypt(&self.context, layout, &self.places, key, batch, votes, rng);
        Ok(BfvBallot { digest: codec::digest(&self.encode_ballot(&ballot)), ..ballot })
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
        self.check_decryption(key, release.key, batch, release.batch, "release")?;
        let fits = |c: &crate::scheme::Ciphertext| {
            c.limbs() == 1 && c.parts[0].degree() == self.context.degree()
        };
        let expected = self.plan.released_ciphertexts();
        if release.ciphertexts.len() != expected || !release.ciphertexts.iter().all(fits) {
            return Err(BfvError::Foreign { what: "release", of: "election" });
        }
        let slots = release::slots(&self.context, &key.secret, release);
        let samples = self.batch(batch).len();
        let (election, plan, places) = (&self.election, &self.plan, &self.places);
        Ok(alarms::inspect(election, plan, places, &slots, batch, samples))
    }
}

/// Refuses a key of another ring before its residues meet ours.
fn check_key<R>(
    what: &'static str,
    context: &Context,
    poly: &crate::ring::Poly<R>,
) -> Result<(), BfvError> {
    if poly.degree() == context.degree() && poly.limbs() == context.limbs() {
        Ok(())
    } else {
        Err(BfvError::Foreign { what, of: "election" })
    }
}
