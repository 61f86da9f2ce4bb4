//! The argmax of tiny ballots behind the trait that all engines share.

use std::fmt;

use rand::{CryptoRng, RngCore};
use shield_core::engine::noisy_argmax::contributors;
use shield_core::engine::{
    Ballot, BallotBox, BallotError, Counts, Engine, Envelope, Keys, KeysOf, Presence, Setup,
    Unlocks, check_key_fits, open_ballot,
};
use shield_core::framing::{
    DecodeError, Kind, MadeFor, Reader, check_place, checksum, open, seal as frame,
};
use shield_core::shared_noise::SharedNoise;
use shield_core::votes::Vote;
use shield_core::{Election, Label, Seed};
use shield_privacy::skellam::Sensitivity;

use super::keys::{self, TinyEvaluationKey, TinyPublicKey, TinySecretKey, Turns};
use super::phases::Phases;
use super::residues;
use super::seal::{Capsule, OpeningKey, SealingKey};
use super::teacher::{self, Context as Ballots};
use super::unlocking::{Request, Unlocking};
use crate::argmax::engine::ArgmaxEngine;
use crate::argmax::error::ArgmaxError;
use crate::argmax::keys::ArgmaxEvaluationKey;
use crate::argmax::mlwe::{Grid, Points};
use crate::argmax::plan::{ArgmaxPlan, BallotKind, Rings};
use crate::bytes;
use crate::keys::KeyId;
use crate::noise::Lengths;
use crate::release::Release;
use crate::ring::PLAINTEXT;

/// One teacher's votes and noise on one batch, hidden by its secret.
#[derive(Clone)]
pub struct TinyBallot {
    pub(super) capsule: Box<Capsule>,
    pub(super) residues: Vec<u32>,
    presence: Presence,
    made_for: MadeFor,
}

impl fmt::Debug for TinyBallot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TinyBallot").field("made_for", &self.made_for).finish_non_exhaustive()
    }
}

impl Ballot for TinyBallot {
    fn presence(&self) -> &Presence {
        &self.presence
    }

    fn made_for(&self) -> MadeFor {
        self.made_for
    }
}

/// The engine of tiny ballots, set up for one election and some noise.
#[derive(Debug)]
pub struct TinyEngine {
    /// What follows the differences, the plan, and the noise.
    pub(super) argmax: ArgmaxEngine,
    pub(super) grid: Grid,
    pub(super) points: Points,
    pub(super) columns: Vec<u32>,
}

impl TinyEngine {
    /// For an election of as many teachers as share the noise, each with one vote per sample.
    pub fn new(election: Election, noise: SharedNoise) -> Result<Self, ArgmaxError> {
        Self::with_counts(election, noise, Sensitivity::Vote, None)
    }

    /// The same, for ballots that may hold counts, and with a threshold: see
    /// [`ArgmaxEngine::with_counts`].
    pub fn with_counts(
        election: Election,
        noise: SharedNoise,
        sensitivity: Sensitivity,
        threshold: Option<u32>,
    ) -> Result<Self, ArgmaxError> {
        Self::in_rings(election, noise, sensitivity, threshold, Rings::Secure)
    }

    pub(crate) fn in_rings(
        election: Election,
        noise: SharedNoise,
        sensitivity: Sensitivity,
        threshold: Option<u32>,
        rings: Rings,
    ) -> Result<Self, ArgmaxError> {
        let (kind, lengths) = (BallotKind::Tiny, Lengths::Assumed);
        let of = (sensitivity, threshold);
        let argmax = ArgmaxEngine::held_by(election, noise, of, rings, None, kind, lengths)?;
        let grid = argmax.plan().grid().expect("a plan for tiny ballots has a grid");
        let (points, columns) = (Points::new(grid.module().degree()), grid.columns_of());
        Ok(Self { argmax, grid, points, columns })
    }

    /// The plan.
    pub fn plan(&self) -> &ArgmaxPlan {
        self.argmax.plan()
    }

    /// What ballots of a batch under some keys belong to.
    pub(super) fn context(&self, batch: usize, key: KeyId) -> Ballots {
        Ballots::new(self.binding(), MadeFor { batch, key })
    }

    /// A ballot of numbers that hold their noise already, with coins from 32 fresh bytes.
    pub(super) fn hide(
        &self,
        key: &TinyPublicKey,
        batch: usize,
        numbers: &[i64],
        fresh: &[u8; 32],
    ) -> TinyBallot {
        let context = self.context(batch, key.id);
        let (seed, capsule) = key.sealing.seal(&context.coins(fresh, numbers));
        let secret = teacher::secret(context, self.grid, &seed);
        let residues = teacher::hide(context, self.grid, &self.points, &secret, numbers);
        let presence = Presence::new(self.batch(batch).map(|_| true));
        let made_for = MadeFor { batch, key: key.id };
        TinyBallot { capsule: Box::new(capsule), residues, presence, made_for }
    }

    /// The sealed seeds of all ballots, and the sum of their residues.
    fn collect(
        &self,
        key: &TinyEvaluationKey,
        batch: usize,
        ballots: &dyn BallotBox<TinyBallot>,
    ) -> Result<(Request, Vec<u32>), ArgmaxError> {
        self.setup().check_batch(batch)?;
        check_key_fits(Kind::EvaluationKey, key.fits(self.plan(), self.grid))?;
        let made_for = MadeFor { batch, key: key.id };
        let mut sum = vec![0_u64; self.batch(batch).len() * self.grid.classes()];
        let mut capsules = vec![None; self.plan().teachers()];
        let present = contributors(&self.argmax.noise, ballots).map_err(BallotError::from)??;
        for teacher in present {
            let fits = |ballot: &TinyBallot| ballot.residues.len() == sum.len();
            let ballot = open_ballot(ballots, teacher, made_for, fits)?;
            sum.iter_mut().zip(&ballot.residues).for_each(|(sum, &x)| *sum += u64::from(x));
            capsules[teacher as usize] = Some(*ballot.capsule);
        }
        Ok((Request(capsules), sum.into_iter().map(|x| (x % PLAINTEXT) as u32).collect()))
    }

    pub(super) fn write_request(&self, request: &Request, made_for: MadeFor) -> Vec<u8> {
        let length = self.payload_bytes(Kind::Request, 0);
        frame(Kind::Request, self.binding(), made_for, length, |out| request.write(out))
    }

    /// The payload of a message about a batch.
    fn payload<'a>(
        &self,
        bytes: &'a [u8],
        kind: Kind,
        batch: usize,
        key: KeyId,
    ) -> Result<&'a [u8], DecodeError> {
        check_place(bytes, kind, self.binding(), batch, Some(key))?;
        Ok(open(bytes, kind, self.binding(), &[self.payload_bytes(kind, 0)])?.1)
    }

    /// What a batch's phases are computed with.
    pub(super) fn phases<'a>(&'a self, key: &'a TinyEvaluationKey, batch: usize) -> Phases<'a> {
        Phases {
            context: &self.argmax.context,
            plan: self.plan(),
            grid: self.grid,
            points: &self.points,
            columns: &self.columns,
            turns: &key.turns,
            ballots: self.context(batch, key.id),
            samples: self.batch(batch).len(),
            threshold: self.argmax.threshold,
        }
    }
}

impl Engine for TinyEngine {
    type SecretKey = TinySecretKey;
    type PublicKey = TinyPublicKey;
    type EvaluationKey = TinyEvaluationKey;
    type Ballot = TinyBallot;
    type Release = Release;
    type Error = ArgmaxError;

    const NAME: &'static str = "bfv";
    const KEY_NAME: &'static str = keys::NAME;

    fn setup(&self) -> &Setup {
        self.argmax.setup()
    }

    fn generate_keys<R: RngCore + CryptoRng>(
        &self,
        rng: &mut R,
    ) -> Result<KeysOf<Self>, ArgmaxError> {
        let keys = keys::generate(&self.argmax.context, self.plan(), self.grid, rng);
        let (secret, public, evaluation) = keys.expect("every rotation is generated");
        Ok(Keys { secret, public, evaluation })
    }

    fn encrypt<R: RngCore + CryptoRng>(
        &self,
        key: &TinyPublicKey,
        batch: usize,
        votes: &[Vote],
        rng: &mut R,
    ) -> Result<TinyBallot, ArgmaxError> {
        let numbers = self.argmax.noisy_votes(batch, votes, rng)?;
        let mut fresh = [0; 32];
        rng.fill_bytes(&mut fresh);
        Ok(self.hide(key, batch, &numbers, &fresh))
    }

    fn aggregate(
        &self,
        _: &TinyEvaluationKey,
        batch: usize,
        _: &dyn BallotBox<TinyBallot>,
        _: &Seed,
    ) -> Result<Release, ArgmaxError> {
        Err(ArgmaxError::Locked { batch })
    }

    fn decrypt(
        &self,
        key: &TinySecretKey,
        batch: usize,
        release: &Release,
    ) -> Result<Vec<Label>, ArgmaxError> {
        self.argmax.decrypt(&key.secret, batch, release)
    }

    fn counts(&self) -> Option<&dyn Counts<Self>> {
        Some(self)
    }

    fn unlocks(&self) -> Option<&dyn Unlocks<Self>> {
        Some(self)
    }

    fn payload_bytes(&self, kind: Kind, samples: usize) -> usize {
        self.plan().payload_bytes(kind, samples)
    }

    fn accepts(&self, presence: &Presence) -> bool {
        presence.is_complete()
    }

    fn release_made_for(&self, release: &Release) -> MadeFor {
        release.made_for()
    }

    fn write_secret_key(&self, out: &mut Vec<u8>, key: &TinySecretKey) {
        bytes::write_secret(out, &key.secret);
        out.extend(key.opening.to_bytes());
    }

    fn write_public_key(&self, out: &mut Vec<u8>, key: &TinyPublicKey) {
        out.extend(key.sealing.to_bytes());
    }

    fn write_evaluation_key(&self, out: &mut Vec<u8>, key: &TinyEvaluationKey) {
        out.extend(key.sealing.to_bytes());
        self.argmax.write_evaluation_key(out, &key.argmax);
        for rotation in key.turns.all() {
            bytes::write_switch(out, &self.argmax.context, &rotation.key);
        }
    }

    fn write_votes(&self, out: &mut Vec<u8>, ballot: &TinyBallot) {
        out.extend(*ballot.capsule);
        residues::write(out, &ballot.residues);
    }

    fn write_release(&self, out: &mut Vec<u8>, release: &Release) {
        self.argmax.write_release(out, release);
    }

    fn read_secret_key(&self, payload: &mut Reader, id: KeyId) -> Option<TinySecretKey> {
        let secret = self.argmax.read_secret_key(payload, id)?;
        let opening = OpeningKey::from_bytes(payload.array()?.into());
        Some(TinySecretKey { secret, opening, id })
    }

    fn read_public_key(&self, payload: &mut Reader, id: KeyId) -> Option<TinyPublicKey> {
        Some(TinyPublicKey { sealing: SealingKey::from_bytes(&payload.array()?)?, id })
    }

    fn read_evaluation_key(&self, payload: &mut Reader, id: KeyId) -> Option<TinyEvaluationKey> {
        let sealing = SealingKey::from_bytes(&payload.array()?)?;
        let argmax: ArgmaxEvaluationKey = self.argmax.read_evaluation_key(payload, id)?;
        let context = &self.argmax.context;
        let turns = Turns::of(self.plan(), self.grid, |exponent, limbs| {
            bytes::read_rotation(payload, context, exponent, limbs)
        })?;
        Some(TinyEvaluationKey { sealing, argmax, turns, id })
    }

    fn read_votes(&self, payload: &mut Reader, envelope: Envelope) -> Option<TinyBallot> {
        let capsule = Box::new(payload.array()?);
        let Envelope { presence, made_for, .. } = envelope;
        let count = presence.len() * self.grid.classes();
        let bytes = payload.take(payload.rest().len())?;
        Some(TinyBallot { capsule, residues: residues::read(bytes, count)?, presence, made_for })
    }

    fn read_release(&self, payload: &mut Reader, made_for: MadeFor) -> Option<Release> {
        self.argmax.read_release(payload, made_for)
    }
}

impl Unlocks<Self> for TinyEngine {
    fn request(
        &self,
        key: &TinyEvaluationKey,
        batch: usize,
        ballots: &dyn BallotBox<TinyBallot>,
    ) -> Result<Vec<u8>, ArgmaxError> {
        let (request, _) = self.collect(key, batch, ballots)?;
        Ok(self.write_request(&request, MadeFor { batch, key: key.id }))
    }

    fn unlock(
        &self,
        key: &TinySecretKey,
        batch: usize,
        request: &[u8],
        mut rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u8>, ArgmaxError> {
        self.setup().check_batch(batch)?;
        let degree = self.argmax.context.degree();
        let fits = key.secret.secret.coefficients().len() == degree;
        check_key_fits(Kind::SecretKey, fits)?;
        let payload = self.payload(request, Kind::Request, batch, key.id)?;
        let capsules = Request::read(&mut Reader::new(payload), self.plan().teachers())
            .ok_or(DecodeError::Range { kind: Kind::Request })?;
        capsules.check(&self.argmax.noise)?;
        let sum = capsules.sum(key, self.context(batch, key.id), self.grid);
        let (context, places) = (&self.argmax.context, (self.grid, &self.columns[..]));
        let request = checksum(request);
        let unlocking = Unlocking::new(context, places, key, request, &sum, &mut rng);
        let (kind, made_for) = (Kind::Unlocking, MadeFor { batch, key: key.id });
        let length = self.payload_bytes(kind, 0);
        Ok(frame(kind, self.binding(), made_for, length, |out| unlocking.write(out, context)))
    }

    fn aggregate_unlocked(
        &self,
        key: &TinyEvaluationKey,
        batch: usize,
        ballots: &dyn BallotBox<TinyBallot>,
        seed: &Seed,
        unlocking: &[u8],
    ) -> Result<Release, ArgmaxError> {
        let (request, residues) = self.collect(key, batch, ballots)?;
        let asked = checksum(&self.write_request(&request, MadeFor { batch, key: key.id }));
        let payload = self.payload(unlocking, Kind::Unlocking, batch, key.id)?;
        let unlocking = Unlocking::read(&mut Reader::new(payload), &self.argmax.context)
            .ok_or(DecodeError::Range { kind: Kind::Unlocking })?;
        if unlocking.request != asked {
            return Err(ArgmaxError::OtherBallots { batch });
        }
        let phases = self.phases(key, batch);
        let phase = phases.phase(&phases.near(unlocking.secrets), &residues);
        let aggregation = self.argmax.aggregation(&key.argmax, batch, seed);
        let fresh = aggregation.bound_to(&phase);
        Ok(aggregation.release(phases.transform(phase), &fresh))
    }
}

impl Counts<Self> for TinyEngine {
    fn encrypt_counts(
        &self,
        key: &TinyPublicKey,
        batch: usize,
        counts: &[Vec<u32>],
        mut rng: &mut dyn CryptoRng,
    ) -> Result<TinyBallot, ArgmaxError> {
        let numbers = self.argmax.noisy_counts(batch, counts, &mut rng)?;
        let mut fresh = [0; 32];
        rng.fill_bytes(&mut fresh);
        Ok(self.hide(key, batch, &numbers, &fresh))
    }
}
