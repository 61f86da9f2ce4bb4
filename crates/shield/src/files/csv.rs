//! Comma-separated whole numbers, one row a sample.
//!
//! Read by hand: general CSV readers skip blank lines, and here a blank line in a file of one
//! column is an absent label. Quotes and separators inside cells do not occur in numbers.

use std::io::{self, BufRead, Write};

use super::{Columns, FileProblem};
use crate::parameters::Class;
use crate::votes::VotesBuilder;

pub(super) fn read(
    mut reader: impl BufRead,
    mut into: VotesBuilder,
    columns: Columns,
) -> Result<VotesBuilder, FileProblem> {
    let mut line = Vec::new();
    let mut rows = 0;
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let bytes =
            if rows == 0 { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line) } else { &line };
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_end_matches(['\n', '\r']);
        rows += 1;
        for cell in text.split(',') {
            push(&mut into, cell.trim())?;
            if columns == Columns::One && into.place().1 > 2 {
                return Err(FileProblem::Array(format!(
                    "row {rows} has several columns; labels are one number a row"
                )));
            }
        }
        into.end_row()?;
    }
    if rows == 0 { Err(FileProblem::Empty) } else { Ok(into) }
}

fn push(into: &mut VotesBuilder, cell: &str) -> Result<(), FileProblem> {
    let number = if cell.is_empty() { Ok(-1) } else { cell.parse::<i128>() };
    let Ok(number) = number else {
        let (row, column) = into.place();
        let hint = match cell {
            _ if cell.contains(';') => " (columns are separated by commas)",
            _ if cell.parse::<f64>().is_ok() => "",
            _ if row == 1 => " (if row 1 is a header, remove it)",
            _ => "",
        };
        let cell = cell.chars().take(40).collect::<String>().escape_debug().to_string();
        return Err(FileProblem::NotANumber { row, column, cell, hint });
    };
    Ok(into.push(number)?)
}

pub(super) fn write<Row: Iterator<Item = Option<Class>>>(
    writer: &mut impl Write,
    rows: impl Iterator<Item = Row>,
) -> io::Result<()> {
    for row in rows {
        for (column, cell) in row.enumerate() {
            if column > 0 {
                writer.write_all(b",")?;
            }
            if let Some(class) = cell {
                write!(writer, "{class}")?;
            }
        }
        writer.write_all(b"\n")?;
    }
    Ok(())
}
