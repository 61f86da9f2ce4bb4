//! Votes and labels in files: `.npy` of any integer type and order, or `.csv`.
//!
//! Votes are samples by teachers. An abstention is -1 in `.npy` and an empty cell in `.csv`; an
//! absent label likewise. Every error names the file, the place (rows and columns count from 1) and
//! what to do. What is written appears whole or not at all.

mod atomic;
mod csv;
mod npy;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

pub use atomic::write_atomically;

use crate::parameters::{Class, Classes};
use crate::votes::{Labels, Votes, VotesBuilder, VotesError};

/// A file that could not be read or written, and why.
#[derive(Debug, Error)]
#[error("{}: {problem}", path.display())]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong.
    pub problem: FileProblem,
}

/// What is wrong with a file.
#[derive(Debug, Error)]
pub enum FileProblem {
    /// The system would not read or write it.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The name does not say what it is.
    #[error("unknown kind of file; the name must end in .npy or .csv")]
    UnknownKind,
    /// It would stand in a folder that is not there.
    #[error("the folder {} does not exist; make it first", folder.display())]
    NoFolder {
        /// The folder.
        folder: PathBuf,
    },
    /// There is nothing in it.
    #[error("the file is empty; expected votes (samples x teachers) or labels (one a sample)")]
    Empty,
    /// Not an array that can hold votes or labels.
    #[error("{0}")]
    Array(String),
    /// A cell that is not a whole number.
    #[error(
        "row {row}, column {column}: `{cell}` is not a whole number; write classes as 0, 1, 2, ... and leave the cell empty to abstain{hint}"
    )]
    NotANumber {
        /// The row.
        row: usize,
        /// The column.
        column: usize,
        /// What stands there.
        cell: String,
        /// A guess at what happened.
        hint: &'static str,
    },
    /// Votes or labels that cannot be.
    #[error(transparent)]
    Votes(#[from] VotesError),
}

impl FileProblem {
    fn of(self, path: &Path) -> FileError {
        FileError {
            path: path.to_owned(),
            problem: self,
        }
    }
}

/// The kinds of file, told by the end of the name.
#[derive(Clone, Copy)]
enum Kind {
    Npy,
    Csv,
}

impl Kind {
    fn of(path: &Path) -> Result<Self, FileProblem> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some(extension) if extension.eq_ignore_ascii_case("npy") => Ok(Self::Npy),
            Some(extension) if extension.eq_ignore_ascii_case("csv") => Ok(Self::Csv),
            _ => Err(FileProblem::UnknownKind),
        }
    }
}

/// Reads votes; without a number of classes, there are as many as the largest vote says.
pub fn read_votes(path: &Path, classes: Option<Classes>) -> Result<Votes, FileError> {
    read(path, VotesBuilder::new(classes), Columns::Teachers)
        .and_then(|votes| Ok(votes.finish()?))
        .map_err(|problem| problem.of(path))
}

/// Reads labels, one a sample. That they fit some votes is checked by [`Labels::check`].
pub fn read_labels(path: &Path) -> Result<Labels, FileError> {
    read(path, VotesBuilder::new(None), Columns::One)
        .and_then(|column| {
            let column = column.finish()?;
            Ok(Labels::new(
                (0..column.samples())
                    .map(|sample| column.vote(sample, 0))
                    .collect(),
            )?)
        })
        .map_err(|problem| problem.of(path))
}

/// Reads `.npy` votes that are at hand as bytes.
pub fn votes_from_npy(bytes: &[u8], classes: Option<Classes>) -> Result<Votes, FileProblem> {
    let votes = npy::read(
        bytes,
        bytes.len() as u64,
        VotesBuilder::new(classes),
        Columns::Teachers,
    )?;
    Ok(votes.finish()?)
}

/// Reads `.npy` labels that are at hand as bytes.
pub fn labels_from_npy(bytes: &[u8]) -> Result<Labels, FileProblem> {
    let column = npy::read(
        bytes,
        bytes.len() as u64,
        VotesBuilder::new(None),
        Columns::One,
    )?
    .finish()?;
    Ok(Labels::new(
        (0..column.samples())
            .map(|sample| column.vote(sample, 0))
            .collect(),
    )?)
}

/// What the columns of a file are: teachers, or the one column of labels.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Columns {
    Teachers,
    One,
}

fn read(path: &Path, into: VotesBuilder, columns: Columns) -> Result<VotesBuilder, FileProblem> {
    let kind = Kind::of(path)?;
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    if file.metadata()?.is_dir() {
        return Err(FileProblem::Array(
            "this is a folder; give a file".to_owned(),
        ));
    }
    match kind {
        Kind::Npy => npy::read(io::BufReader::new(file), length, into, columns),
        Kind::Csv => csv::read(io::BufReader::new(file), into, columns),
    }
}

/// Whether votes or labels could be written there, as far as the name tells: to be asked before the
/// work is done, not after.
pub fn check_target(path: &Path) -> Result<(), FileError> {
    let checked = Kind::of(path).and_then(|_| {
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        match folder {
            Some(folder) if !folder.is_dir() => Err(FileProblem::NoFolder {
                folder: folder.to_owned(),
            }),
            _ => Ok(()),
        }
    });
    checked.map_err(|problem| problem.of(path))
}

/// Writes votes, whole or not at all.
pub fn write_votes(path: &Path, votes: &Votes) -> Result<(), FileError> {
    let shape = [votes.samples(), votes.teachers()];
    let rows = (0..votes.samples()).map(|sample| votes.sample(sample));
    write(path, &shape, rows)
}

/// Writes labels, whole or not at all.
pub fn write_labels(path: &Path, labels: &Labels) -> Result<(), FileError> {
    let shape = [labels.as_slice().len()];
    write(
        path,
        &shape,
        labels
            .as_slice()
            .iter()
            .map(|&label| std::iter::once(label)),
    )
}

fn write<Row: Iterator<Item = Option<Class>>>(
    path: &Path,
    shape: &[usize],
    rows: impl Iterator<Item = Row> + Clone,
) -> Result<(), FileError> {
    let written = Kind::of(path).and_then(|kind| {
        write_atomically(path, |file| match kind {
            Kind::Npy => npy::write(file, shape, rows),
            Kind::Csv => csv::write(file, rows),
        })
        .map_err(FileProblem::Io)
    });
    written.map_err(|problem| problem.of(path))
}

#[cfg(test)]
mod tests;
