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
//! [`conversion`] to epsilon, and the [`loss_distribution`] for tight composition. What comes out
//! is a [`price`]: [`Proven`] or [`FromVotes`], and only the first may be published. [`argmax`],
//! [`noisy_argmax`] and [`shared_argmax`] with [`mod@skellam`] behind it are what SHIELD is
//! compared with; [`calibrate`] turns the question round, and [`mod@bound`] is every
//! data-independent figure in one document. [`filter`] is the budget of a group whose elections are
//! chosen one after another. [`audit`] attacks what was promised; [`server_view`] is about a server
//! that sees labels, which no epsilon covers.
//!
//! On top of them, [`mechanism`] is SHIELD and what it is compared with, law, accuracy and price in
//! one type, and [`tune`] finds the setting to take:
//!
//! ```
//! use shield_core::{Classes, Histogram, Queries, Setting, synthetic};
//! use shield_privacy::{Mechanism, Usage};
//!
//! let (votes, _) = synthetic::votes(250, Classes::new(10)?, 20, 1)?;
//! let histograms: Vec<Histogram> = votes.histograms().collect();
//! let usage = Usage { queries: Queries::new(20)?, delta: Default::default() };
//! let price = Mechanism::Shield(Setting::default()).proven_for(&histograms, usage);
//! assert!(price.get() < 1.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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

pub(crate) mod adaptive;
pub mod argmax;
pub mod attendance;
pub mod audit;
pub mod bound;
pub mod calibrate;
pub mod conversion;
pub mod data_dependent;
pub mod data_independent;
pub mod explore;
pub mod filter;
mod hockey_stick;
pub mod label_only;
pub mod loss_distribution;
pub mod mechanism;
pub mod moments;
pub mod neighbours;
pub mod noisy_argmax;
pub mod price;
pub mod queries;
pub(crate) mod rounds;
pub mod server_view;
pub mod shared_argmax;
pub mod skellam;
pub mod tune;
pub mod turnouts;

pub use attendance::Attendance;
pub use mechanism::Mechanism;
pub use price::{FromVotes, Proven};

use shield_core::parameters::{Delta, Queries};

/// What a cost is stated for: how many samples are asked about, and with which delta.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// How many samples the student asks about.
    pub queries: Queries,
    /// The failure probability.
    pub delta: Delta,
}

impl Usage {
    /// The same with what is left of delta where every query takes so much of it; `None` if nothing
    /// is left.
    pub(crate) fn after(self, lost: f64) -> Option<Self> {
        let delta = Delta::new(self.delta.get() - self.queries.count() as f64 * lost).ok()?;
        Some(Self { delta, ..self })
    }
}
