//! The engine behind the trait that all engines share.

use rand::{CryptoRng, RngCore};
use rayon::prelude::*;
use shield::backend::{Backend, BallotBox, Keys, KeysOf, Presence, open_ballot, urns};
use shield::framing::{KeyId, MadeFor};
use shield::votes::Vote;
use shield::{Class, Draws, Election, Label, Seed, Urn};

use super::ballot::{BootstrappedBallot, BootstrappedRelease};
use super::circuit::{Tables, digits};
use super::codec::{Attendance, Format, payloads};
use super::error::BootstrappedError;
use super::flooding::Flooding;
use super::keys::{self, EvaluationKey, PublicKey, SecretKey};
use super::lookup::Lookup;
use super::parameters::{RELEASE_BITS, RING, torus};
use super::plan::{BALLOT_BITS, Circuit, Plan};
use super::torus::Lwe;

/// The engine, set up for one election.
pub struct BootstrappedBackend {
    election: Election,
    plan: Plan,
    tables: Tables,
    pub(super) binding: [u8; 32],
}

impl std::fmt::Debug for BootstrappedBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BootstrappedBackend")
            .field("election", &self.election)
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}

impl BootstrappedBackend {
    /// The engine for an election: plans it, and refuses what it cannot do.
    pub fn new(election: Election, circuit: Circuit) -> Result<Self, BootstrappedError> {
        let plan = Plan::new(&election, circuit)?;
        let binding = binding(&election, &plan);
        Ok(Self { tables: Tables::new(&plan), election, plan, binding })
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    pub(super) fn format(&self) -> Format {
        let digits = self.plan.digits();
        Format { ballot_bits: BALLOT_BITS, attendance: Attendance::Any, numbers: digits, digits }
    }

    /// The label of one sample of a batch from the votes that are drawn for it, flooded.
    #[expect(clippy::too_many_arguments, reason = "what a label is a function of")]
    pub(crate) fn aggregate_sample<B: BallotBox<BootstrappedBallot>>(
        &self,
        lookup: &mut Lookup,
        key: &EvaluationKey,
        batch: usize,
        sample: usize,
        urn: &Urn,
        ballots: &B,
        seed: &Seed,
    ) -> Result<Vec<u16>, BootstrappedError> {
        let number = (self.batch(batch).start + sample) as u64;
        let draws = Draws::seeded(self.election.setting(), urn, seed, number);
        let drawn = self.open_drawn(key.id(), batch, sample, &draws, ballots)?;
        let vote_of = |teacher: u32| {
            let found = drawn.binary_search_by_key(&teacher, |(drawn, _)| *drawn);
            drawn[found.expect("every drawn ballot was opened")].1.clone()
        };
        let label = self.tables.label(lookup, &draws, vote_of);
        let place = number * self.plan.digits() as u64;
        Ok(release_words(self.plan.flooding(), lookup, &key.public, label, seed, place))
    }

    /// Opens the ballots of those who were drawn, each once: memory does not grow with the number
    /// of teachers.
    fn open_drawn<B: BallotBox<BootstrappedBallot>>(
        &self,
        key: KeyId,
        batch: usize,
        sample: usize,
        draws: &Draws,
        ballots: &B,
    ) -> Result<Vec<(u32, Vec<Lwe>)>, BootstrappedError> {
        let entries = draws.rounds().flat_map(|(_, drawn)| drawn);
        let mut teachers: Vec<u32> = entries
            .filter_map(|entry| match *entry {
                shield::Drawn::Teacher(teacher) => Some(teacher),
                shield::Drawn::Dummy(_) => None,
            })
            .collect();
        teachers.sort_unstable();
        teachers.dedup();
        let numbers = self.batch(batch).len() * self.plan.digits();
        let open = |teacher: u32| {
            let fits = |ballot: &BootstrappedBallot| ballot.packed.bodies.len() == numbers;
            let ballot = open_ballot(ballots, teacher, MadeFor { batch, key }, fits)?;
            let first = sample * self.plan.digits();
            let vote = (first..first + self.plan.digits()).map(|i| ballot.packed.number(i));
            Ok((teacher, vote.collect()))
        };
        teachers.into_iter().map(open).collect()
    }
}

fn binding(election: &Election, plan: &Plan) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("shield 2026 tfhe bootstrapped setting v1");
    hasher.update(&election.fingerprint());
    hasher.update(plan.circuit().to_string().as_bytes());
    for number in [plan.base(), plan.digits(), RING] {
        hasher.update(&(number as u64).to_le_bytes());
    }
    *hasher.finalize().as_bytes()
}

payloads!(BootstrappedBackend);

impl Backend for BootstrappedBackend {
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
        self.plan.samples_per_batch()
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
        let base = self.plan.base();
        // Who abstains encrypts class 0: nobody draws it, and the ballot looks like any other.
        let numbers: Vec<u64> = votes
            .iter()
            .flat_map(|vote| digits(vote.unwrap_or(Class(0)), base, self.plan.digits()))
            .map(|digit| torus(digit as f64 / (4 * base) as f64))
            .collect();
        let packed = key.encrypt(&numbers, BALLOT_BITS, rng);
        let presence = Presence::new(votes.iter().map(Option::is_some));
        Ok(BootstrappedBallot { packed, presence, made_for: MadeFor { batch, key: key.id() } })
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
        let urns = urns(&self.election, samples.len(), ballots)?;
        let words: Vec<Vec<u16>> = urns
            .par_iter()
            .enumerate()
            .map_init(
                || Lookup::new(key),
                |lookup, (sample, urn)| {
                    self.aggregate_sample(lookup, key, batch, sample, urn, ballots, seed)
                },
            )
            .collect::<Result<_, _>>()?;
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
        let (base, count) = (self.plan.base(), self.plan.digits());
        release.check(key, batch, self.batch(batch).len() * count)?;
        let label = |(sample, digits): (usize, &[u16])| {
            let codes = digits.chunks(RING + 1).map(|words| read_code(key, words, base));
            let codes: Vec<usize> = codes.collect();
            if codes[0] == base {
                return Ok(None);
            }
            let class = codes.iter().rev().fold(0, |class, code| class * base + code);
            let class = u16::try_from(class).ok().map(Class);
            let valid = class.filter(|&class| self.election.classes().contains(class));
            match valid {
                Some(class) if codes.iter().all(|&code| code < base) => Ok(Some(class)),
                _ => Err(BootstrappedError::NotALabel { sample }),
            }
        };
        release.words.chunks(count * (RING + 1)).enumerate().map(label).collect()
    }
}

/// Floods the digits of a label and keeps the bits that are released. Places are counted over all
/// digits of the election.
pub(crate) fn release_words(
    flooding: &Flooding,
    lookup: &mut Lookup,
    public: &PublicKey,
    label: Vec<Lwe>,
    seed: &Seed,
    place: u64,
) -> Vec<u16> {
    let words = (place..).zip(label).flat_map(|(place, digit)| {
        let flooded = flooding.flood(lookup, public, digit, seed, place);
        flooded.0.into_iter().map(|word| {
            u16::try_from(word >> (u64::BITS - RELEASE_BITS)).expect("the highest 16 bits")
        })
    });
    words.collect()
}

/// The code that a released ciphertext holds: k at k/2base of a turn.
pub(crate) fn read_code(key: &SecretKey, words: &[u16], base: usize) -> usize {
    let words = words.iter().map(|&word| u64::from(word) << (u64::BITS - RELEASE_BITS));
    let phase = u128::from(key.phase(&Lwe(words.collect())));
    let steps = 2 * base as u128;
    let code = ((phase * steps + (1 << 63)) >> 64) % steps;
    usize::try_from(code).expect("below the number of steps")
}
