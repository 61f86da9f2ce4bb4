//! Files as people have them. Each kind is understood, with a message where there is something to
//! say, or refused with the way out.

use std::fs;
use std::io::Write as _;

use super::*;

/// What must come of a file.
enum Expected {
    /// These votes, a row per sample, `.` for an abstention; and every one of these words is said.
    Votes(&'static [&'static str], &'static [&'static str]),
    /// The words of the refusal.
    Refused(&'static [&'static str]),
}

use Expected::{Refused, Votes as Read};

/// A kind of file: what it is, its name, its bytes, what must come of it.
type Case = (&'static str, &'static str, Vec<u8>, Expected);

fn text(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

fn npy(descr: &str, shape: &str, order: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

fn doubles(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn letters(words: &[&str], width: usize) -> Vec<u8> {
    let wide = |word: &&str| {
        let mut letters: Vec<u32> = word.chars().map(u32::from).collect();
        letters.resize(width, 0);
        letters.into_iter().flat_map(u32::to_le_bytes).collect::<Vec<u8>>()
    };
    words.iter().flat_map(wide).collect()
}

fn npz(arrays: &[(&str, Vec<u8>)], method: zip::CompressionMethod) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(method);
    for (name, bytes) in arrays {
        archive.start_file(*name, options).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

fn utf16(text: &str) -> Vec<u8> {
    [vec![0xff, 0xfe], text.encode_utf16().flat_map(u16::to_le_bytes).collect()].concat()
}

/// Five rows of three teachers, and what they are read as.
const ROWS: [&str; 5] = ["0 1 0", "2 2 2", "1 1 0", "2 0 2", "1 1 1"];

/// The rows as text: a header, ids before the rows, and what is between the cells.
fn table(header: &str, ids: &[&str], between: &str) -> Vec<u8> {
    let mut lines = if header.is_empty() { vec![] } else { vec![header.to_owned()] };
    for (number, row) in ROWS.iter().enumerate() {
        let cells = ids.get(number).copied().into_iter().chain(row.split(' '));
        lines.push(cells.collect::<Vec<_>>().join(between));
    }
    (lines.join("\n") + "\n").into_bytes()
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn csv_cases() -> Vec<Case> {
    let ids = ["0", "1", "2", "3", "4"];
    let paths = ["a.png", "b.png", "c.png", "d.png", "e.png"];
    vec![
        ("plain", "v.csv", table("", &[], ","), Read(&ROWS, &[])),
        ("header", "v.csv", table("t1,t2,t3", &[], ","), Read(&ROWS, &["header"])),
        ("semicolons", "v.csv", table("", &[], ";"), Read(&ROWS, &["semicolons"])),
        ("tabs", "v.tsv", table("a\tb\tc", &[], "\t"), Read(&ROWS, &["tabs", "header"])),
        ("bars", "v.txt", table("", &[], "|"), Read(&ROWS, &["bars"])),
        ("blanks", "v.txt", table("", &[], " "), Read(&ROWS, &["blanks"])),
        ("no ending in the name", "votes", table("", &[], ","), Read(&ROWS, &[])),
        (
            "savetxt",
            "v.txt",
            text("# t1 t2\n0.000e+00 1.000e+00\n2.000e+00 nan\n"),
            Read(&["0 1", "2 ."], &["begin with #", "blanks", "`nan`"]),
        ),
        ("pandas index", "v.csv", table(",0,1,2", &ids, ","), Read(&ROWS, &["header", "column 1"])),
        ("named index", "v.csv", table("id,0,1,2", &ids, ","), Read(&ROWS, &["`id`"])),
        ("file names", "v.csv", table("file,a,b,c", &paths, ","), Read(&ROWS, &["`file`"])),
        ("ids without header", "v.csv", table("", &paths, ","), Read(&ROWS, &["column 1"])),
        ("counted ids", "v.csv", table("", &ids, ","), Read(&ROWS, &["column 1"])),
        ("row names of R", "v.csv", table("a,b,c", &paths, ","), Read(&ROWS, &["column 1"])),
        (
            "columns by number",
            "v.csv",
            text("0,1,2,3,4\n0,1,0,0,0\n1,1,1,1,0\n2,2,0,2,2\n"),
            Read(&["0 1 0 0 0", "1 1 1 1 0", "2 2 0 2 2"], &["header"]),
        ),
        ("decimals", "v.csv", text("0.0,1.0\n1.,+1\n"), Read(&["0 1", "1 1"], &[])),
        ("decimal commas", "v.csv", text("0,0;1,0\n1,0;1,0\n"), Read(&["0 1", "1 1"], &["semi"])),
        ("quotes", "v.csv", text("\"0\",\"1\"\n\"1\",\"\"\n"), Read(&["0 1", "1 ."], &[])),
        ("empty cells", "v.csv", text("0,\n,1\n,\n"), Read(&["0 .", ". 1", ". ."], &[])),
        (
            "words for nothing",
            "v.csv",
            text("0,NaN\nNA,1\nnull,None\n"),
            Read(&["0 .", ". 1", ". ."], &["`NaN`", "`NA`", "`null`", "`None`"]),
        ),
        ("blank lines at the end", "v.csv", text("0,1\n1,1\n\n\n"), Read(&["0 1", "1 1"], &[])),
        ("blank line inside", "v.csv", text("0,1\n\n1,1\n"), Refused(&["row 2", "leave the cell"])),
        ("windows and a mark", "v.csv", text("\u{feff}0,1\r\n1,1\r\n"), Read(&["0 1", "1 1"], &[])),
        (
            "blanks after commas",
            "v.csv",
            text("1, 2\r\n3,\r\n-1,0"),
            Read(&["1 2", "3 .", ". 0"], &["2 teachers"]),
        ),
        ("old Macintosh", "v.csv", text("0,1\r1,1\r"), Refused(&["carriage returns", "save"])),
        (
            "class names",
            "v.csv",
            text("cat,dog,cat\ndog,dog,cat\nowl,,owl\n"),
            Read(&["0 1 0", "1 1 0", "2 . 2"], &["cat, dog, owl"]),
        ),
        (
            "names, ids, header",
            "v.csv",
            text("sample;t1;t2\nx;cat;dog\ny;dog;dog\n"),
            Read(&["0 1", "1 1"], &["cat, dog", "`sample`", "header", "semicolons"]),
        ),
        (
            "a header of plain words",
            "v.csv",
            text("ward A,ward B,ward C\ncat,cat,dog\ndog,dog,cat\n"),
            Read(&["0 0 1", "1 1 0"], &["header", "cat, dog"]),
        ),
        (
            "true and false",
            "v.csv",
            text("True,False\nFalse,False\n"),
            Read(&["1 0", "0 0"], &["False, True"]),
        ),
        (
            "a number among names",
            "v.csv",
            text("cat,dog\n7,cat\ncat,dog\n"),
            Refused(&["row 2, column 1", "`7`", "--class-names"]),
        ),
        (
            "a name among numbers",
            "v.csv",
            text("0,1\n1,cat\n1,1\n"),
            Refused(&["row 2, column 2", "`cat`"]),
        ),
        ("a single name", "v.csv", text("cat,cat\ncat,cat\n"), Refused(&["--class-names"])),
        ("probabilities", "v.csv", text("0.1,0.9\n0.7,0.3\n"), Refused(&["row 1", "argmax"])),
        ("only a header", "v.csv", text("t1,t2,t3\n"), Refused(&["no row below"])),
        ("nothing", "v.csv", vec![], Refused(&["is empty"])),
        ("a negative class", "v.csv", text("0,1\n-2,1\n"), Refused(&["row 2, column 1: -2"])),
        (
            "a large number",
            "v.csv",
            text(&format!("0,1\n1,{}\n", "9".repeat(41))),
            Refused(&["row 2, column 2", "is not a whole number"]),
        ),
        ("a short row", "v.csv", text("0,1\n1\n"), Refused(&["row 2", "leave the cell empty"])),
        ("an open quote", "v.csv", text("\"0,1\n1,1\n"), Refused(&["row 1", "close it"])),
        (
            "separators at line ends",
            "v.csv",
            text("0,1,\n1,1,\n"),
            Read(&["0 1 .", "1 1 ."], &["column 3 is empty", "--ignore-columns 3"]),
        ),
        (
            "classes from 1",
            "v.csv",
            text("1,3,1\n2,2,2\n3,2,3\n"),
            Read(&["1 3 1", "2 2 2", "3 2 3"], &["--class-names 1,2,3"]),
        ),
        (
            "counts",
            "v.csv",
            text("7,3,0\n0,9,1\n5,5,0\n2,2,6\n"),
            Read(&["7 3 0", "0 9 1", "5 5 0", "2 2 6"], &["sums to 10", "--counts", "10 classes"]),
        ),
        (
            "one-hot",
            "v.csv",
            text("0,0,1\n1,0,0\n0,1,0\n1,0,0\n"),
            Read(&["0 0 1", "1 0 0", "0 1 0", "1 0 0"], &["argmax"]),
        ),
        (
            "a few ids",
            "v.csv",
            text("0,1\n1,0\n2,0\n3,3\n"),
            Read(&["0 1", "1 0", "2 0", "3 3"], &["column 1 counts", "--ignore-columns 1"]),
        ),
        (
            "transposed",
            "v.csv",
            text("0,1,2,3,1\n0,1,2,3,1\n0,1,2,3,0\n"),
            Read(&["0 1 2 3 1", "0 1 2 3 1", "0 1 2 3 0"], &["transpose"]),
        ),
    ]
}

fn other_cases() -> Vec<Case> {
    let bytes = npy("|i1", "(2, 2)", "False", &[0, 1, 0xff, 1]);
    let read = || Read(&["0 1", ". 1"], &[]);
    let stored = zip::CompressionMethod::Stored;
    let deflated = zip::CompressionMethod::Deflated;
    let several = [("a.npy", bytes.clone()), ("b.npy", bytes.clone())];
    vec![
        ("npy", "v.npy", bytes.clone(), read()),
        ("npy called csv", "v.csv", bytes.clone(), read()),
        ("npy.gz without .gz", "v.npy", packed(&bytes), read()),
        ("text called npy", "v.npy", text("0,1\n1,1\n"), Refused(&["np.save"])),
        (
            "doubles",
            "v.npy",
            npy("<f8", "(2, 2)", "False", &doubles(&[0.0, 1.0, f64::NAN, 1.0])),
            Read(&["0 1", ". 1"], &["`NaN`"]),
        ),
        (
            "halves",
            "v.npy",
            npy("<f8", "(1, 2)", "False", &doubles(&[0.0, 0.5])),
            Refused(&["row 1, column 2", "argmax"]),
        ),
        (
            "infinite",
            "v.npy",
            npy("<f8", "(1, 2)", "False", &doubles(&[0.0, f64::INFINITY])),
            Refused(&["row 1, column 2", "`inf`"]),
        ),
        (
            "booleans by columns",
            "v.npy",
            npy("|b1", "(2, 2)", "True", &[0, 1, 1, 1]),
            Read(&["0 1", "1 1"], &[]),
        ),
        (
            "texts",
            "v.npy",
            npy("<U3", "(2, 2)", "False", &letters(&["cat", "ox", "", "ox"], 3)),
            Read(&["0 1", ". 1"], &["cat, ox"]),
        ),
        ("objects", "v.npy", npy("|O", "(1, 1)", "False", &[0; 8]), Refused(&["astype"])),
        ("scores", "v.npy", npy("|i1", "(1, 1, 2)", "False", &[0, 1]), Refused(&["argmax"])),
        ("cut off", "v.npy", bytes[..bytes.len() - 1].to_vec(), Refused(&["save it again"])),
        ("npz of one", "v.npz", npz(&several[..1], deflated), read()),
        ("npz of several", "v.npz", npz(&several, stored), Refused(&["`votes`", "a, b"])),
        ("damaged npz", "v.npz", text("PK\x03\x04 and no more"), Refused(&["save it again"])),
        (
            "workbook",
            "v.csv",
            npz(&[("[Content_Types].xml", vec![])], stored),
            Refused(&["Excel", ".csv"]),
        ),
        ("workbook by name", "v.xlsx", text("x"), Refused(&["spreadsheet", ".npy or .csv"])),
        ("utf-16", "v.csv", utf16("0,1\n1,1\n"), Refused(&["UTF-16", "UTF-8"])),
        ("json", "v.json", text("[[0, 1], [1, 1]]"), Refused(&["JSON", ".csv"])),
        ("pickle", "v.pkl", vec![0x80, 4, 0x95, 0], Refused(&["pickle", "np.save"])),
        ("hdf5", "v.h5", vec![0x89, 0x48, 0x44, 0x46, 0x0d], Refused(&["HDF5", "np.save"])),
        ("zstd", "v.csv.zst", vec![0x28, 0xb5, 0x2f, 0xfd, 0], Refused(&["zstd", "unpack"])),
        ("cut gzip", "v.csv.gz", packed(&text("0,1\n1,1\n"))[..20].to_vec(), Refused(&["gzip"])),
        ("old Feather", "v.feather", text("FEA1...."), Refused(&["version 2"])),
        #[cfg(not(feature = "arrow"))]
        ("Parquet", "v.parquet", text("PAR1...."), Refused(&["--features arrow", "to_csv"])),
    ]
}

fn rows(votes: &Votes) -> Vec<String> {
    let cell = |vote: Vote| vote.map_or(".".to_owned(), |class| class.to_string());
    let row = |sample| votes.sample(sample).map(cell).collect::<Vec<_>>().join(" ");
    (0..votes.samples()).map(row).collect()
}

fn check(cases: Vec<Case>) {
    let folder = tempfile::tempdir().unwrap();
    for (kind, name, bytes, expected) in cases {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        let found = understand_votes(&path, &ReadOptions::default());
        match (found, expected) {
            (Ok(found), Read(expected, words)) => {
                assert_eq!(rows(&found.value), expected, "{kind}: {:?}", found.warnings);
                let said: Vec<String> = found.warnings.iter().map(Warning::to_string).collect();
                let said = said.join("\n");
                for word in words {
                    assert!(said.contains(word), "{kind}: `{word}` is not in `{said}`");
                }
                let silent = words.is_empty();
                assert!(!silent || found.warnings.is_empty(), "{kind}: {said}");
                // Without the votes, the same histograms.
                let alone = understand_histograms(&path, &ReadOptions::default()).unwrap();
                assert_eq!(alone.value, Histograms::from(&found.value), "{kind}");
                assert_eq!(alone.warnings, found.warnings, "{kind}");
            }
            (Err(error), Refused(words)) => {
                let said = error.to_string();
                assert!(said.contains(name), "{kind}: {said}");
                for word in words {
                    assert!(said.contains(word), "{kind}: `{word}` is not in `{said}`");
                }
            }
            (Ok(found), Refused(_)) => {
                panic!("{kind} was read as {:?} {:?}", rows(&found.value), found.warnings)
            }
            (Err(error), Read(..)) => panic!("{kind} was refused: {error}"),
        }
    }
}

#[test]
fn sloppy_text_is_understood_or_refused_with_the_fix() {
    let cases = csv_cases();
    assert!(cases.len() >= 40, "{}", cases.len());
    check(cases);
}

#[test]
fn other_sloppy_files_are_understood_or_refused_with_the_fix() {
    check(other_cases());
}
