//! Seconds a sample of the engines that bootstrap, on one thread, on the same votes and draws.
//!
//! ```text
//! cargo run --release -p shield-tfhe --example engines -- 2 [SAMPLES [TEACHERS [CLASSES]]]
//! ```
//!
//! Prints wall time and, where the system tells it, the time that the thread was running: on a busy machine
//! the second says more.

use std::time::Instant;

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use shield::backend::{Backend, MemoryBallotBox};
use shield::polya::SharedNoise;
use shield::privacy::noisy_argmax::Noise;
use shield::{Classes, Election, Mechanism, Seed, Votes, synthetic};
use shield_tfhe::bootstrapped::{BootstrappedBackend, Circuit};
use shield_tfhe::gates;
use shield_tfhe::noisy_argmax::NoisyArgmaxBackend;

const POLYNOMIALS: [&str; 4] =
    ["2X^3+3X^2+X", "2X^4+6X^3+3X^2+X", "6X^4+6X^3+4X^2+X", "8X^4+6X^3+4X^2+X"];

/// Seconds that this thread has run.
fn running() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|field| field.parse::<f64>().ok()).map_or(f64::NAN, |t| t / 1e9)
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, f64, f64) {
    let (wall, cpu) = (Instant::now(), running());
    let result = work();
    (result, wall.elapsed().as_secs_f64(), running() - cpu)
}

fn measure<B: Backend>(name: &str, backend: &B, votes: &Votes, samples: usize) {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let (keys, _, keygen) = timed(|| backend.generate_keys(&mut rng).expect("keys"));
    let (ballots, _, encrypt) = timed(|| {
        let ballot = |teacher| {
            let own = votes.teacher(teacher, backend.batch(0));
            backend.encrypt(&keys.public, 0, &own, &mut rng).ok()
        };
        (0..votes.teachers()).map(ballot).collect()
    });
    let ballots = MemoryBallotBox::new(samples, ballots);
    let seed = Seed::from_number(1);
    let (release, wall, cpu) =
        timed(|| backend.aggregate(&keys.evaluation, 0, &ballots, &seed).expect("a release"));
    let (_, _, decrypt) = timed(|| backend.decrypt(&keys.secret, 0, &release).expect("labels"));
    let count = samples as f64;
    println!(
        "  {name}: {:.3} s a sample ({:.3} s running); keys {keygen:.1} s, a ballot {:.1} ms, decryption {:.2} ms",
        wall / count,
        cpu / count,
        1e3 * encrypt / votes.teachers() as f64,
        1e3 * decrypt / count
    );
}

fn main() {
    let mut arguments =
        std::env::args().skip(1).map(|text| text.parse::<usize>().expect("a number"));
    let samples = arguments.next().unwrap_or(1);
    let teachers = arguments.next().unwrap_or(250);
    let classes = Classes::new(arguments.next().unwrap_or(10)).expect("a number of classes");
    let (votes, _) = synthetic::votes(teachers, classes, samples, 1).expect("votes");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    pool.install(|| {
        for polynomial in POLYNOMIALS {
            println!("{polynomial}");
            let mechanism =
                Mechanism { polynomial: polynomial.parse().expect("one"), ..Mechanism::default() };
            let election =
                Election::new(teachers, classes, samples, mechanism).expect("an election");
            for circuit in [Circuit::Folded, Circuit::Plain] {
                let backend = BootstrappedBackend::new(election.clone(), circuit).expect("a plan");
                let plan = backend.plan();
                let name = format!(
                    "bootstrapped, {circuit}, {} bootstrappings ({} of them sanitise), wrong with 2^-{:.0}",
                    plan.bootstrappings(),
                    plan.sanitising_bootstrappings(),
                    plan.failure_bits()
                );
                measure(&name, &backend, &votes, samples);
            }
            let mut rng = ChaCha20Rng::seed_from_u64(2);
            let (run, _, cpu) =
                timed(|| gates::run(&election, &votes, &Seed::from_number(1), &mut rng));
            println!(
                "  gates, {} a sample: {:.3} s a sample (at most {:.3} s running, keys included)",
                run.gates / samples,
                run.aggregation.as_secs_f64() / samples as f64,
                cpu / samples as f64
            );
        }
        let election = Election::new(teachers, classes, samples, Mechanism::default());
        let election = election.expect("an election");
        let scale = Noise::new(40.0).expect("noise");
        for dropouts in [0, teachers / 10] {
            let dropouts = u32::try_from(dropouts).expect("few");
            let noise = SharedNoise::new(scale, election.teachers(), dropouts).expect("noise");
            let backend = NoisyArgmaxBackend::new(election.clone(), noise).expect("a plan");
            let plan = backend.plan();
            let name = format!(
                "noisy argmax, scale 40, {dropouts} dropouts, {} bootstrappings ({} of them sanitise), wrong with 2^-{:.0}",
                plan.bootstrappings(),
                plan.sanitising_bootstrappings(),
                plan.failure_bits()
            );
            measure(&name, &backend, &votes, samples);
            println!(
                "  ballot {} B, release {} B, public key {} B, evaluation key {} B",
                backend.ballot_bytes(),
                backend.release_bytes(),
                backend.public_key_bytes(),
                backend.evaluation_key_bytes()
            );
        }
    });
}
