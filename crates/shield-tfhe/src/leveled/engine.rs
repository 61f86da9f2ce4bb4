//! The engine behind the contract that all engines share. A batch is one sample.
//!
//! As bytes, a ballot's coefficients take 6 each (the lowest 16 bits are zero: [`super::ballot`]),
//! a release's 20 bits. A ballot has one length if its teacher voted and another if it abstained;
//! every other kind has one length under a plan.

use std::borrow::Cow;
use std::sync::Arc;

use rand::{CryptoRng, RngCore};
use shield_core::draws::Draws;
use shield_core::engine::{
    BallotBox, Engine, Envelope, Keys, KeysOf, Presence, Setup, open_ballot, urns,
};
use shield_core::framing::{KeyId, Kind, MadeFor, Reader};
use shield_core::votes::Vote;
use shield_core::{Election, Label, Seed};
use zeroize::Zeroizing;

use super::ballot::{self, LeveledBallot, Ready};
use super::error::LeveledError;
use super::keys::{self, EvaluationKey, PublicKey, SecretKey};
use super::parameters::{RELEASE_BITS, TRUNCATED_BITS};
use super::plan::{BALLOT_WORD, PUBLIC_PAYLOAD, Plan};
use super::release::{self, Release};
use super::ring::{DEGREE, Glwe, Ring};
use super::rounds::{self, Circuit, Round};
use super::zero_key::{self, ZeroKey};

/// Two bits per coefficient, which is -1, 0 or 1.
const SECRET_PAYLOAD: usize = DEGREE / 4;

/// The engine, set up for one election.
#[derive(Debug)]
pub struct LeveledEngine {
    setup: Setup,
    plan: Plan,
}

impl LeveledEngine {
    /// The engine for an election: plans it, and refuses what no parameter set can do.
    pub fn new(election: Election) -> Result<Self, LeveledError> {
        let plan = Plan::new(&election)?;
        let binding = binding(&election, &plan);
        let setup = Setup { election, samples_per_batch: 1, binding };
        Ok(Self { setup, plan })
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The encrypted label of a sample before it is flooded.
    pub(crate) fn elect(
        &self,
        key: &EvaluationKey,
        batch: usize,
        ballots: &dyn BallotBox<LeveledBallot>,
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
                        .map(|ballot| ballot.ready(&self.plan, circuit.ring))
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

    fn open<'a>(
        &self,
        key: &EvaluationKey,
        batch: usize,
        ballots: &'a dyn BallotBox<LeveledBallot>,
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
    // It once told two kinds of ballot apart.
    hasher.update(&[0]);
    for number in [plan.ring_degree(), plan.levels(), plan.base_log(), plan.bits(), plan.released()]
    {
        hasher.update(&(number as u64).to_le_bytes());
    }
    *hasher.finalize().as_bytes()
}

impl Engine for LeveledEngine {
    type SecretKey = SecretKey;
    type PublicKey = PublicKey;
    type EvaluationKey = EvaluationKey;
    type Ballot = LeveledBallot;
    type Release = Release;
    type Error = LeveledError;

    const NAME: &'static str = "tfhe";
    const KEY_NAME: &'static str = zero_key::KEY_NAME;

    fn setup(&self) -> &Setup {
        &self.setup
    }

    fn distance(&self) -> f64 {
        self.batches() as f64 * (-self.plan.statistical_bits()).exp2()
    }

    fn generate_keys<R: RngCore + CryptoRng>(
        &self,
        rng: &mut R,
    ) -> Result<KeysOf<Self>, LeveledError> {
        let (secret, public) = keys::generate(&mut Ring::new(), rng);
        Ok(Keys { secret, evaluation: public.clone(), public })
    }

    fn encrypt<R: RngCore + CryptoRng>(
        &self,
        key: &PublicKey,
        batch: usize,
        votes: &[Vote],
        rng: &mut R,
    ) -> Result<LeveledBallot, LeveledError> {
        self.setup.check_votes(batch, votes)?;
        let vote = votes[0];
        let mut ring = Ring::new();
        let words = vote.map_or_else(Vec::new, |class| {
            ballot::encrypt(&self.plan, &key.zero, class, &mut ring, rng)
        });
        let presence = Presence::new([vote.is_some()].into_iter());
        Ok(LeveledBallot::new(words, presence, MadeFor { batch, key: key.id }))
    }

    fn receive(&self, _: &EvaluationKey, ballot: &LeveledBallot) {
        if ballot.words.len() == self.plan.words() {
            ballot.ready(&self.plan, &mut Ring::new());
        }
    }

    fn aggregate(
        &self,
        key: &EvaluationKey,
        batch: usize,
        ballots: &dyn BallotBox<LeveledBallot>,
        seed: &Seed,
    ) -> Result<Release, LeveledError> {
        self.setup.check_batch(batch)?;
        let sample = self.batch(batch).start as u64;
        let mut ring = Ring::new();
        let urns = urns(self.election(), 1, ballots)?;
        let draws = Draws::seeded(self.election().setting(), &urns[0], seed, sample);
        let result = self.elect(key, batch, ballots, &draws, &mut ring)?;
        Ok(Release::flooded(&mut ring, key, result, self.plan.released(), batch, seed))
    }

    fn decrypt(
        &self,
        key: &SecretKey,
        batch: usize,
        release: &Release,
    ) -> Result<Vec<Label>, LeveledError> {
        self.setup.check_batch(batch)?;
        let fits = release.words.len() == DEGREE + self.plan.released();
        release.made_for.check_release(MadeFor { batch, key: key.id }, fits)?;
        let label = release::label(&self.plan, self.election().classes(), &release.phases(key));
        Ok(vec![label.ok_or(LeveledError::NotALabel)?])
    }
    fn release_made_for(&self, release: &Release) -> MadeFor {
        release.made_for
    }

    fn payload_bytes(&self, kind: Kind, _samples: usize) -> usize {
        match kind {
            Kind::SecretKey => SECRET_PAYLOAD,
            Kind::PublicKey | Kind::EvaluationKey => PUBLIC_PAYLOAD,
            Kind::Ballot => self.plan().vote_payload(),
            Kind::Release => self.plan().release_payload(),
            _ => 0,
        }
    }

    fn abstention_bytes(&self) -> Option<usize> {
        Some(0)
    }

    fn write_secret_key(&self, out: &mut Vec<u8>, key: &SecretKey) {
        let byte = |four: &[u64]| {
            four.iter().rev().fold(0, |byte, s| byte << 2 | (s.wrapping_add(1) & 3) as u8)
        };
        out.extend(key.secret.chunks_exact(4).map(byte));
    }

    fn write_public_key(&self, out: &mut Vec<u8>, key: &PublicKey) {
        key.zero.write(out);
    }

    fn write_evaluation_key(&self, out: &mut Vec<u8>, key: &EvaluationKey) {
        self.write_public_key(out, key);
    }

    fn write_votes(&self, out: &mut Vec<u8>, ballot: &LeveledBallot) {
        for word in &ballot.words {
            out.extend(&word.to_le_bytes()[8 - BALLOT_WORD..]);
        }
    }

    fn write_release(&self, out: &mut Vec<u8>, release: &Release) {
        for pair in release.words.chunks(2) {
            let upper = pair.get(1).copied().unwrap_or(0);
            let both = u64::from(pair[0]) | u64::from(upper) << RELEASE_BITS;
            out.extend(&both.to_le_bytes()[..5]);
        }
    }

    fn read_secret_key(&self, payload: &mut Reader, id: KeyId) -> Option<SecretKey> {
        // Room for all at once: a vector that grows leaves copies behind that nobody wipes.
        let mut secret = Zeroizing::new(Vec::with_capacity(DEGREE));
        let bytes = payload.take(SECRET_PAYLOAD)?;
        let trits = bytes.iter().flat_map(|byte| (0..4).map(move |i| byte >> (2 * i) & 3));
        secret.extend(trits.map(|trit| u64::from(trit).wrapping_sub(1)));
        let usual = !secret.contains(&2) && keys::is_usual(&secret);
        usual.then_some(SecretKey { secret, id })
    }

    fn read_public_key(&self, payload: &mut Reader, id: KeyId) -> Option<PublicKey> {
        let seed = payload.array()?;
        let body = (0..DEGREE).map(|_| Some(u64::from_le_bytes(payload.array()?)));
        let zero = ZeroKey::from_parts(&mut Ring::new(), seed, body.collect::<Option<_>>()?);
        Some(PublicKey { zero: Arc::new(zero), id })
    }

    fn read_evaluation_key(&self, payload: &mut Reader, id: KeyId) -> Option<EvaluationKey> {
        self.read_public_key(payload, id)
    }

    fn read_votes(&self, payload: &mut Reader, envelope: Envelope) -> Option<LeveledBallot> {
        let Envelope { presence, made_for, .. } = envelope;
        let votes = if presence.is_nobody() { 0 } else { self.plan().vote_payload() };
        let word = |bytes: &[u8]| {
            bytes.iter().rev().fold(0_u64, |word, &byte| word << 8 | u64::from(byte))
                << TRUNCATED_BITS
        };
        let words = payload.take(votes)?.chunks_exact(BALLOT_WORD).map(word).collect();
        Some(LeveledBallot::new(words, presence, made_for))
    }

    fn read_release(&self, payload: &mut Reader, made_for: MadeFor) -> Option<Release> {
        let mask = (1_u64 << RELEASE_BITS) - 1;
        let halves =
            payload.take(self.plan().release_payload())?.chunks_exact(5).flat_map(|five| {
                let both = five.iter().rev().fold(0_u64, |both, &byte| both << 8 | u64::from(byte));
                [both & mask, both >> RELEASE_BITS]
            });
        let mut words =
            halves.map(|half| u32::try_from(half).ok()).collect::<Option<Vec<u32>>>()?;
        // Where the number of coefficients is odd, the last half must be zero.
        let odd = words.len() > DEGREE + self.plan().released();
        (!odd || words.pop() == Some(0)).then_some(Release { words, made_for })
    }
}
