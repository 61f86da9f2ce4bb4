//! Where the time of an aggregation goes: run by hand, on one thread.
//!
//! ```sh
//! cargo test --release -p shield-bfv where_the_time_goes -- --ignored --nocapture
//! ```

use shield::Seed;
use shield::backend::{Backend, urns};

use super::{Fixture, shape};
use crate::ReleaseMode;

/// Milliseconds of processor time of this thread.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = stat.split_whitespace().next().unwrap_or("0");
    first.parse::<f64>().unwrap_or(0.0) / 1e6
}

#[test]
#[ignore = "prints times, checks nothing"]
fn where_the_time_goes() {
    let default = "8X^4+6X^3+4X^2+X";
    for (teachers, classes, samples, polynomial) in [
        (250, 10, 100, default),
        (250, 10, 512, default),
        (250, 10, 512, "12X^5+23X^4+20X^3+8X^2+X"),
    ] {
        let fixture = Fixture::new(shape(teachers, classes, samples, polynomial), ReleaseMode::Reveal);
        let Fixture { case, backend, keys, ballots } = &fixture;
        let seed = Seed::from_number(1);
        let batch = backend.batch(0).len();
        println!("{teachers} teachers, {classes} classes, {samples} samples, {polynomial}");
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
        pool.install(|| {
            for _ in 0..3 {
                let aggregation = backend.aggregation(&keys.evaluation, 0, &seed);
                let mut marks = vec![("", cpu())];
                let urns = urns(&case.election, batch, ballots).expect("urns");
                let shifts = aggregation.shifts();
                marks.push(("urns", cpu()));
                let tallies = aggregation.tally(&urns, &shifts, ballots).expect("tallies");
                marks.push(("tally", cpu()));
                let fresh = aggregation.bound_to(&tallies);
                marks.push(("bind", cpu()));
                let outcomes = aggregation.unanimity(tallies);
                marks.push(("unanimity", cpu()));
                for o in &outcomes { std::hint::black_box(aggregation.class_sum(o)); }
                marks.push(("(sums)", cpu()));
                let released = aggregation.reveal(outcomes, &shifts, &fresh);
                marks.push(("reveal", cpu()));
                std::hint::black_box(aggregation.flood(released, &fresh));
                marks.push(("flood", cpu()));
                let total = marks[marks.len() - 1].1 - marks[0].1;
                print!("  {total:7.1} ms, {:.3} a sample:", total / batch as f64);
                for pair in marks.windows(2) {
                    print!(" {} {:.1}", pair[1].0, pair[1].1 - pair[0].1);
                }
                println!();
            }
        });
    }
}
