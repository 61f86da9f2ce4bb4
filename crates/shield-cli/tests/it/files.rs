//! SPEED over files, as its parties run it: one student, one server, five teachers.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::common::{SERVER, STUDENT, Story, document, stderr, stdout, with};

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

fn aggregation() -> String {
    format!("aggregate --json {SERVER} --out results")
}

fn revealing() -> String {
    format!("reveal {STUDENT} --results results")
}

/// The command with which a teacher votes the same class on all samples.
fn voting(story: &Story, teacher: &str) -> String {
    let class = TEACHERS.iter().position(|name| *name == teacher).unwrap_or(0) / 2;
    story.write(&format!("{teacher}.csv"), format!("{class}\n").repeat(6));
    Story::voting(teacher, &format!("{teacher}.csv"))
}

/// These teachers vote.
fn vote(story: &Story, teachers: &[&str]) {
    for teacher in teachers {
        story.json(&voting(story, teacher));
    }
}

fn aggregate(story: &Story) -> Value {
    document(&story.run(&aggregation()))
}

/// The aggregation is refused, says these words, and leaves nothing behind.
fn is_refused(story: &Story, parts: &[&str]) {
    let before = files(story);
    story.refused(&aggregation(), parts);
    assert_eq!(files(story), before);
}

fn files(story: &Story) -> Vec<PathBuf> {
    let mut found = vec![];
    for folder in [story.path(""), story.path("ballots")] {
        found.extend(fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
    }
    found.sort();
    found
}

fn flip(story: &Story, name: &str, place: usize) {
    let mut bytes = story.read(name);
    bytes[place] ^= 1;
    story.write(name, bytes);
}

#[test]
fn from_keys_to_labels() {
    let story = Story::new(ELECTION);
    // All five agree, so that a round of two teachers does, too; dummies may still win.
    story.write("votes.csv", "0,0,0,0,0\n1,1,1,1,1\n2,2,2,2,2\n0,0,0,0,0\n1,1,1,1,1\n2,2,2,,2\n");
    for (column, teacher) in (1..).zip(TEACHERS) {
        let out = format!("ballots/{column}.b --column {column}");
        let cast = story.json(&with(&Story::voting(teacher, "votes.csv"), "--out", &out));
        assert_eq!(cast["samples"], 6);
        assert_eq!(cast["abstentions"], i32::from(teacher == "dogwood"));
        assert_eq!(cast["key"].as_str().unwrap().len(), 16);
    }
    let done = aggregate(&story);
    assert_eq!(done["voted"], json!(TEACHERS));
    assert_eq!(done["missing"], json!([]));
    assert_eq!(done["voters"], json!([{"voters": 4, "samples": 1}, {"voters": 5, "samples": 5}]));
    assert_eq!(done["queries"], 6);
    assert_eq!(done["again"], false);
    // Between the cost of all samples with 5 voters and all with 4.
    let bound = |teachers: u32| {
        let setting = "--classes 3 --polynomial 3X^2+X --offset 2 --queries 6";
        story.json(&format!("bound --teachers {teachers} {setting}"))["epsilon"].as_f64().unwrap()
    };
    let epsilon = done["epsilon"].as_f64().unwrap();
    assert!(bound(5) * 0.999 < epsilon && epsilon < bound(4) * 1.01, "{epsilon}");

    story.write("truth.csv", "0\n1\n2\n0\n1\n2\n");
    let found = story.json(&format!("{} --labels truth.csv", revealing()));
    let labels: Vec<u64> =
        found["labels"].as_array().unwrap().iter().map(|label| label.as_u64().unwrap()).collect();
    assert_eq!(labels.len(), 6);
    let right =
        labels.iter().zip([0, 1, 2, 0, 1, 2]).filter(|(label, truth)| *label == truth).count();
    assert_eq!(found["correct"], right);
    // The same to stdout and to a file.
    let lines: String = labels.iter().flat_map(|label| [label.to_string(), "\n".into()]).collect();
    assert_eq!(stdout(&story.run(&revealing())), lines);
    let said = story.run(&format!("{} --out labels.csv", revealing()));
    assert_eq!(said.status.code(), Some(0), "{}", stderr(&said));
    assert!(!stderr(&said).contains("warning"), "{}", stderr(&said));
    assert_eq!(story.text("labels.csv"), lines);

    // Again: the same bytes. Into another file, or with a late or another ballot: never.
    let bytes = story.read("results");
    fs::remove_file(story.path("results")).unwrap();
    assert_eq!(aggregate(&story)["again"], true);
    assert!(story.read("results") == bytes);
    let elsewhere = aggregation().replace("--out results", "--out elsewhere");
    story.refused(&elsewhere, &["aggregated.toml", "two draws"]);
    fs::remove_file(story.path("ballots/5.b")).unwrap();
    is_refused(&story, &["aggregated.toml", "`elm` is missing", "two draws"]);
    vote(&story, &["elm"]);
    is_refused(&story, &["aggregated.toml", "`elm` was another one", "two draws"]);
    assert!(story.read("results") == bytes);
}

#[test]
fn keys_are_told_apart_and_never_overwritten() {
    let story = Story::new(ELECTION);
    let before = story.read("keys/evaluation.key");
    let again = "keygen --election election.toml --out keys";
    story.refused(again, &["secret.key", "never overwritten"]);
    for key in ["keys/secret.key", "keys/public.key"] {
        fs::remove_file(story.path(key)).unwrap();
    }
    story.refused(again, &["evaluation.key", "Nothing was written"]);
    assert_eq!(fs::read_dir(story.path("keys")).unwrap().count(), 1);
    assert!(story.read("keys/evaluation.key") == before);

    let output = story.run("keygen --election election.toml --out new");
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
    let story = Story::new(ELECTION);
    vote(&story, &TEACHERS[..4]);
    // Another election that differs in one word, with keys of its own; and other keys for this one.
    story.write("other.toml", ELECTION.replace("ward-7", "ward-8"));
    story.keygen("other.toml", "other-keys");
    story.keygen("election.toml", "new-keys");
    for (election, keys, teacher, name) in [
        ("other.toml", "other-keys", "elm", "of-ward-8"),
        ("election.toml", "new-keys", "elm", "of-new-keys"),
        ("election.toml", "keys", "birch", "late"),
    ] {
        let line = with(&voting(&story, teacher), "--election", election);
        let line = with(&line, "--public-key", &format!("{keys}/public.key"));
        story.json(&with(&line, "--out", &format!("ballots/{name}")));
    }
    let whole = story.read("ballots/amber");
    for (name, content) in [
        ("cut-off", &whole[..whole.len() - 1]),
        ("empty", &[]),
        ("longer", &[&whole[..], &[0]].concat()),
        ("readme.txt", b"put your ballots here"),
    ] {
        story.write(&format!("ballots/{name}"), content);
    }
    for (name, place) in
        [("ballots/flipped", whole.len() / 2), ("ballots/version", 4), ("ballots/stranger", 43)]
    {
        story.write(name, &whole);
        flip(&story, name, place);
    }
    fs::create_dir(story.path("ballots/folder")).unwrap();
    // Amber's ballot with elm's number, and a sound check over that.
    let mut copy = whole.clone();
    copy[40] = 4;
    let check = blake3::hash(&copy[..48]);
    copy[48..56].copy_from_slice(&check.as_bytes()[..8]);
    story.write("ballots/twice", copy);
    is_refused(
        &story,
        &[
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
            "twice: this ballot of `elm` has the bytes of `amber`'s, ballots/amber: one of the \
             two is a copy",
        ],
    );
    assert!(!story.path("results.seed").exists());
}

#[test]
fn a_quorum_is_waited_for_on_every_sample() {
    let story = Story::new(ELECTION);
    is_refused(&story, &["0 of 5", "quorum of 4", "amber, birch, cedar, dogwood, elm"]);
    vote(&story, &TEACHERS[..3]);
    is_refused(&story, &["3 of 5 teachers", "6 of 6 samples", "quorum of 4", "dogwood, elm"]);
    // The fourth leaves one sample out.
    let line = voting(&story, "elm");
    story.write("elm.csv", "0\n0\n\n0\n0\n0\n");
    story.json(&line);
    is_refused(&story, &["1 of 6 samples", "sample 3, with 3", "dogwood"]);
    assert!(!story.path("results.seed").exists());
    // No second ballot over the first: it may be on its way already.
    story.refused(&line, &["elm", "remove it and vote again"]);
    vote(&story, &["dogwood"]);
    assert_eq!(aggregate(&story)["voters"][0], json!({"voters": 4, "samples": 1}));
}

#[test]
fn wrong_votes_and_wrong_files_are_named() {
    let story = Story::new(ELECTION);
    story.keygen("election.toml", "new-keys");
    for (name, content) in [
        ("other.toml", &*ELECTION.replace("offset = 2", "offset = 3")),
        ("bad.toml", "name = 3\n"),
        ("short.csv", "0\n1\n2\n0\n1\n"),
        ("range.csv", "0\n1\n2\n3\n1\n2\n"),
        ("wide.csv", "0,1\n1,1\n2,1\n0,1\n1,1\n2,1\n"),
    ] {
        story.write(name, content);
    }
    let line = voting(&story, "amber");
    for (option, value, words) in [
        ("--votes", "short.csv", &["short.csv", "5 votes", "6 samples"][..]),
        ("--votes", "range.csv", &["range.csv", "row 4", "0 to 2"]),
        ("--votes", "wide.csv", &["wide.csv", "which column"]),
        ("--votes", "none.csv", &["none.csv"]),
        ("--teacher", "fir", &["`fir`", "amber, birch"]),
        ("--election", "other.toml", &["public.key", "another election"]),
        ("--election", "bad.toml", &["bad.toml", "line 1", "`classes` is missing"]),
        ("--public-key", "keys/secret.key", &["secret.key", "not a public key"]),
        ("--public-key", "keys/evaluation.key", &["evaluation.key", "not a public key"]),
        ("--public-key", "keys", &["this is a folder"]),
        ("--out", "nowhere/amber", &["nowhere", "make it first"]),
    ] {
        story.refused(&with(&line, option, value), words);
        assert!(!story.path("ballots/amber").exists());
    }
    vote(&story, &TEACHERS);
    let key = "--evaluation-key";
    for (option, value, words) in [
        (key, "keys/public.key", &["this is a public key", "give the evaluation key"][..]),
        (key, "new-keys/evaluation.key", &["5 files", "amber: batch 0", "belongs to the keys"]),
        ("--ballots", "nowhere", &["nowhere"]),
        ("--out", "ballots/results", &["somewhere else"]),
        ("--out", "nowhere/results", &["make it first"]),
        ("--out", "election.toml", &["election.toml", "exists"]),
    ] {
        story.refused(&with(&aggregation(), option, value), words);
    }
    assert_eq!(story.text("election.toml"), ELECTION);
    aggregate(&story);
    for (option, value, words) in [
        ("--election", "other.toml", ["secret.key", "another election"]),
        ("--secret-key", "new-keys/secret.key", ["results", "belongs to the keys"]),
        ("--secret-key", "keys/public.key", ["public.key", "not a secret key"]),
        ("--results", "ballots/elm", ["elm", "not a file of results"]),
    ] {
        story.refused(&with(&revealing(), option, value), &words);
    }
    flip(&story, "results", story.read("results").len() / 2);
    story.refused(&revealing(), &["results", "checksum"]);
}

#[test]
fn a_killed_aggregation_goes_on_with_the_same_seed() {
    let story = Story::new(ELECTION);
    vote(&story, &TEACHERS);
    // The record is the last thing written before the work starts.
    let record = story.path("ballots/aggregated.toml");
    story.run_until(&aggregation(), "the ballots are frozen", || record.exists());
    let kept = || ["ballots/aggregated.toml", "results.seed"].map(|name| story.read(name));
    let frozen = kept();
    assert_eq!(aggregate(&story)["again"], true);
    assert!(frozen == kept());
    let results = story.read("results");
    assert_eq!(document(&story.run(&format!("{} --threads 1", aggregation())))["threads"], 1);
    assert!(story.read("results") == results);
}

#[test]
fn a_deadline_is_a_warning_to_teachers() {
    let story = Story::new(ELECTION);
    story.write("past.toml", format!("deadline = 2020-01-01T00:00:00Z\n{ELECTION}"));
    story.keygen("past.toml", "past-keys");
    for (election, keys, late) in
        [("past.toml", "past-keys", true), ("election.toml", "keys", false)]
    {
        let line = with(&voting(&story, "elm"), "--election", election);
        let line = with(&line, "--public-key", &format!("{keys}/public.key"));
        let output = story.run(&with(&line, "--out", &format!("{election}.ballot")));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(stderr(&output).contains("the deadline was 2020-01-01T00:00:00Z"), late);
    }
}
