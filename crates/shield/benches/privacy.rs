//! How long the privacy figures take: the proven bound, tight composition, and one generation of a
//! search.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use shield::privacy::Usage;
use shield::privacy::data_dependent;
use shield::privacy::data_independent::DataIndependent;
use shield::privacy::queries::Queries;
use shield::tune::{Objective, Search, Space};
use shield::{Classes, Histogram, Offset, Sampling, Setting, Voters, synthetic};

fn bound(criterion: &mut Criterion) {
    let usage = Usage::default();
    let mut group = criterion.benchmark_group("bound");
    group.sample_size(10);
    for (teachers, classes) in [(250, 10), (100_000, 1000)] {
        let (voters, classes) = (Voters::new(teachers).unwrap(), Classes::new(classes).unwrap());
        group.bench_function(format!("{teachers} teachers, {classes} classes"), |bencher| {
            bencher.iter(|| {
                DataIndependent::new(black_box(&Setting::default()), classes, voters).epsilon(usage)
            });
        });
    }
    group.finish();
}

fn votes(criterion: &mut Criterion) {
    let usage = Usage::default();
    let (votes, _) = synthetic::votes(250, Classes::new(10).unwrap(), 500, 1).unwrap();
    let histograms: Vec<Histogram> = votes.histograms().collect();
    let mut group = criterion.benchmark_group("votes");
    group.sample_size(10);
    group.bench_function("published, 500 samples", |bencher| {
        bencher.iter(|| {
            let mut queries = Queries::new(black_box(&Setting::default()), &histograms);
            data_dependent::published(&mut queries, usage)
        });
    });
    let search = Search {
        space: Space { max_degree: 4, max_terms: 12 },
        offsets: vec![Offset::default()],
        sampling: Sampling::default(),
        objective: Objective::Published,
        usage,
    };
    group.bench_function("tune, 364 polynomials, 500 samples", |bencher| {
        bencher.iter(|| search.run(black_box(&histograms), &|_| ()).unwrap());
    });
    group.finish();
}

criterion_group!(benches, bound, votes);
criterion_main!(benches);
