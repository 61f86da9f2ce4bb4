//! The program as a user meets it: the command-line contract, wrong input, and what stays behind.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::common::{assert_has_keys, json, shield, shipped, stderr, stdout};

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, content: &str) -> String {
        fs::write(self.path(name), content).unwrap();
        self.path(name).to_str().unwrap().to_owned()
    }
}

#[test]
fn label_answers_with_the_keys_of_the_contract() {
    let (votes, truth) = (shipped("votes.npy"), shipped("labels.npy"));
    let found = json(&["label", "--votes", &votes, "--labels", &truth, "--seed", "1", "--json"]);
    assert_has_keys(
        &found,
        &["labels", "correct", "seconds", "seconds_per_sample", "threads", "backend"],
    );
    assert_has_keys(&found["seconds"], &["keygen", "encrypt", "aggregate", "decrypt"]);
    assert_eq!(found["labels"].as_array().unwrap().len(), 1000);
    assert!(found["correct"].as_u64().unwrap() > 850);
}

/// Votes and truth of a small election, whose labels are priced at once.
fn few_votes(folder: &Folder) -> (String, String) {
    let (votes, truth) = (folder.path("votes.npy"), folder.path("truth.npy"));
    let (votes, truth) = (votes.to_str().unwrap().to_owned(), truth.to_str().unwrap().to_owned());
    let few = ["--samples", "300", "--teachers", "12", "--classes", "3"];
    let output =
        shield(&[&["synthesize", "--votes", &votes, "--labels", &truth], &few[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    (votes, truth)
}

#[test]
fn analyze_answers_with_the_keys_of_the_contract() {
    let folder = Folder::new();
    let (votes, truth) = few_votes(&folder);
    let found = json(&["analyze", "--votes", &votes, "--labels", &truth, "--json"]);
    assert_has_keys(&found, &["votes", "mechanism", "accuracy"]);
    assert_has_keys(&found["votes"], &["samples", "teachers", "classes"]);
    assert_has_keys(&found["mechanism"], &["name", "polynomial", "offset", "sampling"]);
    assert_has_keys(&found["accuracy"], &["ground_truth", "argmax", "correct_labels", "failure"]);
    assert_eq!(found["mechanism"]["polynomial"], "8X^4+6X^3+4X^2+X");
    let without = json(&["analyze", "--votes", &votes, "--json"]);
    assert!(without["accuracy"]["correct_labels"].is_null());
}

#[test]
fn demo_runs_without_any_file() {
    let output = shield(&["demo"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("real votes"));
    let found = json(&["demo", "--json"]);
    assert!(found["label"]["correct"].as_u64().unwrap() > 70, "{}", found["label"]["correct"]);
    assert!(found["bought"]["epsilon"].as_f64().unwrap() < 1.6);
}

#[test]
fn the_shipped_votes_are_those_that_the_documented_command_makes() {
    let folder = Folder::new();
    let (votes, labels) = (folder.path("votes.npy"), folder.path("labels.npy"));
    let output = shield(&[
        "synthesize",
        "--votes",
        votes.to_str().unwrap(),
        "--labels",
        labels.to_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(fs::read(votes).unwrap() == fs::read(shipped("votes.npy")).unwrap());
    assert!(fs::read(labels).unwrap() == fs::read(shipped("labels.npy")).unwrap());
}

#[test]
fn the_same_seed_gives_the_same_labels_on_any_number_of_threads() {
    let folder = Folder::new();
    let (votes, _) = few_votes(&folder);
    let run = |seed, threads| {
        let seeded = ["label", "--votes", &votes, "--seed", seed, "--threads", threads, "--json"];
        json(&seeded)["labels"].clone()
    };
    assert_eq!(run("7", "1"), run("7", "2"));
    assert_ne!(run("7", "1"), run("8", "1"));
    let unseeded = || json(&["label", "--votes", &votes, "--json"])["labels"].clone();
    assert_ne!(unseeded(), unseeded());
}

#[test]
fn a_seed_is_warned_about() {
    let folder = Folder::new();
    let output = shield(&["label", "--votes", &few_votes(&folder).0, "--seed", "1"]);
    assert!(stderr(&output).contains("for tests only"));
}

#[test]
fn labels_go_to_a_file_or_to_stdout() {
    let folder = Folder::new();
    let votes = folder.file("votes.csv", "0,0,0\n1,1,1\n,,\n");
    let base = ["label", "--votes", &votes, "--classes", "2", "--offset", "0"];
    let output = shield(&base);
    assert_eq!(stdout(&output), "0\n1\n\n", "{}", stderr(&output));
    for (name, content) in [("labels.csv", b"0\n1\n\n".as_slice()), ("labels.npy", &[0, 1, 0xff])] {
        let path = folder.path(name);
        let output = shield(&[&base[..], &["--out", path.to_str().unwrap()]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(fs::read(&path).unwrap().ends_with(content), "{name}");
    }
    let found = json(&[&base[..], &["--json"]].concat());
    assert_eq!(found["labels"], serde_json::json!([0, 1, null]));
    assert!(found["correct"].is_null());
}

#[test]
fn wrong_input_is_named_with_its_place_and_exit_code_2() {
    let folder = Folder::new();
    let good = folder.file("good.csv", "0,1\n1,1\n");
    let ragged = folder.file("ragged.csv", "0,1\n1\n");
    let stray = folder.file("stray.csv", "0,1\n1,7\n");
    let scores = folder.file("scores.csv", "0,1\n1,0.5\n");
    let empty = folder.file("empty.csv", "");
    let short = folder.file("short.csv", "1\n");
    let excel = folder.file("votes.xlsx", "x");
    let cases: &[(&[&str], &[&str])] = &[
        (&["label", "--votes", &ragged], &["ragged.csv", "row 2"]),
        (
            &["label", "--votes", &stray, "--classes", "3"],
            &["stray.csv", "row 2, column 2", "0 to 2"],
        ),
        (&["label", "--votes", &scores], &["scores.csv", "row 2, column 2", "argmax"]),
        (&["label", "--votes", &empty], &["empty.csv", "empty"]),
        (&["label", "--votes", &excel], &["votes.xlsx", ".npy or .csv"]),
        (&["label", "--votes", "missing.npy"], &["missing.npy"]),
        (
            &["label", "--votes", &good, "--labels", &short],
            &["short.csv", "1 labels for 2 samples"],
        ),
        (&["label", "--votes", &good, "--threads", "0"], &["--threads"]),
        (&["label", "--votes", &good, "--threads", "70000"], &["--threads", "1 to 1024"]),
        (&["label", "--votes", &good, "--threads", "-1"], &["'-1' for '--threads"]),
        (
            &["plan", "--teachers", "3", "--classes", "3", "--samples", "-3"],
            &["'-3' for '--samples"],
        ),
        (
            &["analyze", "--votes", &good, "--mechanism", "lnmax", "--noise", "1e308"],
            &["the noise", "at most 1,000,000,000"],
        ),
        (&["synthesize", "--votes", "v.npy", "--labels", "v.npy"], &["the same file"]),
        (&["label", "--votes", &good, "--classes", "1"], &["--classes", "from 2"]),
        (&["label", "--votes", &good, "--offset", "-1"], &["--offset"]),
        (&["label", "--votes", &good, "--polynomial", "X^2-X"], &["--polynomial", "positive"]),
        (&["label", "--votes", &good, "--polynomial", "0"], &["leave the term out"]),
        (&["label", "--votes", &good, "--sampling", "both"], &["without-replacement"]),
        (&["label", "--votes", &good, "--backend", "none"], &["clear"]),
        (&["label", "--votes", &good, "--polynomial", "-X"], &["--polynomial", "positive"]),
        (&["label", "--votes", &good, "--out", "labels.txt"], &["labels.txt", ".npy or .csv"]),
        (&["label", "--votes", &good, "--out", "no/folder/l.csv"], &["no/folder", "make it first"]),
        (&["label"], &["--votes"]),
        (
            &["synthesize", "--votes", "v.npy", "--labels", "l.npy", "--teachers", "0"],
            &["teachers", "1 to"],
        ),
        (&["no-such-command"], &["no-such-command"]),
    ];
    for (arguments, words) in cases {
        let output = shield(arguments);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(stdout(&output).is_empty(), "{arguments:?}");
        for word in *words {
            assert!(said.contains(word), "{arguments:?} should speak of {word}: {said}");
        }
        assert!(!said.contains("panicked"), "{said}");
    }
}

#[cfg(unix)]
#[test]
fn a_file_may_have_any_name() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new();
    let votes = folder.0.path().join(OsStr::from_bytes(b"v\xff.csv"));
    let out = folder.0.path().join(OsStr::from_bytes(b"l\xff.csv"));
    fs::write(&votes, "0,0\n1,1\n").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_shield"));
    command.args(["label", "--offset", "0", "--votes"]).arg(votes).arg("--out").arg(&out);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(fs::read(out).unwrap(), b"0\n1\n");
}

#[test]
fn what_cannot_be_written_is_an_error_and_leaves_nothing() {
    let folder = Folder::new();
    let votes = folder.file("votes.csv", "0,1\n");
    // A folder stands where the file should go.
    let nowhere = folder.path("labels.csv");
    fs::create_dir(&nowhere).unwrap();
    let output = shield(&["label", "--votes", &votes, "--out", nowhere.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("labels.csv"));
    assert_eq!(fs::read_dir(folder.0.path()).unwrap().count(), 2);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = Folder::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_shield"))
        .args(["label", "--votes", &few_votes(&folder).0, "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(!stderr(&output).contains("panicked"), "{}", stderr(&output));
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn every_command_has_help_with_an_example() {
    let overview = stdout(&shield(&["--help"]));
    let commands = overview.split("Commands:").nth(1).unwrap().split("Options:").next().unwrap();
    let names: Vec<&str> = commands
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|&name| name != "help")
        .collect();
    assert!(names.len() >= 6, "{names:?}");
    for name in names {
        let help = stdout(&shield(&[name, "--help"]));
        assert!(help.contains("Example") && help.contains(&format!("shield {name}")), "{help}");
    }
}

#[test]
fn completions_and_manual_pages_are_made() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(stdout(&shield(&["completions", shell])).contains("analyze"), "{shell}");
    }
    assert!(stdout(&shield(&["man"])).contains(".TH"));
    let folder = Folder::new();
    let pages = folder.path("man1");
    let output = shield(&["man", "--out", pages.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(pages.join("shield-label.1").exists());
}
