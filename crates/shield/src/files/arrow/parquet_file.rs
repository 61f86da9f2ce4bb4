//! Parquet, row group by row group, through its column readers.

use std::fs::File;

use parquet::basic::Type as Physical;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::super::block::ColumnBlock;
use super::super::columns::{Columns, IgnoredColumns};
use super::super::intake::{Intake, Value};
use super::super::problem::FileProblem;
use super::super::typed::{Kind, TypedColumns};
use super::damaged;

/// Cells that are decoded at once.
const CELLS_AT_ONCE: usize = 8192;

pub(super) fn read(
    file: File,
    intake: &mut Intake,
    columns: Columns,
    ignored: &IgnoredColumns,
) -> Result<(), FileProblem> {
    let wrong = |error: ParquetError| damaged(&error);
    let reader = SerializedFileReader::new(file).map_err(wrong)?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let described = schema.columns().iter().map(|column| {
        let kind = match column.physical_type() {
            _ if column.max_rep_level() > 0 => Kind::Other("a list".to_owned()),
            Physical::BYTE_ARRAY => Kind::Text,
            Physical::INT96 | Physical::FIXED_LEN_BYTE_ARRAY => {
                Kind::Other(column.physical_type().to_string())
            }
            _ => Kind::Number,
        };
        (column.path().string(), kind)
    });
    let table = TypedColumns::choose(&described.collect::<Vec<_>>(), intake, columns, ignored)?;
    let mut first = 1;
    for number in 0..reader.num_row_groups() {
        let group = reader.get_row_group(number).map_err(wrong)?;
        let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        let mut block = ColumnBlock::new(rows);
        for &place in table.read() {
            let column = Column { intake, block: &mut block, rows, first, place: place + 1 };
            let max_level = schema.column(place).max_def_level();
            let cells = group.get_column_reader(place).map_err(wrong)?;
            read_column(cells, column, max_level)?;
        }
        block.into_rows(intake, first)?;
        first += rows;
    }
    if first == 1 { Err(FileProblem::Empty) } else { Ok(()) }
}

/// Where the cells of one column go, and where they come from.
struct Column<'a> {
    intake: &'a mut Intake,
    block: &'a mut ColumnBlock,
    rows: usize,
    first: usize,
    place: usize,
}

fn read_column(
    reader: ColumnReader,
    column: Column<'_>,
    max_level: i16,
) -> Result<(), FileProblem> {
    match reader {
        ColumnReader::BoolColumnReader(cells) => {
            column.fill(cells, max_level, |&cell| Value::Whole(i128::from(cell)))
        }
        ColumnReader::Int32ColumnReader(cells) => {
            column.fill(cells, max_level, |&cell| Value::Whole(i128::from(cell)))
        }
        ColumnReader::Int64ColumnReader(cells) => {
            column.fill(cells, max_level, |&cell| Value::Whole(i128::from(cell)))
        }
        ColumnReader::FloatColumnReader(cells) => {
            column.fill(cells, max_level, |&cell| Value::Real(f64::from(cell)))
        }
        ColumnReader::DoubleColumnReader(cells) => {
            column.fill(cells, max_level, |&cell| Value::Real(cell))
        }
        ColumnReader::ByteArrayColumnReader(cells) => {
            column.fill(cells, max_level, |cell: &ByteArray| {
                Value::Text(cell.as_utf8().unwrap_or("\u{fffd}"))
            })
        }
        _ => Err(damaged(&format!("column {} is of another type than it says", column.place))),
    }
}

impl Column<'_> {
    fn fill<T: DataType>(
        self,
        mut reader: ColumnReaderImpl<T>,
        max_level: i16,
        value: impl Fn(&T::T) -> Value<'_>,
    ) -> Result<(), FileProblem> {
        let (mut values, mut levels) = (Vec::<T::T>::new(), Vec::new());
        let mut row = 0;
        while row < self.rows {
            values.clear();
            levels.clear();
            let wanted = CELLS_AT_ONCE.min(self.rows - row);
            let defined = (max_level > 0).then_some(&mut levels);
            let (records, _, _) = reader
                .read_records(wanted, defined, None, &mut values)
                .map_err(|error| damaged(&error))?;
            if records == 0 {
                return Err(damaged(&format!("column {} ends early", self.place)));
            }
            let mut cells = values.iter();
            for offset in 0..records {
                let there = levels.get(offset).is_none_or(|&level| level == max_level);
                let cell = if there { cells.next() } else { None };
                let cell = cell.map_or(Value::Missing, &value);
                let place = self.first + row + offset;
                self.block.push(self.intake.number(cell, place, self.place)?);
            }
            row += records;
        }
        Ok(())
    }
}
