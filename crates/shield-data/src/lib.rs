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
mod suspicions;
#[cfg(feature = "arrow")]
mod typed;
mod warning;
#[cfg(not(feature = "arrow"))]
mod without_arrow;

use std::fmt;
use std::io::{self, BufReader, Write};
use std::path::Path;

pub use atomic::write_atomically;
pub use columns::IgnoredColumns;
pub use csv::field as csv_field;
pub use problem::{FileError, FileProblem};
pub use warning::{Severity, Warning};

#[cfg(not(feature = "arrow"))]
use without_arrow as arrow;

use columns::Columns;
use intake::{Intake, Keep, Meaning};
use shield_core::parameters::{Class, Classes};
use shield_core::votes::{ClassNames, Histograms, Labels, Vote, Votes};
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
    let intake = options.intake(Meaning::Classes, Keep::Votes);
    understand(path, options, intake, Columns::Teachers, Intake::votes)
}

/// Reads the histograms of votes, without keeping the votes: that takes a few bytes per sample and
/// class, however many teachers there are.
pub fn understand_histograms(
    path: &Path,
    options: &ReadOptions,
) -> Result<Understood<Histograms>, FileError> {
    let intake = options.intake(Meaning::Classes, Keep::Histograms);
    understand(path, options, intake, Columns::Teachers, Intake::histograms)
}

/// Reads counts per class: one row per sample, one column per class, and in each cell how many
/// teachers chose the class.
pub fn understand_counts(
    path: &Path,
    options: &ReadOptions,
) -> Result<Understood<Histograms>, FileError> {
    let intake = options.intake(Meaning::Counts, Keep::Histograms);
    let counts = |intake: Intake| intake.counts(options.names.as_ref());
    understand(path, options, intake, Columns::Teachers, counts)
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
    let intake = options.intake(Meaning::Classes, Keep::Votes);
    understand(path, options, intake, Columns::One, column_labels)
}

/// One teacher's votes or counts, one entry per sample, and what its file says of samples and
/// classes.
#[derive(Clone, PartialEq, Eq)]
pub struct Ballot<Entry> {
    /// For each sample its vote, or how many voters behind the teacher chose each class.
    pub entries: Vec<Entry>,
    /// The sample ids beside them, if a text file has any.
    pub ids: Option<Vec<String>>,
    /// The names of the classes, if the votes are names or a header names the classes.
    pub class_names: Option<ClassNames>,
}

impl<Entry> fmt::Debug for Ballot<Entry> {
    /// Shows the shape only, as for votes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ballot").field("samples", &self.entries.len()).finish_non_exhaustive()
    }
}

/// Reads one teacher's votes with the sample ids beside them: a column, a row, or one column of
/// samples x teachers. The column counts, from 1, among those that are read: sample ids do not.
pub fn understand_ballot(
    path: &Path,
    options: &ReadOptions,
    column: Option<usize>,
) -> Result<Understood<Ballot<Vote>>, FileError> {
    let mut intake = options.intake(Meaning::Classes, Keep::Ballot);
    intake.keep_ids();
    understand(path, options, intake, Columns::Any, |mut intake| {
        let ids = intake.take_ids();
        let (votes, warnings) = intake.votes()?;
        let class_names = votes.class_names().cloned();
        Ok((Ballot { entries: teacher(&votes, column)?, ids, class_names }, warnings))
    })
}

/// Reads one teacher's counts per class, as [`understand_counts`] does, with the sample ids beside
/// them. No row may count more than that many voters.
pub fn understand_counts_ballot(
    path: &Path,
    options: &ReadOptions,
    most_voters: u32,
) -> Result<Understood<Ballot<Vec<u32>>>, FileError> {
    let mut intake = options.intake(Meaning::Counts, Keep::Ballot);
    intake.keep_ids();
    intake.take_at_most(most_voters);
    understand(path, options, intake, Columns::Teachers, |mut intake| {
        let ids = intake.take_ids();
        let (histograms, warnings) = intake.counts(options.names.as_ref())?;
        let counts = histograms.as_slice().iter().map(|sample| sample.counts().to_vec());
        let class_names = histograms.class_names().cloned();
        Ok((Ballot { entries: counts.collect(), ids, class_names }, warnings))
    })
}

/// Reads a list of samples: the first column of a text file, one id per row, with or without a
/// header. All ids are there, and different.
pub fn read_ids(path: &Path) -> Result<Vec<String>, FileError> {
    let read = || {
        let source = Source::open(path)?;
        let Content::Text = source.content else {
            return Err(FileProblem::Table(
                "a list of samples is a text file; save it as .csv, one sample id per row"
                    .to_owned(),
            ));
        };
        let ids = csv::first_column(BufReader::with_capacity(1 << 16, source.reader))?;
        let mut rows = std::collections::HashMap::with_capacity(ids.len());
        for (row, id) in (1..).zip(&ids) {
            if id.is_empty() {
                return Err(FileProblem::Table(format!(
                    "sample {row} has no id in the first column; give every sample one"
                )));
            }
            if let Some(first) = rows.insert(id.as_str(), row) {
                return Err(FileProblem::Table(format!(
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
        Some(column) => Err(FileProblem::Table(format!(
            "there is no column {column}; the file has {columns}, counted from 1"
        ))),
        None if columns == 1 => Ok(votes.teacher(0, 0..samples)),
        None if samples == 1 => Ok(votes.sample(0).collect()),
        None => Err(FileProblem::Table(format!(
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
    Ok(column_labels(intake)?.0.0)
}

type NamedLabels = (Labels, Option<ClassNames>);

fn column_labels(column: Intake) -> Result<(NamedLabels, Vec<Warning>), FileProblem> {
    let (column, warnings) = column.votes()?;
    let labels = Labels::new((0..column.samples()).map(|sample| column.vote(sample, 0)).collect())?;
    Ok(((labels, column.class_names().cloned()), warnings))
}

impl ReadOptions {
    fn intake(&self, meaning: Meaning, keep: Keep) -> Intake {
        Intake::new(self.classes, self.names.as_ref(), meaning, keep)
    }
}

/// Reads a file into an intake, and makes of it what is wanted.
fn understand<T>(
    path: &Path,
    options: &ReadOptions,
    mut intake: Intake,
    columns: Columns,
    finish: impl FnOnce(Intake) -> Result<(T, Vec<Warning>), FileProblem>,
) -> Result<Understood<T>, FileError> {
    let filled = read(path, &options.ignored, &mut intake, columns);
    let (value, warnings) =
        filled.and_then(|()| finish(intake)).map_err(|problem| problem.of(path))?;
    Ok(Understood { value, warnings })
}

fn read(
    path: &Path,
    ignored: &IgnoredColumns,
    into: &mut Intake,
    columns: Columns,
) -> Result<(), FileProblem> {
    let source = Source::open(path)?;
    match source.content {
        Content::Text => {
            csv::read(BufReader::with_capacity(1 << 16, source.reader), into, columns, ignored)
        }
        Content::Npy => npy::read(source.reader, source.length, into, columns),
        Content::Npz => {
            let wanted = match (into.meaning(), columns) {
                (Meaning::Counts, _) => "counts",
                (_, Columns::One) => "labels",
                _ => "votes",
            };
            npz::read(source.into_file()?, into, columns, wanted)
        }
        Content::Parquet | Content::ArrowFile | Content::ArrowStream => {
            arrow::read(source, into, columns, ignored)
        }
    }
}

/// What a file is written as, told by the end of the name.
#[derive(Clone, Copy)]
struct Kind {
    npy: bool,
    packed: bool,
}

impl Kind {
    fn of(path: &Path) -> Result<Self, FileProblem> {
        // The end of the name counts, whatever its beginning is written in.
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let plain = name.strip_suffix(".gz").unwrap_or(&name);
        let npy = match plain.rsplit_once('.') {
            Some((_, "npy")) => true,
            Some((_, "csv")) => false,
            _ => {
                return Err(FileProblem::Table(
                    "unknown kind of file; the name must end in .npy or .csv, or in one of them \
                     and .gz"
                        .to_owned(),
                ));
            }
        };
        Ok(Self { npy, packed: plain.len() < name.len() })
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
    let text = format!("the folder {} does not exist; make it first", folder.display());
    Err(FileProblem::Table(text).of(path))
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
        write_atomically(path, |file| {
            if !kind.packed {
                return write_content(kind.npy, file, shape, rows, names);
            }
            let mut packer = flate2::write::GzEncoder::new(file, flate2::Compression::best());
            write_content(kind.npy, &mut packer, shape, rows, names)?;
            packer.finish().map(drop)
        })
        .map_err(FileProblem::Io)
    });
    written.map_err(|problem| problem.of(path))
}

fn write_content<Row: Iterator<Item = Option<Class>>>(
    npy: bool,
    file: &mut impl Write,
    shape: &[usize],
    rows: impl Iterator<Item = Row> + Clone,
    names: Option<&ClassNames>,
) -> io::Result<()> {
    if npy { npy::write(file, shape, rows) } else { csv::write(file, rows, names) }
}

#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod sloppy_tests;
#[cfg(test)]
mod tests;
