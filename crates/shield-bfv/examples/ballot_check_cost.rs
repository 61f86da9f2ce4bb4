//! What the check of the ballots costs: aggregations with it and without, in one run, on one
//! thread.
//!
//! `cargo run --release -p shield-bfv -F measure --example ballot_check_cost [TEACHERS] [RUNS]`

mod measure;

use shield_bfv::{BallotCheck, BfvEngine};
use shield_core::{Classes, Election, Setting};

fn main() -> Result<(), measure::Failure> {
    let mut arguments = std::env::args().skip(1).map(|word| word.parse::<usize>());
    let mut number = |default| arguments.next().and_then(Result::ok).unwrap_or(default);
    let (teachers, runs) = (number(250), number(5));
    for samples in [512, 100] {
        let election = Election::new(teachers, Classes::new(10)?, samples, Setting::default())?;
        let engine = |check| {
            let engine = BfvEngine::new(election.clone())?;
            Ok::<_, measure::Failure>(engine.with_ballot_check(check))
        };
        let engines = [engine(BallotCheck::Off)?, engine(BallotCheck::On)?];
        let best = measure::aggregate(&engines, runs)?;
        println!(
            "{teachers} teachers, {samples} samples: {:.1} ms without the check, {:.1} ms with \
             it, {:.2} times; a ballot has {} bytes",
            best[0] * 1e3,
            best[1] * 1e3,
            best[1] / best[0],
            engines[0].plan().ballot_bytes()
        );
    }
    Ok(())
}
