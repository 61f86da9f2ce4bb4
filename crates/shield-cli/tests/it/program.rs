//! The program as a user meets it: the command-line contract, wrong input, and what stays behind.

use std::fs;
use std::process::{Command, Stdio};

use crate::common::{Folder, assert_has_keys, json, shield, shipped, stderr, stdout};

#[test]
fn label_answers_with_the_keys_of_the_contract() {
    let (votes, truth) = (shipped("votes.npy"), shipped("labels.npy"));
    let found = json(&["label", "--votes", &votes, "--labels", &truth, "--seed", "1", "--json"]);
    let keys = ["labels", "correct", "seconds", "seconds_per_sample", "threads", "backend"];
    assert_has_keys(&found, &keys);
    assert_has_keys(&found["seconds"], &["keygen", "encrypt", "aggregate", "decrypt"]);
    assert_eq!(found["labels"].as_array().unwrap().len(), 1000);
    assert!(found["correct"].as_u64().unwrap() > 850);
}

/// Votes and truth of a small election, whose labels are priced at once.
fn few_votes() -> Folder {
    let folder = Folder::new();
    let few = "--samples 300 --teachers 12 --classes 3";
    folder.json(&format!("synthesize --votes votes.npy --labels truth.npy {few}"));
    folder
}

#[test]
fn analyze_answers_with_the_keys_of_the_contract() {
    let folder = few_votes();
    let found = folder.json("analyze --votes votes.npy --labels truth.npy");
    assert_has_keys(&found, &["votes", "mechanism", "accuracy"]);
    assert_has_keys(&found["votes"], &["samples", "teachers", "classes"]);
    assert_has_keys(&found["mechanism"], &["name", "polynomial", "offset", "sampling"]);
    assert_has_keys(&found["accuracy"], &["ground_truth", "argmax", "correct_labels", "failure"]);
    assert_eq!(found["mechanism"]["polynomial"], "8X^4+6X^3+4X^2+X");
    let without = folder.json("analyze --votes votes.npy");
    assert!(without["accuracy"]["correct_labels"].is_null());
}

#[test]
fn demo_runs_without_any_file() {
    let output = shield(&["demo"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("real votes"));
    let found = json(&["demo", "--json"]);
    assert!(found["label"]["correct"].as_u64().unwrap() > 70, "{}", found["label"]["correct"]);
    assert_eq!(found["label"]["labels"], found["trustees"]["labels"]);
    assert!(found["bought"]["epsilon"].as_f64().unwrap() < 1.6);
}

#[test]
fn the_shipped_votes_are_those_that_the_documented_command_makes() {
    let folder = Folder::new();
    folder.json("synthesize --votes votes.npy --labels labels.npy");
    for name in ["votes.npy", "labels.npy"] {
        assert!(folder.read(name) == fs::read(shipped(name)).unwrap());
    }
}

#[test]
fn the_same_seed_gives_the_same_labels_on_any_number_of_threads() {
    let folder = few_votes();
    let run = |options: &str| {
        folder.json(&format!("label --votes votes.npy {options}"))["labels"].clone()
    };
    assert_eq!(run("--seed 7 --threads 1"), run("--seed 7 --threads 2"));
    assert_ne!(run("--seed 7 --threads 1"), run("--seed 8 --threads 1"));
    assert_ne!(run(""), run(""));
    let warned = folder.run("label --votes votes.npy --seed 1");
    assert!(stderr(&warned).contains("for tests only"));
}

#[test]
fn labels_go_to_a_file_or_to_stdout() {
    let folder = Folder::new();
    folder.write("votes.csv", "0,0,0\n1,1,1\n,,\n");
    let base = "label --votes votes.csv --classes 2 --offset 0";
    let output = folder.run(base);
    assert_eq!(stdout(&output), "0\n1\n\n", "{}", stderr(&output));
    for (name, content) in [("labels.csv", b"0\n1\n\n".as_slice()), ("labels.npy", &[0, 1, 0xff])] {
        let output = folder.run(&format!("{base} --out {name}"));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(folder.read(name).ends_with(content), "{name}");
    }
    let found = folder.json(base);
    assert_eq!(found["labels"], serde_json::json!([0, 1, null]));
    assert!(found["correct"].is_null());
}

#[test]
fn wrong_input_is_named_with_its_place_and_exit_code_2() {
    let folder = Folder::new();
    for (name, content) in [
        ("good.csv", "0,1\n1,1\n"),
        ("ragged.csv", "0,1\n1\n"),
        ("stray.csv", "0,1\n1,7\n"),
        ("scores.csv", "0,1\n1,0.5\n"),
        ("empty.csv", ""),
        ("short.csv", "1\n"),
        ("votes.xlsx", "x"),
    ] {
        folder.write(name, content);
    }
    for (votes, words) in [
        ("ragged.csv", &["ragged.csv", "row 2"][..]),
        ("stray.csv --classes 3", &["stray.csv", "row 2, column 2", "0 to 2"]),
        ("scores.csv", &["scores.csv", "row 2, column 2", "argmax"]),
        ("empty.csv", &["empty.csv", "empty"]),
        ("votes.xlsx", &["votes.xlsx", ".npy or .csv"]),
        ("missing.npy", &["missing.npy"]),
        ("good.csv --labels short.csv", &["short.csv", "1 labels for 2 samples"]),
        ("good.csv --threads 0", &["--threads"]),
        ("good.csv --threads 70000", &["--threads", "1 to 1024"]),
        ("good.csv --threads -1", &["'-1' for '--threads"]),
        ("good.csv --classes 1", &["--classes", "from 2"]),
        ("good.csv --offset -1", &["--offset"]),
        ("good.csv --polynomial X^2-X", &["--polynomial", "positive"]),
        ("good.csv --polynomial 0", &["leave the term out"]),
        ("good.csv --polynomial -X", &["--polynomial", "positive"]),
        ("good.csv --sampling both", &["without-replacement"]),
        ("good.csv --backend none", &["clear"]),
        ("good.csv --out labels.txt", &["labels.txt", ".npy or .csv"]),
        ("good.csv --out no/folder/l.csv", &["no/folder", "make it first"]),
    ] {
        folder.refused(&format!("label --votes {votes}"), words);
    }
    for (line, words) in [
        ("plan --teachers 3 --classes 3 --samples -3", &["'-3' for '--samples"][..]),
        (
            "analyze --votes good.csv --mechanism lnmax --noise 1e308",
            &["the noise", "at most 1,000,000,000"],
        ),
        ("synthesize --votes v.npy --labels v.npy", &["the same file"]),
        ("synthesize --votes v.npy --labels l.npy --teachers 0", &["teachers", "1 to"]),
        ("label", &["--votes"]),
        ("no-such-command", &["no-such-command"]),
    ] {
        folder.refused(line, words);
    }
}

#[cfg(unix)]
#[test]
fn a_file_may_have_any_name() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new();
    let votes = folder.path("").join(OsStr::from_bytes(b"v\xff.csv"));
    let out = folder.path("").join(OsStr::from_bytes(b"l\xff.csv"));
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
    folder.write("votes.csv", "0,1\n");
    // A folder stands where the file should go.
    fs::create_dir(folder.path("labels.csv")).unwrap();
    let output = folder.run("label --votes votes.csv --out labels.csv");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("labels.csv"));
    assert_eq!(fs::read_dir(folder.path("")).unwrap().count(), 2);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_shield"))
        .args(["label", "--votes", &shipped("votes.npy"), "--json"])
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
    let commands = overview.split("Options:").next().unwrap();
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
        assert!(
            stdout(&shield(&["generate", "completions", shell])).contains("analyze"),
            "{shell}"
        );
    }
    assert!(stdout(&shield(&["generate", "man"])).contains(".TH"));
    let folder = Folder::new();
    let output = folder.run("generate man --out man1");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(folder.path("man1/shield-label.1").exists());
}
