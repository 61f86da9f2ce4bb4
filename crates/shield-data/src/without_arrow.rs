//! What a program that was built without the feature `arrow` says of Parquet, Feather and Arrow.

use super::columns::{Columns, IgnoredColumns};
use super::intake::Intake;
use super::problem::FileProblem;
use super::source::Source;

pub(super) fn read(
    _source: Source,
    _intake: &mut Intake,
    _columns: Columns,
    _ignored: &IgnoredColumns,
) -> Result<(), FileProblem> {
    Err(FileProblem::Foreign {
        what: "a Parquet, Feather or Arrow file",
        remedy: "this program was built without them: build it with `cargo build --release \
                 --features arrow`, or save the table with frame.to_csv(\"votes.csv\")",
    })
}
