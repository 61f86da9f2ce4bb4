//! What the tests of the program share.

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// The words of a command line.
pub(crate) fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

fn program(arguments: &[&str]) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_shield"));
    program.args(arguments);
    program
}

/// Runs the program.
pub(crate) fn shield(arguments: &[&str]) -> Output {
    program(arguments).output().expect("the program runs")
}

/// What it wrote to stdout.
pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// What it wrote to stderr.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The one JSON document of a run that succeeded.
pub(crate) fn document(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    serde_json::from_slice(&output.stdout).expect("one JSON document on stdout")
}

/// Runs the program, which must succeed and print one JSON document.
pub(crate) fn json(arguments: &[&str]) -> Value {
    document(&shield(arguments))
}

/// Fails unless a run ended with exit code 2, these words on stderr and nothing on stdout.
pub(crate) fn assert_refused(output: &Output, words: &[&str]) {
    let said = stderr(output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(stdout(output).is_empty(), "{said}");
    for word in words {
        assert!(said.contains(word), "{word} is not in: {said}");
    }
    assert!(!said.contains("panicked"), "{said}");
}

/// A folder of its own in which the program runs, so that commands name files as a user does.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn command(&self, line: &str) -> Command {
        let mut command = program(&words(line));
        command.current_dir(self.0.path());
        command
    }

    /// Runs the program with the words of a line as its arguments.
    pub(crate) fn run(&self, line: &str) -> Output {
        self.command(line).output().expect("the program runs")
    }

    /// The same, with `--json`; it must succeed.
    pub(crate) fn json(&self, line: &str) -> Value {
        document(&self.run(&format!("{line} --json")))
    }

    /// The same, where the arguments or what they name must be refused with these words.
    pub(crate) fn refused(&self, line: &str, words: &[&str]) {
        assert_refused(&self.run(line), words);
    }

    /// Starts the program and kills it as soon as something is so, or it ends by itself.
    pub(crate) fn run_until(&self, line: &str, what: &str, is_so: impl Fn() -> bool) {
        let mut command = self.command(line);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let start = Instant::now();
        while !is_so() && child.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < Duration::from_mins(15), "never: {what}");
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// What the server aggregates, and what the student has, in the folder of a [`Story`].
pub(crate) const SERVER: &str =
    "--election election.toml --evaluation-key keys/evaluation.key --ballots ballots";
pub(crate) const STUDENT: &str = "--election election.toml --secret-key keys/secret.key";

/// An election over files in a folder of its own, with its keys.
pub(crate) struct Story(Folder);

impl Deref for Story {
    type Target = Folder;

    fn deref(&self) -> &Folder {
        &self.0
    }
}

impl Story {
    pub(crate) fn new(election: &str) -> Self {
        let story = Self(Folder::new());
        story.write("election.toml", election);
        fs::create_dir(story.path("ballots")).unwrap();
        story.keygen("election.toml", "keys");
        story
    }

    pub(crate) fn keygen(&self, election: &str, out: &str) {
        self.json(&format!("keygen --election {election} --out {out}"));
    }

    /// The command with which a teacher votes, where it is not said otherwise, into `ballots`.
    pub(crate) fn voting(teacher: &str, votes: &str) -> String {
        format!(
            "vote --election election.toml --public-key keys/public.key --teacher {teacher} \
             --votes {votes} --out ballots/{teacher}"
        )
    }
}

/// A command with another value of one of its options.
pub(crate) fn with(line: &str, option: &str, value: &str) -> String {
    let (before, after) = line.split_once(&format!("{option} ")).unwrap();
    let after = after.split_once(' ').map_or("", |(_, rest)| rest);
    format!("{before}{option} {value} {after}")
}

/// Fails unless the object has all the keys.
pub(crate) fn assert_has_keys(value: &Value, expected: &[&str]) {
    for key in expected {
        assert!(value.get(key).is_some(), "{key} is missing from {value}");
    }
}

/// A file of the synthetic example votes.
pub(crate) fn shipped(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/synthetic");
    root.join(name).to_str().unwrap().to_owned()
}
