//! What the figures show besides the rows: the paper's fronts, and accuracy against cost for every
//! mechanism.

use serde::{Deserialize, Serialize};
use shield::privacy::noisy_argmax::NoisyArgmax;
use shield::privacy::{Usage, calibrate};
use shield::tune::front::Point;
use shield::tune::{Objective, Search, Space};
use shield::{Accuracy, Epsilon, Histogram, Labels, Offset, Sampling, Setting};

use super::folder::Folder;
use super::rows::Tuning;
use super::study::Study;
use crate::console;
use crate::failure::Failure;

/// Epsilon and a share.
pub(super) type Place = (f64, f64);

/// The front of all polynomials up to some number of rounds, by the paper's own figure, at offset
/// 1.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PaperFront {
    pub(super) max_terms: u32,
    /// Every setting that was finished: epsilon and ground-truth accuracy.
    pub(super) cloud: Vec<Place>,
    pub(super) front: Vec<Point>,
}

/// Expected right labels against the data-independent cost.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Curves {
    pub(super) shield: Vec<Place>,
    pub(super) lnmax: Vec<Place>,
    pub(super) gnmax: Vec<Place>,
}

/// The costs that PATE's mechanisms are shown at.
const COSTS: [f64; 12] = [0.5, 0.7, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0];

/// The paper's three panels, as far as the study's polynomials go.
pub(super) fn paper_fronts(
    study: &Study,
    histograms: &[Histogram],
    folder: &Folder,
) -> Result<Vec<PaperFront>, Failure> {
    let panels: Vec<Search> = [12, 17, 32]
        .into_iter()
        .filter(|&max_terms| max_terms <= study.tuning.space.max_terms)
        .map(|max_terms| Search {
            space: Space { max_degree: 4, max_terms },
            offsets: vec![Offset::PAPER],
            sampling: Sampling::default(),
            objective: Objective::Published,
            usage: study.usage,
        })
        .collect();
    let bar = console::progress(panels.iter().map(Search::work).sum(), "fronts");
    let mut fronts = Vec::new();
    for search in &panels {
        let max_terms = search.space.max_terms;
        fronts.push(folder.unit_or(&format!("front-{max_terms}"), || {
            let outcome = search.run(histograms, &|done| bar.inc(done))?;
            Ok(PaperFront { max_terms, cloud: outcome.cloud, front: outcome.front.into_points() })
        })?);
    }
    bar.finish_and_clear();
    Ok(fronts)
}

/// The curves of all mechanisms.
pub(super) fn curves(
    study: &Study,
    tuning: &Tuning,
    histograms: &[Histogram],
    truth: &Labels,
    folder: &Folder,
) -> Result<Curves, Failure> {
    folder.unit_or("curves", || {
        let bar = console::progress((tuning.front.len() + 2 * COSTS.len()) as u64, "curves");
        let samples = histograms.len() as f64;
        let share = |accuracy: Accuracy| {
            bar.inc(1);
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
        let noisy = |kind: fn(_) -> NoisyArgmax| -> Result<Vec<Place>, Failure> {
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
        bar.finish_and_clear();
        Ok(curves)
    })
}

fn noise(
    cost: f64,
    usage: Usage,
    kind: fn(shield::privacy::noisy_argmax::Noise) -> NoisyArgmax,
) -> Result<Option<shield::privacy::noisy_argmax::Noise>, Failure> {
    Ok(calibrate::noise_within(Epsilon::new(cost)?, usage, kind))
}
