//! Module learning with errors modulo the plaintext modulus t: the sizes of tiny ballots, where
//! their samples are in slots, and what turning them into differences costs.
//!
//! | module | subject |
//! |---|---|
//! | `hardness` | the module by the noise: which rank is hard, and how that was computed |
//! | `points` | the small ring Z_t[Z]/(Z^d + 1), by coefficients and by values |
//! | `grid` | which slots hold which polynomial and which sample |
//! | `route` | rotations and masks from the secrets to the differences, with bounds and costs |
//!
//! The scheme itself is in [`super::tiny`], with its proof.

mod grid;
mod hardness;
mod points;
mod route;

pub(crate) use grid::Grid;
pub(crate) use hardness::{Module, SMALLEST_SHARE, Unfit};
pub(crate) use points::Points;
pub(crate) use route::Route;
