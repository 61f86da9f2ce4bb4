//! Text with one row per sample: commas, semicolons, tabs, bars or blanks between the cells.
//!
//! Read by hand: general CSV readers skip blank lines, and here a blank line in a file of one
//! column is an absent label.

mod layout;

use std::borrow::Cow;
use std::io::{self, BufRead, Read, Write};

use super::columns::{Columns, IgnoredColumns, is_id_name};
use super::intake::{Intake, Value};
use super::problem::FileProblem;
use layout::{Layout, Separator};
use shield_core::votes::{ClassNames, VotesError};

/// The longest line: ten million teachers, and some room.
const MAX_LINE: u64 = 64 << 20;
/// How much of the file is looked at before it is read.
const HEAD_LINES: usize = 60;
const HEAD_BYTES: usize = 4 << 20;

pub(super) fn read(
    reader: impl BufRead,
    intake: &mut Intake,
    columns: Columns,
    ignored: &IgnoredColumns,
) -> Result<(), FileProblem> {
    let mut lines = Lines { reader, count: 0 };
    let mut head = vec![];
    let mut bytes = 0;
    let mut comments = 0;
    while head.len() < HEAD_LINES && (bytes < HEAD_BYTES || head.len() < 3) {
        let Some(line) = lines.next()? else { break };
        if head.is_empty() && line.starts_with('#') && line.contains(' ') {
            comments += 1;
            continue;
        }
        bytes += line.len();
        head.push((lines.count, line));
    }
    if head.is_empty() {
        return Err(FileProblem::Empty);
    }
    if comments > 0 {
        intake.note(format!("lines skipped that begin with #: {comments}"));
    }
    let layout = Layout::of(&head, intake, columns, ignored)?;
    let mut table = Table { layout, intake, blank: None };
    let skip = usize::from(table.layout.header.is_some());
    for (row, line) in head.drain(..).skip(skip) {
        table.row(row, &line)?;
    }
    let mut line = Vec::new();
    while lines.fill(&mut line)? {
        let row = lines.count;
        match std::str::from_utf8(&line) {
            Ok(line) => table.row(row, line)?,
            Err(_) => table.row(row, &String::from_utf8_lossy(&line))?,
        }
    }
    Ok(())
}

/// The first column of a table, without its header: what it calls `id` or the like.
pub(super) fn first_column(reader: impl BufRead) -> Result<Vec<String>, FileProblem> {
    let mut lines = Lines { reader, count: 0 };
    let mut all = vec![];
    while let Some(line) = lines.next()? {
        all.push((lines.count, line));
    }
    while all.last().is_some_and(|(_, line)| line.trim().is_empty()) {
        all.pop();
    }
    let head: Vec<&str> = all.iter().take(HEAD_LINES).map(|(_, line)| line.as_str()).collect();
    let separator = layout::separator(&head);
    let mut ids = Vec::with_capacity(all.len());
    for (row, line) in &all {
        let mut first = None;
        cells(line, separator, *row, |cell| {
            first.get_or_insert_with(|| cell.trim().to_owned());
            Ok(())
        })?;
        ids.push(first.unwrap_or_default());
    }
    if ids.first().is_some_and(|first| is_id_name(first)) {
        ids.remove(0);
    }
    if ids.is_empty() {
        return Err(FileProblem::Empty);
    }
    Ok(ids)
}

/// The lines of a file, without their ends.
struct Lines<R> {
    reader: R,
    count: usize,
}

impl<R: BufRead> Lines<R> {
    fn next(&mut self) -> Result<Option<String>, FileProblem> {
        let mut line = Vec::new();
        Ok(self.fill(&mut line)?.then(|| String::from_utf8_lossy(&line).into_owned()))
    }

    fn fill(&mut self, line: &mut Vec<u8>) -> Result<bool, FileProblem> {
        line.clear();
        if self.reader.by_ref().take(MAX_LINE).read_until(b'\n', line)? == 0 {
            return Ok(false);
        }
        self.count += 1;
        if line.len() as u64 == MAX_LINE {
            return Err(FileProblem::Table(format!(
                "row {} is longer than {MAX_LINE} bytes; write one line per sample",
                self.count
            )));
        }
        if self.count == 1 && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        let end = line.iter().rposition(|byte| !b"\r\n".contains(byte)).map_or(0, |last| last + 1);
        line.truncate(end);
        if line.contains(&b'\r') {
            return Err(FileProblem::Table(format!(
                "row {} has carriage returns inside; save the file with line ends of Unix (\\n) or \
                 Windows (\\r\\n)",
                self.count
            )));
        }
        Ok(true)
    }
}

/// Rows on their way into the intake.
struct Table<'a> {
    layout: Layout,
    intake: &'a mut Intake,
    /// A blank line in a table of several columns: fine at the end, and nowhere else.
    blank: Option<usize>,
}

impl Table<'_> {
    fn row(&mut self, row: usize, line: &str) -> Result<(), FileProblem> {
        let layout = &self.layout;
        let several = layout.columns > 1;
        let ragged = |row, found| {
            FileProblem::from(VotesError::Ragged { row, found, expected: layout.columns })
        };
        if several && line.trim().is_empty() && !(line.contains('\t') && layout.is_tabbed()) {
            self.blank.get_or_insert(row);
            return Ok(());
        }
        if let Some(blank) = self.blank {
            return Err(ragged(blank, 1));
        }
        let mut found = 0;
        let numbers = self.intake.wants_numbers();
        let mut ignored = layout.ignored.iter().copied().peekable();
        cells(line, layout.separator, row, |cell| {
            let column = found;
            found += 1;
            if ignored.next_if_eq(&column).is_some() {
                if layout.ignored.first() == Some(&column) {
                    self.intake.id(cell);
                }
                return Ok(());
            }
            if column >= layout.columns {
                return Ok(());
            }
            let number = match small(cell) {
                Some(number) if numbers => {
                    self.intake.number(Value::Whole(number), row, column + 1)?
                }
                _ if cell.is_empty() => self.intake.number(Value::Missing, row, column + 1)?,
                _ => {
                    let cell = layout.decimal_point(cell.trim());
                    self.intake.number(Value::Text(&cell), row, column + 1)?
                }
            };
            self.intake.push(number);
            Ok(())
        })?;
        if found != layout.columns {
            return Err(ragged(row, found));
        }
        self.intake.end_row(row)
    }
}

/// The commonest cells: a few digits and nothing else.
fn small(cell: &str) -> Option<i128> {
    let digits = cell.as_bytes();
    if digits.is_empty() || digits.len() > 6 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(digits.iter().fold(0, |number, digit| 10 * number + i128::from(digit - b'0')))
}

/// Goes through the cells of a line; quotes around a cell are taken off, and so is the apostrophe
/// in front of what would be a formula.
fn cells(
    line: &str,
    separator: Separator,
    row: usize,
    mut each: impl FnMut(&str) -> Result<(), FileProblem>,
) -> Result<(), FileProblem> {
    let mut each = |cell: &str| {
        let text = cell.strip_prefix('\'').filter(|text| text.starts_with(FORMULA));
        each(text.unwrap_or(cell))
    };
    let Separator::Character(separator) = separator else {
        return line.split_ascii_whitespace().try_for_each(each);
    };
    if !line.contains('"') {
        return line.split(separator).try_for_each(each);
    }
    let mut rest = Some(line);
    while let Some(text) = rest {
        let trimmed = text.trim_start_matches(' ');
        let (cell, after) = if let Some(inside) = trimmed.strip_prefix('"') {
            quoted_cell(inside).ok_or_else(|| {
                FileProblem::Table(format!(
                    "row {row}: a quote is not closed on its line; close it, or take line ends out \
                     of the cells"
                ))
            })?
        } else {
            let end = text.find(separator).unwrap_or(text.len());
            (Cow::Borrowed(&text[..end]), &text[end..])
        };
        each(&cell)?;
        // What follows a closing quote up to the separator is blank, or ignored.
        rest = after.find(separator).map(|at| &after[at + separator.len_utf8()..]);
    }
    Ok(())
}

/// The cell up to its closing quote, and what follows. Two quotes are one.
fn quoted_cell(inside: &str) -> Option<(Cow<'_, str>, &str)> {
    let mut from = 0;
    loop {
        let at = from + inside[from..].find('"')?;
        if inside[at + 1..].starts_with('"') {
            from = at + 2;
            continue;
        }
        let cell = &inside[..at];
        let cell =
            if cell.contains('"') { Cow::Owned(cell.replace("\"\"", "\"")) } else { cell.into() };
        return Some((cell, &inside[at + 1..]));
    }
}

/// Characters that a spreadsheet takes for the start of a formula.
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// A text as a field of CSV. What a spreadsheet would take for a formula gets an apostrophe in
/// front, which is taken off again when the text is read.
pub fn field(text: &str) -> String {
    let text = if text.starts_with(FORMULA) { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

pub(super) fn write<Row: Iterator<Item = Option<shield_core::parameters::Class>>>(
    writer: &mut impl Write,
    rows: impl Iterator<Item = Row>,
    names: Option<&ClassNames>,
) -> io::Result<()> {
    for row in rows {
        for (column, cell) in row.enumerate() {
            if column > 0 {
                writer.write_all(b",")?;
            }
            let Some(class) = cell else { continue };
            match names.and_then(|names| names.name(class)) {
                Some(name) => writer.write_all(field(name).as_bytes())?,
                None => write!(writer, "{class}")?,
            }
        }
        writer.write_all(b"\n")?;
    }
    Ok(())
}
