//! The cost of the exact output law: 8,000 histograms of 10 classes, on one core.

use std::hint::black_box;

use divan::Bencher;
use shield_core::{Classes, Histogram, OutputDistribution, Setting, synthetic};

fn main() {
    divan::main();
}

#[divan::bench(
    args = ["8X^4+6X^3+4X^2+X", "2X^3+3X^2+X", "30X^8+16X^5+8X^3+4X^2+X"],
    sample_count = 20,
)]
fn eight_thousand_histograms(bencher: Bencher, polynomial: &str) {
    let (votes, _) = synthetic::votes(250, Classes::new(10).unwrap(), 8000, 1).unwrap();
    let histograms: Vec<Histogram> = votes.histograms().collect();
    let setting = Setting { polynomial: polynomial.parse().unwrap(), ..Setting::default() };
    bencher.bench(|| {
        for histogram in &histograms {
            black_box(OutputDistribution::of(&setting, black_box(histogram)));
        }
    });
}
