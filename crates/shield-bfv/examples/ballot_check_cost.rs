//! What the check of the ballots costs: aggregations with it and without, in one run, on one
//! thread.
//!
//! `cargo run --release -p shield-bfv -F measure --example ballot_check_cost [TEACHERS] [RUNS]`

mod measure;

use shield::{Classes, Election, Setting};
use shield_bfv::{BallotCheck, BfvBackend, ReleaseMode};

fn main() -> Result<(), measure::Failure> {
    let mut arguments = std::env::args().skip(1).map(|word| word.parse::<usize>());
    let mut number = |default| arguments.next().and_then(Result::ok).unwrap_or(default);
    let (teachers, runs) = (number(250), number(5));
    for samples in [512, 100] {
        let election = Election::new(teachers, Classes::new(10)?, samples, Setting::default())?;
        let backend = |check| {
            let backend = BfvBackend::new(election.clone(), ReleaseMode::Reveal)?;
            Ok::<_, measure::Failure>(backend.with_ballot_check(check))
        };
        let backends = [backend(BallotCheck::Off)?, backend(BallotCheck::On)?];
        let best = measure::aggregate(&backends, runs)?;
        println!(
            "{teachers} teachers, {samples} samples: {:.1} ms without the check, {:.1} ms with \
             it, {:.2} times; a ballot has {} bytes",
            best[0] * 1e3,
            best[1] * 1e3,
            best[1] / best[0],
            backends[0].plan().ballot_bytes()
        );
    }
    Ok(())
}
