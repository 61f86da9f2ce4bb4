//! The results: one document for machines, one table for people.

use std::collections::BTreeMap;

use serde::Serialize;
use shield::mechanism::Costs;
use shield::{Epsilon, Offset, Polynomial};

use super::rows::Tuned;
use super::students::{Encrypted, Labelled, Mark};
use super::study::Study;
use super::{Findings, variant_name};
use crate::console::{self, duration, percent};

/// All results.
#[derive(Debug, Serialize)]
pub(super) struct Results {
    subject: &'static str,
    teachers: usize,
    public_images: usize,
    seen: usize,
    queries: usize,
    delta: f64,
    seed: u64,
    tuned: Vec<Tuned>,
    pub(super) rows: Vec<ResultRow>,
    /// What may be said in public: the figures that do not depend on the votes.
    may_be_published: &'static [&'static str],
}

/// One row of results.
#[derive(Debug, Serialize)]
pub(super) struct ResultRow {
    pub(super) key: String,
    pub(super) name: String,
    pub(super) mechanism: &'static str,
    polynomial: Option<Polynomial>,
    offset: Option<Offset>,
    noise: Option<f64>,
    ground_truth: f64,
    /// The expected share of right labels over all public images, and their number among those a
    /// student sees.
    pub(super) right_labels: f64,
    right_of_seen: f64,
    pub(super) epsilon: Costs,
    /// The share of right labels among those that the students really got.
    right_of_asked: f64,
    encrypted: Option<EncryptedSummary>,
    pub(super) students: BTreeMap<&'static str, Spread>,
}

/// The labellings of one row by the encrypted engine.
#[derive(Debug, Serialize)]
struct EncryptedSummary {
    labels: usize,
    /// How many of them are those of the operator in the clear with the same draws.
    as_in_the_clear: usize,
    /// Seconds of one labelling: the middle one.
    aggregate_seconds: f64,
    encrypt_seconds: f64,
    threads: usize,
}

/// Several accuracies.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Spread {
    pub(super) mean: f64,
    /// Of a single student around the mean.
    pub(super) deviation: f64,
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

    fn text(&self) -> String {
        format!("{:.2} ± {:.2}%", 100.0 * self.mean, 100.0 * self.deviation)
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
    pub(super) fn new(study: &Study, seed: u64, findings: &Findings) -> Self {
        let rows = findings.rows.iter().zip(&findings.labels).zip(&findings.marks);
        let rows = rows.map(|(((row, analysis), labelled), marks)| {
            let description = row.mechanism.description();
            let mut by_variant: BTreeMap<&'static str, Vec<&Mark>> = BTreeMap::new();
            for mark in marks {
                by_variant.entry(variant_name(mark.variant)).or_default().push(mark);
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
            subject: study.name,
            teachers: findings.votes.teachers(),
            public_images: findings.votes.samples(),
            seen: study.seen,
            queries: study.queries,
            delta: study.usage.delta.get(),
            seed,
            tuned: findings.tuning.chosen.clone(),
            rows: rows.collect(),
            may_be_published: &["epsilon.data_independent", "epsilon.exact.data_independent"],
        }
    }

    /// What stands at the axis of the proven cost.
    pub(super) fn cost_axis(&self) -> String {
        format!("epsilon (data-independent, {} queries, delta {:e})", self.queries, self.delta)
    }

    /// The paper's polynomials, with the published cost and the ground-truth accuracy of each.
    pub(super) fn paper_rows(&self) -> Vec<(String, (f64, f64))> {
        let paper = self.rows.iter().filter(|row| row.key.starts_with("paper-"));
        let place = |row: &ResultRow| {
            let name = row.polynomial.as_ref().map(ToString::to_string).unwrap_or_default();
            (name, (row.epsilon.published.get(), row.ground_truth))
        };
        paper.map(place).collect()
    }

    /// The table, and what has to be said about it.
    pub(super) fn table(&self) -> String {
        let variants: Vec<&'static str> = ["strong", "plain", "supervised"]
            .into_iter()
            .filter(|variant| self.rows.iter().any(|row| row.students.contains_key(variant)))
            .collect();
        let right = format!("right of {}", self.seen);
        let mut header =
            vec!["mechanism", "GTA", &right, "published", "teacher-wise", "data-independent"];
        header.extend(&variants);
        header.push("aggregation");
        let cells = self.rows.iter().map(|row| {
            let cost = |cost: Epsilon| format!("{cost:.3}");
            let mut cells = vec![
                row.name.clone(),
                percent(row.ground_truth),
                format!("{:.0} ({})", row.right_of_seen, percent(row.right_labels)),
                cost(row.epsilon.published),
                cost(row.epsilon.teacher_wise),
                cost(row.proven()),
            ];
            let students = variants.iter().map(|variant| row.students.get(variant));
            cells.extend(students.map(|spread| spread.map_or(String::new(), Spread::text)));
            let seconds = row.encrypted.as_ref().map(|run| duration(run.aggregate_seconds));
            cells.push(seconds.unwrap_or_else(|| "in the clear".to_owned()));
            cells
        });
        let encrypted: Vec<&EncryptedSummary> =
            self.rows.iter().filter_map(|row| row.encrypted.as_ref()).collect();
        let labels: usize = encrypted.iter().map(|run| run.labels).sum();
        let same: usize = encrypted.iter().map(|run| run.as_in_the_clear).sum();
        format!(
            "{}{} teachers, {} public images; epsilon of {} queries at delta {:e}. The published \
             and the teacher-wise figure depend\non the votes and must not be published; the \
             data-independent one (the smaller of moments and exact composition)\nmay be. \
             Students: mean and deviation over splits and draws. {same} of {labels} labels of the \
             encrypted engine\nare those of the operator in the clear with the same draws; the \
             exact argmax and PATE's mechanisms label in the clear.\nTuned polynomials were \
             chosen by their accuracy on these votes, as the paper's were on its own.\n",
            console::table(&header, cells),
            self.teachers,
            self.public_images,
            self.queries,
            self.delta,
        )
    }
}

impl ResultRow {
    /// The data-independent cost: the smaller of what moments and exact composition prove.
    pub(super) fn proven(&self) -> Epsilon {
        let moments = self.epsilon.data_independent;
        match &self.epsilon.exact {
            Some(exact) if exact.data_independent < moments => exact.data_independent,
            _ => moments,
        }
    }
}
