//! Parquet, Feather and Arrow: tables whose columns have names and types.
//!
//! The columns of one batch are kept as compact as votes, and turned into rows.

use std::io::BufReader;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, RecordBatch};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, DataType, Schema};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::block::ColumnBlock;
use super::columns::{Columns, IgnoredColumns};
use super::intake::{Intake, Value};
use super::problem::FileProblem;
use super::source::{Content, Source};
use super::typed::{Kind, TypedColumns};

/// Cells of Parquet that are decoded at once, so that wide tables take no more memory than others.
const CELLS_AT_ONCE: usize = 1 << 20;

pub(super) fn read(
    source: Source,
    intake: &mut Intake,
    columns: Columns,
    ignored: &IgnoredColumns,
) -> Result<(), FileProblem> {
    // The readers check what they read, but a damaged file must not end the program where they
    // miss something.
    catch_unwind(AssertUnwindSafe(|| match source.content {
        Content::Parquet => {
            let reader = ParquetRecordBatchReaderBuilder::try_new(source.into_file()?);
            let reader = reader.map_err(|error| damaged(&error))?;
            let schema = Arc::clone(reader.schema());
            let rows = (CELLS_AT_ONCE / schema.fields().len().max(1)).clamp(64, 8192);
            let reader = reader.with_batch_size(rows).build().map_err(|error| damaged(&error))?;
            batches(&schema, reader, intake, columns, ignored)
        }
        Content::ArrowStream => {
            let reader = StreamReader::try_new(BufReader::new(source.reader), None);
            let reader = reader.map_err(|error| damaged(&error))?;
            let schema = reader.schema();
            batches(&schema, reader, intake, columns, ignored)
        }
        _ => {
            let reader = FileReader::try_new(BufReader::new(source.into_file()?), None);
            let reader = reader.map_err(|error| damaged(&error))?;
            let schema = reader.schema();
            batches(&schema, reader, intake, columns, ignored)
        }
    }))
    .unwrap_or_else(|_| Err(damaged(&"its parts contradict each other")))
}

fn damaged(error: &impl std::fmt::Display) -> FileProblem {
    FileProblem::Table(format!(
        "not a whole Parquet, Feather or Arrow file: {error}; save it again"
    ))
}

fn batches(
    schema: &Schema,
    reader: impl Iterator<Item = Result<RecordBatch, ArrowError>>,
    intake: &mut Intake,
    columns: Columns,
    ignored: &IgnoredColumns,
) -> Result<(), FileProblem> {
    let fields = schema.fields().iter();
    let table: Vec<(String, Kind)> =
        fields.map(|field| (field.name().clone(), kind(field.data_type()))).collect();
    let table = TypedColumns::choose(&table, intake, columns, ignored)?;
    let mut first = 1;
    for batch in reader {
        let batch = batch.map_err(|error| damaged(&error))?;
        let mut block = ColumnBlock::new(batch.num_rows());
        for &place in table.read() {
            column(batch.column(place), intake, &mut block, first, place + 1)?;
        }
        block.into_rows(intake, first)?;
        first += batch.num_rows();
    }
    if first == 1 { Err(FileProblem::Empty) } else { Ok(()) }
}

fn kind(of: &DataType) -> Kind {
    match of {
        DataType::Dictionary(_, values) => kind(values),
        // Some writers of Parquet do not say that their bytes are text.
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Binary => Kind::Text,
        DataType::Boolean | DataType::Null => Kind::Number,
        of if of.is_integer() || of.is_floating() => Kind::Number,
        other => Kind::Other(other.to_string()),
    }
}

/// Gives a column's cells to the block; the first row and the column count from 1.
fn column(
    array: &ArrayRef,
    intake: &mut Intake,
    block: &mut ColumnBlock,
    first: usize,
    place: usize,
) -> Result<(), FileProblem> {
    let mut to = Target { intake, block, first, place };
    match array.data_type() {
        DataType::Int8 => to.integers::<Int8Type>(array),
        DataType::Int16 => to.integers::<Int16Type>(array),
        DataType::Int32 => to.integers::<Int32Type>(array),
        DataType::Int64 => to.integers::<Int64Type>(array),
        DataType::UInt8 => to.integers::<UInt8Type>(array),
        DataType::UInt16 => to.integers::<UInt16Type>(array),
        DataType::UInt32 => to.integers::<UInt32Type>(array),
        DataType::UInt64 => to.integers::<UInt64Type>(array),
        DataType::Float16 => {
            let cells = array.as_primitive::<Float16Type>();
            to.all(cells.iter().map(|cell| cell.map(|cell| Value::Real(cell.to_f64()))))
        }
        DataType::Float32 => {
            let cells = array.as_primitive::<Float32Type>();
            to.all(cells.iter().map(|cell| cell.map(|cell| Value::Real(f64::from(cell)))))
        }
        DataType::Float64 => {
            to.all(array.as_primitive::<Float64Type>().iter().map(|cell| cell.map(Value::Real)))
        }
        DataType::Boolean => {
            let cells = array.as_boolean().iter();
            to.all(cells.map(|cell| cell.map(|cell| Value::Whole(i128::from(cell)))))
        }
        DataType::Utf8 => to.all(array.as_string::<i32>().iter().map(|cell| cell.map(Value::Text))),
        DataType::LargeUtf8 => {
            to.all(array.as_string::<i64>().iter().map(|cell| cell.map(Value::Text)))
        }
        DataType::Utf8View => {
            to.all(array.as_string_view().iter().map(|cell| cell.map(Value::Text)))
        }
        DataType::Binary => {
            let text = |bytes| Value::Text(std::str::from_utf8(bytes).unwrap_or("\u{fffd}"));
            to.all(array.as_binary::<i32>().iter().map(|cell| cell.map(text)))
        }
        DataType::Null => to.all((0..array.len()).map(|_| None)),
        DataType::Dictionary(..) => to.dictionary(array),
        other => Err(FileProblem::Table(format!("column {place} is of type {other}"))),
    }
}

/// Where a column's cells go.
struct Target<'a> {
    intake: &'a mut Intake,
    block: &'a mut ColumnBlock,
    first: usize,
    place: usize,
}

impl Target<'_> {
    fn integers<T>(&mut self, array: &ArrayRef) -> Result<(), FileProblem>
    where
        T: ArrowPrimitiveType,
        T::Native: Into<i128>,
    {
        let cells = array.as_primitive::<T>().iter();
        self.all(cells.map(|cell| cell.map(|cell| Value::Whole(cell.into()))))
    }

    fn all<'v>(
        &mut self,
        cells: impl Iterator<Item = Option<Value<'v>>>,
    ) -> Result<(), FileProblem> {
        for (row, cell) in cells.enumerate() {
            let cell = cell.unwrap_or(Value::Missing);
            let number = self.intake.number(cell, self.first + row, self.place)?;
            self.block.push(number);
        }
        Ok(())
    }

    /// A categorical column: numbers of texts.
    fn dictionary(&mut self, array: &ArrayRef) -> Result<(), FileProblem> {
        let dictionary = array.as_any_dictionary();
        let values = dictionary.values();
        let mut numbers = ColumnBlock::new(values.len());
        column(values, self.intake, &mut numbers, self.first, self.place)?;
        for (row, key) in dictionary.normalized_keys().into_iter().enumerate() {
            let number = if array.is_null(row) { None } else { numbers.get(key) };
            self.block.push(match number {
                Some(number) => number,
                None => self.intake.number(Value::Missing, self.first + row, self.place)?,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
