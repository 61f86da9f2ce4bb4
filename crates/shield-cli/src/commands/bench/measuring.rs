//! Timing an engine: every role on votes of which none is missing.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use rand::SeedableRng;
use rand::rngs::StdRng;
use shield_core::engine::{BallotBox, BallotBoxError, Encoding, Engine, Key, Presence};
use shield_core::framing::KeyId;
use shield_core::labelling::Held;
use shield_core::{Label, Seed, Votes};

use crate::failure::Failure;

/// What is measured.
pub(super) struct Case<'a> {
    pub(super) votes: &'a Votes,
    pub(super) seed: &'a Seed,
    /// How often each batch is aggregated.
    pub(super) runs: usize,
    pub(super) ballots: Kept,
}

/// How ballots wait for the aggregation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    /// As the engine has them.
    Open,
    /// As the server stores them: bytes, opened and checked one by one.
    Stored,
}

/// What an engine took, in seconds.
pub(super) struct Measured {
    pub(super) labels: Vec<Label>,
    /// How many ballots were made.
    pub(super) ballots: usize,
    /// Of all ballots.
    pub(super) encrypt: f64,
    pub(super) receive: f64,
    /// Of each run, over all batches.
    pub(super) aggregate: Vec<f64>,
}

impl Measured {
    /// The shortest run: it is short, so the best of a few says more than one.
    pub(super) fn shortest(&self) -> f64 {
        self.aggregate.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// The ballots of a batch: those of the teachers who were asked for one. The others count as
/// present, and are never opened.
struct Ballots<'a, E: Engine> {
    engine: &'a E,
    open: BTreeMap<u32, E::Ballot>,
    stored: BTreeMap<u32, Vec<u8>>,
    batch: usize,
    key: KeyId,
}

impl<E: Engine> BallotBox<E::Ballot> for Ballots<'_, E> {
    fn presence(&self, _: u32) -> Result<Presence, BallotBoxError> {
        Ok(Presence::new(self.engine.batch(self.batch).map(|_| true)))
    }

    fn open(&self, teacher: u32) -> Result<Cow<'_, E::Ballot>, BallotBoxError> {
        if let Some(bytes) = self.stored.get(&teacher) {
            let ballot = self.engine.decode_ballot(bytes, self.batch, self.key);
            let refused = |error| BallotBoxError { teacher, source: Box::new(error) };
            return ballot.map(Cow::Owned).map_err(refused);
        }
        let missing = || BallotBoxError { teacher, source: "none was made".into() };
        self.open.get(&teacher).map(Cow::Borrowed).ok_or_else(missing)
    }
}

/// The generator of one ballot: the same draws the same shares of noise.
pub(super) fn ballot_rng(seed: &Seed, votes: &Votes, batch: usize, teacher: usize) -> StdRng {
    let index = (batch * votes.teachers() + teacher) as u64;
    StdRng::from_rng(&mut seed.stream("shield 2026 ballots of a benchmark", index))
}

/// Runs every role with an engine, on the ballots of the teachers that are named for each batch.
pub(super) fn measure<E: Engine, Teachers: IntoIterator<Item = u32>>(
    engine: &E,
    case: &Case,
    teachers: impl Fn(usize) -> Teachers,
) -> Result<Measured, Failure> {
    let keys = engine.generate_keys(&mut StdRng::from_os_rng()).map_err(Failure::failed)?;
    let secret = Arc::new(keys.secret);
    let reveal = |batch: usize, release: &E::Release| {
        engine.decrypt(&secret, batch, release).map_err(Failure::failed)
    };
    let own = Some(Arc::clone(&secret));
    let held = Held { public: keys.public, evaluation: keys.evaluation, secret: own, reveal };
    measure_with(engine, case, teachers, &held)
}

/// The same with keys that were made.
pub(super) fn measure_with<E: Engine, Teachers: IntoIterator<Item = u32>, R>(
    engine: &E,
    case: &Case,
    teachers: impl Fn(usize) -> Teachers,
    keys: &Held<E, R>,
) -> Result<Measured, Failure>
where
    R: Fn(usize, &E::Release) -> Result<Vec<Label>, Failure>,
{
    let &Case { votes, seed, runs, ballots: kept } = case;
    let mut found = Measured {
        labels: Vec::new(),
        ballots: 0,
        encrypt: 0.0,
        receive: 0.0,
        aggregate: vec![0.0; runs],
    };
    for batch in 0..engine.batches() {
        let (open, stored) = (BTreeMap::new(), BTreeMap::new());
        let mut ballots = Ballots { engine, open, stored, batch, key: keys.public.id() };
        for teacher in teachers(batch) {
            let own = votes.teacher(teacher as usize, engine.batch(batch));
            let mut rng = ballot_rng(seed, votes, batch, teacher as usize);
            let start = Instant::now();
            let ballot = engine.encrypt_as(&keys.public, batch, teacher, &own, &mut rng);
            found.encrypt += start.elapsed().as_secs_f64();
            let ballot = ballot.map_err(Failure::failed)?;
            let start = Instant::now();
            engine.receive(&keys.evaluation, &ballot);
            found.receive += start.elapsed().as_secs_f64();
            found.ballots += 1;
            if kept == Kept::Stored {
                ballots.stored.insert(teacher, engine.encode_ballot(&ballot));
            } else {
                ballots.open.insert(teacher, ballot);
            }
        }
        for (run, seconds) in found.aggregate.iter_mut().enumerate() {
            let start = Instant::now();
            let mut rng = StdRng::from_os_rng();
            let release = engine.aggregate_here(
                (keys.secret.as_deref(), &keys.evaluation),
                batch,
                &ballots,
                seed,
                &mut rng,
            );
            *seconds += start.elapsed().as_secs_f64();
            let release = release.map_err(Failure::failed)?;
            if run == 0 {
                found.labels.extend((keys.reveal)(batch, &release)?);
            }
        }
    }
    Ok(found)
}
