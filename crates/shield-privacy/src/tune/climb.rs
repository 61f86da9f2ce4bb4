//! The most accurate polynomial for a budget, in spaces far too large to list.
//!
//! Accuracy grows with the rounds, up to hundreds of them, and so does the number of polynomials.
//! [`Climb`] starts from one and moves rounds between degrees, by ever smaller steps, to the most
//! accurate neighbour that the budget allows, until none is left.
//!
//! Two things make a step cheap. *Accuracy*: whether a round of degree p is unanimous, and for
//! whom, does not depend on how many such rounds there are, so both are computed once per
//! histogram; a polynomial's accuracy is then a sum of geometric series over its degrees. *Cost*:
//! while it climbs, a polynomial costs what the worst of some suspicious pairs of neighbours costs,
//! and new suspects are looked for after every step. That is a lower bound. At the end the cost is
//! proven, composed tightly; where the proof exceeds the budget, or leaves much of it, the climb
//! goes on with as much less or more to spend.

mod mountain;

#[cfg(test)]
mod tests;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::front::{Cost, Point};
use super::{Objective, Outcome, Search};
use crate::Usage;
use crate::mechanism::best;
use crate::price::Proven;
use mountain::Mountain;
use shield_core::Watch;
use shield_core::accuracy::Accuracy;
use shield_core::histogram::Histogram;
use shield_core::parameters::{Epsilon, Offset, ParameterError, Sampling};
use shield_core::setting::Setting;
use shield_core::votes::Labels;

/// The largest degree of a climb.
pub const MAX_DEGREE: u32 = 16;
/// The largest number of rounds of a climb.
pub const MAX_TERMS: u32 = 512;

/// How the cost of what was found is proven.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Composition {
    /// By moments: seconds.
    Moments,
    /// By moments, and then tightly: minutes where there are hundreds of rounds.
    #[default]
    Tight,
}

/// What to look for.
#[derive(Clone, Debug)]
pub struct Climb {
    /// The largest degree, from 2 to [`MAX_DEGREE`].
    pub max_degree: u32,
    /// The most rounds, at most [`MAX_TERMS`].
    pub max_terms: u32,
    /// The dummies of each class.
    pub offset: Offset,
    /// How rounds draw.
    pub sampling: Sampling,
    /// Queries and delta.
    pub usage: Usage,
    /// What the labels may cost, proven.
    pub budget: Epsilon,
    /// How it is proven.
    pub composition: Composition,
}

/// The best that a climb found.
#[derive(Clone, Debug)]
pub struct Summit {
    /// The setting.
    pub setting: Setting,
    /// The expected share of right labels, or of the majority's where no labels were given.
    pub right: f64,
    /// The cost.
    pub epsilon: Proven,
}

impl Climb {
    /// Climbs, on the votes of some samples. With labels, right is what equals them; without, what
    /// the majority voted. `None` if not even a single round of degree 1 is within the budget.
    ///
    /// The watch hears of every step and may stop the climb; what was reached is then proven and
    /// returned.
    pub fn run(
        &self,
        histograms: &[Histogram],
        labels: Option<&Labels>,
        watch: &Watch,
    ) -> Result<Option<Summit>, ParameterError> {
        let mut mountain = Mountain::new(self, histograms, labels)?;
        let summit = mountain.summit(watch);
        Ok(summit.map(|(place, epsilon)| Summit {
            setting: mountain.setting(&place.counts),
            right: place.right,
            epsilon,
        }))
    }
}

/// Climbs at every offset of a search, to one budget.
#[derive(Clone, Copy, Debug)]
pub struct Ascent<'a> {
    /// Degrees, rounds, offsets, sampling, queries and delta.
    pub search: &'a Search,
    /// What the labels may cost, proven.
    pub budget: Epsilon,
}

impl Ascent<'_> {
    /// Climbs, on at most 2,000 of the samples, evenly spread; what is found is measured on all of
    /// them. The watch counts offsets, and may end the climb early, with what was found by then.
    pub fn run(
        &self,
        histograms: &[Histogram],
        labels: Option<&Labels>,
        watch: &Watch,
    ) -> Result<Outcome, ParameterError> {
        // More samples hardly change where it ends.
        let (some, truth) = best::spread(histograms, labels);
        watch.begin("offsets", self.search.offsets.len() as u64);
        let mut outcome = Outcome::default();
        debug_assert_eq!(self.search.objective, Objective::DataIndependent);
        for &offset in &self.search.offsets {
            if outcome.stopped {
                break;
            }
            let climb = Climb {
                max_degree: self.search.space.max_degree,
                max_terms: self.search.space.max_terms,
                offset,
                sampling: self.search.sampling,
                usage: self.search.usage,
                budget: self.budget,
                composition: Composition::Tight,
            };
            let steps = Arc::new(AtomicUsize::new(0));
            let (counted, whole) = (Arc::clone(&steps), watch.clone());
            let each = Watch::new(move |_| {
                counted.fetch_add(1, Ordering::Relaxed);
                whole.add(0);
                if whole.is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            let summit = climb.run(&some, truth.as_ref(), &each)?;
            outcome.evaluated += steps.load(Ordering::Relaxed);
            outcome.stopped = watch.is_stopped();
            if let Some(summit) = summit {
                let accuracy = Accuracy::of(&summit.setting, histograms, labels);
                let samples = histograms.len().max(1) as f64;
                outcome.cloud.push((summit.epsilon.get(), accuracy.ground_truth));
                let (polynomial, cost) = (summit.setting.polynomial, Cost::Proven(summit.epsilon));
                let right = accuracy.correct_labels.map(|correct| correct / samples);
                let point = Point::new(polynomial, offset, cost, accuracy.ground_truth);
                outcome.front.add(Point { right, ..point });
            }
            watch.add(1);
        }
        Ok(outcome)
    }
}
