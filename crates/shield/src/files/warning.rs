//! What a reader noticed: how it understood a file, and what looks wrong with it.

use std::fmt;

/// Something that a person should hear about a file that was read.
///
/// Notes say how a file was understood; the others say that it may hold something else than votes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// Note: the cells are not separated by commas.
    Separator {
        /// What separates them.
        separator: &'static str,
    },
    /// Note: row 1 was taken for a header.
    Header {
        /// Its first cells.
        cells: String,
    },
    /// Note: a column was taken for sample ids or the like, and not read.
    IgnoredColumn {
        /// The column, counted from 1.
        column: usize,
        /// What its header says, if anything.
        name: String,
    },
    /// Note: lines before the table were skipped as comments.
    Comments {
        /// How many.
        lines: usize,
    },
    /// Note: cells that hold a word for "nothing" were taken for abstentions.
    Abstentions {
        /// The word.
        word: String,
        /// How many cells hold it.
        cells: u64,
    },
    /// Note: the classes have names, which were numbered in the order of the alphabet.
    Names {
        /// All of them, in the order of the classes, or the first.
        names: String,
        /// How many there are.
        classes: usize,
    },
    /// A column counts 0, 1, 2, ... or 1, 2, 3, ..., as ids do.
    CountingColumn {
        /// The column, counted from 1.
        column: usize,
    },
    /// The first row counts 0, 1, 2, ..., as a header of numbered columns does.
    CountingRow,
    /// There are more classes than teachers.
    ManyClasses {
        /// How many classes.
        classes: usize,
        /// How many teachers.
        teachers: usize,
    },
    /// Columns agree with themselves more than rows do: samples may be the columns.
    Transposed {
        /// How many rows.
        rows: usize,
        /// How many columns.
        columns: usize,
    },
    /// No cell is 0: the classes may be 1 to K.
    NoClassZero {
        /// The largest cell.
        largest: u32,
    },
    /// All rows have the same sum: they may be counts per class.
    ConstantSum {
        /// The sum.
        sum: u64,
    },
    /// Every row is a single 1 among zeros: one-hot labels or votes.
    OneHot,
    /// A column without any vote.
    EmptyColumn {
        /// The column, counted from 1.
        column: usize,
    },
}

/// How loud a warning is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// How the file was understood.
    Note,
    /// The figures may be about something else than votes.
    Suspicious,
}

impl Warning {
    /// How loud it is.
    pub fn severity(&self) -> Severity {
        match self {
            Self::Separator { .. }
            | Self::Header { .. }
            | Self::IgnoredColumn { .. }
            | Self::Comments { .. }
            | Self::Abstentions { .. }
            | Self::Names { .. } => Severity::Note,
            _ => Severity::Suspicious,
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Separator { separator } => {
                write!(f, "the columns are separated by {separator}")
            }
            Self::Header { cells } => write!(
                f,
                "row 1 (`{cells}`) is taken for a header; if it holds votes for named classes, \
                 give --class-names"
            ),
            Self::IgnoredColumn { column, name } => {
                write!(f, "column {column}")?;
                if !name.is_empty() {
                    write!(f, " (`{name}`)")?;
                }
                f.write_str(
                    " is not read: it is taken for sample ids; give --ignore-columns none if it \
                     holds votes",
                )
            }
            Self::Comments { lines } => write!(f, "lines skipped that begin with #: {lines}"),
            Self::Abstentions { word, cells } => {
                write!(f, "cells that hold `{word}` count as abstentions: {cells}")
            }
            Self::Names { names, classes } => write!(
                f,
                "{classes} classes by name, numbered from 0 in this order: {names}; give \
                 --class-names for another order, or if there are more"
            ),
            Self::CountingColumn { column } => write!(
                f,
                "column {column} counts up row by row, as sample ids do; if it holds no votes, \
                 give --ignore-columns {column}"
            ),
            Self::CountingRow => f.write_str(
                "row 1 counts up column by column, as a header of numbered columns does; if it \
                 is one, remove it",
            ),
            Self::ManyClasses { classes, teachers } => write!(
                f,
                "there are {classes} classes and only {teachers} teachers; check that rows are \
                 samples, columns are teachers and cells are classes"
            ),
            Self::Transposed { rows, columns } => write!(
                f,
                "columns agree more than rows do, as if the {columns} columns were samples and \
                 the {rows} rows teachers; votes are samples x teachers, transpose the table if \
                 it is the other way round"
            ),
            Self::NoClassZero { largest } => write!(
                f,
                "no cell is 0; if the classes are 1 to {largest}, give --class-names {}",
                names_from_one(*largest)
            ),
            Self::ConstantSum { sum } => write!(
                f,
                "every row sums to {sum}, as counts per class do; if columns are classes and \
                 cells are numbers of teachers, give --counts to `analyze`, `tune` or `compare`"
            ),
            Self::OneHot => f.write_str(
                "every row is a single 1 among zeros, as one-hot classes are; write the class \
                 itself, for example with array.argmax(axis=1)",
            ),
            Self::EmptyColumn { column } => write!(
                f,
                "column {column} is empty and counts as a teacher who never votes; if it comes \
                 from separators at the ends of lines, give --ignore-columns {column}"
            ),
        }
    }
}

/// 1,2,3 or 1,2,...,9.
fn names_from_one(largest: u32) -> String {
    if largest <= 12 {
        let names: Vec<String> = (1..=largest).map(|name| name.to_string()).collect();
        return names.join(",");
    }
    format!("1,2,...,{largest} (all of them)")
}
