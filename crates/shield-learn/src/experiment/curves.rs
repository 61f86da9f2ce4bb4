//! What the figures show besides the rows: the paper's fronts, and accuracy against cost for every
//! mechanism.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use shield_core::{Epsilon, Histogram, Labels, Offset, Sampling};
use shield_privacy::Mechanism;
use shield_privacy::mechanism::best::{self, Composition};
use shield_privacy::tune::front::Point;
use shield_privacy::tune::{Objective, Search, Space};

use super::Stages;
use super::rows::Kind;
use super::tuning::{Tuning, setting};
use crate::error::LearnError;

/// Epsilon and a share.
pub type Place = (f64, f64);

/// The front of all polynomials up to some number of rounds, by the paper's own figure, at offset
/// 1.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PaperFront {
    /// The most rounds that a polynomial may have.
    pub max_terms: u32,
    /// Every setting that was finished: epsilon and ground-truth accuracy.
    pub cloud: Vec<Place>,
    /// The settings that no other beats.
    pub front: Vec<Point>,
}

/// Expected right labels against the data-independent cost.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Curves {
    /// SHIELD's front.
    pub shield: Vec<Place>,
    /// PATE's argmax with Laplace noise.
    pub lnmax: Vec<Place>,
    /// PATE's argmax with Gaussian noise.
    pub gnmax: Vec<Place>,
}

/// The costs that PATE's mechanisms are shown at.
const COSTS: [f64; 7] = [0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];

/// Settings of SHIELD on its curve: to prove what one costs takes seconds.
const SETTINGS: usize = 12;

/// The paper's three panels, as far as the study's polynomials go.
pub(super) fn paper_fronts(
    stages: &Stages<'_>,
    histograms: &[Histogram],
) -> Result<Vec<PaperFront>, LearnError> {
    let Stages { study, folder, watch, .. } = *stages;
    let panels: Vec<Search> = [12, 17, 32]
        .into_iter()
        .filter(|&max_terms| max_terms <= study.tuning.max_terms())
        .map(|max_terms| Search {
            space: Space { max_degree: 4, max_terms },
            offsets: vec![Offset::PAPER],
            sampling: Sampling::default(),
            objective: Objective::Published,
            usage: study.usage,
        })
        .collect();
    watch.begin("fronts", panels.iter().map(Search::work).sum());
    let mut fronts = Vec::new();
    for search in &panels {
        let max_terms = search.space.max_terms;
        fronts.push(folder.unit_or(&format!("front-{max_terms}"), || {
            let outcome = search.run(histograms, None, watch)?;
            Ok(PaperFront { max_terms, cloud: outcome.cloud, front: outcome.front.into_points() })
        })?);
    }
    Ok(fronts)
}

/// The curves of all mechanisms, each setting at what is proven of it, as the rows are.
pub(super) fn curves(
    stages: &Stages<'_>,
    tuning: &Tuning,
    histograms: &[Histogram],
    truth: &Labels,
) -> Result<Curves, LearnError> {
    let Stages { study, folder, watch, .. } = *stages;
    folder.unit_or("proven-curves", || {
        let settings: Vec<Mechanism> = spread(&tuning.front, SETTINGS)
            .map(|point| Mechanism::Shield(setting(point.polynomial.clone(), point.offset)))
            .collect();
        watch.begin("curves", (settings.len() + 2 * COSTS.len()) as u64);
        let samples = histograms.len() as f64;
        let right = |mechanism: &Mechanism| {
            let accuracy = mechanism.accuracy(histograms, Some(truth));
            accuracy.correct_labels.unwrap_or(0.0) / samples
        };
        let place = |mechanism: &Mechanism| {
            let cost = mechanism.proven_for(histograms, study.usage);
            watch.add(1);
            (cost.get(), right(mechanism))
        };
        let mut shield: Vec<Place> = settings.par_iter().map(place).collect();
        shield.sort_by(|a, b| a.0.total_cmp(&b.0));
        // The least noise comes with its price, which takes seconds to prove.
        let noisy = |kind: Kind| -> Result<Vec<Place>, LearnError> {
            let budgets = COSTS.iter().map(|&cost| Epsilon::new(cost));
            let budgets = budgets.collect::<Result<Vec<_>, _>>()?;
            let least = |&budget: &Epsilon| {
                let found = best::noise_within(kind, Composition::Tight, budget, study.usage);
                watch.add(1);
                found.map(|(mechanism, price)| (price.get(), right(&mechanism)))
            };
            Ok(budgets.par_iter().filter_map(least).collect())
        };
        Ok(Curves { shield, lnmax: noisy(Mechanism::Lnmax)?, gnmax: noisy(Mechanism::Gnmax)? })
    })
}

/// At most so many of some points, evenly spread, the first and the last among them.
fn spread(points: &[Point], most: usize) -> impl Iterator<Item = &Point> {
    let count = points.len().min(most);
    let last = count.saturating_sub(1).max(1);
    (0..count).map(move |i| &points[i * (points.len() - 1) / last])
}
