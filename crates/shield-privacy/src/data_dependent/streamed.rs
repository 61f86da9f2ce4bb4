//! The data-dependent figures of many samples, in little memory.
//!
//! Every order of a moment proves its own figure. So good orders are looked for on a few samples,
//! evenly spread, and then all samples are read once, some at a time, for these orders alone. What
//! comes out is an upper bound of the figure that is computed at once, and hardly above it.

use rayon::prelude::*;

use super::{Conversion, ORDER_GRID, ROUND_UP, minimise_on_grid, on_grid, up};
use crate::Usage;
use crate::price::FromVotes;
use crate::queries::{BothWays, Queries};
use shield_core::Watch;
use shield_core::histogram::Histogram;
use shield_core::votes::Votes;

/// Samples that orders are looked for on.
const SOME: usize = 1000;
/// Samples that are read at a time, and that one thread adds up.
const AT_A_TIME: usize = 1024;
const ONE_THREAD: usize = 128;

/// The figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// The paper's.
    pub published: FromVotes,
    /// The same moments, converted better.
    pub renyi: FromVotes,
    /// The worst teacher's, where it is known who voted what.
    pub teacher_wise: Option<FromVotes>,
}

/// The log-moments of one teacher at each order, both ways.
type Sums = Vec<BothWays>;

/// The figures of some samples; `losses` makes their queries.
pub fn figures(
    losses: &(dyn Fn(&[Histogram]) -> Queries + Sync),
    histograms: &[Histogram],
    votes: Option<&Votes>,
    usage: Usage,
    watch: &Watch,
) -> Figures {
    let count = usage.queries.count() as f64;
    let some: Vec<Histogram> =
        histograms.iter().step_by(histograms.len().div_ceil(SOME).max(1)).cloned().collect();
    let mut few = losses(&some);
    let whole = Conversion::TailBound
        .minimise(usage.delta, |order| count * few.mean_log_moment(order))
        .order;
    let (_, real) = minimise_on_grid(usage.delta, |order| count * few.mean_log_moment(order));
    let whole: Vec<f64> =
        [whole - 1.0, whole, whole + 1.0].into_iter().filter(|&order| order >= 1.0).collect();
    // A teacher's cost is lower than that of all, so its best order is higher.
    let real: Vec<f64> = [-4, -2, 0, 2, 4, 8, 12, 16, 20]
        .into_iter()
        .map(|step| on_grid(real * ORDER_GRID.powi(step)))
        .collect();

    let mut whole_sums = vec![0.0; whole.len()];
    let mut real_sums = vec![0.0; real.len()];
    let mut teachers = vec![[0.0; 2]; votes.map_or(0, Votes::teachers) * real.len()];
    for (place, chunk) in histograms.chunks(AT_A_TIME).enumerate() {
        let mut queries = losses(chunk);
        let here = chunk.len() as f64;
        for (sum, &order) in whole_sums.iter_mut().zip(&whole) {
            *sum += here * queries.mean_log_moment(order);
        }
        for (sum, &order) in real_sums.iter_mut().zip(&real) {
            *sum += here * queries.mean_log_moment(order);
        }
        if let Some(votes) = votes {
            add(&mut teachers, &mut queries, chunk, place * AT_A_TIME, votes, &real);
        }
        let done = place * AT_A_TIME + chunk.len();
        watch.tell(done as u64, histograms.len() as u64);
    }

    let scale = count / histograms.len().max(1) as f64;
    let best = |conversion: Conversion, orders: &[f64], sums: &mut dyn Iterator<Item = f64>| {
        let costs = orders.iter().zip(sums);
        let costs = costs.map(|(&order, sum)| conversion.epsilon(order, scale * sum, usage.delta));
        costs.fold(f64::INFINITY, f64::min)
    };
    let worst = |teacher: &[BothWays]| {
        let one_way = |way: usize| {
            let mut sums = teacher.iter().map(|sum| sum[way] * ROUND_UP);
            best(Conversion::Renyi, &real, &mut sums)
        };
        one_way(0).max(one_way(1))
    };
    Figures {
        published: up(best(Conversion::TailBound, &whole, &mut whole_sums.into_iter())),
        renyi: up(best(Conversion::Renyi, &real, &mut real_sums.into_iter())),
        teacher_wise: votes
            .map(|_| up(teachers.chunks_exact(real.len()).map(worst).fold(0.0, f64::max))),
    }
}

/// Adds the log-moments of some samples to those of every teacher. The blocks are fixed, so that
/// the sums do not depend on the threads.
fn add(
    teachers: &mut [BothWays],
    queries: &mut Queries,
    chunk: &[Histogram],
    first: usize,
    votes: &Votes,
    orders: &[f64],
) {
    let moments: Vec<_> = orders.iter().map(|&order| queries.moments(order)).collect();
    let queries = &*queries;
    let block = |(block, samples): (usize, &[Histogram])| {
        let mut sums: Sums = vec![[0.0; 2]; teachers.len()];
        for (i, histogram) in samples.iter().enumerate() {
            let local = block * ONE_THREAD + i;
            let places = queries.places(local, histogram);
            let distinct = queries.distinct_of(local);
            // For each class, what its voters lose at each order.
            let by_class: Vec<Option<Sums>> = places
                .into_iter()
                .map(|place| {
                    place.map(|place| moments.iter().map(|m| m[distinct][place]).collect())
                })
                .collect();
            let own = sums.chunks_exact_mut(orders.len()).zip(votes.sample(first + local));
            for (sums, vote) in own {
                let Some(losses) = vote.and_then(|class| by_class[class.index()].as_ref()) else {
                    continue;
                };
                for (sum, loss) in sums.iter_mut().zip(losses) {
                    sum[0] += loss[0];
                    sum[1] += loss[1];
                }
            }
        }
        sums
    };
    let blocks: Vec<Sums> = chunk.par_chunks(ONE_THREAD).enumerate().map(block).collect();
    for sums in blocks {
        for (total, sum) in teachers.iter_mut().zip(sums) {
            total[0] += sum[0];
            total[1] += sum[1];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{published, renyi, teacher_wise};
    use super::*;
    use shield_core::parameters::Classes;
    use shield_core::setting::Setting;
    use shield_core::synthetic;

    #[test]
    fn no_less_than_at_once_and_hardly_more() {
        let (votes, _) = synthetic::votes(40, Classes::new(4).unwrap(), 2500, 3).unwrap();
        let histograms: Vec<Histogram> = votes.histograms().collect();
        let setting = Setting::default();
        let (usage, watch) = (Usage::default(), Watch::default());
        let losses = |some: &[Histogram]| Queries::new(&setting, some);
        let found = figures(&losses, &histograms, Some(&votes), usage, &watch);
        let mut all = Queries::new(&setting, &histograms);
        let pairs = [
            (found.published, published(&mut all, usage)),
            (found.renyi, renyi(&mut all, usage)),
            (found.teacher_wise.unwrap(), teacher_wise(&mut all, &votes, usage)),
        ];
        for (found, expected) in pairs {
            let ratio = found.get() / expected.get();
            assert!((1.0 - 1e-6..1.005).contains(&ratio), "{found} {expected}");
        }
        let counts = figures(&losses, &histograms, None, usage, &watch);
        assert_eq!((counts.renyi, counts.teacher_wise), (found.renyi, None));
    }
}
