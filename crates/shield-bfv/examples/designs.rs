//! Every design of the engine on the same election, side by side, on one thread:
//!
//! ```sh
//! cargo run --release -p shield-bfv -F measure --example designs -- \
//!   250 1000 512 8X^4+6X^3+4X^2+X [RUNS]
//! ```
//!
//! Teachers, classes, samples, polynomial. Without a number of runs, plans only. Times are of one
//! full batch without the check of the ballots, which version 0.1 did not have: processor time
//! where the system tells it, per sample, the best of the runs.

mod measure;

use shield::backend::Backend;
use shield::{Classes, Election, Setting};
use shield_bfv::{BallotCheck, BfvBackend, Calibration, Coding, Design, Plan, ReleaseMode};

fn main() -> Result<(), measure::Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [teachers, classes, samples, polynomial, ..] = &arguments[..] else {
        return Err("give teachers, classes, samples and a polynomial".into());
    };
    let runs = arguments.get(4).map_or(Ok(0), |word| word.parse())?;
    let classes = Classes::new(classes.parse()?)?;
    let setting = Setting { polynomial: polynomial.parse()?, ..Setting::default() };
    let election = Election::new(teachers.parse()?, classes, samples.parse()?, setting)?;
    let chosen = Plan::new(&election, ReleaseMode::Reveal)?;
    println!("chosen: {} ({})", chosen.coding(), chosen.coding_reason());
    let calibration = Calibration::measure();
    let designs = [
        ("version 0.1", Design::VERSION_0_1),
        ("one-hot", Design::linear(Coding::OneHot)),
        ("packed bits", Design::linear(Coding::PackedBits)),
        ("bits across", Design::linear(Coding::BitsAcross)),
    ];
    let mut backends = Vec::new();
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
        println!(
            "{name:>12}: N {}, {} limbs, batch {batch}, {} groups, {} ciphertexts, margin {:.1}, \
             {:.0} bytes per vote, expected {:.3} ms per sample (with opening and check)",
            plan.ring_degree(),
            plan.moduli_bits().len(),
            plan.layout().groups(),
            plan.layout().ciphertexts() * plan.layout().released_planes(),
            plan.noise_margin_bits(),
            plan.ballot_bytes() as f64 / batch as f64,
            plan.seconds_per_batch(&calibration) * 1e3 / batch as f64,
        );
        let is_chosen = plan.layout().design() == chosen.layout().design();
        if is_chosen || design == Design::VERSION_0_1 {
            backends.push(backend.with_ballot_check(BallotCheck::Off));
        }
    }
    if runs > 0 {
        let best = measure::aggregate(&backends, runs)?;
        let per_sample: Vec<f64> = backends
            .iter()
            .zip(best)
            .map(|(backend, seconds)| seconds * 1e3 / backend.batch(0).len() as f64)
            .collect();
        let [old, .., new] = per_sample[..] else {
            return Err("version 0.1's design cannot run this election".into());
        };
        println!("version 0.1's design {old:.3}, the chosen one {new:.3} ms per sample");
        println!("ratio {:.3}", new / old);
    }
    Ok(())
}
