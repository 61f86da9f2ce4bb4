//! From values, as the formats have them, to votes, labels and histograms: the one place where a
//! cell gets its meaning.

mod results;

use std::collections::{BTreeMap, HashMap};

use super::problem::{FileProblem, quoted};
use super::suspicions::Suspicions;
use super::warning::Warning;
use shield_core::parameters::{Classes, Voters};
use shield_core::votes::{Cells, ClassNames, MISSING, VotesError};

/// The most cells that are read: 10,000 teachers on 100,000 samples, four times over.
pub(super) const MAX_CELLS: u64 = 1 << 32;

/// A cell as its format has it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'a> {
    Missing,
    Whole(i128),
    Real(f64),
    Text(&'a str),
}

/// What the numbers in the cells are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Classes: cells are votes or labels.
    Classes,
    /// Numbers of votes: columns are classes.
    Counts,
}

/// What is kept of the cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    Votes,
    /// One teacher's votes or counts, with the sample ids beside them.
    Ballot,
    Histograms,
}

/// Which texts are classes.
enum Vocabulary {
    /// The first cell that is there decides.
    Undecided,
    Numbers,
    Given {
        names: ClassNames,
        numbers: HashMap<String, u32>,
        numerals: bool,
    },
    /// Numbered as they come; put in order at the end.
    Found {
        numbers: HashMap<String, u32>,
        names: Vec<String>,
    },
}

/// Takes a table row by row.
pub(super) struct Intake {
    vocabulary: Vocabulary,
    classes: Option<Classes>,
    meaning: Meaning,
    keep: Keep,
    row: Vec<u32>,
    columns: Option<usize>,
    cells: Cells,
    histograms: Vec<Vec<u32>>,
    largest: u32,
    read: u64,
    words: BTreeMap<String, u64>,
    suspicions: Suspicions,
    warnings: Vec<Warning>,
    /// The place in the file of each column that is read, from 0.
    places: Vec<usize>,
    /// What a header says of them.
    column_names: Vec<String>,
    /// The first column that is not read, row by row, if it is wanted.
    ids: Option<Vec<String>>,
    /// The most voters that the counts of a row may stand for.
    most_voters: u32,
}

impl Intake {
    pub(super) fn new(
        classes: Option<Classes>,
        names: Option<&ClassNames>,
        meaning: Meaning,
        keep: Keep,
    ) -> Self {
        let given = |names: &ClassNames| Vocabulary::Given {
            numerals: names.as_slice().iter().any(|name| name.parse::<f64>().is_ok()),
            numbers: names.numbers(),
            names: names.clone(),
        };
        let vocabulary = match (meaning, names) {
            (Meaning::Classes, Some(names)) => given(names),
            (Meaning::Classes, None) => Vocabulary::Undecided,
            (Meaning::Counts, _) => Vocabulary::Numbers,
        };
        Self {
            vocabulary,
            classes,
            meaning,
            keep,
            row: vec![],
            columns: None,
            cells: Cells::default(),
            histograms: vec![],
            largest: 0,
            read: 0,
            words: BTreeMap::new(),
            suspicions: Suspicions::default(),
            warnings: vec![],
            places: vec![],
            column_names: vec![],
            ids: None,
            most_voters: Voters::MAX,
        }
    }

    /// Refuses rows whose counts stand for more voters.
    pub(super) fn take_at_most(&mut self, voters: u32) {
        self.most_voters = voters;
    }

    /// Keeps the sample ids, which are otherwise skipped.
    pub(super) fn keep_ids(&mut self) {
        self.ids = Some(vec![]);
    }

    /// Takes the sample id of a row.
    pub(super) fn id(&mut self, id: &str) {
        if let Some(ids) = &mut self.ids {
            ids.push(id.trim().to_owned());
        }
    }

    /// The sample ids, one per row; none if the file has none, or they were not wanted.
    pub(super) fn take_ids(&mut self) -> Option<Vec<String>> {
        self.ids.take().filter(|ids| !ids.is_empty())
    }

    pub(super) fn meaning(&self) -> Meaning {
        self.meaning
    }

    pub(super) fn classes(&self) -> Option<Classes> {
        self.classes
    }

    /// Whether a text is one of the classes that were given, if any were.
    pub(super) fn is_given(&self, text: &str) -> Option<bool> {
        match &self.vocabulary {
            Vocabulary::Given { numbers, numerals, names } => {
                let numeral = || text.parse::<usize>().is_ok_and(|n| n < names.classes().count());
                Some(numbers.contains_key(text) || (!numerals && numeral()))
            }
            _ => None,
        }
    }

    /// Cells are names of classes that the file itself brings.
    pub(super) fn expect_names(&mut self) {
        if matches!(self.vocabulary, Vocabulary::Undecided) {
            self.vocabulary = Vocabulary::Found { numbers: HashMap::new(), names: vec![] };
        }
    }

    /// Cells are numbers.
    pub(super) fn expect_numbers(&mut self) {
        if matches!(self.vocabulary, Vocabulary::Undecided) {
            self.vocabulary = Vocabulary::Numbers;
        }
    }

    /// Whether texts that look like numbers are to be read as numbers.
    pub(super) fn wants_numbers(&self) -> bool {
        matches!(self.vocabulary, Vocabulary::Numbers)
    }

    pub(super) fn warn(&mut self, warning: Warning) {
        self.warnings.push(warning);
    }

    /// Says how the file was understood.
    pub(super) fn note(&mut self, text: String) {
        self.warn(Warning::Note(text));
    }

    /// Says which columns of the file are read: their places there, from 0.
    pub(super) fn set_places(&mut self, places: Vec<usize>) {
        self.places = places;
    }

    /// Says what a header calls the columns that are read.
    pub(super) fn set_column_names(&mut self, names: Vec<String>) {
        self.column_names = names;
    }

    /// The number that stands for a cell; row and column are its place in the file, from 1.
    pub(super) fn number(
        &mut self,
        value: Value<'_>,
        row: usize,
        column: usize,
    ) -> Result<u32, FileProblem> {
        match value {
            Value::Missing => Ok(MISSING),
            Value::Whole(number) => self.whole(number, row, column),
            Value::Real(number) if number.is_nan() => {
                self.abstained("NaN");
                Ok(MISSING)
            }
            Value::Real(number) if number.fract() == 0.0 && number.abs() < 1e18 =>
            {
                #[expect(clippy::cast_possible_truncation, reason = "whole, and below 10^18")]
                self.whole(number as i128, row, column)
            }
            Value::Real(number) => Err(self.not_a_number(&number.to_string(), row, column)),
            Value::Text(text) => self.text(text.trim(), row, column),
        }
    }

    fn whole(&mut self, number: i128, row: usize, column: usize) -> Result<u32, FileProblem> {
        if self.meaning == Meaning::Counts {
            let count = u32::try_from(number).ok().filter(|&count| count <= Voters::MAX);
            let cell = || number.to_string();
            return count.ok_or_else(|| not_a_count(row, column, cell()));
        }
        self.expect_numbers();
        match &self.vocabulary {
            Vocabulary::Given { numbers, numerals, names } => {
                let named = numbers.get(&number.to_string()).copied();
                let counted = u32::try_from(number)
                    .ok()
                    .filter(|&number| !numerals && (number as usize) < names.classes().count());
                let absent = (number == -1).then_some(MISSING);
                let number = || number.to_string();
                named.or(counted).or(absent).ok_or_else(|| not_a_name(row, column, number(), names))
            }
            Vocabulary::Found { .. } if number != -1 => {
                let what = "is a number where other cells hold class names; use one or the other, \
                            or list the names with --class-names";
                let cell = number.to_string();
                Err(FileProblem::Cell { row, column, cell, what: what.to_owned() })
            }
            _ => {
                let classes = self.classes.map_or(Classes::MAX, Classes::count);
                match u32::try_from(number) {
                    Ok(class) if (class as usize) < classes => Ok(class),
                    _ if number == -1 => Ok(MISSING),
                    _ => Err(VotesError::NotAClass { row, column, value: number, classes }.into()),
                }
            }
        }
    }

    fn text(&mut self, text: &str, row: usize, column: usize) -> Result<u32, FileProblem> {
        if let Vocabulary::Given { numbers, .. } = &self.vocabulary
            && let Some(&number) = numbers.get(text)
        {
            return Ok(number);
        }
        if text.is_empty() {
            return Ok(MISSING);
        }
        if is_missing_word(text) {
            self.abstained(text);
            return Ok(MISSING);
        }
        if let Some(number) = whole_number(text) {
            return self.whole(number, row, column);
        }
        if matches!(self.vocabulary, Vocabulary::Undecided) {
            self.expect_names();
        }
        match &mut self.vocabulary {
            Vocabulary::Given { names, .. } => Err(not_a_name(row, column, quoted(text), names)),
            Vocabulary::Found { numbers, names } => {
                if let Some(&number) = numbers.get(text) {
                    return Ok(number);
                }
                if names.len() == Classes::MAX || text.chars().count() > ClassNames::MAX_LENGTH {
                    return Err(FileProblem::Table(format!(
                        "row {row}, column {column}: `{}` would be one more class name than {} or \
                         is too long for one; cells are classes, so leave out columns of other \
                         text with --ignore-columns",
                        quoted(text),
                        Classes::MAX
                    )));
                }
                let number = u32::try_from(names.len()).unwrap_or(MISSING);
                numbers.insert(text.to_owned(), number);
                names.push(text.to_owned());
                Ok(number)
            }
            Vocabulary::Undecided | Vocabulary::Numbers => {
                Err(self.not_a_number(text, row, column))
            }
        }
    }

    fn not_a_number(&self, cell: &str, row: usize, column: usize) -> FileProblem {
        let cell = quoted(cell);
        if self.meaning == Meaning::Counts {
            return not_a_count(row, column, cell);
        }
        let fraction = cell.parse::<f64>().is_ok_and(|number| (0.0..=1.0).contains(&number));
        let hint = match () {
            () if fraction => " (of probabilities, take the largest: array.argmax(axis=-1))",
            () if cell.contains(['\u{fffd}', '\0']) => {
                " (this is not text in UTF-8; save the file again as \"CSV UTF-8\")"
            }
            () if row == 1 => " (if row 1 is a header, remove it)",
            () => "",
        };
        let what = format!(
            "is not a whole number; write classes as 0, 1, 2, ... and leave the cell empty to \
             abstain{hint}"
        );
        FileProblem::Cell { row, column, cell, what }
    }

    fn abstained(&mut self, word: &str) {
        match self.words.get_mut(word) {
            Some(cells) => *cells += 1,
            None => drop(self.words.insert(word.to_owned(), 1)),
        }
    }

    /// Adds the next number of the row.
    pub(super) fn push(&mut self, number: u32) {
        self.row.push(number);
    }

    /// Ends the row, which is at that place in the file, from 1.
    pub(super) fn end_row(&mut self, row: usize) -> Result<(), FileProblem> {
        let found = self.row.len();
        let expected = *self.columns.get_or_insert(found);
        if found != expected {
            return Err(VotesError::Ragged { row, found, expected }.into());
        }
        self.read += found as u64;
        if self.read > MAX_CELLS {
            return Err(FileProblem::Table(format!(
                "there are more than {MAX_CELLS} cells up to row {row}; give the samples in \
                 several files"
            )));
        }
        let numbers = std::mem::take(&mut self.row);
        if self.meaning == Meaning::Classes {
            self.suspicions.row(&numbers);
        }
        let largest = numbers.iter().filter(|&&number| number != MISSING).max();
        self.largest = self.largest.max(largest.copied().unwrap_or(0));
        match (self.keep, self.meaning) {
            (Keep::Ballot | Keep::Histograms, Meaning::Counts) => self.add_counts(&numbers, row)?,
            (Keep::Votes | Keep::Ballot, _) => self.cells.extend(&numbers),
            (Keep::Histograms, Meaning::Classes) => self.tally(&numbers),
        }
        self.row = numbers;
        self.row.clear();
        Ok(())
    }

    fn add_counts(&mut self, counts: &[u32], row: usize) -> Result<(), FileProblem> {
        // A class that nobody chose is often left out.
        let counts: Vec<u32> =
            counts.iter().map(|&count| if count == MISSING { 0 } else { count }).collect();
        let voters: u64 = counts.iter().map(|&count| u64::from(count)).sum();
        if voters > u64::from(Voters::MAX) {
            return Err(not_a_count(row, 1, format!("{voters} in all")));
        }
        if voters > u64::from(self.most_voters) {
            return Err(FileProblem::Table(format!(
                "row {row}: the counts sum to {voters}, and a ballot of this election stands for \
                 at most {} voters per sample; correct the row, or ask the operator for an \
                 election with a larger `voters_per_teacher`",
                self.most_voters
            )));
        }
        self.histograms.push(counts);
        Ok(())
    }

    fn tally(&mut self, votes: &[u32]) {
        let mut counts = vec![0; self.largest as usize + 1];
        let present = votes.iter().filter(|&&vote| vote != MISSING);
        present.for_each(|&vote| counts[vote as usize] += 1);
        self.histograms.push(counts);
    }
}

fn not_a_name(row: usize, column: usize, cell: String, names: &ClassNames) -> FileProblem {
    let what = format!(
        "is not one of the classes {}; correct the cell, or give all names with --class-names",
        first_of(names.as_slice())
    );
    FileProblem::Cell { row, column, cell, what }
}

fn not_a_count(row: usize, column: usize, cell: String) -> FileProblem {
    let what = "is not a number of votes; a file of counts has one row per sample, one column per \
                class, and in each cell how many teachers chose the class, 10,000,000 at most";
    FileProblem::Cell { row, column, cell, what: what.to_owned() }
}

/// Words that people and programs write for "nothing here".
pub(super) fn is_missing_word(text: &str) -> bool {
    const WORDS: [&str; 8] = ["nan", "na", "n/a", "null", "none", "<na>", "-", "?"];
    text.len() <= 4 && WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// A whole number, also as 4.0 or 4e0.
pub(super) fn whole_number(text: &str) -> Option<i128> {
    if let Ok(number) = text.parse::<i128>() {
        return Some(number);
    }
    if !text.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first)) {
        return None;
    }
    let number = text.parse::<f64>().ok()?;
    #[expect(clippy::cast_possible_truncation, reason = "whole, and below 10^18")]
    (number.fract() == 0.0 && number.abs() < 1e18).then_some(number as i128)
}

/// The first few of some names.
pub(super) fn first_of(names: &[String]) -> String {
    let mut text = names.iter().take(12).map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
    if names.len() > 12 {
        text.push_str(", ...");
    }
    text
}
