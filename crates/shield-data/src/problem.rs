//! What can be wrong with a file: each says where, and what to do.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use shield_core::votes::VotesError;

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
    /// A kind of file that other programs read.
    #[error("{what} cannot be read; {remedy}")]
    Foreign {
        /// What it is.
        what: &'static str,
        /// How to make a file of it that can be read.
        remedy: &'static str,
    },
    /// There is nothing in it.
    #[error("the file is empty; expected votes (samples x teachers) or labels (one per sample)")]
    Empty,
    /// Not an array or a table that can hold votes or labels, or no place to write one.
    #[error("{0}")]
    Table(String),
    /// A cell that holds something else than it should.
    #[error("row {row}, column {column}: `{cell}` {what}")]
    Cell {
        /// The row.
        row: usize,
        /// The column.
        column: usize,
        /// What is there.
        cell: String,
        /// What it is not, and what to do.
        what: String,
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
