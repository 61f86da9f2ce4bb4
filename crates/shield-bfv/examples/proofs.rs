//! Measures proofs of ballots: time to make and to check one, bytes, and the whole aggregation.
//!
//! `cargo run --release -p shield-bfv --features measure --example proofs [teachers] [samples]`
use std::time::Instant;

use rand::{SeedableRng, rngs::StdRng};
use shield_bfv::BfvEngine;
use shield_core::engine::{Encoding, Engine, Holder, MemoryBallotBox};
use shield_core::{Class, Classes, Election, Seed, Setting};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default| arguments.next().map_or(Ok(default), |text| text.parse());
    let (teachers, samples): (usize, usize) = (number(250)?, number(512)?);
    let election = Election::new(teachers, Classes::new(10)?, samples, Setting::default())?;
    for (name, engine) in [
        ("assumed", BfvEngine::new(election.clone())?),
        ("proven", BfvEngine::with_proofs(election, None)?),
    ] {
        let (plan, mut rng) = (engine.plan(), StdRng::from_os_rng());
        let keys = engine.generate_keys(&mut rng)?;
        let votes: Vec<_> = engine.batch(0).map(|s| Some(Class((s % 10) as u16))).collect();
        // The best of all ballots: a machine has other things to do, too.
        let (mut made, mut checked, mut bytes) = (f64::INFINITY, f64::INFINITY, 0);
        let mut ballots = Vec::new();
        for teacher in 0..teachers as u32 {
            let start = Instant::now();
            let ballot = engine.encrypt_as(&keys.public, 0, teacher, &votes, &mut rng)?;
            made = made.min(start.elapsed().as_secs_f64() * 1e3);
            let start = Instant::now();
            engine.check_proof(Holder::Public(&keys.public), teacher, &ballot)?;
            checked = checked.min(start.elapsed().as_secs_f64() * 1e3);
            bytes = engine.encode_ballot(&ballot).len();
            ballots.push(Some(ballot));
        }
        let ballots = MemoryBallotBox::new(engine.batch(0).len(), ballots);
        let start = Instant::now();
        let release = engine.aggregate(&keys.evaluation, 0, &ballots, &Seed::from_number(1))?;
        let aggregated = start.elapsed().as_secs_f64();
        let labels = engine.decrypt(&keys.secret, 0, &release)?;
        let right = (0..).zip(&labels).filter(|(s, l)| **l == Some(Class((s % 10) as u16)));
        println!(
            "{name}: N {}, log Q {}, margin {:.1} bits; a ballot {made:.1} ms, its proof checked \
             in {checked:.1} ms, {bytes} bytes; aggregation {aggregated:.2} s on {} threads; {} of \
             {} labels",
            plan.ring_degree(),
            plan.log_q(),
            plan.noise_margin_bits(),
            rayon::current_num_threads(),
            right.count(),
            labels.len()
        );
    }
    Ok(())
}
