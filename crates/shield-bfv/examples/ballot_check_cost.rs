//! What the check of the ballots costs: one aggregation with it and without, in one run, on one
//! thread, by processor time (Linux) or else by the clock. `cargo run --release -p shield-bfv
//! --example ballot_check_cost [teachers] [runs]`.

use std::time::Instant;

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use shield::backend::{Backend, MemoryBallotBox};
use shield::{Classes, Election, Seed, Setting, synthetic};
use shield_bfv::{BallotCheck, BfvBackend, ReleaseMode};

/// Seconds that this thread has run on a processor.
fn processor_time(start: Instant) -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let spent = text.split(' ').next().and_then(|word| word.parse::<f64>().ok());
    spent.map_or_else(|| start.elapsed().as_secs_f64(), |nanoseconds| nanoseconds / 1e9)
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|word| word.parse::<usize>());
    let mut number = |default| arguments.next().and_then(Result::ok).unwrap_or(default);
    let (teachers, runs) = (number(250), number(5));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    pool.install(|| {
        for samples in [512, 100] {
            let classes = Classes::new(10).expect("classes");
            let (votes, _) = synthetic::votes(teachers, classes, samples, 1).expect("votes");
            let election = Election::new(teachers, classes, samples, Setting::default());
            let election = election.expect("an election");
            let mut rng = ChaCha20Rng::seed_from_u64(1);
            let backend = BfvBackend::new(election, ReleaseMode::Reveal).expect("a plan");
            let keys = backend.generate_keys(&mut rng).expect("keys");
            let ballots = (0..teachers)
                .map(|teacher| {
                    let votes = votes.teacher(teacher, 0..samples);
                    backend.encrypt(&keys.public, 0, &votes, &mut rng).ok()
                })
                .collect();
            let ballots = MemoryBallotBox::new(samples, ballots);
            let seed = Seed::from_number(1);
            let mut backend = backend;
            let mut best = [f64::INFINITY; 2];
            let start = Instant::now();
            for _ in 0..runs {
                for (check, best) in [BallotCheck::Off, BallotCheck::On].into_iter().zip(&mut best)
                {
                    backend = backend.with_ballot_check(check);
                    let before = processor_time(start);
                    let release = backend.aggregate(&keys.evaluation, 0, &ballots, &seed);
                    assert!(release.is_ok());
                    *best = best.min(processor_time(start) - before);
                }
            }
            let [without, with] = best.map(|seconds| 1e3 * seconds);
            println!(
                "{teachers} teachers, {samples} samples: {without:.1} ms without the check, \
                 {with:.1} ms with it, {:.2} times; a ballot has {} bytes",
                with / without,
                backend.plan().ballot_bytes()
            );
        }
    });
}
