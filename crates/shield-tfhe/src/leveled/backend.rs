//! The engine behind the trait that all engines share. A batch is one sample.

use std::borrow::Cow;

use rand::{CryptoRng, RngCore};
use shield::backend::{
    Backend, BallotBox, Keys, KeysOf, Presence, check_key_fits, open_ballot, urns,
};
use shield::draws::Draws;
use shield::framing::{Kind, MadeFor};
use shield::votes::Vote;
use shield::{Election, Label, Seed};

use super::ballot::{self, LeveledBallot, Ready};
use super::compact;
use super::error::LeveledError;
use super::keys::{self, EvaluationKey, PublicKey, SecretKey};
use super::plan::{Plan, Upload};
use super::release::{self, Release};
use super::ring::{DEGREE, Glwe, Ring};
use super::rounds::{self, Circuit, Round};

/// The engine, set up for one election.
#[derive(Debug)]
pub struct LeveledBackend {
    election: Election,
    plan: Plan,
    pub(super) binding: [u8; 32],
}

impl LeveledBackend {
    /// The engine for an election: plans it, and refuses what no parameter set can do.
    pub fn new(election: Election, upload: Upload) -> Result<Self, LeveledError> {
        let plan = Plan::new(&election, upload)?;
        let binding = binding(&election, &plan);
        Ok(Self { election, plan, binding })
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The encrypted label of a sample before it is flooded.
    pub(crate) fn elect<B: BallotBox<LeveledBallot>>(
        &self,
        key: &EvaluationKey,
        batch: usize,
        ballots: &B,
        draws: &Draws,
        ring: &mut Ring,
    ) -> Result<Glwe, LeveledError> {
        let bits = self.plan.bits();
        let mut out = None;
        let mut circuit = Circuit { ring, bits, products: 0 };
        for round in rounds::rounds(draws).iter().rev() {
            let absent = || rounds::no_label(bits);
            match round {
                Round::Fails => {}
                Round::Dummy(class) => out = Some(rounds::trivial(*class, bits)),
                Round::Teachers(teachers, dummy) => {
                    let opened = teachers
                        .iter()
                        .map(|&teacher| self.open(key, batch, ballots, teacher))
                        .collect::<Result<Vec<_>, _>>()?;
                    let votes: Vec<&Ready> = opened
                        .iter()
                        .map(|ballot| ballot.ready(&self.plan, key, circuit.ring))
                        .collect();
                    if let ([only], None) = (votes.as_slice(), dummy) {
                        out = Some(only.class.clone());
                    } else {
                        circuit.round(&votes, *dummy, out.get_or_insert_with(absent));
                    }
                }
            }
        }
        Ok(out.unwrap_or_else(|| rounds::no_label(bits)))
    }

    /// Whether a key has the expansion keys that the plan needs.
    fn fits(&self, key: &EvaluationKey) -> bool {
        key.expansion.as_ref().map(|key| key.steps.len()) == self.plan.separation_steps()
    }

    fn open<'a, B: BallotBox<LeveledBallot>>(
        &self,
        key: &EvaluationKey,
        batch: usize,
        ballots: &'a B,
        teacher: u32,
    ) -> Result<Cow<'a, LeveledBallot>, LeveledError> {
        let made_for = MadeFor { batch, key: key.id };
        let fits = |ballot: &LeveledBallot| ballot.words.len() == self.plan.words();
        Ok(open_ballot(ballots, teacher, made_for, fits)?)
    }
}

fn binding(election: &Election, plan: &Plan) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("shield 2026 tfhe leveled setting v1");
    hasher.update(&election.fingerprint());
    hasher.update(&[match plan.upload() {
        Upload::Plain => 0,
        Upload::Compact => 1,
    }]);
    for number in [plan.ring_degree(), plan.levels(), plan.base_log(), plan.bits(), plan.released()]
    {
        hasher.update(&(number as u64).to_le_bytes());
    }
    *hasher.finalize().as_bytes()
}

impl Backend for LeveledBackend {
    type SecretKey = SecretKey;
    type PublicKey = PublicKey;
    type EvaluationKey = EvaluationKey;
    type Ballot = LeveledBallot;
    type Release = Release;
    type Error = LeveledError;

    fn name(&self) -> &'static str {
        "tfhe"
    }

    fn election(&self) -> &Election {
        &self.election
    }

    fn samples_per_batch(&self) -> usize {
        1
    }

    fn distance(&self) -> f64 {
        self.batches() as f64 * (-self.plan.statistical_bits()).exp2()
    }

    fn generate_keys<R: RngCore + CryptoRng>(
        &self,
        rng: &mut R,
    ) -> Result<KeysOf<Self>, LeveledError> {
        let (secret, public, evaluation) = keys::generate(&self.plan, &mut Ring::new(), rng);
        Ok(Keys { secret, public, evaluation })
    }

    fn encrypt<R: RngCore + CryptoRng>(
        &self,
        key: &PublicKey,
        batch: usize,
        votes: &[Vote],
        rng: &mut R,
    ) -> Result<LeveledBallot, LeveledError> {
        self.check_votes(batch, votes)?;
        let vote = votes[0];
        let mut ring = Ring::new();
        let words = vote.map_or_else(Vec::new, |class| match self.plan.upload() {
            Upload::Plain => ballot::encrypt(&self.plan, &key.zero, class, &mut ring, rng),
            Upload::Compact => compact::encrypt(&self.plan, &key.zero, class, &mut ring, rng),
        });
        let presence = Presence::new([vote.is_some()].into_iter());
        Ok(LeveledBallot::new(words, presence, MadeFor { batch, key: key.id }))
    }

    fn receive(&self, key: &EvaluationKey, ballot: &LeveledBallot) {
        if ballot.words.len() == self.plan.words() && self.fits(key) {
            ballot.ready(&self.plan, key, &mut Ring::new());
        }
    }

    fn aggregate<B: BallotBox<LeveledBallot>>(
        &self,
        key: &EvaluationKey,
        batch: usize,
        ballots: &B,
        seed: &Seed,
    ) -> Result<Release, LeveledError> {
        self.check_batch(batch)?;
        check_key_fits(Kind::EvaluationKey, self.fits(key))?;
        let sample = self.batch(batch).start as u64;
        let mut ring = Ring::new();
        let urns = urns(&self.election, 1, ballots)?;
        let draws = Draws::seeded(self.election.setting(), &urns[0], seed, sample);
        let result = self.elect(key, batch, ballots, &draws, &mut ring)?;
        Ok(Release::flooded(&mut ring, key, result, self.plan.released(), batch, seed))
    }

    fn decrypt(
        &self,
        key: &SecretKey,
        batch: usize,
        release: &Release,
    ) -> Result<Vec<Label>, LeveledError> {
        self.check_batch(batch)?;
        let fits = release.words.len() == DEGREE + self.plan.released();
        release.made_for.check_release(MadeFor { batch, key: key.id }, fits)?;
        let label = release::label(&self.plan, self.election.classes(), &release.phases(key));
        Ok(vec![label.ok_or(LeveledError::NotALabel)?])
    }
}
