//! SPEED over files, as its parties run it: one student, one server, five teachers.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{json, shield, stderr, stdout};

const TEACHERS: [&str; 5] = ["amber", "birch", "cedar", "dogwood", "elm"];

const ELECTION: &str = r#"
name = "ward-7"
group = "wards"
classes = 3
samples = 6
polynomial = "3X^2+X"
offset = 2
quorum = 4
teachers = ["amber", "birch", "cedar", "dogwood", "elm"]
"#;

/// An election in a folder of its own, with its keys.
struct Story(TempDir);

impl Story {
    fn new() -> Self {
        let story = Self(tempfile::tempdir().unwrap());
        story.write("election.toml", ELECTION);
        fs::create_dir(story.path("ballots")).unwrap();
        story.keygen("election.toml", "keys");
        story
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, content: &str) -> String {
        fs::write(self.path(name), content).unwrap();
        self.text(name)
    }

    fn keygen(&self, election: &str, out: &str) -> Value {
        json(&["keygen", "--json", "--election", &self.text(election), "--out", &self.text(out)])
    }

    /// The arguments with which a teacher votes the same class on all samples.
    fn voting(&self, election: &str, keys: &str, teacher: &str, out: &str) -> Vec<String> {
        let class = TEACHERS.iter().position(|name| *name == teacher).unwrap_or(0) / 2;
        let votes = self.write(&format!("{teacher}.csv"), &format!("{class}\n").repeat(6));
        let key = self.text(&format!("{keys}/public.key"));
        let arguments = [
            ["vote", "--json"],
            ["--election", &self.text(election)],
            ["--public-key", &key],
            ["--teacher", teacher],
            ["--votes", &votes],
            ["--out", &self.text(out)],
        ];
        arguments.concat().into_iter().map(str::to_owned).collect()
    }

    /// The first so many teachers vote.
    fn all_vote(&self, teachers: usize) {
        for teacher in &TEACHERS[..teachers] {
            self.vote(teacher);
        }
    }

    fn vote(&self, teacher: &str) {
        let out = format!("ballots/{teacher}");
        let arguments = self.voting("election.toml", "keys", teacher, &out);
        json(&words(&arguments));
    }

    fn aggregating(&self, election: &str) -> Vec<String> {
        let arguments = [
            ["aggregate", "--json"],
            ["--election", &self.text(election)],
            ["--evaluation-key", &self.text("keys/evaluation.key")],
            ["--ballots", &self.text("ballots")],
            ["--out", &self.text("results")],
        ];
        arguments.concat().into_iter().map(str::to_owned).collect()
    }

    fn aggregate(&self) -> Value {
        json(&words(&self.aggregating("election.toml")))
    }

    /// The aggregation is refused, says these words, and leaves nothing behind.
    fn refused(&self, parts: &[&str]) {
        let before = self.files();
        let arguments = self.aggregating("election.toml");
        refused(&words(&arguments), parts);
        assert_eq!(self.files(), before);
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut found = vec![];
        for folder in [self.0.path(), &self.path("ballots")] {
            found.extend(fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
        }
        found.sort();
        found
    }
}

fn words(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

/// A command that must end with exit code 2 and these words on stderr.
fn refused(arguments: &[&str], parts: &[&str]) {
    let output = shield(arguments);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    assert!(stdout(&output).is_empty(), "{arguments:?}");
    for part in parts {
        assert!(said.contains(part), "{part} is not in: {said}");
    }
    assert!(!said.contains("panicked"), "{said}");
}

fn flip(path: &Path, place: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[place] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn from_keys_to_labels() {
    let story = Story::new();
    // All five agree, so that a round of two teachers does, too; dummies may still win.
    let votes = story
        .write("votes.csv", "0,0,0,0,0\n1,1,1,1,1\n2,2,2,2,2\n0,0,0,0,0\n1,1,1,1,1\n2,2,2,,2\n");
    for (column, teacher) in (1..).zip(TEACHERS) {
        let election = story.text("election.toml");
        let (key, out) =
            (story.text("keys/public.key"), story.text(&format!("ballots/{column}.b")));
        let base = ["vote", "--election", &election, "--public-key", &key, "--teacher", teacher];
        let column = column.to_string();
        let rest = ["--votes", &votes, "--column", &column, "--out", &out, "--json"];
        let cast = json(&[&base[..], &rest].concat());
        assert_eq!(cast["samples"], 6);
        assert_eq!(cast["abstentions"], i32::from(teacher == "dogwood"));
        assert_eq!(cast["key"].as_str().unwrap().len(), 16);
    }
    let done = story.aggregate();
    assert_eq!(done["voted"], json!(TEACHERS));
    assert_eq!(done["missing"], json!([]));
    assert_eq!(done["voters"], json!([{"voters": 4, "samples": 1}, {"voters": 5, "samples": 5}]));
    assert_eq!(done["queries"], 6);
    assert_eq!(done["again"], false);
    // Between the cost of all samples with 5 voters and all with 4.
    let bound = |teachers| {
        let setting = ["--polynomial", "3X^2+X", "--offset", "2", "--queries", "6", "--json"];
        let bound =
            json(&[&["bound", "--classes", "3", "--teachers", teachers], &setting[..]].concat());
        bound["epsilon"].as_f64().unwrap()
    };
    let epsilon = done["epsilon"].as_f64().unwrap();
    assert!(bound("5") * 0.999 < epsilon && epsilon < bound("4") * 1.01, "{epsilon}");

    let truth = story.write("truth.csv", "0\n1\n2\n0\n1\n2\n");
    let (election, secret) = (story.text("election.toml"), story.text("keys/secret.key"));
    let results = story.text("results");
    let base = ["reveal", "--election", &election, "--secret-key", &secret, "--results", &results];
    let found = json(&[&base[..], &["--labels", &truth, "--json"]].concat());
    let labels: Vec<u64> =
        found["labels"].as_array().unwrap().iter().map(|label| label.as_u64().unwrap()).collect();
    assert_eq!(labels.len(), 6);
    let right =
        labels.iter().zip([0, 1, 2, 0, 1, 2]).filter(|(label, truth)| *label == truth).count();
    assert_eq!(found["correct"], right);
    // The same to stdout and to a file.
    let lines: String =
        labels.iter().flat_map(|label| [label.to_string(), "\n".to_owned()]).collect();
    assert_eq!(stdout(&shield(&base)), lines);
    let out = story.text("labels.csv");
    let said = shield(&[&base[..], &["--out", &out]].concat());
    assert_eq!(said.status.code(), Some(0), "{}", stderr(&said));
    assert!(!stderr(&said).contains("warning"), "{}", stderr(&said));
    assert_eq!(fs::read_to_string(out).unwrap(), lines);

    // Again: the same bytes. Into another file, or with a late or another ballot: never.
    let bytes = fs::read(&results).unwrap();
    fs::remove_file(&results).unwrap();
    assert_eq!(story.aggregate()["again"], true);
    assert!(fs::read(&results).unwrap() == bytes);
    let mut elsewhere = story.aggregating("election.toml");
    elsewhere[9] = story.text("elsewhere");
    refused(&words(&elsewhere), &["aggregated.toml", "two draws"]);
    fs::remove_file(story.path("ballots/5.b")).unwrap();
    story.refused(&["aggregated.toml", "`elm` is gone", "two draws"]);
    story.vote("elm");
    story.refused(&["aggregated.toml", "`elm` was another one", "two draws"]);
    assert!(fs::read(&results).unwrap() == bytes);
}

#[test]
fn keys_are_told_apart_and_never_overwritten() {
    let story = Story::new();
    let (election, folder) = (story.text("election.toml"), story.text("keys"));
    let keys = ["secret.key", "public.key", "evaluation.key"];
    let before = keys.map(|key| fs::read(story.path("keys").join(key)).unwrap());
    refused(
        &["keygen", "--election", &election, "--out", &folder],
        &["secret.key", "never overwritten"],
    );
    for key in ["secret.key", "public.key"] {
        fs::remove_file(story.path("keys").join(key)).unwrap();
    }
    refused(
        &["keygen", "--election", &election, "--out", &folder],
        &["evaluation.key", "Nothing was written"],
    );
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    assert!(fs::read(story.path("keys/evaluation.key")).unwrap() == before[2]);

    let output = shield(&["keygen", "--election", &election, "--out", &story.text("new")]);
    assert!(stderr(&output).contains("must not work together"), "{}", stderr(&output));
    for word in ["the student alone", "every teacher", "the server"] {
        assert!(stdout(&output).contains(word), "{word}: {}", stdout(&output));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(story.path("new/secret.key")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn every_unusable_ballot_is_named_with_its_reason_at_once() {
    let story = Story::new();
    story.all_vote(4);
    // Another election that differs in one word, with keys of its own; and other keys for this one.
    story.write("other.toml", &ELECTION.replace("ward-7", "ward-8"));
    story.keygen("other.toml", "other-keys");
    story.keygen("election.toml", "new-keys");
    for (election, keys, name) in
        [("other.toml", "other-keys", "of-ward-8"), ("election.toml", "new-keys", "of-new-keys")]
    {
        let vote = story.voting(election, keys, "elm", &format!("ballots/{name}"));
        json(&words(&vote));
    }
    let ballots = story.path("ballots");
    let whole = fs::read(ballots.join("amber")).unwrap();
    for (name, content) in [
        ("cut-off", &whole[..whole.len() - 1]),
        ("empty", &[]),
        ("longer", &[&whole[..], &[0]].concat()),
        ("readme.txt", b"put your ballots here"),
    ] {
        fs::write(ballots.join(name), content).unwrap();
    }
    for (name, place) in [("flipped", whole.len() / 2), ("version", 4), ("stranger", 43)] {
        fs::write(ballots.join(name), &whole).unwrap();
        flip(&ballots.join(name), place);
    }
    fs::create_dir(ballots.join("folder")).unwrap();
    // Amber's ballot with elm's number, and a sound check over that.
    let mut copy = whole.clone();
    copy[40] = 4;
    let check = blake3::hash(&copy[..48]);
    copy[48..56].copy_from_slice(&check.as_bytes()[..8]);
    fs::write(ballots.join("twice"), copy).unwrap();
    let second = story.voting("election.toml", "keys", "birch", "ballots/late");
    json(&words(&second));
    story.refused(&[
        "12 files",
        "of-ward-8: it belongs to another election",
        "of-new-keys: batch 0: this ballot belongs to the keys",
        "cut-off: the file is cut off",
        "empty: this is not a ballot",
        "longer: the file is cut off or has something appended",
        "readme.txt: this is not a ballot",
        "flipped: batch 0: the checksum does not match",
        "version: format version",
        "stranger: the start of the file is damaged",
        "folder: this is a folder",
        "late: this is a second, different ballot of `birch`",
        &format!(
            "twice: this ballot of `elm` has the bytes of `amber`'s, {}: one of the two is a copy",
            ballots.join("amber").display()
        ),
    ]);
    assert!(!story.path("results.seed").exists());
}

#[test]
fn a_quorum_is_waited_for_on_every_sample() {
    let story = Story::new();
    story.refused(&["0 of 5", "quorum of 4", "amber, birch, cedar, dogwood, elm"]);
    story.all_vote(3);
    story.refused(&["3 of 5 teachers", "6 of 6 samples", "quorum of 4", "dogwood, elm"]);
    // The fourth leaves one sample out.
    let mut vote = story.voting("election.toml", "keys", "elm", "ballots/elm");
    story.write("elm.csv", "0\n0\n\n0\n0\n0\n");
    json(&words(&vote));
    story.refused(&["1 of 6 samples", "sample 3, with 3", "dogwood"]);
    assert!(!story.path("results.seed").exists());
    // No second ballot over the first: it may be on its way already.
    refused(&words(&vote), &["elm", "remove it and vote again"]);
    vote = story.voting("election.toml", "keys", "dogwood", "ballots/dogwood");
    json(&words(&vote));
    assert_eq!(story.aggregate()["voters"][0], json!({"voters": 4, "samples": 1}));
}

#[test]
fn wrong_votes_and_wrong_files_are_named() {
    let story = Story::new();
    story.write("other.toml", &ELECTION.replace("offset = 2", "offset = 3"));
    story.keygen("election.toml", "new-keys");
    let base = story.voting("election.toml", "keys", "amber", "ballots/amber");
    let with = |option: &str, value: &str, parts: &[&str]| {
        let mut arguments = words(&base);
        let place = arguments.iter().position(|argument| *argument == option).unwrap();
        arguments[place + 1] = value;
        refused(&arguments, parts);
        assert!(!story.path("ballots/amber").exists());
    };
    with(
        "--votes",
        &story.write("short.csv", "0\n1\n2\n0\n1\n"),
        &["short.csv", "5 votes", "6 samples"],
    );
    with(
        "--votes",
        &story.write("range.csv", "0\n1\n2\n3\n1\n2\n"),
        &["range.csv", "row 4", "0 to 2"],
    );
    with(
        "--votes",
        &story.write("wide.csv", "0,1\n1,1\n2,1\n0,1\n1,1\n2,1\n"),
        &["wide.csv", "which column"],
    );
    with("--votes", &story.text("none.csv"), &["none.csv"]);
    with("--teacher", "fir", &["`fir`", "amber, birch"]);
    with("--election", &story.text("other.toml"), &["public.key", "another election"]);
    with(
        "--election",
        &story.write("bad.toml", "name = 3\n"),
        &["bad.toml", "line 1", "`classes` is missing"],
    );
    with("--public-key", &story.text("keys/secret.key"), &["secret.key", "not a public key"]);
    with(
        "--public-key",
        &story.text("keys/evaluation.key"),
        &["evaluation.key", "not a public key"],
    );
    with("--public-key", &story.text("keys"), &["this is a folder"]);
    with("--out", &story.text("nowhere/amber"), &["nowhere", "make it first"]);

    story.all_vote(5);
    let aggregating = |place: usize, value: &str, parts: &[&str]| {
        let mut arguments = story.aggregating("election.toml");
        value.clone_into(&mut arguments[place]);
        refused(&words(&arguments), parts);
    };
    aggregating(
        5,
        &story.text("keys/public.key"),
        &["public.key: this is a public key", "give the evaluation key"],
    );
    aggregating(
        5,
        &story.text("new-keys/evaluation.key"),
        &["5 files", "amber: batch 0", "belongs to the keys"],
    );
    aggregating(7, &story.text("nowhere"), &["nowhere"]);
    aggregating(9, &story.text("ballots/results"), &["somewhere else"]);
    aggregating(9, &story.text("nowhere/results"), &["make it first"]);
    aggregating(9, &story.text("election.toml"), &["election.toml", "exists"]);
    assert_eq!(fs::read_to_string(story.path("election.toml")).unwrap(), ELECTION);

    story.aggregate();
    let revealing = |election: &str, key: &str, results: &str, parts: &[&str]| {
        let (election, key, results) = (story.text(election), story.text(key), story.text(results));
        let base = ["reveal", "--election", &election, "--secret-key", &key, "--results", &results];
        refused(&base, parts);
    };
    revealing("other.toml", "keys/secret.key", "results", &["secret.key", "another election"]);
    revealing(
        "election.toml",
        "new-keys/secret.key",
        "results",
        &["results", "belongs to the keys"],
    );
    revealing("election.toml", "keys/public.key", "results", &["public.key", "not a secret key"]);
    revealing("election.toml", "keys/secret.key", "ballots/elm", &["elm", "not a file of results"]);
    let length = fs::read(story.path("results")).unwrap().len();
    flip(&story.path("results"), length / 2);
    revealing("election.toml", "keys/secret.key", "results", &["results", "checksum"]);
}

#[test]
fn a_killed_aggregation_goes_on_with_the_same_seed() {
    let story = Story::new();
    story.all_vote(5);
    let arguments = story.aggregating("election.toml");
    let record = story.path("ballots/aggregated.toml");
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_shield"))
        .args(&arguments)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    // The record is the last thing written before the work starts.
    while !record.exists() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let frozen = [&record, &story.path("results.seed")].map(|path| fs::read(path).unwrap());
    assert_eq!(story.aggregate()["again"], true);
    let again = [&record, &story.path("results.seed")].map(|path| fs::read(path).unwrap());
    assert!(frozen == again);
    let results = fs::read(story.path("results")).unwrap();
    let mut on_one_thread = words(&arguments);
    on_one_thread.extend(["--threads", "1"]);
    assert_eq!(json(&on_one_thread)["threads"], 1);
    assert!(fs::read(story.path("results")).unwrap() == results);
}

#[test]
fn a_deadline_is_a_warning_to_teachers() {
    let story = Story::new();
    story.write("past.toml", &format!("deadline = 2020-01-01T00:00:00Z\n{ELECTION}"));
    story.keygen("past.toml", "past-keys");
    let vote = story.voting("past.toml", "past-keys", "elm", "elm.ballot");
    let output = shield(&words(&vote));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("the deadline was 2020-01-01T00:00:00Z"));
    let vote = story.voting("election.toml", "keys", "elm", "in-time.ballot");
    let output = shield(&words(&vote));
    assert!(!stderr(&output).contains("deadline"), "{}", stderr(&output));
}
