//! Every design of the engine on the same election, side by side, on one thread:
//!
//! ```sh
//! cargo run --release -p shield-bfv --example designs -- 250 1000 512 8X^4+6X^3+4X^2+X [run]
//! ```
//!
//! Teachers, classes, samples, polynomial. Without `run`, plans only. Times are of one full batch,
//! processor time where the system tells it, per sample; ballots are in memory, already opened.

use std::time::Instant;

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use shield::backend::{Backend, MemoryBallotBox};
use shield::{Classes, Election, Seed, Setting, synthetic};
use shield_bfv::{BfvBackend, Calibration, Coding, Design, Plan, ReleaseMode};

/// Seconds of processor time of this thread, or seconds since `start`.
fn seconds(start: Instant) -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = stat.split_whitespace().next().and_then(|first| first.parse::<f64>().ok());
    nanoseconds.map_or_else(|| start.elapsed().as_secs_f64(), |ns| ns / 1e9)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [teachers, classes, samples, polynomial, ..] = &arguments[..] else {
        return Err("give teachers, classes, samples and a polynomial".into());
    };
    let run = arguments.get(4).is_some_and(|word| word == "run");
    let (teachers, samples) = (teachers.parse()?, samples.parse()?);
    let classes = Classes::new(classes.parse()?)?;
    let setting = Setting { polynomial: polynomial.parse()?, ..Setting::default() };
    let election = Election::new(teachers, classes, samples, setting)?;
    let chosen = Plan::new(&election, ReleaseMode::Reveal)?;
    println!("chosen: {} ({})", chosen.coding(), chosen.coding_reason());
    let calibration = Calibration::measure();
    let designs = [
        ("version 0.1", Design::VERSION_0_1),
        ("one-hot", Design::linear(Coding::OneHot)),
        ("packed bits", Design::linear(Coding::PackedBits)),
        ("bits across", Design::linear(Coding::BitsAcross)),
    ];
    for (name, design) in designs {
        let backend = match BfvBackend::with_design(election.clone(), ReleaseMode::Reveal, design) {
            Ok(backend) => backend,
            Err(error) => {
                println!("{name:>12}: {error}");
                continue;
            }
        };
        let plan = backend.plan();
        let batch = backend.batch(0).len();
        let expected = plan.seconds_per_batch(&calibration);
        print!(
            "{name:>12}: N {}, {} limbs, batch {batch}, {} groups, {} ciphertexts, margin {:.1}, \
             {:.0} bytes per vote, expected {:.3} ms per sample (with opening)",
            plan.ring_degree(),
            plan.moduli_bits().len(),
            plan.layout().groups(),
            plan.layout().ciphertexts() * plan.layout().released_planes(),
            plan.noise_margin_bits(),
            plan.ballot_bytes() as f64 / batch as f64,
            expected * 1e3 / batch as f64,
        );
        if run && (plan.layout().design() == chosen.layout().design() || name != "bits across") {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
            let best = pool.install(|| aggregate(&backend, teachers))?;
            print!(", measured {:.3} ms per sample", best * 1e3 / batch as f64);
        }
        println!();
    }
    Ok(())
}

/// The better of two aggregations of the first batch, in seconds; of a large batch there is one.
fn aggregate(backend: &BfvBackend, teachers: usize) -> Result<f64, String> {
    let samples = backend.batch(0).len();
    let classes = backend.election().classes();
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let (votes, _) = synthetic::votes(teachers, classes, samples, 1).map_err(|e| text(&e))?;
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let keys = backend.generate_keys(&mut rng).map_err(|e| text(&e))?;
    // A few ballots serve all teachers: the work is the same.
    let few: Vec<_> = (0..teachers.min(4))
        .map(|teacher| {
            backend.encrypt(&keys.public, 0, &votes.teacher(teacher, 0..samples), &mut rng)
        })
        .collect::<Result<_, _>>()
        .map_err(|e| text(&e))?;
    let ballots = (0..teachers).map(|teacher| few.get(teacher % few.len()).cloned()).collect();
    let ballots = MemoryBallotBox::new(samples, ballots);
    let seed = Seed::from_number(1);
    let mut best = f64::INFINITY;
    for _ in 0..if samples > 2_048 { 1 } else { 2 } {
        let clock = Instant::now();
        let start = seconds(clock);
        let release = backend.aggregate(&keys.evaluation, 0, &ballots, &seed);
        release.map_err(|e| text(&e))?;
        best = best.min(seconds(clock) - start);
    }
    Ok(best)
}
