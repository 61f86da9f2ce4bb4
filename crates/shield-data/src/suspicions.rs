//! Looks at rows as they come, for tables that are not votes.

use super::warning::Warning;
use shield_core::votes::MISSING;

/// Rows and columns whose agreement is looked at: enough to tell, and cheap.
const AGREEMENT_ROWS: usize = 200;
const AGREEMENT_COLUMNS: usize = 500;
/// With more classes than these, agreement is not looked at.
const AGREEMENT_CLASSES: usize = 32;
/// Two equal cells in a row are this much rarer than in a column before it is said.
const AGREEMENT_MARGIN: f64 = 0.15;
/// Fewer rows than these show nothing.
const FEW_ROWS: usize = 3;

/// What the rows have in common so far.
#[derive(Default)]
pub(super) struct Suspicions {
    rows: usize,
    columns: usize,
    /// The first row, to compare with.
    counting_row: bool,
    first: Vec<u32>,
    all_equal: bool,
    /// The columns that count 0, 1, 2, ... so far, and from where; likewise those without a vote.
    counting: Vec<usize>,
    empty: Vec<usize>,
    sum: Option<u64>,
    one_hot: bool,
    smallest: Option<u32>,
    largest: u32,
    agreement: Agreement,
}

impl Suspicions {
    /// The next row; [`MISSING`] is an abstention.
    pub(super) fn row(&mut self, row: &[u32]) {
        let present = || row.iter().copied().filter(|&cell| cell != MISSING);
        let sum: u64 = present().map(u64::from).sum();
        let whole = present().count() == row.len();
        let one = sum == 1 && present().all(|cell| cell <= 1);
        if let Some(smallest) = present().min() {
            self.smallest = Some(self.smallest.map_or(smallest, |before| before.min(smallest)));
        }
        self.largest = self.largest.max(present().max().unwrap_or(0));
        if self.rows == 0 {
            self.columns = row.len();
            self.counting_row = row.len() >= 4 && counts(row);
            self.all_equal = true;
            self.sum = whole.then_some(sum);
            self.one_hot = one;
            let from = |&column: &usize| row[column] <= 1;
            self.counting = (0..row.len()).filter(from).collect();
            self.empty = (0..row.len()).filter(|&column| row[column] == MISSING).collect();
            self.first = row.to_vec();
        } else {
            self.all_equal &= row == self.first;
            self.sum = self.sum.filter(|&before| whole && before == sum);
            self.one_hot &= one;
            let expected = u32::try_from(self.rows).unwrap_or(MISSING);
            let first = &self.first;
            self.counting.retain(|&column| {
                row[column] != MISSING && row[column].checked_sub(expected) == Some(first[column])
            });
            self.empty.retain(|&column| row[column] == MISSING);
        }
        self.rows += 1;
        self.agreement.row(row);
    }

    /// What looks wrong with votes or labels. Places are turned into the file's own by `column`.
    pub(super) fn warnings(&self, column: impl Fn(usize) -> usize) -> Vec<Warning> {
        let mut found = vec![];
        let (rows, columns, largest) = (self.rows, self.columns, self.largest);
        let classes = largest as usize + 1;
        let tabular = rows >= FEW_ROWS && columns > 1;
        if tabular {
            found.extend(self.counting.iter().take(3).map(|&at| {
                let column = column(at);
                format!(
                    "column {column} counts up row by row, as sample ids do; if it holds no \
                     votes, give --ignore-columns {column}"
                )
            }));
        }
        let mut say = |text: String| found.push(text);
        if rows > 1 && self.counting_row && !self.all_equal {
            say(
                "row 1 counts up column by column, as a header of numbered columns does; if it is \
                 one, remove it"
                    .to_owned(),
            );
        }
        if tabular && self.one_hot {
            say("every row is a single 1 among zeros, as one-hot classes are; write the class \
                 itself, for example with array.argmax(axis=1)"
                .to_owned());
        } else if let Some(sum) = self.sum.filter(|_| tabular && !self.all_equal) {
            say(format!(
                "every row sums to {sum}, as counts per class do; if columns are classes and cells \
                 are numbers of teachers, give --counts to `analyze`, `tune` or `compare`"
            ));
        }
        if columns > 1 && classes > columns.max(2) {
            say(format!(
                "there are {classes} classes and only {columns} teachers; check that rows are \
                 samples, columns are teachers and cells are classes"
            ));
        }
        if self.smallest.is_some_and(|smallest| smallest > 0) && rows * columns >= 4 && largest > 1
        {
            let names = names_from_one(largest);
            say(format!(
                "no cell is 0; if the classes are 1 to {largest}, give --class-names {names}"
            ));
        }
        if self.agreement.is_transposed() {
            say(format!(
                "columns agree more than rows do, as if the {columns} columns were samples and the \
                 {rows} rows teachers; votes are samples x teachers, transpose the table if it is \
                 the other way round"
            ));
        }
        if rows > 1 && columns > 1 && self.empty.len() < columns {
            found.extend(self.empty.iter().take(3).map(|&at| {
                let column = column(at);
                format!(
                    "column {column} is empty and counts as a teacher who never votes; if it comes \
                     from separators at the ends of lines, give --ignore-columns {column}"
                )
            }));
        }
        found.into_iter().map(Warning::Suspicion).collect()
    }
}

/// 1,2,3 or 1,2,...,9.
fn names_from_one(largest: u32) -> String {
    if largest <= 12 {
        let names: Vec<String> = (1..=largest).map(|name| name.to_string()).collect();
        return names.join(",");
    }
    format!("1,2,...,{largest} (all of them)")
}

/// Whether a row is 0, 1, 2, ... or 1, 2, 3, ...
fn counts(row: &[u32]) -> bool {
    matches!(row.first(), Some(0 | 1))
        && row.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1]))
}

/// How often two cells of a row are equal, and two of a column: teachers agree on samples, and
/// samples do not agree on teachers.
#[derive(Default)]
struct Agreement {
    rows: usize,
    in_rows: f64,
    /// One count per class of each column.
    columns: Vec<[u32; AGREEMENT_CLASSES]>,
    too_many_classes: bool,
}

impl Agreement {
    fn row(&mut self, row: &[u32]) {
        if self.rows == AGREEMENT_ROWS || self.too_many_classes {
            return;
        }
        let row = &row[..row.len().min(AGREEMENT_COLUMNS)];
        self.columns.resize(row.len(), [0; AGREEMENT_CLASSES]);
        let mut counts = [0; AGREEMENT_CLASSES];
        for (&cell, column) in row.iter().zip(&mut self.columns) {
            match cell as usize {
                class @ 0..AGREEMENT_CLASSES => {
                    counts[class] += 1;
                    column[class] += 1;
                }
                _ if cell == MISSING => {}
                _ => self.too_many_classes = true,
            }
        }
        self.in_rows += equal_pairs(&counts);
        self.rows += 1;
    }

    fn is_transposed(&self) -> bool {
        if self.rows < FEW_ROWS || self.columns.len() < FEW_ROWS || self.too_many_classes {
            return false;
        }
        let in_columns: f64 = self.columns.iter().map(equal_pairs).sum();
        let in_columns = in_columns / self.columns.len() as f64;
        in_columns > self.in_rows / self.rows as f64 + AGREEMENT_MARGIN
    }
}

/// The share of pairs of cells that are equal.
fn equal_pairs(counts: &[u32; AGREEMENT_CLASSES]) -> f64 {
    let cells: f64 = counts.iter().map(|&count| f64::from(count)).sum();
    let equal: f64 = counts.iter().map(|&count| f64::from(count) * (f64::from(count) - 1.0)).sum();
    if cells > 1.0 { equal / (cells * (cells - 1.0)) } else { 0.0 }
}
