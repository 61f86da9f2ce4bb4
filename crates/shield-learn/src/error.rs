//! What can go wrong with images, teachers, students and experiments.

use std::fmt::Display;
use std::path::PathBuf;

use shield_core::{ParameterError, VotesError};
use shield_data::FileError;
use thiserror::Error;

/// Why nothing is learnt.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LearnError {
    /// A folder that does not hold the data set.
    #[error("{}: {problem}\n{remedy}", path.display())]
    Data {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
        /// How to get the right files.
        remedy: &'static str,
    },
    /// A folder that cannot be searched for fonts.
    #[error("{}: {why}; give a folder with TrueType or OpenType files", path.display())]
    Fonts {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        why: String,
    },
    /// A folder with too few typefaces.
    #[error(
        "{files} font files have {found} different typefaces with at least 80% of the \
         {characters} characters; {needed} are needed: one for each of the teachers, and {public} \
         with all characters for the public images (found: {complete}). Add fonts \
         (docs/experiments.md says where from), or let --teachers be less"
    )]
    TooFewTypefaces {
        /// How many characters there are.
        characters: usize,
        /// How many files were read.
        files: usize,
        /// How many typefaces can be used.
        found: usize,
        /// How many of them are complete.
        complete: usize,
        /// How many are needed.
        needed: usize,
        /// How many complete ones the public images need.
        public: usize,
    },
    /// More teachers than images to share.
    #[error(
        "{teachers} teachers cannot share {images} training images; give each at least {least}"
    )]
    TooManyTeachers {
        /// How many teachers were asked for.
        teachers: usize,
        /// How many images there are to share.
        images: usize,
        /// How many each needs.
        least: usize,
    },
    /// Another number of labels than images.
    #[error(
        "there are {labels} labels for {images} images; give each image one, absent where there \
         is none"
    )]
    LabelCount {
        /// How many labels.
        labels: usize,
        /// How many images.
        images: usize,
    },
    /// All labels are absent.
    #[error("none of the images has a label; label some first")]
    NoLabels,
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
    /// The folder of an experiment, or a student's model, cannot be used.
    #[error("{}: {why}", path.display())]
    Unusable {
        /// The folder or the file.
        path: PathBuf,
        /// What is wrong, and what to do.
        why: String,
    },
    /// Sizes that cannot be.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// Sizes that leave a student nothing to be tested on.
    #[error(
        "a student cannot see {seen} of {images} images and ask for {queries} labels; leave some \
         images for testing, and let it ask for 1 to {seen}"
    )]
    Split {
        /// How many images there are.
        images: usize,
        /// How many the student would see.
        seen: usize,
        /// How many labels it would ask for.
        queries: usize,
    },
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

impl LearnError {
    pub(crate) fn failed(error: impl Display) -> Self {
        Self::Failed(error.to_string())
    }

    /// Whether another input would help.
    pub fn is_bad_input(&self) -> bool {
        !matches!(
            self,
            Self::Split { .. }
                | Self::LabelCount { .. }
                | Self::NoLabels
                | Self::NothingAffordable { .. }
                | Self::Failed(_)
        )
    }
}
