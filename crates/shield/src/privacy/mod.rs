//! What the labels cost in privacy.
//!
//! Two vote matrices are **adjacent** if one teacher's votes are replaced. Four figures, weakest
//! first:
//!
//! | figure | depends on the votes | may be published |
//! |---|---|---|
//! | [`published`](data_dependent::published): the paper's accountant | yes | no |
//! | [`renyi`](data_dependent::renyi): the same moments, converted better | yes | no |
//! | [`teacher_wise`](data_dependent::teacher_wise): one teacher at a time | yes | no |
//! | [`data_independent`]: all histograms there could be, proven | no | **yes** |
//!
//! The building blocks follow the theory: [`rounds`](self) (what a round does to an urn),
//! [`neighbours`] (how one vote can change a histogram), [`moments`] of the privacy loss, their
//! [`conversion`] to epsilon, and the [`loss_distribution`] for tight composition. [`argmax`],
//! [`noisy_argmax`] and [`shared_argmax`], with [`distributed_argmax`] and [`mod@skellam`] behind
//! it, are what SHIELD is compared with; [`calibrate`] turns the question round, and [`mod@bound`]
//! is every data-independent figure in one document. [`filter`] is the budget
//! of a group whose elections are chosen one after another. [`audit`] attacks what was promised;
//! [`server_view`] is about a server that sees labels, which no epsilon covers.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "grid indices and whole counts in floats: all far inside the types they go to"
)]
#![allow(
    clippy::float_cmp,
    reason = "whole counts in floats compare exactly, and so do values that were only copied"
)]

pub mod argmax;
pub mod audit;
pub mod bound;
pub mod calibrate;
pub mod conversion;
pub mod data_dependent;
pub mod data_independent;
pub mod distributed_argmax;
pub mod filter;
mod hockey_stick;
pub mod loss_distribution;
pub mod moments;
pub mod neighbours;
pub mod noisy_argmax;
pub mod queries;
pub(crate) mod rounds;
pub mod server_view;
pub mod shared_argmax;
pub mod skellam;
pub mod turnouts;
pub mod watch;

use crate::parameters::{Delta, Epsilon, Queries};
use loss_distribution::{LARGEST_LOSS, LossDistribution};
use moments::LawPair;

/// What a cost is stated for: how many samples are asked about, and with which delta.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// How many samples the student asks about.
    pub queries: Queries,
    /// The failure probability.
    pub delta: Delta,
}

/// The cost of queries that are each purely private, composed tightly: randomised response
/// dominates every such query, whoever chooses it (Kairouz, Oh and Viswanath, 2015).
pub fn exact_of_pure(epsilon: f64, usage: Usage) -> Epsilon {
    let total = epsilon.exp().ln_1p();
    let pair = LawPair::new([
        moments::Outcome { log_p: epsilon - total, log_q: -total, copies: 1.0 },
        moments::Outcome { log_p: -total, log_q: epsilon - total, copies: 1.0 },
    ]);
    exact_of_pair(&pair, usage)
}

/// The cost of answering every query from one pair of laws, in its worse direction, composed
/// tightly.
pub fn exact_of_pair(pair: &LawPair, usage: Usage) -> Epsilon {
    let one_way = |pair: &LawPair| {
        let likely = pair.outcomes().iter().filter(|o| o.log_p > f64::NEG_INFINITY);
        let losses = likely.map(|o| (o.copies * o.log_p.exp(), (o.log_p - o.log_q).abs()));
        let losses = losses.map(|(mass, loss)| (mass, loss.min(LARGEST_LOSS)));
        let (mut variance, mut largest) = (0.0, 0.0f64);
        for (mass, loss) in losses {
            variance += mass * loss * loss;
            largest = largest.max(loss);
        }
        // Steps far below the typical loss, so that what the grid adds is far below what is there;
        // but no more of them than a transform handles in no time.
        let step = (variance.sqrt() / 64.0).clamp(1e-7, 1e-3).max(largest / 5e4);
        LossDistribution::of(pair, step).epsilon(usage.queries.count(), usage.delta)
    };
    let (there, back) = (one_way(pair), one_way(&pair.reversed()));
    if there >= back { there } else { back }
}
