//! Where the time of an aggregation goes: run by hand, on one thread.
//!
//! ```sh
//! cargo test --release -p shield-bfv where_the_time_goes -- --ignored --nocapture
//! ```

use shield::Seed;
use shield::backend::{Backend, urns};

use super::{DESIGNS, Fixture, shape};
use crate::aggregation::Examination;

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
    for (teachers, classes, samples, polynomial) in
        [(250, 10, 10, default), (250, 10, 100, default), (250, 10, 512, default)]
    {
        for design in [DESIGNS[0], DESIGNS[1]] {
            let fixture =
                Fixture::with_design(shape(teachers, classes, samples, polynomial), design);
            println!("{teachers} teachers, {classes} classes, {samples} samples, {polynomial}");
            let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
            for _ in 0..2 {
                pool.install(|| stages(&fixture));
            }
        }
    }
}

/// One aggregation, stage by stage.
fn stages(fixture: &Fixture) {
    let Fixture { case, backend, keys, ballots } = fixture;
    let seed = Seed::from_number(1);
    let batch = backend.batch(0).len();
    let aggregation = backend.aggregation(&keys.evaluation, 0, &seed);
    let mut marks = vec![("", cpu())];
    let examination = Examination::new(&aggregation, ballots).expect("an examination");
    std::hint::black_box(examination.finish().expect("checks"));
    marks.push(("check", cpu()));
    let urns = urns(&case.election, batch, ballots).expect("urns");
    let shifts = aggregation.shifts();
    let tallies = aggregation.tally(&urns, &shifts, ballots).expect("tallies");
    marks.push(("tally", cpu()));
    let fresh = aggregation.bound_to(&tallies, &[]);
    marks.push(("binding", cpu()));
    let answers = aggregation.unanimity(tallies.clone());
    marks.push(("unanimity", cpu()));
    for answers in answers.chunks(backend.plan().layout().planes()) {
        std::hint::black_box(aggregation.successes(answers.to_vec()));
    }
    marks.push(("successes", cpu()));
    let released = aggregation.reveal(tallies, &shifts, &fresh);
    marks.push(("all of it and the reveal", cpu()));
    std::hint::black_box(aggregation.flood(released, &fresh));
    marks.push(("flooding", cpu()));
    let spent: Vec<f64> = marks.windows(2).map(|pair| pair[1].1 - pair[0].1).collect();
    // Unanimity and successes are in the reveal once more.
    let total = spent.iter().sum::<f64>() - spent[3] - spent[4];
    print!("  {:?} {total:7.1} ms,", backend.plan().layout().design());
    print!(" {:.3} a sample:", total / batch as f64);
    for ((name, _), spent) in marks[1..].iter().zip(spent) {
        print!(" {name} {spent:.1}");
    }
    println!();
}
