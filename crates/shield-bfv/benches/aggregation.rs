//! Aggregation of one batch, by samples and by threads.

use divan::Bencher;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use shield_bfv::BfvEngine;
use shield_core::engine::{Engine, MemoryBallotBox};
use shield_core::{Classes, Election, Seed, Setting, synthetic};

fn main() {
    divan::main();
}

#[divan::bench(args = [100, 512], consts = [1, 2], sample_count = 10, sample_size = 1)]
fn aggregate<const THREADS: usize>(bencher: Bencher, samples: usize) {
    let classes = Classes::new(10).expect("classes");
    let (votes, _) = synthetic::votes(250, classes, samples, 1).expect("votes");
    let election = Election::new(250, classes, samples, Setting::default()).expect("an election");
    let engine = BfvEngine::new(election).expect("a plan");
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let keys = engine.generate_keys(&mut rng).expect("keys");
    let ballots = (0..250)
        .map(|teacher| {
            let votes = votes.teacher(teacher, 0..samples);
            engine.encrypt(&keys.public, 0, &votes, &mut rng).ok()
        })
        .collect();
    let ballots = MemoryBallotBox::new(samples, ballots);
    let seed = Seed::from_number(1);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(THREADS).build().expect("threads");
    bencher.bench_local(|| {
        pool.install(|| engine.aggregate(&keys.evaluation, 0, &ballots, &seed).expect("labels"))
    });
}
