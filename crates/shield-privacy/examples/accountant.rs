//! What labels cost, and how that depends on the offset: the proven epsilon of SHIELD's default
//! polynomial for 250 teachers, 10 classes and 100 labels.
//!
//! ```console
//! $ cargo run --release -p shield-privacy --example accountant
//! ```

use std::error::Error;

use shield_core::{Classes, Delta, Histogram, Offset, Queries, Setting, synthetic};
use shield_privacy::Mechanism;
use shield_privacy::Usage;

fn main() -> Result<(), Box<dyn Error>> {
    let (votes, truth) = synthetic::votes(250, Classes::new(10)?, 1_000, 1)?;
    let histograms: Vec<Histogram> = votes.histograms().collect();
    let usage = Usage { queries: Queries::new(100)?, delta: Delta::default() };
    println!("offset  epsilon  right labels");
    for offset in [1, 2, 5, 10, 20] {
        let setting = Setting { offset: Offset::new(offset)?, ..Setting::default() };
        let mechanism = Mechanism::Shield(setting);
        let epsilon = mechanism.proven_for(&histograms, usage);
        let accuracy = mechanism.accuracy(&histograms, Some(&truth));
        let right = accuracy.correct_labels.unwrap_or(0.0) / histograms.len() as f64;
        println!("{offset:6}  {epsilon:7.3}  {:11.1}%", 100.0 * right);
    }
    Ok(())
}
