//! The audit: whose ballot is no vote?
//!
//! The check of `validity` is about all ballots together. When samples were spoiled, the server
//! makes the check of every teacher alone, on those samples, and masks every slot of it with a
//! factor that is uniform and not 0. Each teacher has a ciphertext: in one that several shared, one
//! ballot's error would spoil the slots of all. The masks are raised ([`Raised`]), so an error that
//! spoils a release is found in the audit, too, whether one ballot has it or many share it. The
//! student decrypts: a slot is zero, or it is not. Its answer to the server is one bit per teacher:
//! is it accused? Then the samples that were spoiled, and no others, are aggregated again, without
//! the accused and under a new seed; all other samples are masked to junk, because their labels are
//! out and must not be paid for twice.
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

use std::borrow::Cow;

use rand::{CryptoRng, RngCore};
use rayon::prelude::*;
use shield_core::Seed;
use shield_core::engine::{Again, AuditError, Audits, BallotBox, BallotBoxError, Engine, Presence};
use shield_core::framing::{
    DecodeError, Kind, MadeFor, Reader, check_place, framed_bytes, open, seal,
};

use crate::aggregation::{Aggregation, Asked, challenge, voters};
use crate::ballot::BfvBallot;
use crate::bytes::{read_ciphertexts, write_ciphertexts};
use crate::engine::BfvEngine;
use crate::error::BfvError;
use crate::flooding;
use crate::keys::{EvaluationKey, SecretKey};
use crate::release::Release;
use crate::scheme::{Ciphertext, Raised, plaintext_slots};

/// Purposes of the seeds and random streams of an audit.
const COEFFICIENTS: &str = "shield 2026 bfv audit seed of the coefficients";
const FRESH: &str = "shield 2026 bfv audit seed of masks and flooding";
const MASK: &str = "shield 2026 bfv audit masks of one teacher";
const FLOOD: &str = "shield 2026 bfv audit flooding of one ciphertext";

/// A ballot box without the ballots of some teachers.
struct Excluding<'a> {
    ballots: &'a dyn BallotBox<BfvBallot>,
    excluded: &'a [u32],
    samples: usize,
}

impl BallotBox<BfvBallot> for Excluding<'_> {
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

impl BfvEngine {
    /// A factor that is uniform and not 0 in every slot of some samples, and 0 elsewhere.
    fn audit_mask<R: RngCore + CryptoRng>(&self, samples: &[usize], rng: &mut R) -> Vec<u64> {
        let mut slots = vec![0; self.context().degree()];
        let in_batch = self.plan().samples_per_batch();
        for &sample in samples.iter().filter(|&&sample| sample < in_batch) {
            for place in self.sample_places(sample) {
                while slots[place] == 0 {
                    plaintext_slots(&mut slots[place..=place], rng);
                }
            }
        }
        slots
    }

    /// Where the check of a sample is: in every slot of its runs.
    fn sample_places(&self, sample: usize) -> impl Iterator<Item = usize> {
        let groups = 0..self.plan().layout().groups();
        groups.flat_map(move |g| self.places().slots(g, sample).iter().map(|&p| p as usize))
    }

    /// For the student: who cheated, and on which samples.
    pub(crate) fn accusations(
        &self,
        key: &SecretKey,
        batch: usize,
        audit: &[u8],
    ) -> Result<Vec<(u32, Vec<usize>)>, AuditError> {
        let (kind, context) = (Kind::Audit, self.context());
        let made_for = check_place(audit, kind, self.binding(), batch, Some(key.id))?;
        let lengths = [self.plan().payload_bytes(Kind::Audit)];
        let (_, payload) = open(audit, kind, self.binding(), &lengths)?;
        let teachers = self.plan().teachers();
        let checks = read_ciphertexts(&mut Reader::new(payload), context, teachers, 1)
            .ok_or(DecodeError::Range { kind })?;
        self.check_decryption(key, batch, kind, made_for, true)
            .map_err(|error| AuditError::Engine(error.into()))?;
        let samples = self.batch(batch);
        let cheated = |check: Ciphertext| -> Vec<usize> {
            let slots = check.decrypt(context, &key.secret);
            let cheated = |&sample: &usize| self.sample_places(sample).any(|p| slots[p] != 0);
            (0..samples.len()).filter(cheated).collect()
        };
        let found = (0..).zip(checks.into_iter().map(cheated));
        Ok(found.filter(|(_, samples)| !samples.is_empty()).collect())
    }
}

impl Audits<Self> for BfvEngine {
    fn audit_bytes(&self) -> usize {
        framed_bytes(self.plan().payload_bytes(Kind::Audit))
    }

    fn audit(
        &self,
        key: &EvaluationKey,
        batch: usize,
        ballots: &dyn BallotBox<BfvBallot>,
        seed: &Seed,
        samples: &[usize],
    ) -> Result<Vec<u8>, BfvError> {
        self.check_aggregation(key, batch)?;
        let aggregation = self.aggregation(key, batch, seed);
        let voters = voters(self.election().teachers(), &ballots)?;
        let bound = challenge(&aggregation, &voters, &ballots)?;
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
        let (plan, context) = (self.plan().audit(), self.context());
        let masks = Raised { width: plan.raise };
        let check = |teacher: u32| {
            let mut rng = fresh.stream(MASK, u64::from(teacher));
            let v = match voters.binary_search_by_key(&teacher, |voter| voter.teacher) {
                Ok(place) => {
                    let ballot = aggregation.open(&ballots, teacher)?;
                    let mut v = validity.of_teacher(voters[place].clone(), &ballot);
                    v.drop_to(context, plan.limbs);
                    masks.times(context, &v, self.audit_mask(samples, &mut rng), &mut rng)
                }
                Err(_) => Ciphertext::zero(context, plan.limbs),
            };
            let mut rng = fresh.stream(FLOOD, u64::from(teacher));
            Ok(flooding::sanitise(context, &key.public, v, plan.flooding, &mut rng))
        };
        let teachers = 0..self.election().teachers();
        let checks: Vec<_> =
            teachers.into_par_iter().map(check).collect::<Result<_, BfvError>>()?;
        let made_for = MadeFor { batch, key: key.id };
        let length = self.plan().payload_bytes(Kind::Audit);
        Ok(seal(Kind::Audit, self.binding(), made_for, length, |out| {
            write_ciphertexts(out, context, &checks);
        }))
    }

    fn read_audit(
        &self,
        key: &SecretKey,
        batch: usize,
        audit: &[u8],
    ) -> Result<Vec<u32>, AuditError> {
        let found = self.accusations(key, batch, audit)?;
        Ok(found.into_iter().map(|(teacher, _)| teacher).collect())
    }

    fn aggregate_again(
        &self,
        key: &EvaluationKey,
        batch: usize,
        ballots: &dyn BallotBox<BfvBallot>,
        seed: &Seed,
        Again { excluded, samples }: Again<'_>,
    ) -> Result<Release, BfvError> {
        self.check_aggregation(key, batch)?;
        let all = 0..self.batch(batch).len();
        let ballots = Excluding { ballots, samples: all.len(), excluded };
        let asked = Presence::new(all.map(|sample| samples.contains(&sample)));
        let asked = Asked::Only(&asked);
        Aggregation { asked, ..self.aggregation(key, batch, seed) }.run(&ballots)
    }
}
