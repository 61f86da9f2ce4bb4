//! What the examples measure with: one aggregation on one thread, by processor time.

use std::borrow::Cow;
use std::time::Instant;

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use shield_bfv::{BfvBallot, BfvEngine};
use shield_core::engine::{Ballot, BallotBox, BallotBoxError, Engine, Presence};
use shield_core::{Seed, synthetic};

/// Whatever went wrong.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Seconds of processor time of this thread, or seconds since `start` where the system does not
/// tell.
pub(crate) fn seconds(start: Instant) -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = stat.split_whitespace().next().and_then(|first| first.parse::<f64>().ok());
    nanoseconds.map_or_else(|| start.elapsed().as_secs_f64(), |ns| ns / 1e9)
}

/// A few ballots that serve all teachers: the work is the same.
struct Few(Vec<BfvBallot>);

impl BallotBox<BfvBallot> for Few {
    fn presence(&self, teacher: u32) -> Result<Presence, BallotBoxError> {
        Ok(self.0[teacher as usize % self.0.len()].presence().clone())
    }

    fn open(&self, teacher: u32) -> Result<Cow<'_, BfvBallot>, BallotBoxError> {
        Ok(Cow::Borrowed(&self.0[teacher as usize % self.0.len()]))
    }
}

/// The best of some aggregations of the first batch, in seconds, for each engine in turn so that
/// all of them meet the same machine. Ballots are in memory, already opened.
pub(crate) fn aggregate(engines: &[BfvEngine], runs: usize) -> Result<Vec<f64>, Failure> {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let mut prepared = Vec::new();
    for engine in engines {
        let (samples, election) = (engine.batch(0).len(), engine.election());
        let teachers = election.teachers() as usize;
        let (votes, _) = synthetic::votes(teachers, election.classes(), samples, 1)?;
        let keys = engine.generate_keys(&mut rng)?;
        let few = (0..teachers.min(4))
            .map(|teacher| {
                engine.encrypt(&keys.public, 0, &votes.teacher(teacher, 0..samples), &mut rng)
            })
            .collect::<Result<Vec<_>, _>>()?;
        prepared.push((keys, Few(few), f64::INFINITY));
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    pool.install(|| {
        for _ in 0..runs {
            for (engine, (keys, ballots, best)) in engines.iter().zip(&mut prepared) {
                let clock = Instant::now();
                let start = seconds(clock);
                engine.aggregate(&keys.evaluation, 0, ballots, &Seed::from_number(1))?;
                *best = best.min(seconds(clock) - start);
            }
        }
        Ok(prepared.into_iter().map(|(_, _, best)| best).collect())
    })
}
