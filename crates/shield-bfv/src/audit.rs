//! The audit: whose ballot is no vote?
//!
//! The check of `validity` is about all ballots together. When samples were spoiled, the
//! server makes the check of every teacher alone, on those samples; it packs many teachers into a
//! ciphertext, one slot of a sample's runs each, and masks every slot with a factor that is uniform
//! and not 0. The student decrypts: a slot is zero, or it is not. Its answer to the server is one
//! bit per teacher (is it accused?) and one per sample (was it spoiled?). Then the samples that
//! were spoiled, and no others, are aggregated again, without the accused and under a new seed; all
//! other samples are masked to junk, because their labels are out and must not be paid for twice.
//!
//! An honest teacher is never accused: its check is zero whatever the coefficients are. A cheat
//! escapes on a sample with probability at most 2/t (one repetition), is then in the next release,
//! and the next audit has other coefficients.
//!
//! # What everybody learns
//!
//! The student learns who cheated on which of the samples, and nothing else: a slot is zero or
//! uniform among the other residues, and the rest of a ciphertext is flooded
//! ([`crate::flooding`]). The spoiled samples showed nothing before, so a label for them costs
//! what it would have cost.
//!
//! The *server* learns the student's bits, and a server that does not follow the protocol could
//! put something else into the slots: say, a teacher's slot for class 3 on one sample, so that
//! "accused" means "voted for 3". That is one bit per teacher and audit. So a student answers an
//! audit only for samples that raised an alarm, once, and looks at how many teachers are accused:
//! when half of them are, the server is more likely to cheat than they are.

use rayon::prelude::*;
use shield::Seed;
use shield::backend::{Backend, BallotBox, BallotBoxError, Presence};
use shield::framing::{Kind, MadeFor};
use std::borrow::Cow;
use std::fmt;

use crate::aggregation::{Asked, challenge, voters};
use crate::backend::BfvBackend;
use crate::ballot::BfvBallot;
use crate::error::BfvError;
use crate::flooding;
use crate::keys::{EvaluationKey, KeyId, SecretKey};
use crate::release::Release;
use crate::ring::Poly;
use crate::scheme::{Ciphertext, plaintext_slots};
use crate::validity::times;

/// Purposes of the seeds and random streams of an audit.
const COEFFICIENTS: &str = "shield 2026 bfv audit seed of the coefficients";
const FRESH: &str = "shield 2026 bfv audit seed of masks and flooding";
const MASK: &str = "shield 2026 bfv audit masks of one teacher";
const FLOOD: &str = "shield 2026 bfv audit flooding of one ciphertext";

/// The checks of every teacher on some samples of a batch, encrypted, for the student.
#[derive(Clone, PartialEq, Eq)]
pub struct Audit {
    pub(crate) ciphertexts: Vec<Ciphertext>,
    pub(crate) batch: usize,
    pub(crate) key: KeyId,
}

impl fmt::Debug for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Audit")
            .field("batch", &self.batch)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

/// The student's answer to an audit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub(crate) accused: Presence,
    pub(crate) spoiled: Presence,
    pub(crate) batch: usize,
    pub(crate) key: KeyId,
}

impl Verdict {
    /// The teachers whose ballots are no votes.
    pub fn accused(&self) -> Vec<u32> {
        (0..self.accused.len()).filter(|&t| self.accused.contains(t)).map(|t| t as u32).collect()
    }

    /// The samples on which some ballot is no vote, counted from 0 within the batch.
    pub fn spoiled(&self) -> Vec<usize> {
        (0..self.spoiled.len()).filter(|&sample| self.spoiled.contains(sample)).collect()
    }

    /// The batch.
    pub fn batch(&self) -> usize {
        self.batch
    }
}

/// A ballot box without the ballots of some teachers.
#[derive(Debug)]
pub struct Excluding<'a, B> {
    ballots: &'a B,
    excluded: &'a [u32],
    samples: usize,
}

impl<'a, B> Excluding<'a, B> {
    /// The box of a batch of that many samples, without the ballots of some teachers.
    pub fn new(ballots: &'a B, samples: usize, excluded: &'a [u32]) -> Self {
        Self { ballots, excluded, samples }
    }
}

impl<B: BallotBox<BfvBallot>> BallotBox<BfvBallot> for Excluding<'_, B> {
    fn presence(&self, teacher: u32) -> Result<Presence, BallotBoxError> {
        if self.excluded.contains(&teacher) {
            return Ok(Presence::none(self.samples));
        }
        self.ballots.presence(teacher)
    }

    fn open(&self, teacher: u32) -> Result<Cow<'_, BfvBallot>, BallotBoxError> {
        if self.excluded.contains(&teacher) {
            return Err(BallotBoxError { teacher, source: "it was excluded by an audit".into() });
        }
        self.ballots.open(teacher)
    }

    fn digest(&self, teacher: u32) -> Result<Option<[u8; 32]>, BallotBoxError> {
        self.ballots.digest(teacher)
    }
}

impl BfvBackend {
    /// For the server: the check of every teacher alone, on some samples of a batch. `seed` is a
    /// new one.
    pub fn audit<B: BallotBox<BfvBallot>>(
        &self,
        key: &EvaluationKey,
        batch: usize,
        ballots: &B,
        seed: &Seed,
        samples: &[usize],
    ) -> Result<Audit, BfvError> {
        self.check_aggregation(key, batch)?;
        let aggregation = self.aggregation(key, batch, seed);
        let voters = voters(self.election().teachers(), ballots)?;
        let bound = challenge(&aggregation, &voters, ballots)?;
        let derived = |purpose, samples: &[usize]| {
            let mut hasher = blake3::Hasher::new_derive_key(purpose);
            hasher.update(bound.as_bytes());
            for &sample in samples {
                hasher.update(&(sample as u64).to_le_bytes());
            }
            Seed::from_bytes(*hasher.finalize().as_bytes())
        };
        let validity = aggregation.validity(derived(COEFFICIENTS, &[]));
        let fresh = derived(FRESH, samples);
        let (packing, context) = (self.plan().audit(), self.context());
        let ciphertext = |number: usize| {
            let first = number * packing.teachers;
            let zero = || Poly::zero(context.degree(), packing.limbs);
            let mut sum = Ciphertext { parts: [zero(), zero()] };
            for slot in 0..packing.teachers {
                let teacher = (first + slot) as u32;
                let Ok(place) = voters.binary_search_by_key(&teacher, |voter| voter.teacher) else {
                    continue;
                };
                let ballot = aggregation.open(ballots, teacher)?;
                let mut v = validity.of_teacher(voters[place].clone(), &ballot);
                v.drop_to(context, packing.limbs);
                let mask = self.audit_mask(samples, slot, &fresh, teacher);
                sum.add(context, &times(context, &v, mask));
            }
            let mut rng = fresh.stream(FLOOD, number as u64);
            Ok(flooding::sanitise(context, &key.public, sum, packing.flooding, &mut rng))
        };
        let ciphertexts = (0..packing.ciphertexts)
            .into_par_iter()
            .map(ciphertext)
            .collect::<Result<_, BfvError>>()?;
        Ok(Audit { ciphertexts, batch, key: key.id })
    }

    /// A factor that is uniform and not 0 at a teacher's slot of each sample, and 0 elsewhere.
    fn audit_mask(&self, samples: &[usize], slot: usize, fresh: &Seed, teacher: u32) -> Vec<u64> {
        let mut rng = fresh.stream(MASK, u64::from(teacher));
        let mut slots = vec![0; self.context().degree()];
        let in_batch = self.plan().samples_per_batch();
        for &sample in samples.iter().filter(|&&sample| sample < in_batch) {
            let place = self.audit_place(sample, slot);
            while slots[place] == 0 {
                plaintext_slots(&mut slots[place..=place], &mut rng);
            }
        }
        slots
    }

    /// Where the check of the teacher with this slot is, for a sample.
    fn audit_place(&self, sample: usize, slot: usize) -> usize {
        let run = self.plan().layout().run();
        self.places().slots(slot / run, sample)[slot % run] as usize
    }

    /// For the student: who cheated, and on which samples.
    pub fn read_audit(
        &self,
        key: &SecretKey,
        batch: usize,
        audit: &Audit,
    ) -> Result<Verdict, BfvError> {
        let (plan, context) = (self.plan(), self.context());
        let fits = |c: &Ciphertext| c.limbs() == 1 && c.parts[0].degree() == context.degree();
        let fits = audit.ciphertexts.len() == plan.audit().ciphertexts
            && audit.ciphertexts.iter().all(fits);
        let made_for = MadeFor { batch: audit.batch, key: audit.key };
        self.check_decryption(key, batch, Kind::Audit, made_for, fits)?;
        let mut accused = vec![false; self.election().teachers() as usize];
        let mut spoiled = vec![false; self.batch(batch).len()];
        for (number, c) in audit.ciphertexts.iter().enumerate() {
            let slots = c.decrypt(context, &key.secret);
            let first = number * plan.audit().teachers;
            let teachers = accused[first..].iter_mut().take(plan.audit().teachers);
            for (slot, accused) in teachers.enumerate() {
                for (sample, spoiled) in spoiled.iter_mut().enumerate() {
                    let cheated = slots[self.audit_place(sample, slot)] != 0;
                    *accused |= cheated;
                    *spoiled |= cheated;
                }
            }
        }
        let (accused, spoiled) = (accused.into_iter(), spoiled.into_iter());
        let (accused, spoiled) = (Presence::new(accused), Presence::new(spoiled));
        Ok(Verdict { accused, spoiled, batch, key: key.id })
    }

    /// For the server: only the samples that were spoiled, without the accused, under a new seed.
    /// Every other sample of the batch comes out as junk.
    pub fn aggregate_again<B: BallotBox<BfvBallot>>(
        &self,
        key: &EvaluationKey,
        ballots: &B,
        verdict: &Verdict,
        seed: &Seed,
    ) -> Result<Release, BfvError> {
        let batch = verdict.batch;
        let fits = verdict.accused.len() == self.election().teachers() as usize;
        let made_for = MadeFor { batch, key: verdict.key };
        made_for.check(Kind::Verdict, MadeFor { batch, key: key.id }, fits)?;
        self.aggregate_only(key, batch, ballots, seed, &verdict.accused(), &verdict.spoiled)
    }

    /// For the server: only the samples that are `asked` for, without the ballots of some teachers.
    /// Every other sample of the batch comes out as junk. A sample whose label is out is not asked
    /// for again: see [`Self::aggregate_again`].
    pub fn aggregate_only<B: BallotBox<BfvBallot>>(
        &self,
        key: &EvaluationKey,
        batch: usize,
        ballots: &B,
        seed: &Seed,
        excluded: &[u32],
        asked: &Presence,
    ) -> Result<Release, BfvError> {
        self.check_aggregation(key, batch)?;
        let samples = self.batch(batch).len();
        let made_for = MadeFor { batch, key: key.id };
        made_for.check(Kind::Verdict, made_for, asked.len() == samples)?;
        let ballots = Excluding::new(ballots, samples, excluded);
        let asked = Asked::Only(asked);
        crate::aggregation::Aggregation { asked, ..self.aggregation(key, batch, seed) }
            .run(&ballots)
    }
}
