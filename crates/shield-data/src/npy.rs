//! NumPy's array files. `npyz` reads their headers and writes them; cells are decoded here, since
//! they may be numbers or texts and come straight from a pipe.

use std::io::{self, BufReader, Read, Write};

use npyz::{DType, Endianness, NpyHeader, Order, TypeChar, TypeStr, WriterBuilder};

use super::block::ColumnBlock;
use super::columns::Columns;
use super::intake::{Intake, MAX_CELLS, Value};
use super::problem::FileProblem;
use shield_core::parameters::{Class, Voters};

/// Headers of real arrays have about 120 bytes.
const MAX_HEADER: usize = 4096;
/// Cells that are read at once.
const CELLS_AT_ONCE: usize = 4096;
/// The longest texts in an array.
const MAX_LETTERS: u64 = 1000;

pub(super) fn read(
    reader: impl Read,
    length: Option<u64>,
    intake: &mut Intake,
    columns: Columns,
) -> Result<(), FileProblem> {
    if length == Some(0) {
        return Err(FileProblem::Empty);
    }
    let mut reader = BufReader::with_capacity(1 << 16, reader);
    let text = header_bytes(&mut reader)?;
    let header = NpyHeader::from_reader(text.as_slice())
        .map_err(|error| FileProblem::Table(format!("not a NumPy array: {error}")))?;
    let shape = Shape::of(&header, columns)?;
    let kind = match header.dtype() {
        DType::Plain(kind) => kind,
        other => return Err(not_integers(&other.descr())),
    };
    if !is_readable(&kind) {
        return Err(not_integers(&kind.to_string()));
    }
    let expected = shape.cells().and_then(|cells| cells.checked_mul(bytes_of(&kind)));
    let rest = length.map(|length| length.saturating_sub(text.len() as u64));
    if expected.is_none() || rest.is_some_and(|rest| expected != Some(rest)) {
        return Err(shape.cut_off(rest));
    }
    let big = kind.endianness() == Endianness::Big;
    let mut array = Array { reader, shape, intake };
    match (kind.type_char(), kind.size_field()) {
        (TypeChar::Int, 1) => array.fill(|bytes| whole(i8::from_le_bytes(bytes))),
        (TypeChar::Int, 2) => array.fill(|b| whole(i16::from_le_bytes(ordered(b, big)))),
        (TypeChar::Int, 4) => array.fill(|b| whole(i32::from_le_bytes(ordered(b, big)))),
        (TypeChar::Int, 8) => array.fill(|b| whole(i64::from_le_bytes(ordered(b, big)))),
        (TypeChar::Uint, 1) => array.fill(|bytes| whole(u8::from_le_bytes(bytes))),
        (TypeChar::Uint, 2) => array.fill(|b| whole(u16::from_le_bytes(ordered(b, big)))),
        (TypeChar::Uint, 4) => array.fill(|b| whole(u32::from_le_bytes(ordered(b, big)))),
        (TypeChar::Uint, 8) => array.fill(|b| whole(u64::from_le_bytes(ordered(b, big)))),
        (TypeChar::Bool, 1) => array.fill(|[byte]: [u8; 1]| whole(u8::from(byte != 0))),
        (TypeChar::Float, 4) => {
            array.fill(|b| Value::Real(f64::from(f32::from_le_bytes(ordered(b, big)))))
        }
        (TypeChar::Float, 8) => array.fill(|b| Value::Real(f64::from_le_bytes(ordered(b, big)))),
        (TypeChar::UnicodeStr, letters @ 1..=MAX_LETTERS) => array.texts(4 * letters, |bytes| {
            let letter = |four: &[u8]| {
                let four = four.try_into().unwrap_or_default();
                char::from_u32(u32::from_le_bytes(ordered(four, big))).unwrap_or('\u{fffd}')
            };
            bytes.chunks(4).map(letter).collect()
        }),
        (TypeChar::ByteStr, letters @ 1..=MAX_LETTERS) => {
            array.texts(letters, |bytes| String::from_utf8_lossy(bytes).into_owned())
        }
        _ => Err(not_integers(&kind.to_string())),
    }
}

/// Whether cells of that kind can be votes. What is said of others does not depend on their bytes.
fn is_readable(kind: &TypeStr) -> bool {
    use TypeChar::{Bool, ByteStr, Float, Int, Uint, UnicodeStr};
    matches!(kind.type_char(), Bool | ByteStr | Float | Int | Uint | UnicodeStr)
}

fn whole(number: impl Into<i128>) -> Value<'static> {
    Value::Whole(number.into())
}

/// Bytes of either order, as little-endian ones.
fn ordered<const N: usize>(mut bytes: [u8; N], big: bool) -> [u8; N] {
    if big {
        bytes.reverse();
    }
    bytes
}

/// How many bytes a cell has: the size of a text counts letters of four bytes.
fn bytes_of(kind: &TypeStr) -> u64 {
    match kind.type_char() {
        TypeChar::UnicodeStr => kind.size_field().saturating_mul(4),
        _ => kind.size_field(),
    }
}

fn not_integers(kind: &str) -> FileProblem {
    FileProblem::Table(format!(
        "the array has dtype {kind}; votes and labels are integers or class names, for example \
         np.save(path, array.astype(np.int16)) or array.astype(str)"
    ))
}

/// The header's bytes, checked to be harmless before they are parsed: the parser's own recursion
/// and products are not bounded.
fn header_bytes(reader: &mut impl Read) -> Result<Vec<u8>, FileProblem> {
    let damaged = |what: &str| FileProblem::Table(format!("not a NumPy array: {what}"));
    let cut_off = |error: io::Error| match error.kind() {
        io::ErrorKind::UnexpectedEof => damaged("the header is cut off; save it with np.save"),
        _ => FileProblem::Io(error),
    };
    let mut bytes = vec![0; 10];
    reader.read_exact(&mut bytes).map_err(cut_off)?;
    if !bytes.starts_with(b"\x93NUMPY") {
        return Err(damaged("it does not begin like one; save it with np.save"));
    }
    let mut length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    if bytes[6] > 1 {
        let mut high = [0; 2];
        reader.read_exact(&mut high).map_err(cut_off)?;
        bytes.extend(high);
        length += usize::from(u16::from_le_bytes(high)) << 16;
    }
    if length > MAX_HEADER {
        return Err(damaged("its header is too long"));
    }
    let mut text = vec![0; length];
    reader.read_exact(&mut text).map_err(cut_off)?;
    let count = |of: fn(&u8) -> bool| text.iter().filter(|byte| of(byte)).count();
    if count(|byte| b"([{".contains(byte)) > 4 || count(u8::is_ascii_digit) > 19 {
        return Err(damaged("its header describes no plain array of votes or labels"));
    }
    bytes.extend(text);
    Ok(bytes)
}

struct Shape {
    rows: u64,
    columns: u64,
    order: Order,
}

impl Shape {
    fn of(header: &NpyHeader, columns: Columns) -> Result<Self, FileProblem> {
        let (rows, width) = match (header.shape(), columns) {
            (&[rows, width], Columns::Teachers | Columns::Any) => (rows, width),
            (&[rows], Columns::One | Columns::Any) | (&[rows, 1] | &[1, rows], Columns::One) => {
                (rows, 1)
            }
            (shape, Columns::Teachers | Columns::Any) => {
                return Err(FileProblem::Table(format!(
                    "the array has shape {shape:?}; votes have two dimensions, \
                     samples x teachers (of scores per class, take the largest: \
                     array.argmax(axis=-1))"
                )));
            }
            (shape, Columns::One) => {
                return Err(FileProblem::Table(format!(
                    "the array has shape {shape:?}; labels have one dimension, one per \
                     sample (of one-hot labels, take array.argmax(axis=1))"
                )));
            }
        };
        if rows == 0 || width == 0 {
            return Err(FileProblem::Empty);
        }
        let teachers = u64::from(Voters::MAX);
        if width > teachers || rows.checked_mul(width).is_none_or(|cells| cells > MAX_CELLS) {
            return Err(FileProblem::Table(format!(
                "the array has shape {:?}; at most {MAX_CELLS} cells in at most {teachers} columns \
                 can be read, so give the samples in several files",
                header.shape()
            )));
        }
        Ok(Self { rows, columns: width, order: header.order() })
    }

    fn cells(&self) -> Option<u64> {
        self.rows.checked_mul(self.columns)
    }

    fn cut_off(&self, bytes: Option<u64>) -> FileProblem {
        let bytes = bytes.map_or("bytes".to_owned(), |bytes| format!("{bytes} bytes"));
        FileProblem::Table(format!(
            "the array of {} x {} does not have the {bytes} that follow its header; the file is \
             cut off or damaged, save it again",
            self.rows, self.columns
        ))
    }
}

/// The cells of an array, on their way into the intake.
struct Array<'a, R> {
    reader: R,
    shape: Shape,
    intake: &'a mut Intake,
}

impl<R: Read> Array<'_, R> {
    fn fill<const N: usize>(
        &mut self,
        value: impl Fn([u8; N]) -> Value<'static>,
    ) -> Result<(), FileProblem> {
        self.each(N, |intake, bytes, row, column| {
            intake.number(value(bytes.try_into().unwrap_or([0; N])), row, column)
        })
    }

    fn texts(&mut self, size: u64, text: impl Fn(&[u8]) -> String) -> Result<(), FileProblem> {
        self.each(usize::try_from(size).unwrap_or(1), |intake, bytes, row, column| {
            let text = text(bytes);
            intake.number(Value::Text(text.trim_end_matches('\0')), row, column)
        })
    }

    /// Goes through all cells, in the order in which they are in the file.
    fn each(
        &mut self,
        size: usize,
        number: impl Fn(&mut Intake, &[u8], usize, usize) -> Result<u32, FileProblem>,
    ) -> Result<(), FileProblem> {
        let length = |length: u64| usize::try_from(length).unwrap_or(usize::MAX);
        let (rows, columns) = (length(self.shape.rows), length(self.shape.columns));
        match self.shape.order {
            Order::C => {
                for row in 1..=rows {
                    self.cells(columns, size, |intake, bytes, column| {
                        let number = number(intake, bytes, row, column)?;
                        intake.push(number);
                        Ok(())
                    })?;
                    self.intake.end_row(row)?;
                }
            }
            Order::Fortran => {
                let mut block = ColumnBlock::new(rows);
                for column in 1..=columns {
                    self.cells(rows, size, |intake, bytes, row| {
                        block.push(number(intake, bytes, row, column)?);
                        Ok(())
                    })?;
                }
                block.into_rows(self.intake, 1)?;
            }
        }
        match self.reader.read(&mut [0])? {
            0 => Ok(()),
            _ => Err(self.shape.cut_off(None)),
        }
    }

    /// The next cells, each with its number from 1.
    fn cells(
        &mut self,
        count: usize,
        size: usize,
        mut each: impl FnMut(&mut Intake, &[u8], usize) -> Result<(), FileProblem>,
    ) -> Result<(), FileProblem> {
        let mut bytes = vec![0; size * CELLS_AT_ONCE.min(count)];
        let mut done = 0;
        while done < count {
            let some = &mut bytes[..size * CELLS_AT_ONCE.min(count - done)];
            self.reader.read_exact(some).map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => self.shape.cut_off(None),
                _ => FileProblem::Io(error),
            })?;
            for cell in some.chunks_exact(size) {
                done += 1;
                each(self.intake, cell, done)?;
            }
        }
        Ok(())
    }
}

/// Writes bytes where all classes fit, two or four bytes a cell otherwise.
pub(super) fn write<Row: Iterator<Item = Option<Class>>>(
    writer: &mut impl Write,
    shape: &[usize],
    rows: impl Iterator<Item = Row> + Clone,
) -> io::Result<()> {
    let shape: Vec<u64> = shape.iter().map(|&length| length as u64).collect();
    let cells = |class: Option<Class>| class.map_or(-1, |class| i32::from(class.0));
    let largest = rows.clone().flatten().map(cells).max().unwrap_or(0);
    // The cast of -1 and of everything up to the largest is exact.
    #[expect(clippy::cast_possible_truncation, reason = "no cell is larger than the largest")]
    match largest {
        -1..=0x7f => array(writer, &shape, rows.flatten().map(|class| cells(class) as i8)),
        0x80..=0x7fff => array(writer, &shape, rows.flatten().map(|class| cells(class) as i16)),
        _ => array(writer, &shape, rows.flatten().map(cells)),
    }
}

fn array<T: npyz::AutoSerialize>(
    writer: &mut impl Write,
    shape: &[u64],
    cells: impl Iterator<Item = T>,
) -> io::Result<()> {
    let options = npyz::WriteOptions::new().default_dtype().shape(shape).writer(writer);
    let mut array = options.begin_nd()?;
    array.extend(cells)?;
    array.finish()
}
