//! Every coding of the engine on the same election, side by side, and the chosen one measured on
//! one thread:
//!
//! ```sh
//! cargo run --release -p shield-bfv -F measure --example codings -- \
//!   250 1000 512 8X^4+6X^3+4X^2+X [RUNS]
//! ```
//!
//! Teachers, classes, samples, polynomial. Without a number of runs, plans only. Times are of one
//! full batch of the coding that the planner takes, without the check of the ballots: processor
//! time where the system tells it, per sample, the best of the runs.

mod measure;

use shield_bfv::{BallotCheck, BfvEngine, Calibration, Coding, Plan};
use shield_core::engine::Engine;
use shield_core::{Classes, Election, Setting};

fn main() -> Result<(), measure::Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [teachers, classes, samples, polynomial, ..] = &arguments[..] else {
        return Err("give teachers, classes, samples and a polynomial".into());
    };
    let runs = arguments.get(4).map_or(Ok(0), |word| word.parse())?;
    let classes = Classes::new(classes.parse()?)?;
    let setting = Setting { polynomial: polynomial.parse()?, ..Setting::default() };
    let election = Election::new(teachers.parse()?, classes, samples.parse()?, setting)?;
    let chosen = Plan::new(&election)?;
    println!("chosen: {} ({})", chosen.coding(), chosen.coding_reason());
    let calibration = Calibration::measure();
    for coding in [Coding::OneHot, Coding::PackedBits, Coding::BitsAcross] {
        let engine = match BfvEngine::with_coding(election.clone(), coding) {
            Ok(engine) => engine,
            Err(error) => {
                println!("{coding:>12}: {error}");
                continue;
            }
        };
        let plan = engine.plan();
        let batch = engine.batch(0).len();
        println!(
            "{coding:>12}: N {}, {} limbs, batch {batch}, {} groups, {} ciphertexts, margin {:.1}, \
             {:.0} bytes per vote, expected {:.3} ms per sample (with opening and check)",
            plan.ring_degree(),
            plan.moduli_bits().len(),
            plan.layout().groups(),
            plan.layout().ciphertexts() * plan.layout().released_planes(),
            plan.noise_margin_bits(),
            plan.ballot_bytes() as f64 / batch as f64,
            plan.seconds_per_batch(&calibration) * 1e3 / batch as f64,
        );
        if runs > 0 && coding == chosen.coding() {
            let best = measure::aggregate(&[engine.with_ballot_check(BallotCheck::Off)], runs)?;
            println!("measured: {:.3} ms per sample", best[0] * 1e3 / batch as f64);
        }
    }
    Ok(())
}
