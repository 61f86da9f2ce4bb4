//! What can go wrong with an experiment.

use std::fmt::Display;
use std::path::PathBuf;

use shield::files::FileError;
use shield::{ParameterError, VotesError};

use super::classroom::SplitError;
use crate::data::DataError;
use crate::glyphs::GlyphError;
use crate::student::LearnError;
use crate::teachers::TeachError;

/// Why an experiment does not run or did not end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// The images cannot be read.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The typefaces cannot be used.
    #[error(transparent)]
    Glyphs(#[from] GlyphError),
    /// A file of votes cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// Votes that cannot be.
    #[error(transparent)]
    Votes(#[from] VotesError),
    /// The votes are on other images.
    #[error(
        "{}: {found} samples, but there are {wanted} public images; give votes on those, or leave \
         --votes out to train teachers", path.display()
    )]
    OtherImages {
        /// The file of votes.
        path: PathBuf,
        /// How many samples it has.
        found: usize,
        /// How many public images there are.
        wanted: usize,
    },
    /// A row that does not exist.
    #[error("--rows {name}: there is no such row; the rows are {rows}")]
    NoSuchRow {
        /// What was asked for.
        name: String,
        /// What there is.
        rows: String,
    },
    /// The folder cannot be used.
    #[error("{}: {why}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What is wrong, and what to do.
        why: String,
    },
    /// Sizes that cannot be.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// Too few images for so many teachers.
    #[error(transparent)]
    Teach(#[from] TeachError),
    /// Too few images for a student.
    #[error(transparent)]
    Split(#[from] SplitError),
    /// A student cannot learn from its labels.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// No setting is private enough.
    #[error("nothing in the search costs at most epsilon {target}; try larger offsets")]
    NothingAffordable {
        /// The epsilon that was asked for.
        target: f64,
    },
    /// Something failed on the way that nobody's input caused.
    #[error("{0}")]
    Failed(String),
}

impl ExperimentError {
    pub(super) fn failed(error: impl Display) -> Self {
        Self::Failed(error.to_string())
    }

    /// A file that cannot be written: the file is not input then.
    pub(super) fn writing(error: FileError) -> Self {
        Self::failed(error)
    }

    /// Whether another input would help.
    pub fn is_bad_input(&self) -> bool {
        match self {
            Self::Data(_)
            | Self::Glyphs(_)
            | Self::File(_)
            | Self::Votes(_)
            | Self::OtherImages { .. }
            | Self::NoSuchRow { .. }
            | Self::Folder { .. }
            | Self::Parameter(_)
            | Self::Teach(_) => true,
            Self::Split(_) | Self::Learn(_) | Self::NothingAffordable { .. } | Self::Failed(_) => {
                false
            }
        }
    }
}
