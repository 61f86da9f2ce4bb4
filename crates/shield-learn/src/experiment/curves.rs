//! What the figures show besides the rows: the paper's fronts, and accuracy against cost for every
//! mechanism.

use serde::{Deserialize, Serialize};
use shield::privacy::noisy_argmax::NoisyArgmax;
use shield::privacy::{Usage, calibrate};
use shield::tune::front::Point;
use shield::tune::{Objective, Search, Space};
use shield::{Accuracy, Epsilon, Histogram, Labels, Offset, Sampling, Setting};

use super::Stages;
use super::error::ExperimentError;
use super::tuning::Tuning;

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

/// The curves of all mechanisms.
pub(super) fn curves(
    stages: &Stages<'_>,
    tuning: &Tuning,
    histograms: &[Histogram],
    truth: &Labels,
) -> Result<Curves, ExperimentError> {
    let Stages { study, folder, progress, .. } = *stages;
    folder.unit_or("curves", || {
        progress.stage("curves", (tuning.front.len() + 2 * COSTS.len()) as u64);
        let samples = histograms.len() as f64;
        let share = |accuracy: Accuracy| {
            progress.step(1);
            accuracy.correct_labels.unwrap_or(0.0) / samples
        };
        let shield = tuning.front.iter().map(|point| {
            let mechanism = Setting {
                polynomial: point.polynomial.clone(),
                offset: point.offset,
                sampling: Sampling::default(),
            };
            let accuracy = Accuracy::of(&mechanism, histograms, Some(truth));
            (point.epsilon.get(), share(accuracy))
        });
        let shield = shield.collect();
        let noisy = |kind: fn(_) -> NoisyArgmax| -> Result<Vec<Place>, ExperimentError> {
            let mut places = Vec::new();
            for cost in COSTS {
                if let Some(noise) = noise(cost, study.usage, kind)? {
                    let law = |histogram: &Histogram| kind(noise).law(histogram);
                    places.push((cost, share(Accuracy::over(histograms, Some(truth), law))));
                }
            }
            Ok(places)
        };
        let curves = Curves {
            shield,
            lnmax: noisy(NoisyArgmax::Laplace)?,
            gnmax: noisy(NoisyArgmax::Gaussian)?,
        };
        Ok(curves)
    })
}

fn noise(
    cost: f64,
    usage: Usage,
    kind: fn(shield::privacy::noisy_argmax::Noise) -> NoisyArgmax,
) -> Result<Option<shield::privacy::noisy_argmax::Noise>, ExperimentError> {
    Ok(calibrate::noise_within(Epsilon::new(cost)?, usage, kind))
}
