//! What the figures show besides the rows: the paper's fronts, and accuracy against cost for every
//! mechanism.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use shield::privacy::calibrate;
use shield::privacy::noisy_argmax::NoisyArgmax;
use shield::tune::front::Point;
use shield::tune::{Objective, Search, Space};
use shield::{Epsilon, Histogram, Labels, Mechanism, Offset, Sampling};

use super::Stages;
use super::error::ExperimentError;
use super::rows::{Kind, Noisy};
use super::tuning::{Tuning, setting};

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
const COSTS: [f64; 12] = [0.5, 0.7, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0];

/// Settings of SHIELD on its curve: to prove what one costs takes seconds.
const SETTINGS: usize = 12;

/// The paper's three panels, as far as the study's polynomials go.
pub(super) fn paper_fronts(
    stages: &Stages<'_>,
    histograms: &[Histogram],
) -> Result<Vec<PaperFront>, ExperimentError> {
    let Stages { study, folder, progress, .. } = *stages;
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
    progress.stage("fronts", panels.iter().map(Search::work).sum());
    let mut fronts = Vec::new();
    for search in &panels {
        let max_terms = search.space.max_terms;
        fronts.push(folder.unit_or(&format!("front-{max_terms}"), || {
            let outcome = search.run(histograms, &|done| progress.step(done))?;
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
) -> Result<Curves, ExperimentError> {
    let Stages { study, folder, progress, .. } = *stages;
    folder.unit_or("proven-curves", || {
        let settings: Vec<Mechanism> = spread(&tuning.front, SETTINGS)
            .map(|point| Mechanism::Shield(setting(point.polynomial.clone(), point.offset)))
            .collect();
        progress.stage("curves", (settings.len() + 2 * COSTS.len()) as u64);
        let samples = histograms.len() as f64;
        let place = |mechanism: &Mechanism| {
            let right = mechanism.accuracy(histograms, Some(truth)).correct_labels.unwrap_or(0.0);
            let cost = mechanism.proven_for(histograms, study.usage).epsilon();
            progress.step(1);
            (cost.get(), right / samples)
        };
        let mut shield: Vec<Place> = settings.par_iter().map(place).collect();
        shield.sort_by(|a, b| a.0.total_cmp(&b.0));
        let noisy = |argmax: Noisy, kind: Kind| -> Result<Vec<Place>, ExperimentError> {
            let mut places = Vec::new();
            for cost in COSTS {
                let noise = calibrate::noise_within(Epsilon::new(cost)?, study.usage, argmax);
                places.extend(noise.map(|noise| place(&kind(noise))));
            }
            Ok(places)
        };
        Ok(Curves {
            shield,
            lnmax: noisy(NoisyArgmax::Laplace, Mechanism::Lnmax)?,
            gnmax: noisy(NoisyArgmax::Gaussian, Mechanism::Gnmax)?,
        })
    })
}

/// At most so many of some points, evenly spread, the first and the last among them.
fn spread(points: &[Point], most: usize) -> impl Iterator<Item = &Point> {
    let count = points.len().min(most);
    let last = count.saturating_sub(1).max(1);
    (0..count).map(move |i| &points[i * (points.len() - 1) / last])
}
