//! How long the privacy figures take: the proven bound, tight composition, and one generation of a
//! search.

use std::hint::black_box;

use divan::Bencher;
use shield_core::Watch;
use shield_core::{Classes, Histogram, Offset, Sampling, Setting, Voters, synthetic};
use shield_privacy::Usage;
use shield_privacy::data_dependent;
use shield_privacy::data_independent::DataIndependent;
use shield_privacy::queries::Queries;
use shield_privacy::tune::{Objective, Search, Space};

fn main() {
    divan::main();
}

/// (teachers, classes)
#[divan::bench(args = [(250, 10), (100_000, 1000)], sample_count = 10)]
fn bound(bencher: Bencher, (teachers, classes): (u32, usize)) {
    let (voters, classes) = (Voters::new(teachers).unwrap(), Classes::new(classes).unwrap());
    bencher.bench(|| {
        DataIndependent::new(black_box(&Setting::default()), classes, voters)
            .epsilon(Usage::default())
    });
}

/// The votes on 500 samples.
fn histograms() -> Vec<Histogram> {
    let (votes, _) = synthetic::votes(250, Classes::new(10).unwrap(), 500, 1).unwrap();
    votes.histograms().collect()
}

#[divan::bench(sample_count = 10)]
fn published(bencher: Bencher) {
    let histograms = histograms();
    bencher.bench(|| {
        let mut queries = Queries::new(black_box(&Setting::default()), &histograms);
        data_dependent::published(&mut queries, Usage::default())
    });
}

/// A search among 364 polynomials.
#[divan::bench(sample_count = 10, sample_size = 1)]
fn tune(bencher: Bencher) {
    let histograms = histograms();
    let search = Search {
        space: Space { max_degree: 4, max_terms: 12 },
        offsets: vec![Offset::default()],
        sampling: Sampling::default(),
        objective: Objective::Published,
        usage: Usage::default(),
    };
    bencher.bench(|| search.run(black_box(&histograms), None, &Watch::default()).unwrap());
}
