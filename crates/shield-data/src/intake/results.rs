//! What an intake becomes once all rows are in: votes, or histograms.

use super::super::problem::FileProblem;
use super::super::warning::Warning;
use super::{Intake, Vocabulary, first_of, whole_number};
use shield_core::histogram::Histogram;
use shield_core::parameters::Classes;
use shield_core::votes::{ClassNames, Histograms, Votes, VotesError};

/// The classes and their names; and, where the file brought names, which number each becomes.
type Settled = (Classes, Option<ClassNames>, Option<Vec<u32>>);

impl Intake {
    fn settle(&mut self) -> Result<Settled, FileProblem> {
        let vocabulary = std::mem::replace(&mut self.vocabulary, Vocabulary::Numbers);
        for (word, cells) in std::mem::take(&mut self.words) {
            let note = format!("cells that hold `{word}` count as abstentions: {cells}");
            self.note(note);
        }
        match vocabulary {
            Vocabulary::Given { names, .. } => Ok((names.classes(), Some(names), None)),
            Vocabulary::Found { names: found, .. } if !found.is_empty() => {
                let mut order: Vec<usize> = (0..found.len()).collect();
                order.sort_by(|&a, &b| found[a].cmp(&found[b]));
                let mut renamed = vec![0; found.len()];
                for (number, &place) in (0..).zip(&order) {
                    renamed[place] = number;
                }
                let sorted: Vec<String> = order.iter().map(|&place| found[place].clone()).collect();
                if sorted.len() == 1 || self.classes.is_some_and(|k| k.count() != sorted.len()) {
                    return Err(FileProblem::Table(format!(
                        "class names found: {} ({}); give all of them with --class-names a,b,c",
                        sorted.len(),
                        first_of(&sorted)
                    )));
                }
                let names = ClassNames::new(sorted).map_err(VotesError::Classes)?;
                self.warnings.push(Warning::Names {
                    names: first_of(names.as_slice()),
                    classes: names.classes().count(),
                });
                Ok((names.classes(), Some(names), Some(renamed)))
            }
            _ => {
                let classes = match self.classes {
                    Some(classes) => classes,
                    None => Classes::new((self.largest as usize + 1).max(2))
                        .map_err(VotesError::Classes)?,
                };
                Ok((classes, None, None))
            }
        }
    }

    fn suspect(&mut self) {
        let places = std::mem::take(&mut self.places);
        let place = |column: usize| places.get(column).map_or(column, |&place| place) + 1;
        self.warnings.extend(self.suspicions.warnings(place));
    }

    /// The votes.
    pub(in super::super) fn votes(mut self) -> Result<(Votes, Vec<Warning>), FileProblem> {
        let columns = self.columns.ok_or(FileProblem::Empty)?;
        let (classes, names, renamed) = self.settle()?;
        if names.is_none() {
            self.suspect();
        }
        if let Some(renamed) = renamed {
            self.cells.rename(&renamed);
        }
        Ok((Votes::from_cells(classes, columns, self.cells, names)?, self.warnings))
    }

    /// The histograms of votes.
    pub(in super::super) fn histograms(
        mut self,
    ) -> Result<(Histograms, Vec<Warning>), FileProblem> {
        let columns = self.columns.ok_or(FileProblem::Empty)?;
        let (classes, names, renamed) = self.settle()?;
        if names.is_none() {
            self.suspect();
        }
        let order = |mut counts: Vec<u32>| {
            counts.resize(classes.count(), 0);
            let mut ordered = counts.clone();
            for (&number, &count) in renamed.iter().flatten().zip(&counts) {
                ordered[number as usize] = count;
            }
            Histogram::new(ordered).map_err(VotesError::Classes)
        };
        let samples = self.histograms.into_iter().map(order).collect::<Result<_, _>>()?;
        Ok((Histograms::new(classes, columns, samples, names)?, self.warnings))
    }

    /// Histograms from counts per class. A header names the classes, unless it numbers them.
    pub(in super::super) fn counts(
        mut self,
        given: Option<&ClassNames>,
    ) -> Result<(Histograms, Vec<Warning>), FileProblem> {
        let columns = self.columns.ok_or(FileProblem::Empty)?;
        self.settle()?;
        let classes = Classes::new(columns).map_err(VotesError::Classes)?;
        let expected = self.classes.or(given.map(ClassNames::classes));
        if let Some(expected) = expected.filter(|&expected| expected != classes) {
            return Err(FileProblem::Table(format!(
                "there are {columns} columns of counts for {expected} classes; a file of counts \
                 has one column per class"
            )));
        }
        let histogram = |counts| Histogram::new(counts).map_err(VotesError::Classes);
        let samples: Vec<Histogram> =
            self.histograms.into_iter().map(histogram).collect::<Result<_, _>>()?;
        let most = samples.iter().map(Histogram::voters).max().unwrap_or(0);
        let teachers = usize::try_from(most).unwrap_or(usize::MAX);
        let numbered = self.column_names.iter().all(|name| whole_number(name).is_some());
        let header = if numbered { None } else { ClassNames::new(self.column_names).ok() };
        let found = Histograms::new(classes, teachers, samples, header.clone())?;
        let named = match (given, header) {
            // Names in another order bring their columns along.
            (Some(given), Some(header)) if given != &header => {
                found.named(given.clone()).map_err(|_| {
                    FileProblem::Table(format!(
                        "the header names the classes {}, --class-names says {given}; use the same \
                         names",
                        first_of(header.as_slice())
                    ))
                })?
            }
            (Some(given), _) => found.named(given.clone())?,
            (None, _) => found,
        };
        Ok((named, self.warnings))
    }
}
