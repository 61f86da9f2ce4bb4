//! The tables of docs/voting-rule.md: what a voter gains by not voting for its favourite, and how
//! much a coalition moves.
//!
//! ```console
//! $ cargo run --release -p shield-core --example voting_rule
//! ```

use std::error::Error;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rayon::prelude::*;
use shield_core::voting_rule::{gain_from_insincerity, influence};
use shield_core::{Offset, Setting};

const CLASSES: usize = 10;
const VOTERS: u32 = 250;
const TRIALS: u64 = 5_000;

fn main() -> Result<(), Box<dyn Error>> {
    println!("{:<28} {:>12} {:>10}", "polynomial, offset 1", "largest gain", "mean gain");
    for text in ["X", "2X^3+3X^2+X", "8X^4+6X^3+4X^2+X", "12X^5+23X^4+20X^3+8X^2+X"] {
        let setting =
            Setting { polynomial: text.parse()?, offset: Offset::PAPER, ..Setting::default() };
        let gains: Vec<f64> =
            (0..TRIALS).into_par_iter().map(|trial| random_gain(&setting, trial)).collect();
        let largest = gains.iter().copied().fold(0.0, f64::max);
        let mean = gains.iter().sum::<f64>() / gains.len() as f64;
        println!("{text:<28} {largest:>12.4} {mean:>10.4}");
    }
    println!("\n{:<8} {:>6} {:>8} {:>8} {:>8}", "votes", "offset", "t = 1", "t = 5", "t = 25");
    let cases = [
        ("clear", [180, 30, 9, 8, 7, 5, 4, 3, 2, 1]),
        ("close", [90, 89, 20, 20, 10, 10, 4, 3, 2, 1]),
    ];
    for (name, votes) in cases {
        for offset in [1, 5, 20] {
            let setting = Setting { offset: Offset::new(offset)?, ..Setting::default() };
            let moved = [1, 5, 25].map(|coalition| influence(&setting, &votes, coalition, 1, 0));
            println!("{name:<8} {offset:>6} {:>8.4} {:>8.4} {:>8.4}", moved[0], moved[1], moved[2]);
        }
    }
    Ok(())
}

/// What the last of 250 voters gains at its best, for random votes of all others and a random worth
/// of every class but its favourite, which is worth 1.
fn random_gain(setting: &Setting, trial: u64) -> f64 {
    let mut rng = StdRng::seed_from_u64(trial);
    // Every class as popular as a random number says, so that some are hopeless.
    let weights: Vec<f64> = (0..CLASSES).map(|_| rng.random::<f64>()).collect();
    let sum: f64 = weights.iter().sum();
    let mut others = vec![0; CLASSES];
    for _ in 1..VOTERS {
        let mut point = rng.random::<f64>() * sum;
        let chosen = weights.iter().position(|weight| {
            point -= weight;
            point < 0.0
        });
        others[chosen.unwrap_or(CLASSES - 1)] += 1;
    }
    let mut worths: Vec<f64> = (0..CLASSES).map(|_| rng.random()).collect();
    worths[rng.random_range(0..CLASSES)] = 1.0;
    gain_from_insincerity(setting, &others, &worths).gain
}
