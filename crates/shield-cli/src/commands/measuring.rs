//! Timing an aggregation: SHIELD by the BFV engine, and the noisy argmax by any engine.

use std::borrow::Cow;
use std::time::Instant;

use rand::rngs::{OsRng, StdRng};
use rand::{SeedableRng, TryRngCore};
use shield::backend::noisy_argmax::{argmax, noisy_one_hot};
use shield::backend::{
    Backend, BackendBytes, Ballot, BallotBox, BallotBoxError, MemoryBallotBox, Presence,
};
use shield::framing::KeyId;
use shield::shared_noise::{SharedNoise, Shares};
use shield::{Election, Label, Seed, Votes};
use shield_bfv::{BallotCheck, BfvBackend, ReleaseMode};

use crate::failure::Failure;

/// Runs of our circuit: it is short, so the best of a few says more than one.
const RUNS: usize = 5;

/// The labels, and the seconds of each run's aggregation.
pub(super) fn ours(
    election: &Election,
    votes: &Votes,
    check: BallotCheck,
    seed: &Seed,
    rng: &mut StdRng,
) -> Result<(Vec<Label>, Vec<f64>), Failure> {
    let backend = BfvBackend::new(election.clone(), ReleaseMode::Reveal)
        .map_err(Failure::bad_input)?
        .with_ballot_check(check);
    let keys = backend.generate_keys(rng).map_err(Failure::failed)?;
    let mut labels = Vec::new();
    let mut seconds = vec![0.0; RUNS];
    for batch in 0..backend.batches() {
        let samples = backend.batch(batch);
        let ballots = (0..votes.teachers())
            .map(|teacher| {
                let own = votes.teacher(teacher, samples.clone());
                backend.encrypt(&keys.public, batch, &own, rng).map(Some)
            })
            .collect::<Result<Vec<_>, _>>()
            .map_err(Failure::failed)?;
        let ballots = MemoryBallotBox::new(samples.len(), ballots);
        for (run, seconds) in seconds.iter_mut().enumerate() {
            let start = Instant::now();
            let release = backend
                .aggregate(&keys.evaluation, batch, &ballots, seed)
                .map_err(Failure::failed)?;
            *seconds += start.elapsed().as_secs_f64();
            if run == 0 {
                let found = backend.decrypt(&keys.secret, batch, &release);
                labels.extend(found.map_err(Failure::failed)?);
            }
        }
    }
    Ok((labels, seconds))
}

/// The shortest of some times.
pub(super) fn shortest(seconds: &[f64]) -> f64 {
    seconds.iter().copied().fold(f64::INFINITY, f64::min)
}

/// What one engine took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    pub(super) samples: usize,
    /// Of the aggregation: from stored ballots to the release.
    pub(super) seconds_per_sample: f64,
    pub(super) labels_agree: bool,
}

/// The ballots of one batch as the server stores them: bytes, opened and checked one by one.
struct Stored<'a, B> {
    backend: &'a B,
    ballots: Vec<Vec<u8>>,
    presence: Presence,
    batch: usize,
    key: KeyId,
}

impl<B: BackendBytes> BallotBox<B::Ballot> for Stored<'_, B> {
    fn presence(&self, _: u32) -> Result<Presence, BallotBoxError> {
        Ok(self.presence.clone())
    }

    fn open(&self, teacher: u32) -> Result<Cow<'_, B::Ballot>, BallotBoxError> {
        let bytes = &self.ballots[teacher as usize];
        let ballot = self.backend.decode_ballot(bytes, self.batch, self.key);
        ballot.map(Cow::Owned).map_err(|error| BallotBoxError { teacher, source: error.into() })
    }
}

/// Labels the first samples of some votes, as many as the engine's election has, and compares
/// every label with the argmax in the clear.
pub(super) fn measure<B: BackendBytes>(
    backend: &B,
    noise: SharedNoise,
    votes: &Votes,
) -> Result<Measured, Failure> {
    let mut rng = StdRng::from_rng(&mut OsRng.unwrap_err());
    let seed = Seed::random(&mut rng);
    let keys = backend.generate_keys(&mut rng).map_err(Failure::failed)?;
    let key = backend.public_key_id(&keys.public);
    let classes = backend.election().classes();
    let shares = Shares::new(&noise);
    let (mut seconds, mut labels, mut expected) = (0.0, Vec::new(), Vec::new());
    for batch in 0..Backend::batches(backend) {
        let samples = Backend::batch(backend, batch);
        let mut counts = vec![0_i64; samples.len() * classes.count()];
        let mut ballots = Vec::with_capacity(votes.teachers());
        let mut presence = Presence::new(samples.clone().map(|_| true));
        for teacher in 0..votes.teachers() {
            let own = votes.teacher(teacher, samples.clone());
            // A copy of the generator draws the same shares.
            let mut own_rng = StdRng::from_rng(&mut rng);
            let numbers = noisy_one_hot(classes, &own, &shares, &mut own_rng.clone());
            counts.iter_mut().zip(numbers).for_each(|(count, number)| *count += number);
            let ballot = backend.encrypt(&keys.public, batch, &own, &mut own_rng);
            let ballot = ballot.map_err(Failure::failed)?;
            presence = ballot.presence().clone();
            ballots.push(backend.encode_ballot(&ballot));
        }
        expected.extend(counts.chunks(classes.count()).map(|counts| Some(argmax(counts))));
        let stored = Stored { backend, ballots, presence, batch, key };
        let start = Instant::now();
        let release = backend.aggregate(&keys.evaluation, batch, &stored, &seed);
        seconds += start.elapsed().as_secs_f64();
        let release = release.map_err(Failure::failed)?;
        let found: Vec<Label> =
            backend.decrypt(&keys.secret, batch, &release).map_err(Failure::failed)?;
        labels.extend(found);
    }
    Ok(Measured {
        samples: labels.len(),
        seconds_per_sample: seconds / labels.len() as f64,
        labels_agree: labels == expected,
    })
}
