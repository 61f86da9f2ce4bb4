//! The paper's experiment, on several subjects: teachers, private labels by every mechanism on the
//! same votes, students.
//!
//! [`run`] goes through every stage and keeps what is finished in a folder, so that a second run
//! goes on where the first one ended. What a person sees of it (tables, figures, progress) is made
//! by the caller from the [`Findings`].
//!
//! | file | holds |
//! |---|---|
//! | `study` | what is studied: images, teachers, sizes, the choice of polynomials |
//! | `tuning` | how settings are chosen |
//! | `rows` | the mechanisms, their accuracy and their cost |
//! | `classroom`, `students` | how images are divided, the labels of each student, what it learns |
//! | `folder` | what is finished |
//! | `results`, `curves` | what was found out |

mod classroom;
mod curves;
mod folder;
mod results;
mod rows;
mod students;
mod study;
mod tuning;

use std::path::{Path, PathBuf};

use shield_core::Watch;
use shield_core::{Histogram, Label, Votes};
use shield_data as files;

use crate::error::LearnError;
use crate::student::Variant;

pub use curves::{Curves, PaperFront, Place};
pub use results::{EncryptedSummary, ResultRow, Results, Spread};
pub use study::{PAPER, Study};
pub use tuning::Tuned;

use folder::Folder;
use rows::{Analysis, Row};
use students::{Labelled, Mark};
use tuning::{Asked, Tuning};

/// How much of a study is run.
#[derive(Clone, Debug)]
pub struct Scope {
    /// How many students each row has.
    pub students: usize,
    /// How the students learn.
    pub variants: Vec<Variant>,
    /// Only the rows whose names begin so; all of them if there are none.
    pub rows: Vec<String>,
    /// Votes on the public images, to be taken instead of training teachers.
    pub votes: Option<PathBuf>,
    /// Decides teachers, splits, draws and first weights.
    pub seed: u64,
}

/// All that an experiment found out.
#[derive(Debug)]
pub struct Findings {
    /// The table's rows.
    pub results: Results,
    /// The fronts of the paper's figure.
    pub fronts: Vec<PaperFront>,
    /// Right labels against cost for every mechanism.
    pub curves: Curves,
}

/// Runs every stage of `study`, each taken up where an earlier run in the folder `out` left it, on
/// the threads of the current rayon pool.
pub fn run(
    study: &Study,
    scope: &Scope,
    out: &Path,
    watch: &Watch,
) -> Result<Findings, LearnError> {
    let given = scope.votes.as_deref().map(|path| study.read_votes(path)).transpose()?;
    let folder = Folder::open(out, &study.settings(scope.seed, given.as_ref()))?;
    let stages = Stages { study, scope, folder: &folder, watch };
    let observations = stages.observe(given)?;
    let results = Results::new(study, scope.seed, &observations);
    folder.write("results.json", &results)?;
    let histograms: Vec<Histogram> = observations.votes.histograms().collect();
    let fronts = curves::paper_fronts(&stages, &histograms)?;
    let curves = curves::curves(&stages, &observations.tuning, &histograms, &study.truth()?)?;
    Ok(Findings { results, fronts, curves })
}

/// What every stage needs.
#[derive(Clone, Copy)]
struct Stages<'a> {
    study: &'a Study,
    scope: &'a Scope,
    folder: &'a Folder,
    watch: &'a Watch,
}

/// What the rows of the table are made of.
struct Observations {
    votes: Votes,
    tuning: Tuning,
    rows: Vec<(Row, Analysis)>,
    /// For each row, the labels of each student.
    labels: Vec<Vec<Labelled>>,
    /// For each row, the accuracies of each student, by variant.
    marks: Vec<Vec<Mark>>,
}

impl Stages<'_> {
    fn observe(&self, given: Option<Votes>) -> Result<Observations, LearnError> {
        let Self { study, scope, folder, watch } = *self;
        let votes = match given {
            Some(votes) => votes,
            None => self.trained()?,
        };
        let truth = study.truth()?;
        let histograms: Vec<Histogram> = votes.histograms().collect();

        let tuning = folder.unit_or("tuning", || {
            watch.begin("tuning", study.tuning.work(study.usage));
            let (queries, usage) = (study.queries, study.usage);
            study.tuning.tune(Asked { votes: &votes, queries, usage, watch })
        })?;
        let rows = wanted(rows::rows(study, votes.teachers(), &tuning.chosen)?, &scope.rows)?;
        watch.begin("accounting", rows.len() as u64);
        let mut analysed = Vec::new();
        for (_, row) in &rows {
            let analysis = folder.unit_or(&format!("{}.analysis", row.key), || {
                Ok(row.analyse(&votes, &histograms, &truth, study.usage))
            })?;
            analysed.push((row.clone(), analysis));
            watch.add(1);
        }

        let splits = (0..scope.students)
            .map(|student| study.split(scope.seed, student))
            .collect::<Result<Vec<_>, _>>()?;
        let class = students::Class { stages: *self, votes: &votes, truth: &truth, splits };
        let labels = class.label(&rows)?;
        let marks = class.learn(&rows, &labels, &scope.variants)?;
        Ok(Observations { votes, tuning, rows: analysed, labels, marks })
    }

    /// The votes of teachers trained here, now or by an earlier run.
    fn trained(&self) -> Result<Votes, LearnError> {
        let Self { study, scope, folder, watch } = *self;
        let path = folder.path("votes.npy.gz");
        if path.exists() {
            return study.read_votes(&path);
        }
        let votes = study.teach(scope.seed, watch)?;
        files::write_votes(&path, &votes).map_err(LearnError::failed)?;
        Ok(votes)
    }
}

/// The rows that were asked for, each with its place among all rows: the place decides its draws,
/// so the choice of rows changes no label.
fn wanted(all: Vec<Row>, names: &[String]) -> Result<Vec<(usize, Row)>, LearnError> {
    let known = |name: &&String| all.iter().any(|row| row.key.starts_with(name.as_str()));
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let rows: Vec<&str> = all.iter().map(|row| row.key.as_str()).collect();
        return Err(LearnError::NoSuchRow { name: unknown.clone(), rows: rows.join(", ") });
    }
    let wanted =
        |row: &Row| names.is_empty() || names.iter().any(|name| row.key.starts_with(name.as_str()));
    Ok(all.into_iter().enumerate().filter(|(_, row)| wanted(row)).collect())
}

/// How many labels are right.
fn right(labels: &[Label], truth: &[Label]) -> usize {
    labels.iter().zip(truth).filter(|(label, truth)| label.is_some() && label == truth).count()
}
