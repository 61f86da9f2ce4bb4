//! What the teachers said: a matrix of votes, samples by teachers, and the labels that come out.

mod cells;
mod class_names;
mod histograms;

use thiserror::Error;

pub use cells::{Cells, MISSING};
pub use class_names::ClassNames;
pub use histograms::Histograms;

use crate::histogram::Histogram;
use crate::parameters::{Class, Classes, ParameterError};

/// One teacher's vote on one sample; `None` is an abstention.
pub type Vote = Option<Class>;

/// What the operator says of one sample; `None` is "no label": every round failed.
pub type Label = Option<Class>;

/// What is wrong with votes or labels. Rows (samples) and columns (teachers) count from 1.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum VotesError {
    /// There are no samples or no teachers.
    #[error("there are no votes; at least one sample and one teacher are needed")]
    Empty,
    /// A row is longer or shorter than the first.
    #[error(
        "row {row} has {found} votes, row 1 has {expected}; every sample needs one vote per \
         teacher (leave the cell empty to abstain)"
    )]
    Ragged {
        /// The row that differs.
        row: usize,
        /// How many votes it has.
        found: usize,
        /// How many the first row has.
        expected: usize,
    },
    /// A vote that is not a class.
    #[error("row {row}, column {column}: {value} is not a class; classes are 0 to {}, and -1 \
        abstains", classes - 1)]
    NotAClass {
        /// The row.
        row: usize,
        /// The column.
        column: usize,
        /// What is there.
        value: i128,
        /// How many classes there are.
        classes: usize,
    },
    /// Labels for another number of samples.
    #[error(
        "there are {labels} labels for {samples} samples; give one label per sample, in the same \
         order"
    )]
    LabelCount {
        /// How many labels there are.
        labels: usize,
        /// How many samples the votes have.
        samples: usize,
    },
    /// There are classes in the votes that are not among those given.
    #[error("the votes are for {found} classes, not for {given}; give all classes")]
    FewerClasses {
        /// How many classes the votes are for.
        found: Classes,
        /// How many were given.
        given: Classes,
    },
    /// The number of classes found in the votes is not usable.
    #[error(transparent)]
    Classes(#[from] ParameterError),
}

/// All votes: one row per sample, one column per teacher, every vote one of the classes or an
/// abstention.
#[derive(Clone, PartialEq, Eq)]
pub struct Votes {
    classes: Classes,
    teachers: usize,
    cells: Cells,
    names: Option<ClassNames>,
}

impl std::fmt::Debug for Votes {
    /// Shows the shape only: votes are what the whole project keeps secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Votes")
            .field("samples", &self.samples())
            .field("teachers", &self.teachers)
            .field("classes", &self.classes.count())
            .finish_non_exhaustive()
    }
}

impl Votes {
    /// Votes from rows of votes.
    pub fn from_rows<Row: IntoIterator<Item = Vote>>(
        classes: Classes,
        rows: impl IntoIterator<Item = Row>,
    ) -> Result<Self, VotesError> {
        let number = |vote: Vote| vote.map_or(-1, |class| i128::from(class.0));
        Self::from_numbers(Some(classes), rows.into_iter().map(|row| row.into_iter().map(number)))
    }

    /// Votes from rows of numbers, -1 for an abstention. Without a number of classes there are as
    /// many as the largest vote says.
    pub fn from_numbers<Row: IntoIterator<Item = i128>>(
        classes: Option<Classes>,
        rows: impl IntoIterator<Item = Row>,
    ) -> Result<Self, VotesError> {
        let most = classes.map_or(Classes::MAX, Classes::count);
        let (mut cells, mut largest, mut teachers) = (Cells::default(), 1, None);
        for (row, numbers) in (1..).zip(rows) {
            let before = cells.len();
            for (column, value) in (1..).zip(numbers) {
                cells.push(match u16::try_from(value) {
                    Ok(class) if usize::from(class) < most => {
                        largest = class.max(largest);
                        u32::from(class)
                    }
                    _ if value == -1 => MISSING,
                    _ => return Err(VotesError::NotAClass { row, column, value, classes: most }),
                });
            }
            let found = cells.len() - before;
            let expected = *teachers.get_or_insert(found);
            if found != expected {
                return Err(VotesError::Ragged { row, found, expected });
            }
        }
        let classes = match classes {
            Some(classes) => classes,
            None => Classes::new(usize::from(largest) + 1)?,
        };
        Self::from_cells(classes, teachers.unwrap_or(0), cells, None)
    }

    /// Votes from cells that were checked: whole rows, and every number below that of the classes.
    pub fn from_cells(
        classes: Classes,
        teachers: usize,
        mut cells: Cells,
        names: Option<ClassNames>,
    ) -> Result<Self, VotesError> {
        if teachers == 0 || cells.is_empty() {
            return Err(VotesError::Empty);
        }
        cells.shrink();
        Ok(Self { classes, teachers, cells, names })
    }

    /// How many samples there are.
    pub fn samples(&self) -> usize {
        self.cells.len() / self.teachers
    }

    /// How many teachers there are, those who abstain everywhere included.
    pub fn teachers(&self) -> usize {
        self.teachers
    }

    /// How many classes there are.
    pub fn classes(&self) -> Classes {
        self.classes
    }

    /// The names of the classes, where names were given.
    pub fn class_names(&self) -> Option<&ClassNames> {
        self.names.as_ref()
    }

    /// The same votes among more classes, which nobody may have voted for.
    pub fn among(mut self, classes: Classes) -> Result<Self, VotesError> {
        if classes < self.classes {
            return Err(VotesError::FewerClasses { found: self.classes, given: classes });
        }
        if classes != self.classes {
            self.names = None;
        }
        self.classes = classes;
        Ok(self)
    }

    /// The same votes among named classes, each of ours being one of them. Votes whose classes have
    /// no names are taken to count them in that order.
    pub fn named(mut self, names: ClassNames) -> Result<Self, VotesError> {
        if let Some(ours) = &self.names {
            let numbers = names.numbers();
            let found: Option<Vec<u32>> =
                ours.as_slice().iter().map(|name| numbers.get(name).copied()).collect();
            let renamed = found
                .ok_or(VotesError::FewerClasses { found: self.classes, given: names.classes() })?;
            self.cells.rename(&renamed);
        }
        let named = self.among(names.classes())?;
        Ok(Self { names: Some(names), ..named })
    }

    /// The votes on the first samples; all of them where there are not so many. At least one is
    /// kept.
    #[must_use]
    pub fn first(mut self, samples: usize) -> Self {
        self.cells.truncate(samples.max(1) * self.teachers);
        self
    }

    /// The vote of one teacher on one sample.
    pub fn vote(&self, sample: usize, teacher: usize) -> Vote {
        decode(self.cells.get(sample * self.teachers + teacher))
    }

    /// Everybody's votes on one sample.
    pub fn sample(&self, sample: usize) -> impl ExactSizeIterator<Item = Vote> + '_ {
        let start = sample * self.teachers;
        (start..start + self.teachers).map(|place| decode(self.cells.get(place)))
    }

    /// One teacher's votes on some of the samples.
    pub fn teacher(&self, teacher: usize, samples: std::ops::Range<usize>) -> Vec<Vote> {
        samples.map(|sample| self.vote(sample, teacher)).collect()
    }

    /// The histogram of one sample.
    pub fn histogram(&self, sample: usize) -> Histogram {
        let mut counts = vec![0; self.classes.count()];
        let start = sample * self.teachers;
        self.cells.tally(start..start + self.teachers, &mut counts);
        Histogram::new(counts).expect("there are as many counts as classes")
    }

    /// The histogram of every sample.
    pub fn histograms(&self) -> impl ExactSizeIterator<Item = Histogram> + '_ {
        (0..self.samples()).map(|sample| self.histogram(sample))
    }
}

fn decode(cell: u32) -> Vote {
    u16::try_from(cell).ok().map(Class)
}

/// One label per sample; some may be absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels(Vec<Label>);

impl Labels {
    /// Some labels, at least one.
    pub fn new(labels: Vec<Label>) -> Result<Self, VotesError> {
        if labels.is_empty() { Err(VotesError::Empty) } else { Ok(Self(labels)) }
    }

    /// Labels for the samples of some votes: as many of them, and all of their classes.
    pub fn check(&self, samples: usize, classes: Classes) -> Result<(), VotesError> {
        if self.0.len() != samples {
            return Err(VotesError::LabelCount { labels: self.0.len(), samples });
        }
        let stray = |label: &Label| label.is_some_and(|class| !classes.contains(class));
        match self.0.iter().position(stray) {
            Some(sample) => Err(VotesError::NotAClass {
                row: sample + 1,
                column: 1,
                value: self.0[sample].map_or(-1, |class| i128::from(class.0)),
                classes: classes.count(),
            }),
            None => Ok(()),
        }
    }

    /// Labels whose classes have the first names, among classes that have the second.
    pub fn named(self, ours: &ClassNames, theirs: &ClassNames) -> Result<Self, VotesError> {
        let numbers = theirs.numbers();
        let renamed = |class: Class| {
            let name = ours.name(class).and_then(|name| numbers.get(name));
            name.and_then(|&number| u16::try_from(number).ok())
                .map(Class)
                .ok_or(VotesError::FewerClasses { found: ours.classes(), given: theirs.classes() })
        };
        let labels = self.0.into_iter().map(|label| label.map(renamed).transpose());
        Ok(Self(labels.collect::<Result<_, _>>()?))
    }

    /// The first labels; all of them where there are not so many. At least one is kept.
    #[must_use]
    pub fn first(mut self, samples: usize) -> Self {
        self.0.truncate(samples.max(1));
        self
    }

    /// All of them, in the order of the samples.
    pub fn as_slice(&self) -> &[Label] {
        &self.0
    }

    /// In how many samples both say the same class.
    pub fn agreement(&self, other: &Labels) -> usize {
        let pairs = self.0.iter().zip(&other.0);
        pairs.filter(|(ours, theirs)| ours.is_some() && ours == theirs).count()
    }
}

#[cfg(test)]
mod tests;
