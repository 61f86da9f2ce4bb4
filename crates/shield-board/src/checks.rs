//! Numbered checks, and what came of them.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use thiserror::Error;

/// What came of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It holds.
    Passed,
    /// It does not, and why.
    Failed(String),
    /// It was not run, and why not.
    NotRun(String),
}

impl Outcome {
    /// The outcome of a check that may fail.
    pub fn of<E: fmt::Display>(result: Result<(), E>) -> Self {
        result.map_or_else(|error| Self::Failed(error.to_string()), |()| Self::Passed)
    }

    /// The word that reports use.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed(_) => "failed",
            Self::NotRun(_) => "not run",
        }
    }

    /// Why it failed or was not run.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Passed => None,
            Self::Failed(reason) | Self::NotRun(reason) => Some(reason),
        }
    }
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Its number, counted from 1: the same in every report.
    pub id: usize,
    /// Its name in one word.
    pub name: &'static str,
    /// What holds if it passed.
    pub what: &'static str,
    /// `passed`, `failed` or `not run`.
    pub result: &'static str,
    /// Why, unless it passed.
    pub reason: Option<String>,
}

/// A list of checks with their outcomes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Checks {
    checks: Vec<Check>,
}

impl Checks {
    /// Adds the next check.
    pub fn add(&mut self, (name, what): (&'static str, &'static str), outcome: &Outcome) {
        let (id, result) = (self.checks.len() + 1, outcome.word());
        let reason = outcome.reason().map(str::to_owned);
        self.checks.push(Check { id, name, what, result, reason });
    }

    /// All of them.
    pub fn list(&self) -> &[Check] {
        &self.checks
    }

    /// Whether none failed. Some may not have been run.
    pub fn all_passed(&self) -> bool {
        self.checks.iter().all(|check| check.result != "failed")
    }

    /// Fails if one of them failed on this board.
    pub fn demand(&self, board: &Path) -> Result<(), Unsound> {
        let Some(failed) = self.checks.iter().find(|check| check.result == "failed") else {
            return Ok(());
        };
        Err(Unsound { board: board.to_owned(), check: Box::new(failed.clone()) })
    }
}

/// A board with a check that failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{}: check {} ({}) failed: {}. Ask the operator and the other parties; `shield verify {}` \
     lists all checks",
    board.display(), check.id, check.name, check.reason.as_deref().unwrap_or_default(),
    board.display()
)]
pub struct Unsound {
    /// The board.
    pub board: PathBuf,
    /// The first check that failed.
    pub check: Box<Check>,
}
