//! The rows of the experiment: which mechanisms label, how accurate and how private each is.

use rand::Rng;
use rand_chacha::ChaCha20Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use shield_core::shared_noise::NoiseFamily;
use shield_core::{
    Accuracy, Epsilon, Histogram, Label, Labels, Offset, OutputDistribution, Polynomial, Votes,
    Watch,
};
use shield_privacy::Mechanism;
use shield_privacy::mechanism::best::{self, Composition};
use shield_privacy::mechanism::{Costs, Observed};
use shield_privacy::noisy_argmax::Noise;
use shield_privacy::{Usage, calibrate};

use super::study::{PAPER, SharedNoiseRows, Study};
use super::tuning::{Tuned, setting};
use crate::error::LearnError;

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
    pub(super) epsilon: Costs<Epsilon>,
}

/// One of PATE's mechanisms, but for its noise.
pub(super) type Kind = fn(Noise) -> Mechanism;

/// All rows: the exact argmax, the paper's polynomials, the tuned ones, and the other mechanisms at
/// the same costs.
pub(super) fn rows(
    study: &Study,
    teachers: usize,
    tuned: &[Tuned],
) -> Result<Vec<Row>, LearnError> {
    let mut rows = vec![Row {
        key: "exact".to_owned(),
        name: "exact argmax".to_owned(),
        mechanism: Mechanism::Exact,
    }];
    for (i, text) in PAPER.iter().enumerate().skip(PAPER.len().saturating_sub(study.paper_rows)) {
        let polynomial: Polynomial = text.parse().map_err(LearnError::failed)?;
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
    let noisy: [(&str, &str, Kind); 2] = [
        ("lnmax", "LNMax, scale", Mechanism::Lnmax),
        ("gnmax", "GNMax, deviation", Mechanism::Gnmax),
    ];
    for (key, what, kind) in noisy {
        for Tuned { target, .. } in tuned {
            let (tight, budget) = (Composition::Tight, Epsilon::new(*target)?);
            let (mechanism, _) = best::noise_within(kind, tight, budget, study.usage)
                .ok_or(LearnError::NothingAffordable { target: *target })?;
            let noise = mechanism.description().noise.unwrap_or_default();
            rows.push(Row {
                key: format!("{key}-{target}"),
                name: format!("{what} {noise:.1}"),
                mechanism,
            });
        }
    }
    if study.shared_noise == SharedNoiseRows::Shown {
        for Tuned { target, .. } in tuned {
            rows.push(noisy_argmax(study, teachers, *target)?);
        }
    }
    Ok(rows)
}

/// SPEED's argmax with Skellam noise in shares, at a cost.
fn noisy_argmax(study: &Study, teachers: usize, target: f64) -> Result<Row, LearnError> {
    let teachers = u32::try_from(teachers).unwrap_or(u32::MAX);
    let classes = study.classes.count();
    let budget = Epsilon::new(target)?;
    let skellam = NoiseFamily::Skellam;
    let (noise, _) =
        calibrate::shared_noise_within(budget, study.usage, skellam, teachers, 0, classes)
            .ok_or(LearnError::NothingAffordable { target })?;
    Ok(Row {
        key: format!("noisy-{target}"),
        name: format!("noisy argmax, deviation {:.1}", noise.scale().get()),
        mechanism: Mechanism::NoisyArgmax(noise.into()),
    })
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
        let epsilon = self.mechanism.costs(observed, usage, &Watch::default()).figures();
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
