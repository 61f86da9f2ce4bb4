//! Votes and labels in files, as people have them.
//!
//! Read: text (`.csv` and the like) with or without a header, ids and class names, whatever is
//! between the cells; `.npy` and `.npz` of any integer type, whole floats, booleans or texts;
//! Parquet, Feather and Arrow with the feature `arrow`; all of them also as `.gz` and on standard
//! input (`-`). What a file is, its first bytes tell, not its name.
//!
//! Votes are samples by teachers. An abstention is an empty cell, NaN, -1 or a word for it; an
//! absent label likewise. Every error names the file, the place (rows and columns count from 1) and
//! what to do. How a file was understood, and what looks wrong with it, comes back as
//! [`Warning`]s. Written are `.npy` and `.csv`, whole or not at all.

#[cfg(feature = "arrow")]
mod arrow;
mod atomic;
mod block;
mod columns;
mod csv;
mod intake;
mod npy;
mod npz;
mod problem;
mod source;
#[cfg(feature = "arrow")]
mod typed;
mod warning;
mod watch;
#[cfg(not(feature = "arrow"))]
mod without_arrow;

use std::io::{self, BufReader, Write};
use std::path::Path;

pub use atomic::{write_atomically, write_atomically_by_name};
pub use columns::IgnoredColumns;
pub use problem::{FileError, FileProblem};
pub use warning::{Severity, Warning};

#[cfg(not(feature = "arrow"))]
use without_arrow as arrow;

use crate::parameters::{Class, Classes};
use crate::votes::{ClassNames, Histograms, Labels, Vote, Votes};
use columns::Columns;
use intake::{Intake, Keep, Meaning};
use source::{Content, Source};

/// What is known about a file before it is read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// How many classes there are; without it, as many as the largest vote says.
    pub classes: Option<Classes>,
    /// The names of the classes; without them, a file may bring its own.
    pub names: Option<ClassNames>,
    /// Columns that are not read.
    pub ignored: IgnoredColumns,
}

/// What was read, and what a person should hear about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Understood<T> {
    /// What was read.
    pub value: T,
    /// How it was understood, and what looks wrong.
    pub warnings: Vec<Warning>,
}

impl<T> From<(T, Vec<Warning>)> for Understood<T> {
    fn from((value, warnings): (T, Vec<Warning>)) -> Self {
        Self { value, warnings }
    }
}

/// Reads votes; without a number of classes, there are as many as the largest vote says.
pub fn read_votes(path: &Path, classes: Option<Classes>) -> Result<Votes, FileError> {
    let options = ReadOptions { classes, ..ReadOptions::default() };
    Ok(understand_votes(path, &options)?.value)
}

/// Reads votes, and says how they were understood.
pub fn understand_votes(
    path: &Path,
    options: &ReadOptions,
) -> Result<Understood<Votes>, FileError> {
    read(path, options, Meaning::Classes, Keep::Votes, Columns::Teachers)
        .and_then(Intake::votes)
        .map(Understood::from)
        .map_err(|problem| problem.of(path))
}

/// Reads the histograms of votes, without keeping the votes: that takes a few bytes per sample and
/// class, however many teachers there are.
pub fn understand_histograms(
    path: &Path,
    options: &ReadOptions,
) -> Result<Understood<Histograms>, FileError> {
    read(path, options, Meaning::Classes, Keep::Histograms, Columns::Teachers)
        .and_then(Intake::histograms)
        .map(Understood::from)
        .map_err(|problem| problem.of(path))
}

/// Reads counts per class: one row per sample, one column per class, and in each cell how many
/// teachers chose the class.
pub fn understand_counts(
    path: &Path,
    options: &ReadOptions,
) -> Result<Understood<Histograms>, FileError> {
    read(path, options, Meaning::Counts, Keep::Histograms, Columns::Teachers)
        .and_then(|intake| intake.counts(options.names.as_ref()))
        .map(Understood::from)
        .map_err(|problem| problem.of(path))
}

/// Reads labels, one per sample. That they fit some votes is checked by [`Labels::check`].
pub fn read_labels(path: &Path) -> Result<Labels, FileError> {
    Ok(understand_labels(path, &ReadOptions::default())?.value.0)
}

/// Reads labels and the names of their classes, if they have any, and says how they were
/// understood.
pub fn understand_labels(
    path: &Path,
    options: &ReadOptions,
) -> Result<Understood<(Labels, Option<ClassNames>)>, FileError> {
    read(path, options, Meaning::Classes, Keep::Votes, Columns::One)
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
    let options = ReadOptions { classes: Some(classes), ..ReadOptions::default() };
    Ok(understand_teacher(path, &options, column)?.value)
}

/// Reads one teacher's votes, and says how they were understood. The column counts among those that
/// are read: sample ids do not.
pub fn understand_teacher(
    path: &Path,
    options: &ReadOptions,
    column: Option<usize>,
) -> Result<Understood<Vec<Vote>>, FileError> {
    let read = understand_ballot(path, options, column)?;
    Ok(Understood { value: read.value.votes, warnings: read.warnings })
}

/// One teacher's votes, and what its file says of samples and classes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeacherVotes {
    /// One vote per sample.
    pub votes: Vec<Vote>,
    /// The sample ids beside them, if a text file has any.
    pub ids: Option<Vec<String>>,
    /// The names of the classes, if the votes are names.
    pub class_names: Option<ClassNames>,
}

/// Reads one teacher's votes with the sample ids beside them, and says how they were understood.
pub fn understand_ballot(
    path: &Path,
    options: &ReadOptions,
    column: Option<usize>,
) -> Result<Understood<TeacherVotes>, FileError> {
    read(path, options, Meaning::Classes, Keep::Ballot, Columns::Any)
        .and_then(|mut intake| {
            let ids = intake.take_ids();
            let (votes, warnings) = intake.votes()?;
            let class_names = votes.class_names().cloned();
            let votes = teacher(&votes, column)?;
            Ok(Understood { value: TeacherVotes { votes, ids, class_names }, warnings })
        })
        .map_err(|problem| problem.of(path))
}

/// One teacher's counts, and what its file says of samples and classes.
#[derive(Clone, PartialEq, Eq)]
pub struct TeacherCounts {
    /// For each sample, how many voters behind the teacher chose each class.
    pub counts: Vec<Vec<u32>>,
    /// The sample ids beside them, if a text file has any.
    pub ids: Option<Vec<String>>,
    /// The names of the classes, if a header names them.
    pub class_names: Option<ClassNames>,
}

impl std::fmt::Debug for TeacherCounts {
    /// Shows the shape only, as for votes.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TeacherCounts").field("samples", &self.counts.len()).finish_non_exhaustive()
    }
}

/// Reads one teacher's counts per class, as [`understand_counts`] does, with the sample ids beside
/// them. No row may count more than that many voters.
pub fn understand_counts_ballot(
    path: &Path,
    options: &ReadOptions,
    most_voters: u32,
) -> Result<Understood<TeacherCounts>, FileError> {
    let bounded = |intake: &mut Intake| intake.take_at_most(most_voters);
    read_into(path, options, Meaning::Counts, Keep::Ballot, Columns::Teachers, bounded)
        .and_then(|mut intake| {
            let ids = intake.take_ids();
            let (histograms, warnings) = intake.counts(options.names.as_ref())?;
            let counts = histograms.as_slice().iter().map(|sample| sample.counts().to_vec());
            let class_names = histograms.class_names().cloned();
            let value = TeacherCounts { counts: counts.collect(), ids, class_names };
            Ok(Understood { value, warnings })
        })
        .map_err(|problem| problem.of(path))
}

/// Reads a list of samples: the first column of a text file, one id per row, with or without a
/// header. All ids are there, and different.
pub fn read_ids(path: &Path) -> Result<Vec<String>, FileError> {
    let read = || {
        let source = Source::open(path)?;
        let Content::Text = source.content else {
            return Err(FileProblem::Array(
                "a list of samples is a text file; save it as .csv, one sample id per row"
                    .to_owned(),
            ));
        };
        let ids = csv::first_column(BufReader::with_capacity(1 << 16, source.reader))?;
        let mut rows = std::collections::HashMap::with_capacity(ids.len());
        for (row, id) in (1..).zip(&ids) {
            if id.is_empty() {
                return Err(FileProblem::Array(format!(
                    "sample {row} has no id in the first column; give every sample one"
                )));
            }
            if let Some(first) = rows.insert(id.as_str(), row) {
                return Err(FileProblem::Array(format!(
                    "samples {first} and {row} are both called `{}`; give every sample an id of \
                     its own",
                    problem::quoted(id)
                )));
            }
        }
        Ok(ids)
    };
    read().map_err(|problem| problem.of(path))
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
             or give one vote per row"
        ))),
    }
}

/// Reads `.npy.gz` votes that are at hand as bytes.
pub fn votes_from_packed_npy(
    packed: &[u8],
    classes: Option<Classes>,
) -> Result<Votes, FileProblem> {
    let mut intake = Intake::new(classes, None, Meaning::Classes, Keep::Votes);
    let unpacked = flate2::read::MultiGzDecoder::new(packed);
    npy::read(unpacked, None, &mut intake, Columns::Teachers)?;
    Ok(intake.votes()?.0)
}

/// Reads `.npy.gz` labels that are at hand as bytes.
pub fn labels_from_packed_npy(packed: &[u8]) -> Result<Labels, FileProblem> {
    let mut intake = Intake::new(None, None, Meaning::Classes, Keep::Votes);
    npy::read(flate2::read::MultiGzDecoder::new(packed), None, &mut intake, Columns::One)?;
    Ok(column_labels(intake)?.value.0)
}

fn column_labels(column: Intake) -> Result<Understood<(Labels, Option<ClassNames>)>, FileProblem> {
    let (column, warnings) = column.votes()?;
    let labels = Labels::new((0..column.samples()).map(|sample| column.vote(sample, 0)).collect())?;
    Ok(Understood { value: (labels, column.class_names().cloned()), warnings })
}

fn read(
    path: &Path,
    options: &ReadOptions,
    meaning: Meaning,
    keep: Keep,
    columns: Columns,
) -> Result<Intake, FileProblem> {
    read_into(path, options, meaning, keep, columns, |_| {})
}

fn read_into(
    path: &Path,
    options: &ReadOptions,
    meaning: Meaning,
    keep: Keep,
    columns: Columns,
    prepare: impl FnOnce(&mut Intake),
) -> Result<Intake, FileProblem> {
    let mut intake = Intake::new(options.classes, options.names.as_ref(), meaning, keep);
    prepare(&mut intake);
    if keep == Keep::Ballot {
        intake.keep_ids();
    }
    let into = &mut intake;
    let source = Source::open(path)?;
    match source.content {
        Content::Text => {
            let reader = BufReader::with_capacity(1 << 16, source.reader);
            csv::read(reader, into, columns, &options.ignored)?;
        }
        Content::Npy => npy::read(source.reader, source.length, into, columns)?,
        Content::Npz => {
            let wanted = match (meaning, columns) {
                (Meaning::Counts, _) => "counts",
                (_, Columns::One) => "labels",
                _ => "votes",
            };
            npz::read(source.into_file()?, into, columns, wanted)?;
        }
        Content::Parquet | Content::ArrowFile | Content::ArrowStream => {
            arrow::read(source, into, columns, &options.ignored)?;
        }
    }
    Ok(intake)
}

/// What a file is written as, told by the end of the name.
#[derive(Clone, Copy)]
struct Kind {
    content: Written,
    packing: Packing,
}

#[derive(Clone, Copy)]
enum Written {
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
            Some((_, "npy")) => Written::Npy,
            Some((_, "csv")) => Written::Csv,
            _ => return Err(FileProblem::UnknownKind),
        };
        Ok(Self { content, packing })
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
    write(path, &shape, rows, votes.class_names())
}

/// Writes labels, whole or not at all.
pub fn write_labels(path: &Path, labels: &Labels) -> Result<(), FileError> {
    write_named_labels(path, labels, None)
}

/// Writes labels by the names of their classes, where there are any, to `.csv`. An `.npy` file
/// holds their numbers.
pub fn write_named_labels(
    path: &Path,
    labels: &Labels,
    names: Option<&ClassNames>,
) -> Result<(), FileError> {
    let shape = [labels.as_slice().len()];
    write(path, &shape, labels.as_slice().iter().map(|&label| std::iter::once(label)), names)
}

fn write<Row: Iterator<Item = Option<Class>>>(
    path: &Path,
    shape: &[usize],
    rows: impl Iterator<Item = Row> + Clone,
    names: Option<&ClassNames>,
) -> Result<(), FileError> {
    let written = Kind::of(path).and_then(|kind| {
        write_atomically(path, |file| match kind.packing {
            Packing::Plain => write_content(kind.content, file, shape, rows, names),
            Packing::Gzip => {
                let mut packer = flate2::write::GzEncoder::new(file, flate2::Compression::best());
                write_content(kind.content, &mut packer, shape, rows, names)?;
                packer.finish().map(drop)
            }
        })
        .map_err(FileProblem::Io)
    });
    written.map_err(|problem| problem.of(path))
}

fn write_content<Row: Iterator<Item = Option<Class>>>(
    content: Written,
    file: &mut impl Write,
    shape: &[usize],
    rows: impl Iterator<Item = Row> + Clone,
    names: Option<&ClassNames>,
) -> io::Result<()> {
    match content {
        Written::Npy => npy::write(file, shape, rows),
        Written::Csv => csv::write(file, rows, names),
    }
}

#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod sloppy_tests;
#[cfg(test)]
mod tests;
