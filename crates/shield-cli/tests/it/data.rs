//! Every command of docs/data.md, as it is written there, and data as it comes in.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{Folder, stderr, stdout};
use crate::pages::run_commands;

const PAGE: &str = include_str!("../../../../docs/data.md");

#[test]
fn every_command_of_the_page_works() {
    let folder = tempfile::tempdir().unwrap();
    let programs = Path::new(env!("CARGO_BIN_EXE_shield")).parent().expect("its folder");
    let output = run_commands(PAGE, 11, programs, folder.path());
    let said = stderr(&output);
    assert!(output.status.success(), "{said}");
    let printed = stdout(&output);
    let lines: Vec<&str> = printed.lines().collect();
    let class = |line: &str| ["cat", "dog", "owl"].contains(&line);
    assert_eq!(lines.iter().filter(|line| class(line)).count(), 9, "{printed}");
    assert!(!lines.iter().any(|line| line.starts_with("ward")), "a header is no sample: {printed}");
    // The second of three samples is unanimous: class 2, of classes 1 to 3.
    assert!(["\n2\n1\n", "\n2\n3\n"].iter().any(|end| printed.contains(end)), "{printed}");
    assert!(printed.contains("polynomial"), "{printed}");
    for words in ["semicolons", "`image`", "cat, dog, owl", "counts up", "tabs", "not in its order"]
    {
        assert!(said.contains(words), "{words} is not in: {said}");
    }
}

#[test]
fn labels_may_know_more_classes_than_votes() {
    let folder = Folder::new();
    folder.write("votes.csv", "cat,cat\ndog,dog\n");
    folder.write("labels.csv", "label\nant\ndog\n");
    folder.write("numbers.csv", "0\n1\n");
    let found = folder.json("label --votes votes.csv --labels labels.csv --offset 0");
    assert_eq!(found["class_names"], serde_json::json!(["ant", "cat", "dog"]));
    assert_eq!(found["labels"], serde_json::json!([1, 2]));
    assert_eq!(found["correct"], 1);
    folder.refused("label --votes votes.csv --labels numbers.csv", &["--class-names"]);
    folder.write("counts.csv", "3,1\n0,4\n");
    folder.refused("label --votes counts.csv --counts", &["--counts"]);
}

#[test]
fn standard_input_is_read_once_and_by_its_content() {
    let run = |arguments: &[&str], input: &[u8]| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_shield"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A program that refuses its arguments does not wait for input.
        let _ = child.stdin.take().unwrap().write_all(input);
        child.wait_with_output().unwrap()
    };
    let shipped = std::fs::read(crate::common::shipped("votes.npy")).unwrap();
    let output = run(&["label", "--votes", "-", "--offset", "0"], &shipped);
    assert_eq!(stdout(&output).lines().count(), 1000, "{}", stderr(&output));
    let output = run(&["label", "--votes", "-", "--labels", "-"], b"0,1\n");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("read once"), "{}", stderr(&output));
    let output = run(&["label", "--votes", "-"], b"");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("standard input: the file is empty"), "{}", stderr(&output));
}
