//! What can be wrong with a file: each says where, and what to do.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::votes::VotesError;

/// A file that could not be read or written, and why.
#[derive(Debug, Error)]
#[error("{}: {problem}", name_of(path))]
pub struct FileError {
    /// The file; `-` is standard input.
    pub path: PathBuf,
    /// What is wrong.
    pub problem: FileProblem,
}

fn name_of(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

/// What is wrong with a file. Rows and columns count from 1 as a spreadsheet shows them: a header
/// is row 1, and an id column counts.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FileProblem {
    /// The system would not read or write it.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The name does not say what to write.
    #[error("unknown kind of file; the name must end in .npy or .csv, or in one of them and .gz")]
    UnknownKind,
    /// A kind of file that other programs read.
    #[error("{what} cannot be read; {remedy}")]
    Foreign {
        /// What it is.
        what: &'static str,
        /// How to make a file of it that can be read.
        remedy: &'static str,
    },
    /// It would be in a folder that is not there.
    #[error("the folder {} does not exist; make it first", folder.display())]
    NoFolder {
        /// The folder.
        folder: PathBuf,
    },
    /// There is nothing in it.
    #[error("the file is empty; expected votes (samples x teachers) or labels (one per sample)")]
    Empty,
    /// There is a header and nothing else.
    #[error(
        "there is a header (`{header}`) and no row below it; expected one row per sample (if row 1 \
         holds votes for named classes, give their names with --class-names)"
    )]
    OnlyHeader {
        /// The header's first cells.
        header: String,
    },
    /// Not an array or a table that can hold votes or labels.
    #[error("{0}")]
    Array(String),
    /// A cell that is not a whole number.
    #[error(
        "row {row}, column {column}: `{cell}` is not a whole number; write classes as 0, 1, 2, ... \
         and leave the cell empty to abstain{hint}"
    )]
    NotANumber {
        /// The row.
        row: usize,
        /// The column.
        column: usize,
        /// What is there.
        cell: String,
        /// A guess at what happened.
        hint: &'static str,
    },
    /// A cell that is not one of the classes' names.
    #[error(
        "row {row}, column {column}: `{cell}` is not one of the classes {known}; correct the cell, \
         or give all names with --class-names"
    )]
    NotAName {
        /// The row.
        row: usize,
        /// The column.
        column: usize,
        /// What is there.
        cell: String,
        /// The first names.
        known: String,
    },
    /// A number among names, or a name among numbers.
    #[error(
        "row {row}, column {column}: `{cell}` is a number where other cells hold class names; use \
         one or the other, or list the names with --class-names"
    )]
    Mixed {
        /// The row.
        row: usize,
        /// The column.
        column: usize,
        /// What is there.
        cell: String,
    },
    /// A cell that is not a number of votes.
    #[error(
        "row {row}, column {column}: `{cell}` is not a number of votes; a file of counts has one \
         row per sample, one column per class, and in each cell how many teachers chose the class, \
         10,000,000 at most"
    )]
    NotACount {
        /// The row.
        row: usize,
        /// The column.
        column: usize,
        /// What is there.
        cell: String,
    },
    /// Counts of more voters than a ballot may hold.
    #[error(
        "row {row}: the counts sum to {voters}, and a ballot of this election stands for at most \
         {most} voters per sample; correct the row, or ask the operator for an election with a \
         larger `voters_per_teacher`"
    )]
    TooManyVoters {
        /// The row.
        row: usize,
        /// How many voters it counts.
        voters: u64,
        /// How many it may count.
        most: u32,
    },
    /// Votes or labels that cannot be.
    #[error(transparent)]
    Votes(#[from] VotesError),
}

impl FileProblem {
    pub(super) fn of(self, path: &Path) -> FileError {
        FileError { path: path.to_owned(), problem: self }
    }
}

/// A cell as a message may quote it: short, and on one line.
pub(super) fn quoted(cell: &str) -> String {
    let short: String = cell.chars().take(40).collect();
    let more = if short.len() < cell.len() { "..." } else { "" };
    format!("{}{more}", short.escape_debug())
}
