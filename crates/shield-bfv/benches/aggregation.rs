//! Aggregation of one batch, by samples and by threads.

use divan::Bencher;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use shield::backend::{Backend, MemoryBallotBox};
use shield::{Classes, Election, Seed, Setting, synthetic};
use shield_bfv::{BfvBackend, ReleaseMode};

fn main() {
    divan::main();
}

#[divan::bench(args = [100, 512], consts = [1, 2], sample_count = 10, sample_size = 1)]
fn aggregate<const THREADS: usize>(bencher: Bencher, samples: usize) {
    let classes = Classes::new(10).expect("classes");
    let (votes, _) = synthetic::votes(250, classes, samples, 1).expect("votes");
    let election = Election::new(250, classes, samples, Setting::default()).expect("an election");
    let backend = BfvBackend::new(election, ReleaseMode::Reveal).expect("a plan");
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let keys = backend.generate_keys(&mut rng).expect("keys");
    let ballots = (0..250)
        .map(|teacher| {
            let votes = votes.teacher(teacher, 0..samples);
            backend.encrypt(&keys.public, 0, &votes, &mut rng).ok()
        })
        .collect();
    let ballots = MemoryBallotBox::new(samples, ballots);
    let seed = Seed::from_number(1);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(THREADS).build().expect("threads");
    bencher.bench_local(|| {
        pool.install(|| backend.aggregate(&keys.evaluation, 0, &ballots, &seed).expect("labels"))
    });
}
