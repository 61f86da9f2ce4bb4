//! Tables that come column by column, turned into rows.

use super::intake::Intake;
use super::problem::FileProblem;
use shield_core::votes::Cells;

/// Rows that are turned at once: a line of the processor's cache for each column.
const ROWS_AT_ONCE: usize = 64;

/// Numbers of some rows, column after column, as compact as votes themselves.
pub(super) struct ColumnBlock {
    rows: usize,
    cells: Cells,
}

impl ColumnBlock {
    pub(super) fn new(rows: usize) -> Self {
        Self { rows, cells: Cells::default() }
    }

    /// The next number of the column, or the first of the next column.
    pub(super) fn push(&mut self, number: u32) {
        self.cells.push(number);
    }

    /// The number at a place of a block of one column.
    #[cfg(feature = "arrow")]
    pub(super) fn get(&self, row: usize) -> Option<u32> {
        (row < self.cells.len()).then(|| self.cells.get(row))
    }

    /// Gives all rows to the intake; the first is at that place in the file, from 1.
    pub(super) fn into_rows(self, intake: &mut Intake, first: usize) -> Result<(), FileProblem> {
        let columns = self.cells.len().checked_div(self.rows).unwrap_or(0);
        let mut turned = vec![0; ROWS_AT_ONCE * columns];
        for start in (0..self.rows).step_by(ROWS_AT_ONCE) {
            let rows = ROWS_AT_ONCE.min(self.rows - start);
            for column in 0..columns {
                let from = column * self.rows + start;
                for row in 0..rows {
                    turned[row * columns + column] = self.cells.get(from + row);
                }
            }
            for row in 0..rows {
                for &number in &turned[row * columns..(row + 1) * columns] {
                    intake.push(number);
                }
                intake.end_row(first + start + row)?;
            }
        }
        Ok(())
    }
}
