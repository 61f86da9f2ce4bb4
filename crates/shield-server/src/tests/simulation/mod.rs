//! A simulation of everything that happens to a server in a year, in some milliseconds.
//!
//! A *history* is a list of steps that a seed chooses: an operator who creates, closes and calls
//! off elections, a student and teachers, whose requests and answers get lost, a disk that is full
//! or loses files, a clock that jumps, a process that dies between a file and its row, restarts,
//! and a database that is brought back alone, older than its folder. Every request goes through the
//! real routes, every row and file through the real store, every release through the real worker;
//! only the engine is the one without encryption.
//!
//! # Invariants
//!
//! 1. **Nothing acknowledged is lost** but by the disk. A ballot that was answered with 200 or 201
//!    is in the folder from then on, in its place or, after an older database, among what was put
//!    aside.
//! 2. **Nothing is answered from two draws.** Whatever the student fetches for a batch, it is the
//!    same bytes every time, whichever database was brought back in between.
//! 3. **The budget is never exceeded.** The proven cost of everything that was ever drawn is
//!    covered by the group's budget, and so is what the ledger says.
//! 4. **There is no dead end.** Once the faults stop, every election can be released or called off.
//! 5. **Nothing is counted twice**, or though it is lost. What the roll says is what the ballots'
//!    rows and files say.
//!
//! # Use
//!
//! `cargo test --release -p shield-server --lib simulation` runs some hundred histories.
//! `SHIELD_HISTORIES=10000` runs more, `SHIELD_SEED=n` repeats one. A violation prints its seed and
//! the history's steps.

mod history;
mod invariants;
mod world;

use std::sync::Mutex;
use std::time::Instant;

use history::{Faults, Violation, run};

fn histories(seeds: std::ops::Range<u64>, faults: Faults) -> Vec<Violation> {
    // Before any thread is bound to a core, or the pool would be, too.
    rayon::current_num_threads();
    let (next, found) = (&Mutex::new(seeds), &Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for worker in 0..2 {
            scope.spawn(move || {
                stay_on_one_core(worker);
                let runtime =
                    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                loop {
                    let Some(seed) = next.lock().unwrap().next() else { return };
                    if let Err(violation) = runtime.block_on(run(seed, faults)) {
                        found.lock().unwrap().push(violation);
                        if faults == Faults::Planted {
                            *next.lock().unwrap() = 0..0;
                        }
                    }
                }
            });
        }
    });
    std::mem::take(&mut found.lock().unwrap())
}

/// Keeps a thread, and all that it starts, on one core. A history and its database wait for each
/// other all the time, and waking a thread on another core takes longer than most queries.
fn stay_on_one_core(worker: usize) {
    #[cfg(target_os = "linux")]
    {
        use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
        let Ok(allowed) = sched_getaffinity(None) else { return };
        let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).collect();
        let mut own = CpuSet::new();
        own.set(cores[worker % cores.len()]);
        // It is only about speed.
        let _ = sched_setaffinity(None, &own);
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn no_history_breaks_an_invariant() {
    let start = Instant::now();
    let seeds = match number("SHIELD_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("SHIELD_HISTORIES").unwrap_or(120),
    };
    let count = seeds.end - seeds.start;
    let violations = histories(seeds, Faults::Honest);
    for violation in &violations {
        println!("{violation}");
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{count} histories in {seconds:.1} s: {:.0} per minute",
        count as f64 / seconds * 60.0
    );
    assert!(
        violations.is_empty(),
        "{} violations; SHIELD_SEED={}",
        violations.len(),
        violations[0].seed
    );
}

/// The bug that this was written for: a database that was brought back alone drew again.
#[test]
fn the_planted_bug_is_found() {
    let violations = histories(0..3000, Faults::Planted);
    let violation =
        violations.first().expect("no history drew twice: the simulation shows nothing");
    println!("{violation}");
    assert!(
        violation.what.contains("two draws") || violation.what.contains("budget"),
        "{violation}"
    );
    // A seed repeats.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let again = runtime.block_on(run(violation.seed, Faults::Planted)).expect_err("it repeats");
    assert_eq!(again.steps, violation.steps);
}
