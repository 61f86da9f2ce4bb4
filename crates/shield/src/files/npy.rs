//! `NumPy`'s array files, by way of `npyz`.

use std::io::{self, Read, Write};

use npyz::{DType, NpyFile, NpyHeader, Order, TypeChar, WriterBuilder};

use super::{Columns, FileProblem};
use crate::parameters::Class;
use crate::votes::VotesBuilder;

/// Headers of real arrays have about 120 bytes.
const MAX_HEADER: usize = 4096;

pub(super) fn read(
    mut reader: impl Read,
    file_length: u64,
    into: VotesBuilder,
    columns: Columns,
) -> Result<VotesBuilder, FileProblem> {
    if file_length == 0 {
        return Err(FileProblem::Empty);
    }
    let text = header_bytes(&mut reader)?;
    let data_length = file_length.saturating_sub(text.len() as u64);
    let header = NpyHeader::from_reader(text.as_slice())
        .map_err(|error| FileProblem::Array(format!("not a NumPy array: {error}")))?;
    let shape = Shape::of(&header, columns)?;
    let kind = match header.dtype() {
        DType::Plain(kind) => kind,
        other => return Err(not_integers(&other.descr())),
    };
    let expected = shape.cells().and_then(|cells| cells.checked_mul(kind.size_field()));
    if expected != Some(data_length) {
        return Err(FileProblem::Array(format!(
            "the array of {} x {} does not have the {data_length} bytes that follow its header; \
             the file is cut off or damaged, save it again",
            shape.rows, shape.columns
        )));
    }
    let file = NpyFile::with_header(header, reader);
    match (kind.type_char(), kind.size_field()) {
        (TypeChar::Int, 1) => fill::<i8, _>(file, &shape, into),
        (TypeChar::Int, 2) => fill::<i16, _>(file, &shape, into),
        (TypeChar::Int, 4) => fill::<i32, _>(file, &shape, into),
        (TypeChar::Int, 8) => fill::<i64, _>(file, &shape, into),
        (TypeChar::Uint, 1) => fill::<u8, _>(file, &shape, into),
        (TypeChar::Uint, 2) => fill::<u16, _>(file, &shape, into),
        (TypeChar::Uint, 4) => fill::<u32, _>(file, &shape, into),
        (TypeChar::Uint, 8) => fill::<u64, _>(file, &shape, into),
        _ => Err(not_integers(&kind.to_string())),
    }
}

fn not_integers(kind: &str) -> FileProblem {
    FileProblem::Array(format!(
        "the array has dtype {kind}; votes and labels are integers, for example \
         np.save(path, array.astype(np.int16))"
    ))
}

/// The header's bytes, checked to be harmless before they are parsed: the parser's own recursion
/// and products are not bounded.
fn header_bytes(reader: &mut impl Read) -> Result<Vec<u8>, FileProblem> {
    let damaged = |what: &str| FileProblem::Array(format!("not a NumPy array: {what}"));
    let cut_off = |error: io::Error| match error.kind() {
        io::ErrorKind::UnexpectedEof => damaged("the header is cut off"),
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
            (&[rows], Columns::One | Columns::Any) | (&[rows, 1], Columns::One) => (rows, 1),
            (shape, Columns::Teachers | Columns::Any) => {
                return Err(FileProblem::Array(format!(
                    "the array has shape {shape:?}; votes have two dimensions, samples x teachers"
                )));
            }
            (shape, Columns::One) => {
                return Err(FileProblem::Array(format!(
                    "the array has shape {shape:?}; labels have one dimension, one a sample"
                )));
            }
        };
        if rows == 0 || width == 0 {
            return Err(FileProblem::Empty);
        }
        Ok(Self { rows, columns: width, order: header.order() })
    }

    fn cells(&self) -> Option<u64> {
        self.rows.checked_mul(self.columns)
    }
}

fn fill<T, R>(
    file: NpyFile<R>,
    shape: &Shape,
    mut into: VotesBuilder,
) -> Result<VotesBuilder, FileProblem>
where
    T: npyz::Deserialize + Copy + Into<i128>,
    R: Read,
{
    let mut data = file.data::<T>().map_err(|error| FileProblem::Array(error.to_string()))?;
    match shape.order {
        Order::C => {
            for _ in 0..shape.rows {
                for value in data.by_ref().take(usize::try_from(shape.columns).unwrap_or(0)) {
                    into.push(value?.into())?;
                }
                into.end_row()?;
            }
        }
        Order::Fortran => {
            let cells: Vec<T> = data.collect::<Result<_, _>>()?;
            let rows = usize::try_from(shape.rows).unwrap_or(usize::MAX);
            for row in 0..rows {
                for &value in cells[row..].iter().step_by(rows) {
                    into.push(value.into())?;
                }
                into.end_row()?;
            }
        }
    }
    Ok(into)
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
