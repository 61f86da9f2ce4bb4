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
mod error;
mod folder;
mod results;
mod rows;
mod students;
mod study;
mod tuning;

use std::path::{Path, PathBuf};

use shield::{Histogram, Label, Votes, files};

use crate::student::Variant;

pub use classroom::{Classroom, Split, SplitError};
pub use curves::{Curves, PaperFront, Place};
pub use error::ExperimentError;
pub use results::{EncryptedSummary, ResultRow, Results, Spread};
pub use study::{PAPER, Study};
pub use tuning::Tuned;

use folder::Folder;
use rows::{Analysis, Row};
use students::{Labelled, Mark};
use tuning::Tuning;

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

/// Hears how far an experiment has come.
pub trait Progress: Sync {
    /// A stage begins that has so many steps.
    fn stage(&self, name: &'static str, steps: u64);
    /// So many more steps of the stage are done.
    fn step(&self, steps: u64);
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
    progress: &dyn Progress,
) -> Result<Findings, ExperimentError> {
    let given = scope.votes.as_deref().map(|path| study.read_votes(path)).transpose()?;
    let folder = Folder::open(out, &study.settings(scope.seed, given.as_ref()))?;
    let stages = Stages { study, scope, folder: &folder, progress };
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
    progress: &'a dyn Progress,
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
    fn observe(&self, given: Option<Votes>) -> Result<Observations, ExperimentError> {
        let Self { study, scope, folder, progress } = *self;
        let votes = match given {
            Some(votes) => votes,
            None => self.trained()?,
        };
        let truth = study.truth()?;
        let histograms: Vec<Histogram> = votes.histograms().collect();

        let tuning = folder.unit_or("tuning", || {
            progress.stage("tuning", study.tuning.work(study.usage));
            let done = |steps| progress.step(steps);
            study.tuning.tune(&votes, study.queries, study.usage, &done)
        })?;
        let rows = wanted(rows::rows(study, votes.teachers(), &tuning.chosen)?, &scope.rows)?;
        progress.stage("accounting", rows.len() as u64);
        let mut analysed = Vec::new();
        for (_, row) in &rows {
            let analysis = folder.unit_or(&format!("{}.analysis", row.key), || {
                Ok(row.analyse(&votes, &histograms, &truth, study.usage))
            })?;
            analysed.push((row.clone(), analysis));
            progress.step(1);
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
    fn trained(&self) -> Result<Votes, ExperimentError> {
        let Self { study, scope, folder, progress } = *self;
        let path = folder.path("votes.npy.gz");
        if path.exists() {
            return study.read_votes(&path);
        }
        progress.stage("teaching", study.teachers as u64);
        let votes = study.teach(scope.seed, || progress.step(1))?;
        files::write_votes(&path, &votes).map_err(ExperimentError::writing)?;
        Ok(votes)
    }
}

/// The rows that were asked for, each with its place among all rows: the place decides its draws,
/// so the choice of rows changes no label.
fn wanted(all: Vec<Row>, names: &[String]) -> Result<Vec<(usize, Row)>, ExperimentError> {
    let known = |name: &&String| all.iter().any(|row| row.key.starts_with(name.as_str()));
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let rows: Vec<&str> = all.iter().map(|row| row.key.as_str()).collect();
        return Err(ExperimentError::NoSuchRow { name: unknown.clone(), rows: rows.join(", ") });
    }
    let wanted =
        |row: &Row| names.is_empty() || names.iter().any(|name| row.key.starts_with(name.as_str()));
    Ok(all.into_iter().enumerate().filter(|(_, row)| wanted(row)).collect())
}

/// How many labels are right.
fn right(labels: &[Label], truth: &[Label]) -> usize {
    labels.iter().zip(truth).filter(|(label, truth)| label.is_some() && label == truth).count()
}
