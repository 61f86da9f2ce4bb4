//! The results, as a document for machines; people read them in the tables that are made of it.

use std::collections::BTreeMap;

use serde::Serialize;
use shield_core::{Epsilon, Offset, Polynomial};
use shield_privacy::mechanism::Costs;

use super::Observations;
use super::students::{Encrypted, Labelled, Mark};
use super::study::Study;
use super::tuning::Tuned;

/// All results.
#[derive(Debug, Serialize)]
pub struct Results {
    /// What was studied.
    pub subject: String,
    /// How many teachers voted.
    pub teachers: usize,
    /// How many classes there are.
    pub classes: usize,
    /// How many images they voted on.
    pub public_images: usize,
    /// How many of those a student sees; it is tested on the others.
    pub seen: usize,
    /// How many labels a student asks for.
    pub queries: usize,
    /// The delta of every epsilon.
    pub delta: f64,
    seed: u64,
    tuned: Vec<Tuned>,
    /// One row per mechanism and setting.
    pub rows: Vec<ResultRow>,
    /// What may be said in public: the figures that do not depend on the votes.
    may_be_published: &'static [&'static str],
}

/// One row of results.
#[derive(Debug, Serialize)]
pub struct ResultRow {
    /// Its name in files and on the command line.
    pub key: String,
    /// What a table calls it.
    pub name: String,
    /// The mechanism's name.
    pub mechanism: &'static str,
    polynomial: Option<Polynomial>,
    offset: Option<Offset>,
    noise: Option<f64>,
    /// The paper's accuracy: how probable the right label is, summed over the images.
    pub ground_truth: f64,
    /// The expected share of right labels over all public images.
    pub right_labels: f64,
    /// Their number among the images that a student sees.
    pub right_of_seen: f64,
    /// What the labels cost.
    pub epsilon: Costs<Epsilon>,
    /// The share of right labels among those that the students really got.
    right_of_asked: f64,
    /// How the encrypted engine did, where it labelled.
    pub encrypted: Option<EncryptedSummary>,
    /// What the students are worth, by the name of their variant.
    pub students: BTreeMap<String, Spread>,
}

/// The labellings of one row by the encrypted engine.
#[derive(Debug, Serialize)]
pub struct EncryptedSummary {
    /// How many labels it gave.
    pub labels: usize,
    /// How many of them are those of the operator in the clear with the same draws.
    pub as_in_the_clear: usize,
    /// Seconds of one labelling: the middle one.
    pub aggregate_seconds: f64,
    encrypt_seconds: f64,
    threads: usize,
}

/// Several accuracies.
#[derive(Clone, Debug, Serialize)]
pub struct Spread {
    /// Their mean.
    pub mean: f64,
    /// Of a single student around the mean.
    pub deviation: f64,
    accuracies: Vec<f64>,
    mean_seconds: f64,
}

impl Spread {
    fn of(marks: &[&Mark]) -> Self {
        let accuracies: Vec<f64> = marks.iter().map(|mark| mark.accuracy).collect();
        let count = accuracies.len() as f64;
        let mean = accuracies.iter().sum::<f64>() / count;
        let squares = accuracies.iter().map(|accuracy| (accuracy - mean).powi(2)).sum::<f64>();
        let deviation = if count > 1.0 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
        let mean_seconds = marks.iter().map(|mark| mark.seconds).sum::<f64>() / count;
        Self { mean, deviation, accuracies, mean_seconds }
    }
}

impl EncryptedSummary {
    fn of(labelled: &[Labelled], queries: usize) -> Option<Self> {
        let runs: Vec<Encrypted> = labelled.iter().filter_map(|labels| labels.encrypted).collect();
        let middle = |seconds: fn(&Encrypted) -> f64| {
            let mut all: Vec<f64> = runs.iter().map(seconds).collect();
            all.sort_by(f64::total_cmp);
            all.get(all.len() / 2).copied()
        };
        Some(Self {
            labels: runs.len() * queries,
            as_in_the_clear: runs.iter().map(|run| run.as_in_the_clear).sum(),
            aggregate_seconds: middle(|run| run.aggregate_seconds)?,
            encrypt_seconds: middle(|run| run.encrypt_seconds)?,
            threads: runs.first()?.threads,
        })
    }
}

impl Results {
    pub(super) fn new(study: &Study, seed: u64, observations: &Observations) -> Self {
        let rows = observations.rows.iter().zip(&observations.labels).zip(&observations.marks);
        let rows = rows.map(|(((row, analysis), labelled), marks)| {
            let description = row.mechanism.description();
            let mut by_variant: BTreeMap<String, Vec<&Mark>> = BTreeMap::new();
            for mark in marks {
                by_variant.entry(mark.variant.name()).or_default().push(mark);
            }
            let right: usize = labelled.iter().map(|labels| labels.right).sum();
            ResultRow {
                key: row.key.clone(),
                name: row.name.clone(),
                mechanism: description.name,
                polynomial: description.polynomial,
                offset: description.offset,
                noise: description.noise,
                ground_truth: analysis.accuracy.ground_truth,
                right_labels: analysis.right,
                right_of_seen: analysis.right * study.seen as f64,
                epsilon: analysis.epsilon.clone(),
                right_of_asked: right as f64 / (labelled.len() * study.queries) as f64,
                encrypted: EncryptedSummary::of(labelled, study.queries),
                students: by_variant
                    .into_iter()
                    .map(|(variant, marks)| (variant, Spread::of(&marks)))
                    .collect(),
            }
        });
        Self {
            subject: study.name.clone(),
            teachers: observations.votes.teachers(),
            classes: observations.votes.classes().count(),
            public_images: observations.votes.samples(),
            seen: study.seen,
            queries: study.queries,
            delta: study.usage.delta.get(),
            seed,
            tuned: observations.tuning.chosen.clone(),
            rows: rows.collect(),
            may_be_published: &["epsilon.data_independent", "epsilon.exact.data_independent"],
        }
    }

    /// The paper's polynomials, with the published cost and the ground-truth accuracy of each.
    pub fn paper_rows(&self) -> Vec<(String, (f64, f64))> {
        let paper = self.rows.iter().filter(|row| row.key.starts_with("paper-"));
        let place = |row: &ResultRow| {
            let name = row.polynomial.as_ref().map(ToString::to_string).unwrap_or_default();
            (name, (row.epsilon.published.get(), row.ground_truth))
        };
        paper.map(place).collect()
    }
}

impl ResultRow {
    /// The data-independent cost: the smaller of what moments and tight composition prove.
    pub fn proven(&self) -> Epsilon {
        let moments = self.epsilon.moments.data_independent;
        let exact = self.epsilon.exact.as_ref().map(|exact| exact.data_independent);
        exact.filter(|exact| *exact < moments).unwrap_or(moments)
    }
}
