//! Which columns of a table are read: all but those of sample ids.

use std::convert::Infallible;
use std::str::FromStr;

use super::problem::{FileProblem, quoted};

/// What the columns of a file are: teachers (or classes, for counts), the one column of labels, or
/// either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Columns {
    Teachers,
    One,
    Any,
}

/// Columns that hold no votes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum IgnoredColumns {
    /// A first column that looks like sample ids is left out, with a note.
    #[default]
    Guess,
    /// These and no others, by number (from 1) or by their name in the header.
    These(Vec<String>),
}

/// `none`, or numbers and names between commas.
impl FromStr for IgnoredColumns {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let names = text.split(',').map(|name| name.trim().to_owned());
        let names = names.filter(|name| !name.is_empty() && name != "none");
        Ok(Self::These(names.collect()))
    }
}

impl IgnoredColumns {
    /// The columns that were named, from 0; `None` where it is to be guessed.
    pub(super) fn named(
        &self,
        header: Option<&[String]>,
        columns: usize,
    ) -> Result<Option<Vec<usize>>, FileProblem> {
        let Self::These(names) = self else {
            return Ok(None);
        };
        let place = |name: &String| {
            let by_name = header.and_then(|header| header.iter().position(|cell| cell == name));
            let by_number = || name.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            by_name.or_else(by_number).filter(|&column| column < columns).ok_or_else(|| {
                FileProblem::Table(format!(
                    "there is no column `{}` to leave out; the file has {columns} columns, counted \
                     from 1{}",
                    quoted(name),
                    header.map_or(String::new(), |header| format!(
                        ", whose header is {}",
                        super::intake::first_of(header)
                    ))
                ))
            })
        };
        let mut ignored: Vec<usize> = names.iter().map(place).collect::<Result<_, _>>()?;
        ignored.sort_unstable();
        ignored.dedup();
        Ok(Some(ignored))
    }
}

/// Whether a column of that name holds sample ids.
pub(super) fn is_id_name(name: &str) -> bool {
    const NAMES: [&str; 18] = [
        "",
        "#",
        "id",
        "ids",
        "idx",
        "index",
        "sample",
        "samples",
        "sampleid",
        "image",
        "img",
        "file",
        "filename",
        "path",
        "row",
        "key",
        "uuid",
        "unnamed: 0",
    ];
    let name = name.trim().to_lowercase();
    NAMES.contains(&name.as_str())
        || [" id", "_id", "-id", "_idx", "_index", "_name"].iter().any(|end| name.ends_with(end))
        || name.starts_with("__index_level_")
}

/// Whether a column of that name holds labels.
pub(super) fn is_label_name(name: &str) -> bool {
    const NAMES: [&str; 12] = [
        "label",
        "labels",
        "class",
        "classes",
        "target",
        "targets",
        "truth",
        "true_label",
        "y",
        "y_true",
        "ground_truth",
        "digit",
    ];
    NAMES.contains(&name.trim().to_lowercase().as_str())
}

/// Whether a text would be the head of a column rather than a class.
pub(super) fn is_column_name(name: &str) -> bool {
    const BEGINNINGS: [&str; 8] =
        ["teacher", "model", "vote", "label", "annot", "rater", "expert", "site"];
    let lower = name.trim().to_lowercase();
    is_id_name(name)
        || is_label_name(name)
        || BEGINNINGS.iter().any(|word| lower.starts_with(word))
        || lower.ends_with(|last: char| last.is_ascii_digit())
}
