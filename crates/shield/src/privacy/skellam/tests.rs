use super::*;
use crate::privacy::noisy_argmax::NoisyArgmax;

fn noise(deviation: f64, teachers: u32, dropouts: u32) -> SharedNoise {
    let amount = Noise::new(deviation).unwrap();
    SharedNoise::of(NoiseFamily::Skellam, amount, teachers, dropouts).unwrap()
}

fn argmax(deviation: f64) -> SkellamArgmax {
    SkellamArgmax::new(&noise(deviation, 100, 0), 3, Sensitivity::Vote).unwrap()
}

fn usage(queries: u64, delta: f64) -> Usage {
    Usage { queries: Queries::new(queries).unwrap(), delta: Delta::new(delta).unwrap() }
}

/// The least epsilon of two noisy counts, each shifted by one, over all pairs of values.
fn by_brute_force(argmax: &SkellamArgmax, delta: f64) -> f64 {
    let reach = 60_i64;
    let p = |z: i64| argmax.promised.probability(z);
    let spent = |epsilon: f64| {
        let mut sum = 0.0;
        for x in -reach..=reach {
            for y in -reach..=reach {
                sum += (p(x) * p(y) - epsilon.exp() * p(x + 1) * p(y - 1)).max(0.0);
            }
        }
        sum
    };
    let (mut low, mut high) = (0.0, 20.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if spent(middle) <= delta {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

#[test]
fn one_query_by_brute_force() {
    for (deviation, delta) in [(1.5, 1e-3), (3.0, 1e-5), (3.0, 0.05)] {
        let argmax = argmax(deviation);
        let expected = by_brute_force(&argmax, delta);
        let found = argmax.tight(usage(1, delta)).get();
        assert!(found >= expected - 1e-7 && found < expected * 1.003 + 1e-4, "{found} {expected}");
        let moments = argmax.by_moments(usage(1, delta), Conversion::Renyi).get();
        assert!(moments >= expected, "{moments} {expected}");
    }
}

#[test]
fn many_queries_are_as_cheap_as_gaussian_noise() {
    let usage = usage(100, 1e-5);
    for deviation in [15.0, 40.0] {
        let argmax = argmax(deviation);
        let gaussian = NoisyArgmax::Gaussian(Noise::new(deviation).unwrap());
        let (tight, moments) = (argmax.tight(usage), argmax.by_moments(usage, Conversion::Renyi));
        let gaussian = gaussian.data_independent(usage, Conversion::Renyi);
        assert!(tight < moments, "{tight} {moments}");
        assert!((moments.get() / gaussian.get() - 1.0).abs() < 0.01, "{moments} {gaussian}");
    }
}

#[test]
fn the_accounting_bounds_the_laws_of_the_output() {
    let argmax = argmax(6.0);
    let histogram = |counts: &[u32]| Histogram::new(counts.to_vec()).unwrap();
    for (counts, moved) in [([90, 8, 2], [89, 9, 2]), ([34, 33, 33], [33, 33, 34])] {
        let (p, q) = (argmax.law(&histogram(&counts)), argmax.law(&histogram(&moved)));
        for order in [1.0, 5.0, 30.0] {
            let pairs = p.probabilities().zip(q.probabilities());
            let moment: f64 = pairs.map(|(p, q)| p * (p / q).powf(order)).sum();
            assert!(moment.ln() <= argmax.log_moment(order), "{order}");
        }
    }
}

#[test]
fn histograms_cost_what_their_largest_change_does() {
    let votes = argmax(20.0);
    let noise = noise(20.0, 100, 0);
    let counts = |bound| SkellamArgmax::new(&noise, 3, Sensitivity::Counts(bound)).unwrap();
    let five = counts(5);
    for order in [0.5, 3.0, 20.0] {
        // Every way to share out five votes on each side costs no more.
        for parts in [vec![5], vec![4, 1], vec![3, 2], vec![2, 2, 1], vec![1; 5]] {
            let sum: f64 = parts.iter().map(|&d| 2.0 * votes.shift_moment(d, order)).sum();
            assert!(sum <= five.log_moment(order) * (1.0 + 1e-9), "{parts:?}");
        }
        // Nearly Gaussian: the square of the bound.
        let ratio = five.log_moment(order) / votes.log_moment(order);
        assert!((20.0..30.0).contains(&ratio), "{order}: {ratio}");
        assert!((counts(1).log_moment(order) / votes.log_moment(order) - 1.0).abs() < 1e-9);
    }
}

#[test]
fn moments_of_large_shifts_by_the_definition() {
    let noise = noise(3.0, 10, 0);
    let argmax = SkellamArgmax::new(&noise, 3, Sensitivity::Counts(30)).unwrap();
    let wide = law_with(9.0, 200);
    for (shift, order) in [(1, 2.0), (4, 1.5), (12, 0.5), (30, 0.2)] {
        let direct: f64 = (-150..=150_i64)
            .map(|z| {
                let (p, q) = (wide.probability(z), wide.probability(z - shift));
                if p > 1e-200 { p * (p / q).powf(order) } else { 0.0 }
            })
            .sum();
        let found = argmax.shift_moment(u32::try_from(shift).unwrap(), order);
        assert!(found >= direct.ln() * (1.0 - 1e-9), "{shift} {order}: {found} {}", direct.ln());
        assert!(found <= direct.ln() * 1.01 + 1e-6, "{shift} {order}: {found} {}", direct.ln());
    }
}

#[test]
fn the_promise_holds_whoever_is_missing() {
    let usage = Usage::default();
    let all = SkellamArgmax::new(&noise(20.0, 100, 0), 3, Sensitivity::Vote).unwrap();
    let some = SkellamArgmax::new(&noise(20.0, 100, 40), 3, Sensitivity::Vote).unwrap();
    assert!((all.tight(usage).get() / some.tight(usage).get() - 1.0).abs() < 1e-4);
    let votes = Histogram::new(vec![60, 25, 15]).unwrap();
    let right = |argmax: &SkellamArgmax| argmax.law(&votes).probabilities().next().unwrap();
    assert!(right(&some) < right(&all));
}

#[test]
fn the_least_deviation_within_a_budget() {
    let usage = usage(100, 1e-5);
    let budget = Epsilon::new(2.0).unwrap();
    let noise = deviation_within(budget, usage, 100, 0, 10, Sensitivity::Vote).unwrap();
    let cost = SkellamArgmax::new(&noise, 10, Sensitivity::Vote).unwrap().tight(usage);
    assert!(cost <= budget && cost.get() > 1.99, "{cost}");
}

#[test]
fn laplace_noise_is_refused() {
    let laplace = SharedNoise::new(Noise::new(3.0).unwrap(), 10, 0).unwrap();
    assert!(SkellamArgmax::new(&laplace, 3, Sensitivity::Vote).is_err());
}

/// The shipped votes of 250 teachers, 100 queries, delta 1e-5: the share of right labels.
#[test]
fn right_labels_on_the_shipped_votes() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/mnist");
    let votes = crate::files::read_votes(&folder.join("paper-votes.npy.gz"), None).unwrap();
    let labels = crate::files::read_labels(&folder.join("digits.npy.gz")).unwrap();
    let usage = usage(100, 1e-5);
    for (epsilon, least) in [(1.0, 0.83), (2.0, 0.92), (4.0, 0.94)] {
        let budget = Epsilon::new(epsilon).unwrap();
        let noise = deviation_within(budget, usage, 250, 0, 10, Sensitivity::Vote).unwrap();
        let argmax = SkellamArgmax::new(&noise, 10, Sensitivity::Vote).unwrap();
        // Every fourth sample says the same, in a quarter of the time.
        let samples = votes.histograms().zip(labels.as_slice()).step_by(4);
        let right: Vec<f64> = samples
            .filter_map(|(histogram, label)| {
                let law: Vec<f64> = argmax.law(&histogram).probabilities().collect();
                label.map(|class| law[class.index()])
            })
            .collect();
        let share = right.iter().sum::<f64>() / right.len() as f64;
        println!("epsilon {epsilon}: deviation {:.2}, {:.2}%", noise.scale().get(), 100.0 * share);
        assert!(share >= least, "{epsilon}: {share}");
    }
}
