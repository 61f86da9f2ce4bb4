//! An election and its engine, planned once.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::ElectionFile;
use crate::engine::Engine;

/// An election file and its engine: planned once, and passed on to everything that needs sizes,
/// keys, ballots or releases. A clone shares both.
#[derive(Clone)]
pub struct PlannedElection {
    file: Arc<ElectionFile>,
    engine: Arc<dyn Engine>,
}

impl PlannedElection {
    /// The election's engine.
    pub fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }
}

impl From<Arc<ElectionFile>> for PlannedElection {
    fn from(file: Arc<ElectionFile>) -> Self {
        Self { engine: file.engine(), file }
    }
}

impl ElectionFile {
    /// The election with its engine, which takes a few megabytes and a moment to make.
    pub fn plan(self) -> PlannedElection {
        Arc::new(self).into()
    }
}

impl Deref for PlannedElection {
    type Target = ElectionFile;

    fn deref(&self) -> &ElectionFile {
        &self.file
    }
}

impl PartialEq for PlannedElection {
    fn eq(&self, other: &Self) -> bool {
        self.file == other.file
    }
}

impl fmt::Debug for PlannedElection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PlannedElection").field(&self.file).finish()
    }
}
