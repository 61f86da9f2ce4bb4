//! What can be wrong with an election file.

use std::fmt::{self, Write as _};

use thiserror::Error;

/// One thing that is wrong with an election file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The line, counted from 1; none for what is missing.
    pub line: Option<usize>,
    /// What is wrong, and what to write instead.
    pub problem: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.problem),
            None => f.write_str(&self.problem),
        }
    }
}

/// Everything that is wrong with an election file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", list(mistakes))]
pub struct ElectionFileError {
    /// At least one, in the order of the file.
    pub mistakes: Vec<Mistake>,
}

fn list(mistakes: &[Mistake]) -> String {
    match mistakes {
        [only] => only.to_string(),
        several => several.iter().fold(
            format!("{} mistakes in the election file:", several.len()),
            |mut text, mistake| {
                let _ = write!(text, "\n  {mistake}");
                text
            },
        ),
    }
}
