//! The cost of the exact output law: 8,000 histograms of 10 classes, on one core.

use criterion::{Criterion, criterion_group, criterion_main};
use shield::{Classes, Histogram, OutputDistribution, Setting, synthetic};
use std::hint::black_box;

fn distribution(criterion: &mut Criterion) {
    let (votes, _) = synthetic::votes(250, Classes::new(10).unwrap(), 8000, 1).unwrap();
    let histograms: Vec<Histogram> = votes.histograms().collect();
    for polynomial in ["8X^4+6X^3+4X^2+X", "2X^3+3X^2+X", "30X^8+16X^5+8X^3+4X^2+X"] {
        let setting = Setting { polynomial: polynomial.parse().unwrap(), ..Setting::default() };
        criterion.bench_function(&format!("8000 histograms, {polynomial}"), |bencher| {
            bencher.iter(|| {
                for histogram in &histograms {
                    black_box(OutputDistribution::of(&setting, black_box(histogram)));
                }
            });
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = distribution
}
criterion_main!(benches);
