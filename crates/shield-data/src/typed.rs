//! Which columns are read of a table whose columns have names and types.

use super::columns::{Columns, IgnoredColumns, is_id_name, is_label_name};
use super::intake::{Intake, first_of};
use super::problem::{FileProblem, quoted};
use super::warning::Warning;

/// What a column can hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Number,
    Text,
    /// Neither classes nor their names.
    Other(String),
}

/// The columns that are read.
pub(super) struct TypedColumns(Vec<usize>);

impl TypedColumns {
    /// Leaves out ids, and what the caller names; refuses what can be no class.
    pub(super) fn choose(
        table: &[(String, Kind)],
        intake: &mut Intake,
        columns: Columns,
        ignored: &IgnoredColumns,
    ) -> Result<Self, FileProblem> {
        let names: Vec<String> = table.iter().map(|(name, _)| name.clone()).collect();
        if names.is_empty() {
            return Err(FileProblem::Empty);
        }
        let guess = || {
            let numbers = table.iter().filter(|(_, kind)| *kind == Kind::Number).count();
            let is_id = |place: &usize| {
                let (name, kind) = &table[*place];
                let among_numbers = *kind == Kind::Text && 2 * numbers > table.len();
                table.len() > 1
                    && (name.starts_with("__index_level_")
                        || (*place == 0 && (is_id_name(name) || among_numbers)))
            };
            (0..table.len()).filter(is_id).collect()
        };
        let mut left_out: Vec<usize> =
            ignored.named(Some(&names), names.len())?.unwrap_or_else(guess);
        let mut read: Vec<usize> =
            (0..names.len()).filter(|place| !left_out.contains(place)).collect();
        if columns == Columns::One && read.len() != 1 {
            let labels: Vec<usize> =
                read.iter().copied().filter(|&place| is_label_name(&names[place])).collect();
            if labels.len() != 1 {
                return Err(FileProblem::Table(format!(
                    "the table has the columns {}; labels are one column, called `label` if there \
                     are others",
                    first_of(&names)
                )));
            }
            left_out.extend(read.iter().filter(|place| !labels.contains(place)));
            left_out.sort_unstable();
            read = labels;
        }
        for &place in &read {
            if let (name, Kind::Other(kind)) = &table[place] {
                return Err(FileProblem::Table(format!(
                    "column {} (`{}`) is of type {}; votes and labels are integers or class \
                     names, so convert it, or leave it out with --ignore-columns {}",
                    place + 1,
                    quoted(name),
                    quoted(kind),
                    place + 1
                )));
            }
        }
        if read.is_empty() {
            return Err(FileProblem::Empty);
        }
        for &place in &left_out {
            let name = quoted(&names[place]);
            intake.warn(Warning::IgnoredColumn { column: place + 1, name });
        }
        intake.set_column_names(read.iter().map(|&place| names[place].clone()).collect());
        intake.set_places(read.clone());
        Ok(Self(read))
    }

    /// Their places in the table, from 0.
    pub(super) fn read(&self) -> &[usize] {
        &self.0
    }
}
