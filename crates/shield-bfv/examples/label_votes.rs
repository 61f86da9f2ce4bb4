//! Labels a file of votes that stay encrypted, and says what the labels cost.
//!
//! ```console
//! $ cargo run --release -p shield-bfv --example label_votes -- examples/synthetic/votes.npy
//! ```

use std::error::Error;
use std::ops::ControlFlow;
use std::path::Path;

use rand::SeedableRng;
use rand::rngs::StdRng;
use shield_bfv::BfvEngine;
use shield_core::labelling::{BallotRandomness, label};
use shield_core::{Delta, Election, Histogram, Queries, Seed, Setting, Watch};
use shield_privacy::Mechanism;
use shield_privacy::Usage;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("give a file of votes: samples x teachers")?;
    let votes = shield_data::read_votes(Path::new(&path), None)?;
    let setting = Setting::default();
    let (teachers, samples) = (votes.teachers(), votes.samples());
    let election = Election::new(teachers, votes.classes(), samples, setting.clone())?;

    let engine = BfvEngine::new(election)?;
    let seed = Seed::random(&mut StdRng::from_os_rng());
    let watch = Watch::new(|now| {
        eprintln!("{} of {} samples have a label", now.done, now.of);
        ControlFlow::Continue(())
    });
    let labelled = label(&engine, &votes, &seed, BallotRandomness::Fresh, &watch)?;

    let histograms: Vec<Histogram> = votes.histograms().collect();
    let usage = Usage { queries: Queries::new(samples as u64)?, delta: Delta::default() };
    let price = Mechanism::Shield(setting).proven_for(&histograms, usage);
    for label in &labelled.labels {
        println!("{}", label.map_or(String::new(), |class| class.to_string()));
    }
    eprintln!("epsilon {:.3} at delta {:e}", price.epsilon(), usage.delta.get());
    Ok(())
}
