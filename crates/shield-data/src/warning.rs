//! What a reader noticed: how it understood a file, and what looks wrong with it.

use std::fmt;

/// Something that a person should hear about a file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// Note: row 1 was taken for a header.
    Header {
        /// Its first cells.
        cells: String,
    },
    /// Note: a column was taken for sample ids or the like, and not read.
    IgnoredColumn {
        /// The column, counted from 1.
        column: usize,
        /// What its header says, if anything.
        name: String,
    },
    /// Note: the classes have names, which were numbered in the order of the alphabet.
    Names {
        /// All of them, in the order of the classes, or the first.
        names: String,
        /// How many there are.
        classes: usize,
    },
    /// Note: how else the file was understood.
    Note(String),
    /// The file may hold something else than votes.
    Suspicion(String),
}

/// How loud a warning is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// How the file was understood.
    Note,
    /// The figures may be about something else than votes.
    Suspicious,
}

impl Warning {
    /// How loud it is.
    pub fn severity(&self) -> Severity {
        match self {
            Self::Suspicion(_) => Severity::Suspicious,
            _ => Severity::Note,
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header { cells } => write!(
                f,
                "row 1 (`{cells}`) is taken for a header; if it holds votes for named classes, \
                 give --class-names"
            ),
            Self::IgnoredColumn { column, name } => {
                write!(f, "column {column}")?;
                if !name.is_empty() {
                    write!(f, " (`{name}`)")?;
                }
                f.write_str(
                    " is not read: it is taken for sample ids; give --ignore-columns none if it \
                     holds votes",
                )
            }
            Self::Names { names, classes } => write!(
                f,
                "{classes} classes by name, numbered from 0 in this order: {names}; give \
                 --class-names for another order, or if there are more"
            ),
            Self::Note(text) | Self::Suspicion(text) => f.write_str(text),
        }
    }
}
