//! Tables that the formats' own writers wrote.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int64Array, RecordBatch, StringArray,
    UInt8Array,
};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::super::*;

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    )
    .unwrap()
}

fn feather(path: &Path, batches: &[RecordBatch]) {
    let mut writer =
        FileWriter::try_new(File::create(path).unwrap(), &batches[0].schema()).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.finish().unwrap();
}

fn rows(votes: &Votes) -> Vec<Vec<Option<u16>>> {
    let row = |sample| votes.sample(sample).map(|vote| vote.map(|class| class.0)).collect();
    (0..votes.samples()).map(row).collect()
}

fn numbers() -> RecordBatch {
    batch(vec![
        ("sample", Arc::new(StringArray::from(vec!["a", "b"]))),
        ("t1", Arc::new(Int64Array::from(vec![Some(2), None]))),
        ("t2", Arc::new(Float64Array::from(vec![1.0, f64::NAN]))),
        ("t3", Arc::new(UInt8Array::from(vec![0, 2]))),
        ("t4", Arc::new(BooleanArray::from(vec![true, false]))),
    ])
}

#[test]
fn feather_and_streams_of_every_type() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("votes.feather");
    feather(&file, &[numbers(), numbers()]);
    let stream = folder.path().join("votes.arrows");
    let mut writer =
        StreamWriter::try_new(File::create(&stream).unwrap(), &numbers().schema()).unwrap();
    writer.write(&numbers()).unwrap();
    writer.write(&numbers()).unwrap();
    writer.finish().unwrap();
    let once = [vec![Some(2), Some(1), Some(0), Some(1)], vec![None, None, Some(2), Some(0)]];
    let packed = folder.path().join("votes.feather.gz");
    let mut packer =
        flate2::write::GzEncoder::new(File::create(&packed).unwrap(), flate2::Compression::fast());
    std::io::copy(&mut File::open(&file).unwrap(), &mut packer).unwrap();
    packer.finish().unwrap();
    for path in [file, stream, packed] {
        let found = understand_votes(&path, &ReadOptions::default()).unwrap();
        assert_eq!(rows(&found.value), [once.clone(), once.clone()].concat(), "{path:?}");
        let said = found.warnings[0].to_string();
        assert!(said.contains("column 1 (`sample`)"), "{said}");
    }
}

#[test]
fn names_and_categories() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("votes.feather");
    let categories: DictionaryArray<arrow_array::types::Int8Type> =
        vec![Some("owl"), None, Some("cat")].into_iter().collect();
    feather(
        &path,
        &[batch(vec![
            ("t1", Arc::new(categories)),
            ("t2", Arc::new(StringArray::from(vec!["cat", "dog", "cat"]))),
        ])],
    );
    let found = understand_votes(&path, &ReadOptions::default()).unwrap().value;
    assert_eq!(found.class_names().unwrap().as_slice(), ["cat", "dog", "owl"]);
    assert_eq!(
        rows(&found),
        [[Some(2), Some(0)], [None, Some(1)], [Some(0), Some(0)]].map(Vec::from)
    );
}

#[test]
fn labels_are_the_column_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("labels.feather");
    feather(
        &path,
        &[batch(vec![
            ("split", Arc::new(StringArray::from(vec!["a", "a"]))),
            ("score", Arc::new(Float64Array::from(vec![0.5, 0.25]))),
            ("label", Arc::new(Int64Array::from(vec![3, 1]))),
        ])],
    );
    let labels = read_labels(&path).unwrap();
    assert_eq!(labels.as_slice(), [Some(Class(3)), Some(Class(1))]);
    let error = read_votes(&path, None).unwrap_err().to_string();
    assert!(error.contains("row 1, column 2: `0.5`"), "{error}");
}

fn parquet(folder: &Path) -> PathBuf {
    let path = folder.join("votes.parquet");
    let schema = "message schema {
        optional int64 t1; required double t2; optional binary t3 (UTF8);
        optional int64 __index_level_0__; }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties =
        WriterProperties::builder().set_compression(parquet::basic::Compression::SNAPPY).build();
    let file = File::create(&path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
    for _ in 0..2 {
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&[4, 0], Some(&[1, 0, 1]), None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<DoubleType>().write_batch(&[1.0, f64::NAN, 2.0], None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let texts = ["3", "1"].map(ByteArray::from);
        column.typed::<ByteArrayType>().write_batch(&texts, Some(&[0, 1, 1]), None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&[0, 1, 2], Some(&[1, 1, 1]), None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
    }
    writer.close().unwrap();
    path
}

#[test]
fn parquet_in_row_groups_with_nulls() {
    let folder = tempfile::tempdir().unwrap();
    let path = parquet(folder.path());
    let found = understand_votes(&path, &ReadOptions::default()).unwrap();
    let once =
        [vec![Some(4), Some(1), None], vec![None, None, Some(3)], vec![Some(0), Some(2), Some(1)]];
    assert_eq!(rows(&found.value), [once.clone(), once].concat());
    assert!(found.warnings[0].to_string().contains("__index_level_0__"), "{:?}", found.warnings);
    let options = ReadOptions { classes: Classes::new(4).ok(), ..ReadOptions::default() };
    let error = understand_votes(&path, &options).unwrap_err().to_string();
    assert!(error.contains("row 1, column 1: 4 is not a class"), "{error}");
}

#[test]
fn damage_is_an_error_and_no_panic() {
    let folder = tempfile::tempdir().unwrap();
    let feather_file = folder.path().join("good.feather");
    feather(&feather_file, &[numbers()]);
    for good in [parquet(folder.path()), feather_file] {
        let bytes = fs::read(&good).unwrap();
        let path = folder.path().join("bad");
        for cut in (0..bytes.len()).step_by(7) {
            fs::write(&path, &bytes[..cut]).unwrap();
            assert!(read_votes(&path, None).is_err(), "{cut}");
        }
        for place in (0..bytes.len()).step_by(3) {
            let mut flipped = bytes.clone();
            flipped[place] ^= 0x55;
            fs::write(&path, &flipped).unwrap();
            let _ = read_votes(&path, None);
        }
    }
}
