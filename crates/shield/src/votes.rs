//! What the teachers said: a matrix of votes, samples by teachers, and the labels that come out.

use thiserror::Error;

use crate::histogram::Histogram;
use crate::parameters::{Class, Classes, ParameterError};

/// One teacher's vote on one sample; `None` is an abstention.
pub type Vote = Option<Class>;

/// What the operator says of one sample; `None` is "no label": every round failed.
pub type Label = Option<Class>;

/// The cell value of an abstention. No class has this number: see [`Classes::MAX`].
const ABSTENTION: u32 = u32::MAX;

/// What is wrong with votes or labels. Rows (samples) and columns (teachers) count from 1.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum VotesError {
    /// There are no samples or no teachers.
    #[error("there are no votes; at least one sample and one teacher are needed")]
    Empty,
    /// A row is longer or shorter than the first.
    #[error(
        "row {row} has {found} votes, row 1 has {expected}; every sample needs one vote a teacher (leave the cell empty to abstain)"
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
    #[error("row {row}, column {column}: {value} is not a class; classes are 0 to {}, and -1 abstains", classes - 1)]
    NotAClass {
        /// The row.
        row: usize,
        /// The column.
        column: usize,
        /// What stands there.
        value: i128,
        /// How many classes there are.
        classes: usize,
    },
    /// Labels for another number of samples.
    #[error(
        "there are {labels} labels for {samples} samples; give one label a sample, in the same order"
    )]
    LabelCount {
        /// How many labels there are.
        labels: usize,
        /// How many samples the votes have.
        samples: usize,
    },
    /// The number of classes found in the votes is not usable.
    #[error(transparent)]
    Classes(#[from] ParameterError),
}

/// Collects votes row by row, and checks them as they come.
#[derive(Debug)]
pub struct VotesBuilder {
    classes: Option<Classes>,
    teachers: Option<usize>,
    cells: Vec<u32>,
    largest: u16,
    rows: usize,
    column: usize,
}

impl VotesBuilder {
    /// Votes for that many classes; without a number, for as many as the largest vote says.
    pub fn new(classes: Option<Classes>) -> Self {
        Self { classes, teachers: None, cells: Vec::new(), largest: 1, rows: 0, column: 0 }
    }

    /// Adds the next vote of the row; -1 abstains.
    pub fn push(&mut self, value: i128) -> Result<(), VotesError> {
        self.column += 1;
        let classes = self.classes.map_or(Classes::MAX, Classes::count);
        let cell = match u16::try_from(value) {
            Ok(class) if usize::from(class) < classes => {
                self.largest = self.largest.max(class);
                u32::from(class)
            }
            _ if value == -1 => ABSTENTION,
            _ => {
                return Err(VotesError::NotAClass {
                    row: self.rows + 1,
                    column: self.column,
                    value,
                    classes,
                });
            }
        };
        self.cells.push(cell);
        Ok(())
    }

    /// Ends the row.
    pub fn end_row(&mut self) -> Result<(), VotesError> {
        let expected = *self.teachers.get_or_insert(self.column);
        self.rows += 1;
        if self.column != expected {
            return Err(VotesError::Ragged { row: self.rows, found: self.column, expected });
        }
        self.column = 0;
        Ok(())
    }

    /// The row and column, from 1, of the vote that comes next.
    pub fn place(&self) -> (usize, usize) {
        (self.rows + 1, self.column + 1)
    }

    /// The votes.
    pub fn finish(self) -> Result<Votes, VotesError> {
        let teachers = self.teachers.filter(|&teachers| teachers > 0).ok_or(VotesError::Empty)?;
        let classes = match self.classes {
            Some(classes) => classes,
            None => Classes::new(usize::from(self.largest) + 1)?,
        };
        Ok(Votes { classes, teachers, cells: self.cells })
    }
}

/// All votes: one row a sample, one column a teacher, every vote one of the classes or an
/// abstention.
#[derive(Clone, PartialEq, Eq)]
pub struct Votes {
    classes: Classes,
    teachers: usize,
    cells: Vec<u32>,
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
    pub fn from_rows<Row>(
        classes: Classes,
        rows: impl IntoIterator<Item = Row>,
    ) -> Result<Self, VotesError>
    where
        Row: IntoIterator<Item = Vote>,
    {
        let mut builder = VotesBuilder::new(Some(classes));
        for row in rows {
            for vote in row {
                builder.push(vote.map_or(-1, |class| i128::from(class.0)))?;
            }
            builder.end_row()?;
        }
        builder.finish()
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

    /// The votes on the first samples; all of them where there are not so many. At least one is
    /// kept.
    #[must_use]
    pub fn first(mut self, samples: usize) -> Self {
        self.cells.truncate(samples.max(1) * self.teachers);
        self
    }

    /// The vote of one teacher on one sample.
    pub fn vote(&self, sample: usize, teacher: usize) -> Vote {
        decode(self.cells[sample * self.teachers + teacher])
    }

    /// Everybody's votes on one sample.
    pub fn sample(&self, sample: usize) -> impl ExactSizeIterator<Item = Vote> + '_ {
        let start = sample * self.teachers;
        self.cells[start..start + self.teachers].iter().map(|&cell| decode(cell))
    }

    /// One teacher's votes on some of the samples.
    pub fn teacher(&self, teacher: usize, samples: std::ops::Range<usize>) -> Vec<Vote> {
        samples.map(|sample| self.vote(sample, teacher)).collect()
    }

    /// The histogram of one sample.
    pub fn histogram(&self, sample: usize) -> Histogram {
        Histogram::tally(self.classes, self.sample(sample))
    }

    /// The histogram of every sample.
    pub fn histograms(&self) -> impl ExactSizeIterator<Item = Histogram> + '_ {
        (0..self.samples()).map(|sample| self.histogram(sample))
    }
}

fn decode(cell: u32) -> Vote {
    u16::try_from(cell).ok().map(Class)
}

/// One label a sample; some may be absent.
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
mod tests {
    use super::*;

    fn build(classes: Option<usize>, rows: &[&[i128]]) -> Result<Votes, VotesError> {
        let classes = classes.map(|count| Classes::new(count).unwrap());
        let mut builder = VotesBuilder::new(classes);
        for row in rows {
            for &value in *row {
                builder.push(value)?;
            }
            builder.end_row()?;
        }
        builder.finish()
    }

    #[test]
    fn finds_the_number_of_classes() {
        assert_eq!(build(None, &[&[0, 6, -1]]).unwrap().classes().count(), 7);
        assert_eq!(build(None, &[&[0, 0]]).unwrap().classes().count(), 2);
    }

    #[test]
    fn says_where() {
        assert_eq!(
            build(Some(3), &[&[0, 1], &[2, 3]]).unwrap_err(),
            VotesError::NotAClass { row: 2, column: 2, value: 3, classes: 3 }
        );
        assert!(matches!(build(Some(3), &[&[-2]]), Err(VotesError::NotAClass { value: -2, .. })));
        assert_eq!(
            build(None, &[&[0, 1], &[2]]).unwrap_err(),
            VotesError::Ragged { row: 2, found: 1, expected: 2 }
        );
        assert_eq!(build(None, &[]).unwrap_err(), VotesError::Empty);
        assert_eq!(build(None, &[&[]]).unwrap_err(), VotesError::Empty);
    }

    #[test]
    fn abstentions_do_not_count() {
        let votes = build(Some(3), &[&[2, -1, 2, 0]]).unwrap();
        assert_eq!(votes.histogram(0).counts(), [1, 0, 2]);
        assert_eq!(votes.teacher(1, 0..1), [None]);
    }

    #[test]
    fn debug_keeps_the_votes_secret() {
        let votes = build(Some(9), &[&[7, 7, 7, 7]]).unwrap();
        assert!(!format!("{votes:?}").contains('7'));
    }

    #[test]
    fn labels_are_checked_against_the_votes() {
        let labels = Labels::new(vec![Some(Class(1)), None, Some(Class(4))]).unwrap();
        let classes = Classes::new(4).unwrap();
        assert_eq!(
            labels.check(2, classes).unwrap_err(),
            VotesError::LabelCount { labels: 3, samples: 2 }
        );
        assert!(matches!(labels.check(3, classes), Err(VotesError::NotAClass { row: 3, .. })));
        assert_eq!(labels.agreement(&labels), 2);
    }
}
