//! Cheats, audits, receipts, commitments and rehearsals over files, as people run them.

use std::fs;
use std::path::PathBuf;

use rand::SeedableRng;
use rand::rngs::StdRng;
use shield::Class;
use shield::backend::BackendBytes;
use shield_bfv::{BfvBackend, ReleaseMode};
use shield_protocol::ElectionFile;
use shield_protocol::bundle::{BundleWriter, Content};
use tempfile::TempDir;

use crate::common::{json, shield, stderr, stdout};

const ELECTION: &str = r#"
name = "ward-7"
group = "wards"
classes = 3
samples = 8
polynomial = "X^2+X"
offset = 2
quorum = 3
teachers = ["amber", "birch", "cedar", "dogwood"]
"#;

struct Story(TempDir);

impl Story {
    /// Keys, a commitment, and the honest ballots of all but the last teacher.
    fn new() -> Self {
        let story = Self(tempfile::tempdir().unwrap());
        fs::write(story.path("election.toml"), ELECTION).unwrap();
        fs::create_dir(story.path("ballots")).unwrap();
        story.run(&["keygen", "--election", "election.toml", "--out", "keys"]);
        for teacher in ["amber", "birch", "cedar"] {
            fs::write(story.path("votes.csv"), "0\n1\n2\n0\n1\n2\n0\n1\n").unwrap();
            let out = format!("ballots/{teacher}.ballot");
            story.run(&[
                "vote",
                "--election",
                "election.toml",
                "--public-key",
                "keys/public.key",
                "--teacher",
                teacher,
                "--votes",
                "votes.csv",
                "--out",
                &out,
            ]);
        }
        story
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Arguments with a dot or a slash, or that name a folder, are files of the story.
    fn own(&self, arguments: &[&str]) -> Vec<String> {
        let is_file = |text: &str| {
            !text.starts_with("--")
                && (text.contains(['.', '/']) || ["keys", "ballots"].contains(&text))
        };
        let own = |text: &&str| {
            if is_file(text) {
                self.path(text).to_str().unwrap().to_owned()
            } else {
                (*text).to_owned()
            }
        };
        arguments.iter().map(own).collect()
    }

    fn output(&self, arguments: &[&str]) -> std::process::Output {
        let own = self.own(arguments);
        shield(&own.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn run(&self, arguments: &[&str]) -> serde_json::Value {
        let mut own = self.own(arguments);
        own.push("--json".to_owned());
        json(&own.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// The last teacher's ballot is no vote on some samples.
    fn cheat(&self, cheated: &[usize]) {
        let file = ElectionFile::parse(ELECTION).unwrap();
        let backend = BfvBackend::new(file.election().clone(), ReleaseMode::Reveal).unwrap();
        let key = fs::read(self.path("keys/public.key")).unwrap();
        let key = backend.decode_public_key(&key).unwrap();
        let votes = vec![Some(Class(0)); 8];
        let mut rng = StdRng::seed_from_u64(3);
        let ballot = backend.forge(&key, 0, &votes, cheated, &mut rng).unwrap();
        let mut bytes = backend.encode_ballot(&ballot);
        bytes.extend([5; 32]);
        let to = fs::File::create(self.path("ballots/dogwood.ballot")).unwrap();
        let content = Content::Ballot { teacher: 3 };
        let mut bundle = BundleWriter::new(to, content, &file.digest(), 1).unwrap();
        bundle.part(&bytes).unwrap();
    }
}

const AGGREGATE: [&str; 9] = [
    "aggregate",
    "--election",
    "election.toml",
    "--evaluation-key",
    "keys/evaluation.key",
    "--ballots",
    "ballots",
    "--out",
    "results.bin",
];

const VERIFY: [&str; 7] = [
    "verify",
    "--election",
    "election.toml",
    "--evaluation-key",
    "keys/evaluation.key",
    "--ballots",
    "ballots",
];

const REVEAL: [&str; 5] =
    ["reveal", "--election", "election.toml", "--secret-key", "keys/secret.key"];

#[test]
fn a_cheat_raises_an_alarm_and_an_audit_repairs_the_labels() {
    let story = Story::new();
    story.cheat(&[1, 4]);
    story.run(&AGGREGATE);
    // Exit code 1, what to do, and the labels of all other samples.
    let revealing = [&REVEAL[..], &["--results", "results.bin", "--out", "labels.csv"]].concat();
    let alarm = story.output(&revealing);
    assert_eq!(alarm.status.code(), Some(1));
    let said = stderr(&alarm);
    assert!(said.contains("2 of 8 samples are spoiled (2, 5;"), "{said}");
    assert!(said.contains("shield audit"), "{said}");
    assert!(stdout(&alarm).contains("6 of 8"), "{}", stdout(&alarm));
    let first = fs::read_to_string(story.path("labels.csv")).unwrap();
    let first: Vec<&str> = first.lines().collect();
    let empty: Vec<usize> = (0..8).filter(|&sample| first[sample].is_empty()).collect();
    assert_eq!(empty, [1, 4]);

    let student = ["--election", "election.toml", "--secret-key", "keys/secret.key"];
    let server = [
        "--election",
        "election.toml",
        "--evaluation-key",
        "keys/evaluation.key",
        "--ballots",
        "ballots",
        "--results",
        "results.bin",
    ];
    let step = |name, common: &[&'static str], rest: &[&'static str]| {
        story.run(&[&["audit", name], common, rest].concat())
    };
    let asked = step("ask", &student, &["--results", "results.bin", "--out", "question.toml"]);
    assert_eq!(asked["spoiled"], 2);
    step("check", &server, &["--question", "question.toml", "--out", "audit.bin"]);
    let named = step(
        "answer",
        &student,
        &["--results", "results.bin", "--audit", "audit.bin", "--out", "answer.toml"],
    );
    assert_eq!(named["accused"], serde_json::json!(["dogwood"]));
    let again = step("again", &server, &["--answer", "answer.toml", "--out", "again.bin"]);
    assert_eq!(again["samples"], 2);
    assert!(again["epsilon"].as_f64().unwrap() > 0.0);

    let last = story.run(&[&REVEAL[..], &["--results", "again.bin"]].concat());
    assert_eq!(last["alarms"], serde_json::json!([]));
    assert_eq!(last["excluded"], serde_json::json!(["dogwood"]));
    for (sample, label) in last["labels"].as_array().unwrap().iter().enumerate() {
        let known = first[sample].parse::<u64>().ok();
        assert!(label.is_u64() && (known.is_none() || known == label.as_u64()), "{sample}");
    }
    let verified =
        story.run(&[&VERIFY[..], &["--seed", "again.bin.seed", "--results", "again.bin"]].concat());
    assert_eq!((&verified["agrees"], &verified["audits"]), (&true.into(), &1.into()));
}

#[test]
fn what_was_committed_to_can_be_checked_and_a_ballot_found() {
    let story = Story::new();
    let committed = story.run(&["commit", "--election", "election.toml", "--out", "server.part"]);
    let commitment = committed["commitment"].as_str().unwrap();
    let done = story.run(&[&AGGREGATE[..], &["--committed", "server.part"]].concat());
    assert_eq!(done["commitment"], commitment);
    let checking = |commitment: &str| {
        let given = ["--seed", "results.bin.seed", "--results", "results.bin", "--commitment"];
        story.output(&[&VERIFY[..], &given, &[commitment]].concat())
    };
    assert_eq!(checking(commitment).status.code(), Some(0));
    let other = checking(&"ab".repeat(32));
    assert_eq!(other.status.code(), Some(1), "{}", stderr(&other));
    assert_eq!(checking("zz").status.code(), Some(2));
    let finding = |ballot: &str| {
        story.output(&[
            "verify",
            "--election",
            "election.toml",
            "--ballot",
            ballot,
            "--transcript",
            "results.bin.transcript.toml",
        ])
    };
    assert_eq!(finding("ballots/birch.ballot").status.code(), Some(0));
    story.run(&[
        "vote",
        "--election",
        "election.toml",
        "--public-key",
        "keys/public.key",
        "--teacher",
        "dogwood",
        "--votes",
        "votes.csv",
        "--out",
        "late.ballot",
    ]);
    let late = finding("late.ballot");
    assert_eq!(late.status.code(), Some(1));
    assert!(stderr(&late).contains("was not counted"), "{}", stderr(&late));
    assert_eq!(story.output(&["verify", "--election", "election.toml"]).status.code(), Some(2));
}

#[test]
fn a_rehearsal_needs_keys_of_one_set() {
    let story = Story::new();
    let rehearse = |secret: &str| {
        story.output(&[
            "rehearse",
            "--election-file",
            "election.toml",
            "--public-key",
            "keys/public.key",
            "--evaluation-key",
            "keys/evaluation.key",
            "--secret-key",
            secret,
        ])
    };
    let fine = rehearse("keys/secret.key");
    assert!(fine.status.success() && stdout(&fine).contains("the keys work"), "{}", stderr(&fine));
    story.run(&["keygen", "--election", "election.toml", "--out", "other/keys"]);
    assert!(!rehearse("other/keys/secret.key").status.success());
}
