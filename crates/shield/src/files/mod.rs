//! Votes and labels in files: `.npy` of any integer type and order, or `.csv`, plain or as `.gz`.
//!
//! Votes are samples by teachers. An abstention is -1 in `.npy` and an empty cell in `.csv`; an
//! absent label likewise. Every error names the file, the place (rows and columns count from 1) and
//! what to do. What is written appears whole or not at all.

mod atomic;
mod csv;
mod npy;

use std::fs::File;
use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

pub use atomic::{write_atomically, write_atomically_by_name};

use crate::parameters::{Class, Classes};
use crate::votes::{Labels, Vote, Votes, VotesBuilder, VotesError};

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
    #[error("unknown kind of file; the name must end in .npy or .csv, or in one of them and .gz")]
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
        FileError { path: path.to_owned(), problem: self }
    }
}

/// What a file holds and how it is packed, told by the end of the name.
#[derive(Clone, Copy)]
struct Kind {
    content: Content,
    packing: Packing,
}

#[derive(Clone, Copy)]
enum Content {
    Npy,
    Csv,
}

#[derive(Clone, Copy)]
enum Packing {
    Plain,
    Gzip,
}

impl Kind {
    fn of(path: &Path) -> Result<Self, FileProblem> {
        // The end of the name counts, whatever its beginning is written in.
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let (name, packing) = match name.strip_suffix(".gz") {
            Some(name) => (name, Packing::Gzip),
            None => (name.as_str(), Packing::Plain),
        };
        let content = match name.rsplit_once('.') {
            Some((_, "npy")) => Content::Npy,
            Some((_, "csv")) => Content::Csv,
            _ => return Err(FileProblem::UnknownKind),
        };
        Ok(Self { content, packing })
    }
}

/// The most that a packed file may unpack to: 10,000 teachers on 100,000 samples, and some room.
const MAX_UNPACKED: u64 = 4 << 30;

fn unpack(packed: impl Read) -> Result<Vec<u8>, FileProblem> {
    let mut bytes = Vec::new();
    let unpacked =
        flate2::read::MultiGzDecoder::new(packed).take(MAX_UNPACKED).read_to_end(&mut bytes);
    match unpacked {
        Ok(length) if length as u64 == MAX_UNPACKED => {
            Err(FileProblem::Array("it unpacks to more than 4 GiB; give smaller files".to_owned()))
        }
        Ok(_) => Ok(bytes),
        Err(error) => Err(FileProblem::Array(format!("not a whole gzip file: {error}"))),
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
        .and_then(column_labels)
        .map_err(|problem| problem.of(path))
}

/// Reads one teacher's votes: a column, a row, or one column (counted from 1) of samples x
/// teachers.
pub fn read_teacher(
    path: &Path,
    classes: Classes,
    column: Option<usize>,
) -> Result<Vec<Vote>, FileError> {
    read(path, VotesBuilder::new(Some(classes)), Columns::Any)
        .and_then(|votes| teacher(&votes.finish()?, column))
        .map_err(|problem| problem.of(path))
}

fn teacher(votes: &Votes, column: Option<usize>) -> Result<Vec<Vote>, FileProblem> {
    let (samples, columns) = (votes.samples(), votes.teachers());
    match column {
        Some(column) if (1..=columns).contains(&column) => {
            Ok(votes.teacher(column - 1, 0..samples))
        }
        Some(column) => Err(FileProblem::Array(format!(
            "there is no column {column}; the file has {columns}, counted from 1"
        ))),
        None if columns == 1 => Ok(votes.teacher(0, 0..samples)),
        None if samples == 1 => Ok(votes.sample(0).collect()),
        None => Err(FileProblem::Array(format!(
            "the file has {samples} rows and {columns} columns; say which column is the teacher's, \
             or give one vote a row"
        ))),
    }
}

/// Reads `.npy.gz` votes that are at hand as bytes.
pub fn votes_from_packed_npy(
    packed: &[u8],
    classes: Option<Classes>,
) -> Result<Votes, FileProblem> {
    let bytes = unpack(packed)?;
    let votes = VotesBuilder::new(classes);
    Ok(npy::read(bytes.as_slice(), bytes.len() as u64, votes, Columns::Teachers)?.finish()?)
}

/// Reads `.npy.gz` labels that are at hand as bytes.
pub fn labels_from_packed_npy(packed: &[u8]) -> Result<Labels, FileProblem> {
    let bytes = unpack(packed)?;
    let column =
        npy::read(bytes.as_slice(), bytes.len() as u64, VotesBuilder::new(None), Columns::One)?;
    column_labels(column)
}

fn column_labels(column: VotesBuilder) -> Result<Labels, FileProblem> {
    let column = column.finish()?;
    Ok(Labels::new((0..column.samples()).map(|sample| column.vote(sample, 0)).collect())?)
}

/// What the columns of a file are: teachers, the one column of labels, or either.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Columns {
    Teachers,
    One,
    Any,
}

fn read(path: &Path, into: VotesBuilder, columns: Columns) -> Result<VotesBuilder, FileProblem> {
    let kind = Kind::of(path)?;
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    if file.metadata()?.is_dir() {
        return Err(FileProblem::Array("this is a folder; give a file".to_owned()));
    }
    match kind.packing {
        Packing::Plain => {
            read_content(kind.content, io::BufReader::new(file), length, into, columns)
        }
        Packing::Gzip => {
            let bytes = unpack(file)?;
            read_content(kind.content, bytes.as_slice(), bytes.len() as u64, into, columns)
        }
    }
}

fn read_content(
    content: Content,
    reader: impl BufRead,
    length: u64,
    into: VotesBuilder,
    columns: Columns,
) -> Result<VotesBuilder, FileProblem> {
    match content {
        Content::Npy => npy::read(reader, length, into, columns),
        Content::Csv => csv::read(reader, into, columns),
    }
}

/// Whether votes or labels could be written there, as far as the name tells: to be asked before the
/// work is done, not after.
pub fn check_target(path: &Path) -> Result<(), FileError> {
    Kind::of(path).map_err(|problem| problem.of(path))?;
    check_folder(path)
}

/// Whether there is a folder for a file of any kind: to be asked before the work is done, too.
pub fn check_folder(path: &Path) -> Result<(), FileError> {
    let folder = atomic::folder_of(path);
    if folder.is_dir() {
        return Ok(());
    }
    Err(FileProblem::NoFolder { folder: folder.to_owned() }.of(path))
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
    write(path, &shape, labels.as_slice().iter().map(|&label| std::iter::once(label)))
}

fn write<Row: Iterator<Item = Option<Class>>>(
    path: &Path,
    shape: &[usize],
    rows: impl Iterator<Item = Row> + Clone,
) -> Result<(), FileError> {
    let written = Kind::of(path).and_then(|kind| {
        write_atomically(path, |file| match kind.packing {
            Packing::Plain => write_content(kind.content, file, shape, rows),
            Packing::Gzip => {
                let mut packer = flate2::write::GzEncoder::new(file, flate2::Compression::best());
                write_content(kind.content, &mut packer, shape, rows)?;
                packer.finish().map(drop)
            }
        })
        .map_err(FileProblem::Io)
    });
    written.map_err(|problem| problem.of(path))
}

fn write_content<Row: Iterator<Item = Option<Class>>>(
    content: Content,
    file: &mut impl Write,
    shape: &[usize],
    rows: impl Iterator<Item = Row> + Clone,
) -> io::Result<()> {
    match content {
        Content::Npy => npy::write(file, shape, rows),
        Content::Csv => csv::write(file, rows),
    }
}

#[cfg(test)]
mod tests;
