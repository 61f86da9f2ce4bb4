//! What goes out comes back, and what is wrong is named.

use std::fs;
use std::path::PathBuf;

use npyz::WriterBuilder;
use tempfile::TempDir;

use super::*;
use shield_core::histogram::Histogram;
use shield_core::votes::Label;

fn votes_from_npy(bytes: &[u8], classes: Option<Classes>) -> Result<Votes, FileProblem> {
    let mut intake = Intake::new(classes, None, Meaning::Classes, Keep::Votes);
    npy::read(bytes, Some(bytes.len() as u64), &mut intake, Columns::Teachers)?;
    Ok(intake.votes()?.0)
}

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }
}

fn classes(count: usize) -> Option<Classes> {
    Classes::new(count).ok()
}

fn array<T: npyz::Serialize + npyz::AutoSerialize + Copy>(shape: &[u64], cells: &[T]) -> Vec<u8> {
    ordered(shape, cells, npyz::Order::C)
}

fn ordered<T>(shape: &[u64], cells: &[T], order: npyz::Order) -> Vec<u8>
where
    T: npyz::Serialize + npyz::AutoSerialize + Copy,
{
    let mut bytes = Vec::new();
    let options = npyz::WriteOptions::new().default_dtype().shape(shape).order(order);
    let mut writer = options.writer(&mut bytes).begin_nd().unwrap();
    writer.extend(cells.iter().copied()).unwrap();
    writer.finish().unwrap();
    bytes
}

#[test]
fn votes_and_labels_come_back() {
    let folder = Folder::new();
    let rows = [[Some(Class(3)), None], [Some(Class(0)), Some(Class(9))]];
    let votes = Votes::from_rows(Classes::new(10).unwrap(), rows).unwrap();
    let labels = Labels::new(vec![Some(Class(1)), None, Some(Class(9))]).unwrap();
    for name in ["a.csv", "a.npy", "b.NPY", "c.npy.gz", "c.csv.GZ"] {
        let path = folder.0.path().join(name);
        write_votes(&path, &votes).unwrap();
        assert_eq!(read_votes(&path, classes(10)).unwrap(), votes, "{name}");
        write_labels(&path, &labels).unwrap();
        assert_eq!(read_labels(&path).unwrap(), labels, "{name}");
    }
    let left: Vec<_> = fs::read_dir(folder.0.path()).unwrap().collect();
    assert_eq!(left.len(), 5, "temporary files are gone: {left:?}");
}

#[test]
fn absent_labels_are_empty_lines() {
    let folder = Folder::new();
    let path = folder.0.path().join("labels.csv");
    let labels: Vec<Label> = vec![Some(Class(4)), None];
    write_labels(&path, &Labels::new(labels).unwrap()).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "4\n\n");
}

#[test]
fn npy_of_every_integer_type_and_both_orders() {
    let check = |bytes: Vec<u8>| {
        let votes = votes_from_npy(&bytes, classes(10)).unwrap();
        let cells: Vec<_> = (0..2).flat_map(|s| (0..3).map(move |t| (s, t))).collect();
        let found: Vec<_> = cells.iter().map(|&(s, t)| votes.vote(s, t).unwrap().0).collect();
        assert_eq!(found, [1, 2, 3, 4, 5, 6]);
    };
    let cells = [1u8, 2, 3, 4, 5, 6];
    check(array(&[2, 3], &cells));
    check(array(&[2, 3], &cells.map(u8::cast_signed)));
    check(array(&[2, 3], &cells.map(i16::from)));
    check(array(&[2, 3], &cells.map(i32::from)));
    check(array(&[2, 3], &cells.map(i64::from)));
    check(array(&[2, 3], &cells.map(u16::from)));
    check(array(&[2, 3], &cells.map(u32::from)));
    check(array(&[2, 3], &cells.map(u64::from)));
    check(ordered(&[2, 3], &[1i64, 4, 2, 5, 3, 6], npyz::Order::Fortran));
    let big_endian: Vec<u8> = [1i32, 2, 3, 4, 5, 6].iter().flat_map(|v| v.to_be_bytes()).collect();
    let mut bytes = Vec::new();
    let dtype = npyz::DType::Plain(">i4".parse().unwrap());
    let options = npyz::WriteOptions::<i32>::new().dtype(dtype).shape(&[2, 3]);
    let mut writer = options.writer(&mut bytes).begin_nd().unwrap();
    writer.extend([1, 2, 3, 4, 5, 6]).unwrap();
    writer.finish().unwrap();
    assert!(bytes.ends_with(&big_endian));
    check(bytes);
}

#[test]
fn npy_errors_say_what_to_do() {
    let good = array(&[2, 3], &[1i64, 2, 3, 4, 5, 6]);
    let error = |bytes: &[u8]| votes_from_npy(bytes, classes(10)).unwrap_err().to_string();
    assert!(error(&[]).contains("is empty"));
    assert!(error(b"hello, world").contains("np.save"));
    assert!(error(&good[..40]).contains("cut off"));
    assert!(error(&good[..good.len() - 1]).contains("cut off or damaged"));
    assert!(error(&[good.clone(), vec![0]].concat()).contains("cut off or damaged"));
    assert!(error(&array(&[1, 2], &[1.0f64, 0.25])).contains("row 1, column 2: `0.25`"));
    assert!(error(&array(&[6], &[1i64, 2, 3, 4, 5, 6])).contains("two dimensions"));
    assert!(error(&array::<i64>(&[0, 5], &[])).contains("is empty"));
    assert!(error(&array(&[2, 2], &[0i8, 1, 2, 77])).contains("row 2, column 2: 77"));
    let mut intake = Intake::new(None, None, Meaning::Classes, Keep::Votes);
    let as_labels = npy::read(good.as_slice(), None, &mut intake, Columns::One);
    assert!(as_labels.unwrap_err().to_string().contains("one dimension"));
    let huge = array(&[1, 1], &[u64::MAX]);
    assert!(error(&huge).contains("row 1, column 1: 18446744073709551615"));
}

#[test]
fn hostile_npy_headers_are_refused_without_a_panic() {
    let with_header = |header: &str| {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes
    };
    let deep = "(".repeat(3000);
    let wide = "{'descr': '<i8', 'fortran_order': False, 'shape': (9999999999, 9999999999), }";
    for header in
        [deep.as_str(), wide, "{}", "", "{'descr': 'O', 'fortran_order': True, 'shape': (1, 1)}"]
    {
        assert!(votes_from_npy(&with_header(header), None).is_err(), "{header}");
    }
    let good = array(&[2, 3], &[1i64, 2, 3, 4, 5, 6]);
    for place in 0..good.len() {
        for flip in [1, 0x80, 0xff] {
            let mut bytes = good.clone();
            bytes[place] ^= flip;
            let _ = votes_from_npy(&bytes, None);
        }
    }
}

#[test]
fn missing_files_are_named() {
    let missing = read_votes(&PathBuf::from("no/such/file.npy"), None).unwrap_err().to_string();
    assert!(missing.contains("no/such/file.npy"), "{missing}");
}

#[test]
fn one_teacher_s_votes_are_a_column_a_row_or_one_of_several_columns() {
    let folder = Folder::new();
    let options = ReadOptions { classes: classes(3), ..ReadOptions::default() };
    let read = |path: &Path, column| {
        understand_ballot(path, &options, column).map(|read| read.value.entries)
    };
    let numbers = |votes: Vec<Vote>| -> Vec<Option<u16>> {
        votes.into_iter().map(|vote| vote.map(|class| class.0)).collect()
    };
    let expected = [Some(0), None, Some(2)];
    for (name, content) in [
        ("column.csv", b"0\n\n2\n".to_vec()),
        ("row.csv", b"0,,2\n".to_vec()),
        ("flat.npy", array::<i8>(&[3], &[0, -1, 2])),
        ("column.npy", array::<i8>(&[3, 1], &[0, -1, 2])),
        ("row.npy", array::<i64>(&[1, 3], &[0, -1, 2])),
    ] {
        let path = folder.file(name, content);
        assert_eq!(numbers(read(&path, None).unwrap()), expected, "{name}");
    }
    let table = folder.file("table.csv", "1,0\n1,\n1,2\n");
    assert_eq!(numbers(read(&table, Some(2)).unwrap()), expected);
    let said = |path: &Path, column| read(path, column).unwrap_err().to_string();
    assert!(said(&table, None).contains("3 rows and 2 columns"), "{}", said(&table, None));
    assert!(said(&table, Some(0)).contains("no column 0"));
    assert!(said(&table, Some(3)).contains("no column 3; the file has 2"));
    let stray = folder.file("stray.csv", "0\n3\n");
    assert!(said(&stray, None).contains("row 2, column 1: 3"), "{}", said(&stray, None));
    let cube = folder.file("cube.npy", array::<i8>(&[1, 1, 1], &[0]));
    assert!(said(&cube, None).contains("two dimensions"), "{}", said(&cube, None));
}

#[test]
fn a_file_that_is_written_is_whole_or_as_before() {
    let folder = Folder::new();
    let path = folder.file("plot.svg", "before");
    let half = write_atomically(&path, |file| {
        file.write_all(b"half")?;
        Err(io::Error::other("interrupted"))
    });
    assert!(half.is_err());
    assert_eq!(fs::read(&path).unwrap(), b"before");
    write_atomically(&path, |file| file.write_all(b"after")).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"after");
    assert_eq!(fs::read_dir(folder.0.path()).unwrap().count(), 1, "nothing is left over");
}

#[test]
fn counts_are_histograms() {
    let folder = Folder::new();
    let read = |content: &str, options: &ReadOptions| {
        understand_counts(&folder.file("counts.csv", content), options)
    };
    let plain = ReadOptions::default();
    let found = read("7,3\n0,12\n,1\n", &plain).unwrap();
    let counts: Vec<&[u32]> = found.value.as_slice().iter().map(Histogram::counts).collect();
    assert_eq!(counts, [[7, 3], [0, 12], [0, 1]]);
    assert_eq!((found.value.teachers(), found.warnings), (12, vec![]));
    let named = read("id,owl,cat\nx,1,2\n", &plain).unwrap().value;
    assert_eq!(named.class_names().unwrap().as_slice(), ["owl", "cat"]);
    let names = ReadOptions { names: "ant,cat,owl".parse().ok(), ..ReadOptions::default() };
    let other = read("owl,cat,ant\n1,2,0\n", &names).unwrap().value;
    assert_eq!(other.as_slice()[0].counts(), [0, 2, 1], "columns follow their names");
    let numbered = read("0,1,2\n5,0,0\n1,2,2\n", &plain).unwrap();
    assert_eq!(numbered.value.as_slice().len(), 3, "a row of small counts is a row");
    for (content, options, words) in [
        ("1,2\n3,-4\n", &plain, "row 2, column 2: `-4` is not a number of votes"),
        ("1,2\n0.5,4\n", &plain, "row 2, column 1: `0.5`"),
        ("1,20000000\n", &plain, "10,000,000"),
        ("9000000,9000000\n", &plain, "18000000 in all"),
        ("0,0\n0,0\n", &plain, "no votes"),
        ("4\n3\n", &plain, "from 2"),
        ("1,2\n", &names, "one column per class"),
        ("owl,cat,bee\n1,2,0\n", &names, "use the same names"),
    ] {
        let error = read(content, options).unwrap_err().to_string();
        assert!(error.contains(words) && error.contains("counts.csv"), "{error}");
    }
}

#[test]
fn a_ballot_of_counts_stands_for_no_more_voters_than_it_may() {
    let folder = Folder::new();
    let read = |content: &str, most| {
        let path = folder.file("ward.csv", content);
        understand_counts_ballot(&path, &ReadOptions::default(), most)
    };
    let found = read("id,owl,cat\nx1,40,0\nx2,,7\nx3,0,0\n", 40).unwrap().value;
    assert_eq!(found.entries, [[40, 0], [0, 7], [0, 0]]);
    assert_eq!(found.ids.unwrap(), ["x1", "x2", "x3"]);
    assert_eq!(found.class_names.unwrap().as_slice(), ["owl", "cat"]);
    for (content, words) in [
        ("id,owl,cat\nx1,40,0\nx2,34,7\n", "row 3: the counts sum to 41"),
        ("40,0\n41,0\n", "row 2: the counts sum to 41"),
        ("40,0\n3,-1\n", "row 2, column 2: `-1`"),
    ] {
        let error = read(content, 40).unwrap_err().to_string();
        assert!(error.contains(words) && error.contains("ward.csv"), "{error}");
    }
    assert!(format!("{:?}", read("7,3\n", 10).unwrap().value).contains("samples: 1"));
}

#[test]
fn columns_are_left_out_by_number_and_by_name() {
    let folder = Folder::new();
    let path = folder.file("votes.csv", "id,split,a,b\n0,train,1,2\n1,test,0,2\n");
    let read = |columns: &str| {
        let ignored = columns.parse().unwrap();
        understand_votes(&path, &ReadOptions { ignored, ..ReadOptions::default() })
    };
    for columns in ["id,split", "1, 2", "2,id,2"] {
        assert_eq!(read(columns).unwrap().value.histogram(1).counts(), [1, 0, 1], "{columns}");
    }
    let error = read("none").unwrap_err().to_string();
    assert!(error.contains("row 2, column 2: `train`"), "{error}");
    let error = read("splat").unwrap_err().to_string();
    assert!(error.contains("no column `splat`") && error.contains("id, split, a, b"), "{error}");
    assert!(read("5").unwrap_err().to_string().contains("4 columns"));
    assert!(read("1,2,3,4").is_err());
}

#[test]
fn given_names_are_matched_by_name_and_by_number() {
    let folder = Folder::new();
    let read = |content: &str, names: &str| {
        let names = names.parse().ok();
        let path = folder.file("votes.csv", content);
        let votes = understand_votes(&path, &ReadOptions { names, ..ReadOptions::default() });
        votes.map(|votes| votes.value.sample(0).collect::<Vec<_>>())
    };
    let classes = [Some(Class(2)), None, Some(Class(0))];
    assert_eq!(read("owl,,cat\n", "cat,dog,owl").unwrap(), classes);
    assert_eq!(read("2,-1,0\n", "cat,dog,owl").unwrap(), classes);
    assert_eq!(read("3,NA,1\n", "1,2,3").unwrap(), classes);
    assert_eq!(read("a,b,c\n3.0,,1\n", "1,2,3").unwrap(), classes);
    let error = read("cat,ox,cat\n", "cat,dog,owl").unwrap_err().to_string();
    assert!(error.contains("row 1, column 2: `ox` is not one of the classes cat, dog"), "{error}");
    assert!(read("0,1,1\n", "1,2,3").unwrap_err().to_string().contains("`0`"));
}

#[test]
fn labels_come_from_the_column_that_says_so() {
    let folder = Folder::new();
    let read = |content: &str| read_labels(&folder.file("labels.csv", content));
    let labels = [Some(Class(3)), None, Some(Class(1))];
    for content in [
        "3\n\n1\n",
        "label\n3\n\n1\n",
        "id,y\na,3\nb,\nc,1\n",
        "split,label,score\nx,3,0.5\nx,,0.25\nx,1,0.1\n",
    ] {
        assert_eq!(read(content).unwrap().as_slice(), labels, "{content}");
    }
    let error = read("3,1\n2,2\n").unwrap_err().to_string();
    assert!(error.contains("one number per row"), "{error}");
}

#[test]
fn votes_and_labels_may_share_an_archive() {
    let folder = Folder::new();
    let mut archive = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
    for (name, bytes) in [
        ("labels.npy", array::<i64>(&[2], &[1, 0])),
        ("votes.npy", ordered::<u16>(&[2, 3], &[1, 0, 1, 300, 1, 0], npyz::Order::Fortran)),
    ] {
        archive.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(&bytes).unwrap();
    }
    let path = folder.file("data.npz", archive.finish().unwrap().into_inner());
    assert_eq!(read_labels(&path).unwrap().as_slice(), [Some(Class(1)), Some(Class(0))]);
    let votes = read_votes(&path, None).unwrap();
    assert_eq!(votes.teacher(1, 0..2), [Some(Class(1)), Some(Class(300))]);
}
