//! The rows of the experiment: which mechanisms label, how accurate and how private each is.

use rand::Rng;
use rand_chacha::ChaCha20Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use shield::mechanism::{Costs, Observed};
use shield::privacy::noisy_argmax::{Noise, NoisyArgmax};
use shield::privacy::{Usage, calibrate};
use shield::tune::front::Point;
use shield::tune::{Objective, Search, Space};
use shield::{
    Accuracy, Election, Epsilon, Histogram, Label, Labels, Mechanism, Offset, OutputDistribution,
    Polynomial, Sampling, Setting, Votes,
};
use shield_bfv::{BfvBackend, ReleaseMode};

use super::error::ExperimentError;

/// The polynomials of the paper's Table 1, at offset 1.
pub const PAPER: [&str; 4] =
    ["2X^3+3X^2+X", "2X^4+6X^3+3X^2+X", "6X^4+6X^3+4X^2+X", "8X^4+6X^3+4X^2+X"];

/// One row.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// Its name in files and on the command line.
    pub(super) key: String,
    /// What the table calls it.
    pub(super) name: String,
    /// What labels: SHIELD through the encrypted engine, everything else in the clear.
    pub(super) mechanism: Mechanism,
}

/// Accuracy and cost of one row, over all public images.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Analysis {
    pub(super) accuracy: Accuracy,
    /// The expected share of right labels.
    pub(super) right: f64,
    pub(super) epsilon: Costs,
}

/// A setting that tuning chose.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tuned {
    /// The epsilon that it may cost at most.
    pub target: f64,
    /// Its polynomial.
    pub polynomial: Polynomial,
    /// Its offset.
    pub offset: Offset,
}

/// Where the tuned rows come from.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Tuning {
    pub(super) chosen: Vec<Tuned>,
    pub(super) front: Vec<Point>,
}

/// What the tuned rows are chosen from.
#[derive(Clone, Debug)]
pub(super) struct TuningSpace {
    pub(super) space: Space,
    pub(super) offsets: Vec<Offset>,
    pub(super) targets: Vec<f64>,
    /// How many samples the ground-truth accuracy of a candidate is measured on.
    pub(super) samples: usize,
}

impl TuningSpace {
    /// For each target, the most accurate setting that costs no more and that the engine can run.
    pub(super) fn tune(
        &self,
        votes: &Votes,
        queries: usize,
        usage: Usage,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Tuning, ExperimentError> {
        let search = self.search(usage);
        let histograms: Vec<Histogram> = votes.histograms().take(self.samples).collect();
        let front = search.run(&histograms, progress)?.front.into_points();
        let runs = |point: &Point| {
            let setting = setting(point.polynomial.clone(), point.offset);
            Election::new(votes.teachers(), votes.classes(), queries, setting)
                .is_ok_and(|election| BfvBackend::new(election, ReleaseMode::Reveal).is_ok())
        };
        let mut chosen = Vec::new();
        for &target in &self.targets {
            let affordable =
                |point: &&Point| point.epsilon.is_finite() && point.epsilon.get() <= target;
            let best = front.iter().rev().filter(affordable).find(|point| runs(point));
            let best = best.ok_or(ExperimentError::NothingAffordable { target })?;
            chosen.push(Tuned { target, polynomial: best.polynomial.clone(), offset: best.offset });
        }
        Ok(Tuning { chosen, front })
    }

    /// The search, and how much work it is.
    pub(super) fn search(&self, usage: Usage) -> Search {
        Search {
            space: self.space,
            offsets: self.offsets.clone(),
            sampling: Sampling::default(),
            objective: Objective::DataIndependent,
            usage,
        }
    }
}

fn setting(polynomial: Polynomial, offset: Offset) -> Setting {
    Setting { polynomial, offset, sampling: Sampling::default() }
}

/// A noisy argmax as calibration knows it, and as a mechanism.
type Noisy = fn(Noise) -> NoisyArgmax;
type Kind = fn(Noise) -> Mechanism;

/// All rows: the exact argmax, the paper's polynomials, the tuned ones, and PATE's mechanisms at
/// the same costs.
pub(super) fn rows(tuned: &[Tuned], usage: Usage) -> Result<Vec<Row>, ExperimentError> {
    let mut rows = vec![Row {
        key: "exact".to_owned(),
        name: "exact argmax".to_owned(),
        mechanism: Mechanism::Exact,
    }];
    for (i, text) in PAPER.iter().enumerate() {
        let polynomial: Polynomial = text.parse().map_err(ExperimentError::failed)?;
        rows.push(Row {
            key: format!("paper-{}", i + 1),
            name: format!("{text}, w = 1"),
            mechanism: Mechanism::Shield(setting(polynomial, Offset::PAPER)),
        });
    }
    for Tuned { target, polynomial, offset } in tuned {
        rows.push(Row {
            key: format!("tuned-{target}"),
            name: format!("{polynomial}, w = {offset}"),
            mechanism: Mechanism::Shield(setting(polynomial.clone(), *offset)),
        });
    }
    let noisy: [(&str, &str, Noisy, Kind); 2] = [
        ("lnmax", "LNMax, scale", NoisyArgmax::Laplace, Mechanism::Lnmax),
        ("gnmax", "GNMax, deviation", NoisyArgmax::Gaussian, Mechanism::Gnmax),
    ];
    for (key, what, noisy, kind) in noisy {
        for Tuned { target, .. } in tuned {
            let noise = calibrate::noise_within(Epsilon::new(*target)?, usage, noisy)
                .ok_or(ExperimentError::NothingAffordable { target: *target })?;
            rows.push(Row {
                key: format!("{key}-{target}"),
                name: format!("{what} {:.1}", noise.get()),
                mechanism: kind(noise),
            });
        }
    }
    Ok(rows)
}

impl Row {
    /// How accurate the row is and what it costs.
    pub(super) fn analyse(
        &self,
        votes: &Votes,
        histograms: &[Histogram],
        truth: &Labels,
        usage: Usage,
    ) -> Analysis {
        let observed = Observed { histograms, votes: Some(votes) };
        let accuracy = self.mechanism.accuracy(histograms, Some(truth));
        let epsilon = self.mechanism.costs(observed, usage);
        let right = accuracy.correct_labels.unwrap_or(0.0) / histograms.len().max(1) as f64;
        Analysis { accuracy, right, epsilon }
    }
}

/// Labels drawn in the clear from a mechanism's output law.
pub(super) fn draw(votes: &Votes, rng: &mut ChaCha20Rng, mechanism: &Mechanism) -> Vec<Label> {
    let mechanism = mechanism.laws(votes.classes().count());
    let histograms: Vec<Histogram> = votes.histograms().collect();
    let laws: Vec<OutputDistribution> =
        histograms.par_iter().map(|histogram| mechanism.of(histogram)).collect();
    laws.iter()
        .zip(&histograms)
        .map(|(law, histogram)| {
            let mut left: f64 = rng.random();
            let drawn = votes.classes().all().zip(law.probabilities()).find(|(_, probability)| {
                left -= probability;
                left < 0.0
            });
            // Where rounding leaves a last bit of probability to nobody, the leader has it.
            drawn.map(|(class, _)| class).or_else(|| histogram.leaders().next())
        })
        .collect()
}
