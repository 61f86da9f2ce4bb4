//! The empirical audit of the encrypted engine: what an attack shows of epsilon, with confidence,
//! beside what is proven, with all safeguards in place and with each of them broken.
//!
//! `cargo run --release -p shield-bfv -F measure --example audit -- [RUNS]`

use rand::TryRngCore;
use rand::rngs::OsRng;
use shield_bfv::BfvEngine;
use shield_core::Seed;
use shield_privacy::audit::engine::{self, AuditError, Broken};

fn main() -> Result<(), AuditError> {
    let runs = std::env::args().nth(1).map_or(Ok(8192), |runs| runs.parse())?;
    println!("4 teachers, 2 classes, {runs} runs per world, delta 1e-3, confidence 1 - 1e-6\n");
    println!("| what | proven epsilon | attack shows at least | claims, right and wrong |");
    println!("|---|---|---|---|");
    let seed = Seed::random(&mut OsRng.unwrap_err());
    for broken in Broken::ALL {
        let make = |election| Ok(BfvEngine::new(election)?);
        let report = engine::audit(broken, runs, &seed, make)?;
        let found = report.found;
        println!(
            "| {} | {:.3} | {:.3} | {} and {} of {} |",
            broken.name(),
            report.promised,
            found.epsilon,
            found.right,
            found.wrong,
            found.runs
        );
    }
    Ok(())
}
