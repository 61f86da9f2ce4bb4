//! The data-dependent figures: what the votes at hand cost. They depend on the votes, so they must
//! not be published.
//!
//! - **published**: the paper's accountant. For each query the worst neighbour, at whole orders;
//!   log-moments averaged over the samples, times the number of queries; the tail bound of the
//!   moments accountant.
//! - **renyi**: the same log-moments at real orders, and a better conversion.
//! - **teacher-wise**: a neighbour is *one* teacher with other votes, and in each query only the
//!   class that this teacher voted for can lose a vote. So log-moments add up teacher by teacher,
//!   and direction by direction, and the worst teacher counts: the worst class of every query is
//!   rarely the same teacher's.
//! - **teacher-wise exact**: the same, composed tightly. Averaging over the samples becomes a
//!   mechanism: each query draws its sample at random and says which it drew. Its hockey stick is
//!   the mean of those of the samples, for each teacher; the pointwise maximum over the teachers
//!   dominates them all.
//!
//! All but the first two say what *one* teacher can lose, which is what differential privacy
//! promises.

pub mod streamed;

use super::Usage;
use super::conversion::Conversion;
use super::hockey_stick::Nodes;
use super::loss_distribution::LARGEST_LOSS;
use super::moments::ROUND_UP;
use super::price::FromVotes;
use super::queries::Queries;
use shield_core::parameters::{Delta, Epsilon};
use shield_core::votes::Votes;

/// Ratio of neighbouring orders of the figures with real orders.
const ORDER_GRID: f64 = 1.04;

fn on_grid(order: f64) -> f64 {
    ORDER_GRID.powi((order.ln() / ORDER_GRID.ln()).round() as i32)
}

/// The best epsilon of log-moments that are evaluated on a grid of orders only.
fn minimise_on_grid(delta: Delta, mut log_moment: impl FnMut(f64) -> f64) -> (f64, f64) {
    let mut best = (f64::INFINITY, 1.0);
    Conversion::Renyi.minimise(delta, |order| {
        let order = on_grid(order);
        let log_moment = log_moment(order);
        let epsilon = Conversion::Renyi.epsilon(order, log_moment, delta);
        if epsilon < best.0 {
            best = (epsilon, order);
        }
        log_moment
    });
    best
}

fn up(epsilon: f64) -> FromVotes {
    FromVotes::new(Epsilon::new(epsilon * ROUND_UP).unwrap_or(Epsilon::INFINITE))
}

/// The paper's figure.
pub fn published(queries: &mut Queries, usage: Usage) -> FromVotes {
    let count = usage.queries.count() as f64;
    let moment = |order| count * queries.mean_log_moment(order);
    FromVotes::new(Conversion::TailBound.minimise(usage.delta, moment).rounded_up())
}

/// The paper's log-moments, converted better.
pub fn renyi(queries: &mut Queries, usage: Usage) -> FromVotes {
    up(best_renyi(queries, usage).0)
}

fn best_renyi(queries: &mut Queries, usage: Usage) -> (f64, f64) {
    let count = usage.queries.count() as f64;
    minimise_on_grid(usage.delta, |order| count * queries.mean_log_moment(order))
}

/// For each sample, where each teacher's vote stands among the moves; `None` for abstentions.
struct Ballots {
    /// Sample by sample, teacher by teacher.
    moves: Vec<Option<u16>>,
    teachers: usize,
}

impl Ballots {
    fn new(queries: &Queries, votes: &Votes) -> Self {
        let moves_of = queries.moves_of(votes);
        let mut moves = Vec::with_capacity(votes.samples() * votes.teachers());
        for sample in 0..votes.samples() {
            let by_class = moves_of(sample);
            moves.extend(votes.sample(sample).map(|vote| {
                vote.and_then(|class| by_class[class.index()])
                    .and_then(|place| u16::try_from(place).ok())
            }));
        }
        Self { moves, teachers: votes.teachers() }
    }

    /// For each sample, each teacher's place.
    fn samples(&self) -> impl Iterator<Item = (usize, &[Option<u16>])> {
        self.moves.chunks_exact(self.teachers).enumerate()
    }
}

/// The worst teacher's figure, by moments.
pub fn teacher_wise(queries: &mut Queries, votes: &Votes, usage: Usage) -> FromVotes {
    let (epsilon, order) = best_renyi(queries, usage);
    if epsilon.is_infinite() {
        return FromVotes::new(Epsilon::INFINITE);
    }
    let ballots = Ballots::new(queries, votes);
    let scale = usage.queries.count() as f64 / queries.samples();
    // Each teacher has an order of its own; a teacher's cost is lower, so its best order is higher.
    let mut best = vec![[f64::INFINITY; 2]; ballots.teachers];
    for step in -4..12 {
        let order = on_grid(order * ORDER_GRID.powi(2 * step));
        let moments = queries.moments(order);
        let mut sums = vec![[0.0; 2]; ballots.teachers];
        for (sample, places) in ballots.samples() {
            let moves = &moments[queries.distinct_of(sample)];
            for (sum, place) in sums.iter_mut().zip(places) {
                if let Some(place) = place {
                    let [there, back] = moves[usize::from(*place)];
                    sum[0] += there;
                    sum[1] += back;
                }
            }
        }
        for (best, sums) in best.iter_mut().zip(sums) {
            for (best, sum) in best.iter_mut().zip(sums) {
                let log_moment = scale * sum * ROUND_UP;
                *best = best.min(Conversion::Renyi.epsilon(order, log_moment, usage.delta));
            }
        }
    }
    up(best.into_iter().flatten().fold(0.0, f64::max))
}

/// The worst teacher's figure, composed tightly, for queries about samples drawn at random.
pub fn teacher_wise_exact(queries: &Queries, votes: &Votes, usage: Usage) -> FromVotes {
    let top = queries.largest_loss(LARGEST_LOSS);
    if top == 0.0 {
        return FromVotes::new(Epsilon::ZERO);
    }
    let nodes = Nodes::new(top * 1.001, 160);
    let thresholds: Vec<f64> = nodes.thresholds().collect();
    let curves = queries.hockey_sticks(&thresholds);
    let ballots = Ballots::new(queries, votes);
    let mut means = vec![vec![0.0; thresholds.len()]; ballots.teachers];
    for (sample, places) in ballots.samples() {
        let moves = &curves[queries.distinct_of(sample)];
        for (mean, place) in means.iter_mut().zip(places) {
            if let Some(place) = place {
                for (mean, height) in mean.iter_mut().zip(&moves[usize::from(*place)]) {
                    *mean += height;
                }
            }
        }
    }
    let mut worst = vec![0.0f64; thresholds.len()];
    for mean in means {
        for (worst, sum) in worst.iter_mut().zip(mean) {
            *worst = worst.max(sum / queries.samples());
        }
    }
    FromVotes::new(nodes.dominating(&worst).epsilon(usage.queries.count(), usage.delta))
}
