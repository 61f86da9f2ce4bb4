//! Labelling votes in one process: every role of SPEED, batch by batch, with any engine.
//!
//! For tests, demonstrations and data that is in one place anyway. The student's key, the teachers'
//! votes and the server's draws are all here, so nothing is hidden from whoever runs it; what is
//! private are the labels.

use std::sync::Arc;
use std::time::Instant;

use rand::rngs::{OsRng, StdRng};
use rand::{SeedableRng, TryRngCore};
use rayon::prelude::*;
use serde::Serialize;
use thiserror::Error;

use crate::engine::{Engine, MemoryBallotBox};
use crate::seed::Seed;
use crate::votes::{Label, Votes};
use crate::watch::Watch;

/// Where the randomness of ballots comes from. The draws of SHIELD are the server's; the noise of a
/// noisy argmax is the teachers'.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BallotRandomness {
    /// Every teacher's own generator.
    #[default]
    Fresh,
    /// The seed of the run: for tests.
    Seeded,
}

/// Seconds that each role took, over all teachers and batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Seconds {
    /// The student's keys, or those of all trustees.
    pub keygen: f64,
    /// All teachers' ballots.
    pub encrypt: f64,
    /// What the server did with ballots when they arrived.
    pub receive: f64,
    /// The aggregation, which is what the paper reports, with the student's part in it where an
    /// engine has one.
    pub aggregate: f64,
    /// The student's labels, from openings of all trustees where they hold the key.
    pub decrypt: f64,
}

/// What a run gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Labelled {
    /// The labels of the samples that were finished: all, unless the run was stopped.
    pub labels: Vec<Label>,
    /// How long each role took.
    pub seconds: Seconds,
}

/// A run that could not go on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LabellingError<E: std::error::Error> {
    /// The votes are not those of the election that the engine was set up for.
    #[error(
        "the votes are {found} samples x teachers, and the engine is set up for {expected}; give \
         it the votes of its own election"
    )]
    OtherVotes {
        /// Samples and teachers of the votes.
        found: String,
        /// Samples and teachers of the election.
        expected: String,
    },
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] E),
}

/// The most batches that are aggregated side by side. One batch already uses every core, but not
/// all the time; a few fill the gaps, and each takes memory of its own.
const MOST_AT_ONCE: usize = 4;

/// How many batches to aggregate side by side on the threads of the caller's pool.
pub fn batches_at_once() -> usize {
    rayon::current_num_threads().min(MOST_AT_ONCE)
}

/// Does some work for every item, a few of them side by side, and gives what came of it in order.
pub fn side_by_side<T: Send, R: Send>(
    items: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> R + Sync,
) -> impl Iterator<Item = R> {
    let mut items = items.into_iter();
    let some = std::iter::from_fn(move || {
        let next: Vec<T> = items.by_ref().take(batches_at_once()).collect();
        let done = next.into_par_iter().map(&work).collect::<Vec<R>>();
        (!done.is_empty()).then_some(done)
    });
    some.flatten()
}

/// Votes to label.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The votes of the election.
    pub votes: &'a Votes,
    /// What the server draws from.
    pub seed: &'a Seed,
    /// What the teachers draw from.
    pub ballots: BallotRandomness,
    /// Counts samples that have a label, batch by batch. If it stops the run, the labels that there
    /// are come back.
    pub watch: &'a Watch,
}

/// Public keys, with whoever reads releases made under them.
#[derive(Debug)]
pub struct Held<E: Engine, R> {
    /// For the teachers.
    pub public: E::PublicKey,
    /// For the server.
    pub evaluation: E::EvaluationKey,
    /// The student's own key, where it has one: for engines whose batches it unlocks.
    pub secret: Option<Arc<E::SecretKey>>,
    /// Reads the release of a batch.
    pub reveal: R,
}

/// Labels all votes with an engine and the student's own keys, a few batches side by side: see
/// [`Run`].
pub fn label<E: Engine>(
    engine: &E,
    votes: &Votes,
    seed: &Seed,
    randomness: BallotRandomness,
    watch: &Watch,
) -> Result<Labelled, LabellingError<E::Error>> {
    let make = |rng: &mut StdRng| {
        let keys = engine.generate_keys(rng)?;
        let secret = Arc::new(keys.secret);
        let own = Some(Arc::clone(&secret));
        let reveal =
            move |batch: usize, release: &E::Release| engine.decrypt(&secret, batch, release);
        Ok(Held { public: keys.public, evaluation: keys.evaluation, secret: own, reveal })
    };
    let run = Run { votes, seed, ballots: randomness, watch };
    label_with(engine, run, |error| error, make)
}

/// The same with keys that `make` makes. The engine's errors are wrapped in its kind.
pub fn label_with<E: Engine, X: std::error::Error, R>(
    engine: &E,
    Run { votes, seed, ballots: randomness, watch }: Run<'_>,
    wrap: impl Fn(E::Error) -> X + Copy,
    make: impl FnOnce(&mut StdRng) -> Result<Held<E, R>, X>,
) -> Result<Labelled, LabellingError<X>>
where
    R: Fn(usize, &E::Release) -> Result<Vec<Label>, X>,
{
    let election = engine.election();
    let (samples, teachers) = (election.samples(), election.teachers() as usize);
    if (votes.samples(), votes.teachers()) != (samples, teachers) {
        return Err(LabellingError::OtherVotes {
            found: format!("{} x {}", votes.samples(), votes.teachers()),
            expected: format!("{samples} x {teachers}"),
        });
    }
    watch.begin("labelling", samples as u64);
    let mut seconds = Seconds::default();
    let mut labels = Vec::with_capacity(votes.samples());
    let keys = timed(&mut seconds.keygen, || make(&mut system_rng()))?;
    let all: Vec<usize> = (0..engine.batches()).collect();
    for batches in all.chunks(batches_at_once()) {
        let ballots = timed(&mut seconds.encrypt, || {
            let encrypt =
                |&batch: &usize| encrypt_all(engine, &keys.public, votes, batch, seed, randomness);
            batches.par_iter().map(encrypt).collect::<Result<Vec<_>, _>>()
        })
        .map_err(wrap)?;
        let ballots: Vec<_> = timed(&mut seconds.receive, || {
            let key = &keys.evaluation;
            ballots.par_iter().flatten().flatten().for_each(|ballot| engine.receive(key, ballot));
            let samples = batches.iter().map(|&batch| engine.batch(batch).len());
            samples.zip(ballots).map(|(samples, own)| MemoryBallotBox::new(samples, own)).collect()
        });
        let releases = timed(&mut seconds.aggregate, || {
            let aggregate = |(&batch, ballots): (&usize, &MemoryBallotBox<_>)| {
                let held = (keys.secret.as_deref(), &keys.evaluation);
                engine.aggregate_here(held, batch, ballots, seed, &mut system_rng())
            };
            batches.par_iter().zip(&ballots).map(aggregate).collect::<Result<Vec<_>, _>>()
        })
        .map_err(wrap)?;
        for (&batch, release) in batches.iter().zip(&releases) {
            labels.extend(timed(&mut seconds.decrypt, || (keys.reveal)(batch, release))?);
            watch.add(engine.batch(batch).len() as u64);
            if watch.is_stopped() {
                return Ok(Labelled { labels, seconds });
            }
        }
    }
    Ok(Labelled { labels, seconds })
}

/// All teachers' ballots for a batch: each encrypts with a generator of its own.
fn encrypt_all<E: Engine>(
    engine: &E,
    key: &E::PublicKey,
    votes: &Votes,
    batch: usize,
    seed: &Seed,
    randomness: BallotRandomness,
) -> Result<Vec<Option<E::Ballot>>, E::Error> {
    let samples = engine.batch(batch);
    let ballots = (0..votes.teachers()).into_par_iter().map(|teacher| {
        let mut rng = match randomness {
            BallotRandomness::Fresh => system_rng(),
            BallotRandomness::Seeded => {
                let index = (batch * votes.teachers() + teacher) as u64;
                let mut stream = seed.stream("shield 2026 ballots of a seeded run", index);
                StdRng::from_rng(&mut stream)
            }
        };
        let own = votes.teacher(teacher, samples.clone());
        let number = u32::try_from(teacher).expect("teachers are numbered in 32 bits");
        engine.encrypt_as(key, batch, number, &own, &mut rng).map(Some)
    });
    ballots.collect()
}

fn system_rng() -> StdRng {
    StdRng::from_rng(&mut OsRng.unwrap_err())
}

/// Does some work, and adds the seconds it took.
fn timed<T>(seconds: &mut f64, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    *seconds += start.elapsed().as_secs_f64();
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::election::Election;
    use crate::engine::ClearEngine;
    use crate::parameters::Classes;
    use crate::setting::Setting;
    use crate::synthetic;

    fn set_up(samples: usize) -> (ClearEngine, Votes) {
        let classes = Classes::new(3).unwrap();
        let (votes, _) = synthetic::votes(9, classes, samples, 2).unwrap();
        let election = Election::new(9, classes, samples, Setting::default()).unwrap();
        (ClearEngine::new(election), votes)
    }

    #[test]
    fn the_same_seed_gives_the_same_labels() {
        let (engine, votes) = set_up(12);
        let run = |seed: u64| {
            let seed = Seed::from_number(seed);
            label(&engine, &votes, &seed, BallotRandomness::Fresh, &Watch::default())
                .unwrap()
                .labels
        };
        assert_eq!(run(1).len(), 12);
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }

    #[test]
    fn a_run_that_is_stopped_gives_what_it_has() {
        let (engine, votes) = set_up(12);
        let stop = Watch::new(|_| std::ops::ControlFlow::Break(()));
        let seed = Seed::from_number(1);
        let found = label(&engine, &votes, &seed, BallotRandomness::Fresh, &stop).unwrap();
        assert_eq!(found.labels.len(), engine.batch(0).len());
    }

    #[test]
    fn votes_of_another_election_are_refused() {
        let (engine, _) = set_up(12);
        let (_, others) = set_up(5);
        let seed = Seed::from_number(1);
        let found = label(&engine, &others, &seed, BallotRandomness::Fresh, &Watch::default());
        assert!(matches!(found, Err(LabellingError::OtherVotes { .. })));
    }
}
