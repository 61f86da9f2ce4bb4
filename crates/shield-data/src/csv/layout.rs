//! What a text table looks like, told by its first rows: separator, header, ids, numbers or names.

use std::borrow::Cow;
use std::collections::HashSet;

use super::super::columns::{Columns, IgnoredColumns, is_column_name, is_id_name, is_label_name};
use super::super::intake::{Intake, Meaning, first_of, is_missing_word, whole_number};
use super::super::problem::FileProblem;
use super::super::warning::Warning;
use super::cells;
use shield_core::parameters::Classes;

/// What is between the cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Separator {
    Character(char),
    /// One or more blanks, as `np.savetxt` writes.
    Blanks,
}

pub(super) struct Layout {
    pub(super) separator: Separator,
    pub(super) header: Option<Vec<String>>,
    /// How many columns the file has, those that are not read included.
    pub(super) columns: usize,
    /// The columns that are not read, from 0, in order.
    pub(super) ignored: Vec<usize>,
}

/// A cell at first sight.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sight {
    Missing,
    Number(i128),
    Fraction,
    Text,
}

impl Layout {
    pub(super) fn of(
        head: &[(usize, String)],
        intake: &mut Intake,
        columns: Columns,
        ignored: &IgnoredColumns,
    ) -> Result<Self, FileProblem> {
        let lines: Vec<&str> = head.iter().map(|(_, line)| line.as_str()).collect();
        if lines.iter().any(|line| line.contains('\0')) {
            return Err(FileProblem::Table(
                "this is not text in UTF-8; save it as .csv in UTF-8 (in Excel: \"CSV UTF-8\"), or \
                 as .npy"
                    .to_owned(),
            ));
        }
        let separator = separator(&lines);
        let mut rows = vec![];
        for (row, line) in head {
            let mut found = vec![];
            cells(line, separator, *row, |cell| {
                found.push(cell.trim().to_owned());
                Ok(())
            })?;
            rows.push(found);
        }
        let is_blank = |row: &Vec<String>| row.len() == 1 && row[0].is_empty();
        let second = rows.iter().skip(1).find(|row| !is_blank(row)).map(Vec::len);
        let mut layout = Self { separator, header: None, columns: 0, ignored: vec![] };
        // R leaves the name of the column of ids out.
        if second == Some(rows[0].len() + 1) && rows[0].iter().all(|cell| !cell.is_empty()) {
            rows[0].insert(0, String::new());
        }
        layout.columns = match rows.iter().find(|row| !is_blank(row)) {
            Some(row) => row.len(),
            None => 1,
        };
        let names = layout
            .holds_names(&rows[1..])
            .unwrap_or_else(|| layout.holds_names(&rows[..1]).unwrap_or(false));
        if layout.has_header(&rows, names, intake) {
            layout.header = Some(rows.remove(0));
        }
        layout.ignored = match ignored.named(layout.header.as_deref(), layout.columns)? {
            Some(ignored) => ignored,
            None => layout.guess_ids(&rows, names, intake),
        };
        layout.choose_labels(columns, ignored)?;
        if let Some(header) = &layout.header {
            intake.warn(Warning::Header { cells: first_of(header) });
            if rows.is_empty() {
                return Err(FileProblem::Table(format!(
                    "there is a header (`{}`) and no row below it; expected one row per sample (if \
                     row 1 holds votes for named classes, give their names with --class-names)",
                    first_of(header)
                )));
            }
        }
        layout.tell(intake, &rows);
        Ok(layout)
    }

    /// Tells the intake what to expect, and what a person should hear.
    fn tell(&self, intake: &mut Intake, rows: &[Vec<String>]) {
        let separator = match self.separator {
            Separator::Character(';') => Some("semicolons"),
            Separator::Character('\t') => Some("tabs"),
            Separator::Character('|') => Some("bars"),
            Separator::Blanks => Some("blanks"),
            Separator::Character(_) => None,
        };
        if let Some(separator) = separator {
            intake.note(format!("the columns are separated by {separator}"));
        }
        for &column in &self.ignored {
            let name = self.header.as_ref().map_or("", |header| header[column].as_str());
            intake.warn(Warning::IgnoredColumn {
                column: column + 1,
                name: first_of(&[name.to_owned()]),
            });
        }
        let read = (0..self.columns).filter(|column| !self.ignored.contains(column));
        let read: Vec<usize> = read.collect();
        if self.holds_names(rows).unwrap_or(false) {
            intake.expect_names();
        } else {
            intake.expect_numbers();
        }
        if let Some(header) = &self.header {
            intake.set_column_names(read.iter().map(|&column| header[column].clone()).collect());
        }
        intake.set_places(read);
    }

    pub(super) fn is_tabbed(&self) -> bool {
        self.separator == Separator::Character('\t')
    }

    /// 4,0 is 4.0 where commas are not between cells.
    pub(super) fn decimal_point<'a>(&self, cell: &'a str) -> Cow<'a, str> {
        let decimal = self.separator != Separator::Character(',')
            && cell.contains(',')
            && cell.bytes().all(|byte| byte.is_ascii_digit() || b"+-,".contains(&byte));
        if decimal { cell.replacen(',', ".", 1).into() } else { cell.into() }
    }

    fn sight(&self, cell: &str) -> Sight {
        if cell.is_empty() || is_missing_word(cell) {
            return Sight::Missing;
        }
        let cell = self.decimal_point(cell);
        match whole_number(&cell) {
            Some(number) => Sight::Number(number),
            None if cell.parse::<f64>().is_ok() => Sight::Fraction,
            None => Sight::Text,
        }
    }

    /// Whether most cells that hold something, ids aside, hold text.
    fn holds_names(&self, rows: &[Vec<String>]) -> Option<bool> {
        let (mut texts, mut all) = (0, 0);
        for row in rows {
            // The first column of several may be ids; it does not decide.
            let skipped = usize::from(row.len() > 1);
            for (column, cell) in row.iter().enumerate().skip(skipped) {
                if self.ignored.contains(&column) {
                    continue;
                }
                match self.sight(cell) {
                    Sight::Missing => {}
                    Sight::Text => (texts, all) = (texts + 1, all + 1),
                    _ => all += 1,
                }
            }
        }
        (all > 0).then_some(2 * texts > all)
    }

    fn has_header(&self, rows: &[Vec<String>], names: bool, intake: &Intake) -> bool {
        let (first, body) = (&rows[0], &rows[1..]);
        let texts = first.iter().filter(|cell| self.sight(cell) == Sight::Text).count();
        let present = first.iter().filter(|cell| self.sight(cell) != Sight::Missing).count();
        if first.iter().any(|cell| intake.is_given(cell).is_some()) {
            // An id may look like anything; a class in any other cell is a vote.
            let is_class = |cell: &String| intake.is_given(cell) == Some(true);
            let voted = match first.as_slice() {
                [_, tail @ ..] if tail.iter().any(|cell| self.sight(cell) != Sight::Missing) => {
                    tail.iter().any(is_class)
                }
                all => all.iter().any(is_class),
            };
            return texts > 0 && !voted;
        }
        let distinct = first.iter().collect::<HashSet<_>>().len() == first.len();
        if names {
            let known =
                first.iter().filter(|cell| !cell.is_empty()).all(|cell| is_column_name(cell));
            let seen: HashSet<&String> = body.iter().flatten().collect();
            let unseen = first.iter().all(|cell| cell.is_empty() || !seen.contains(cell));
            // Classes repeat from row to row, and the heads of columns do not.
            let votes = || body.iter().flat_map(|row| row.iter().skip(1));
            let repeat = votes().collect::<HashSet<_>>().len() < votes().count();
            let many = repeat && first.len() > 1 && body.len() > 1 && first.len() + body.len() > 4;
            let known = known || (first.len() > 1 && is_id_name(&first[0]));
            return present > 0 && distinct && unseen && texts > 0 && (known || many);
        }
        if body.is_empty() {
            return first.len() > 1 && distinct && texts == present && texts > 0;
        }
        // The first of several cells may be the id of a sample whose teachers all abstain.
        let tail = if first.len() > 1 { &first[1..] } else { first.as_slice() };
        let of = |wanted: fn(Sight) -> bool| tail.iter().filter(|c| wanted(self.sight(c))).count();
        let mostly_text =
            2 * of(|sight| sight == Sight::Text) > of(|sight| sight != Sight::Missing);
        let ids: HashSet<&String> = body.iter().filter_map(|row| row.first()).collect();
        let numbered = first.len() > 2
            && is_id_name(&first[0])
            && self.counts(tail)
            && ids.len() == body.len();
        mostly_text || numbered || (self.counts(first) && self.exceeds(first, body, intake))
    }

    /// Whether cells are 0, 1, 2, ... or 1, 2, 3, ...
    fn counts(&self, cells: &[String]) -> bool {
        let numbers: Option<Vec<i128>> = cells
            .iter()
            .map(|cell| match self.sight(cell) {
                Sight::Number(number) => Some(number),
                _ => None,
            })
            .collect();
        let counts = |numbers: Vec<i128>| {
            matches!(numbers.first(), Some(0 | 1))
                && numbers.windows(2).all(|pair| pair[0] + 1 == pair[1])
        };
        numbers.is_some_and(counts)
    }

    /// Whether some counting cells, five at least, go where no other cell does: they are no votes.
    fn exceeds(&self, counting: &[String], others: &[Vec<String>], intake: &Intake) -> bool {
        let largest = |cells: &mut dyn Iterator<Item = &String>| {
            let number = |cell: &String| match self.sight(cell) {
                Sight::Number(number) => Some(number),
                _ => None,
            };
            cells.filter_map(number).max().unwrap_or(0)
        };
        let last = largest(&mut counting.iter());
        if intake.meaning() == Meaning::Counts || counting.len() < 5 {
            return false;
        }
        match intake.classes().map(Classes::count) {
            Some(classes) => last >= classes as i128,
            None => others.len() >= 3 && last > largest(&mut others.iter().flatten()),
        }
    }

    fn guess_ids(&self, rows: &[Vec<String>], names: bool, intake: &Intake) -> Vec<usize> {
        if self.columns < 2 || rows.is_empty() {
            return vec![];
        }
        let header = self.header.as_ref().map(|header| header[0].as_str());
        let first: Vec<String> = rows.iter().filter_map(|row| row.first().cloned()).collect();
        let others: Vec<Vec<String>> =
            rows.iter().map(|row| row.get(1..).unwrap_or_default().to_vec()).collect();
        let texts = first.iter().filter(|cell| self.sight(cell) == Sight::Text).count();
        let distinct = first.iter().collect::<HashSet<_>>().len() == first.len();
        let given = first.iter().any(|cell| intake.is_given(cell) == Some(true));
        let mostly_text = 2 * texts > first.len();
        let elsewhere: HashSet<&String> = others.iter().flatten().collect();
        let apart = first.iter().all(|cell| !elsewhere.contains(cell));
        let ids = header.is_some_and(is_id_name)
            || (!names && mostly_text && !given && distinct)
            || (names && distinct && apart && first.len() >= 3 && !given)
            || (self.counts(&first) && self.exceeds(&first, &others, intake));
        if ids { vec![0] } else { vec![] }
    }

    /// Of a table of several columns with one that is called labels, that one.
    fn choose_labels(
        &mut self,
        columns: Columns,
        ignored: &IgnoredColumns,
    ) -> Result<(), FileProblem> {
        if columns != Columns::One || self.columns - self.ignored.len() == 1 {
            return Ok(());
        }
        let header = self.header.as_deref().unwrap_or_default();
        let labels: Vec<usize> =
            (0..header.len()).filter(|&column| is_label_name(&header[column])).collect();
        if let (&[label], IgnoredColumns::Guess) = (labels.as_slice(), ignored) {
            self.ignored = (0..self.columns).filter(|&column| column != label).collect();
            return Ok(());
        }
        Err(FileProblem::Table(format!(
            "row 1 has several columns; labels are one number per row (one of {} columns must be \
             called `label` in a header, or the others be left out)",
            self.columns
        )))
    }
}

/// The character that all lines have equally often; else the commonest.
pub(super) fn separator(lines: &[&str]) -> Separator {
    const CHARACTERS: [char; 4] = [';', '\t', '|', ','];
    let lines: Vec<&&str> = lines.iter().filter(|line| !line.trim().is_empty()).collect();
    let count = |line: &str, character: char| {
        let mut inside = false;
        let outside = |&c: &char| {
            inside ^= c == '"';
            c == character && !inside
        };
        line.chars().filter(outside).count()
    };
    let equal = |&character: &char| {
        let mut counts = lines.iter().map(|line| count(line, character));
        let first = counts.next().unwrap_or(0);
        first > 0 && counts.all(|count| count == first)
    };
    let total = |character: &char| lines.iter().map(|line| count(line, *character)).sum::<usize>();
    let chosen = CHARACTERS.iter().find(|character| equal(character)).or_else(|| {
        CHARACTERS.iter().filter(|character| total(character) > 0).max_by_key(|c| total(c))
    });
    if let Some(&character) = chosen {
        return Separator::Character(character);
    }
    let is_number = |cell: &str| cell.parse::<f64>().is_ok();
    let blanks = lines.iter().all(|line| {
        line.split_ascii_whitespace().count() > 1 && line.split_ascii_whitespace().all(is_number)
    });
    if blanks && !lines.is_empty() { Separator::Blanks } else { Separator::Character(',') }
}
