//! Cheats, audits, receipts, commitments and rehearsals over files, as people run them.

use std::fs;

use rand::SeedableRng;
use rand::rngs::StdRng;
use serde_json::json;
use shield_bfv::BfvEngine;
use shield_core::Class;
use shield_core::engine::Encoding;
use shield_protocol::ElectionFile;
use shield_protocol::bundle::{BundleWriter, Content};

use crate::common::{Folder, SERVER, STUDENT, Story, stderr, stdout, with};

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

/// Keys, and the honest ballots of all but the last teacher.
fn story() -> Story {
    let story = Story::new(ELECTION);
    story.write("votes.csv", "0\n1\n2\n0\n1\n2\n0\n1\n");
    for teacher in ["amber", "birch", "cedar"] {
        story.json(&Story::voting(teacher, "votes.csv"));
    }
    story
}

/// The last teacher's ballot is no vote on some samples.
fn cheat(folder: &Folder, cheated: &[usize]) {
    let file = ElectionFile::parse(ELECTION).unwrap();
    let engine = BfvEngine::new(file.election().clone()).unwrap();
    let key = engine.decode_public_key(&folder.read("keys/public.key")).unwrap();
    let votes = vec![Some(Class(0)); 8];
    let mut rng = StdRng::seed_from_u64(3);
    let ballot = engine.forge(&key, 0, &votes, cheated, &mut rng).unwrap();
    let mut bytes = engine.encode_ballot(&ballot);
    bytes.extend([5; 32]);
    let to = fs::File::create(folder.path("ballots/dogwood")).unwrap();
    let content = Content::Ballot { teacher: 3 };
    let mut bundle = BundleWriter::new(to, content, &file.digest(), 1).unwrap();
    bundle.part(&bytes).unwrap();
}

#[test]
fn a_cheat_raises_an_alarm_and_an_audit_repairs_the_labels() {
    let story = story();
    cheat(&story, &[1, 4]);
    story.json(&format!("aggregate {SERVER} --out results.bin"));
    // Exit code 1, what to do, and the labels of all other samples.
    let alarm = story.run(&format!("reveal {STUDENT} --results results.bin --out labels.csv"));
    assert_eq!(alarm.status.code(), Some(1));
    let said = stderr(&alarm);
    assert!(said.contains("2 of 8 samples are spoiled (2, 5;"), "{said}");
    assert!(said.contains("shield audit"), "{said}");
    assert!(stdout(&alarm).contains("6 of 8"), "{}", stdout(&alarm));
    let first = story.text("labels.csv");
    let first: Vec<&str> = first.lines().collect();
    let empty: Vec<usize> = (0..8).filter(|&sample| first[sample].is_empty()).collect();
    assert_eq!(empty, [1, 4]);

    let step = |name: &str, who: &str, rest: &str| {
        story.json(&format!("audit {name} {who} --results results.bin {rest}"))
    };
    assert_eq!(step("ask", STUDENT, "--out question.toml")["spoiled"], 2);
    step("check", SERVER, "--question question.toml --out audit.bin");
    let named = step("answer", STUDENT, "--audit audit.bin --out answer.toml");
    assert_eq!(named["accused"], json!(["dogwood"]));
    let again = step("again", SERVER, "--answer answer.toml --out again.bin");
    assert_eq!(again["samples"], 2);
    assert!(again["epsilon"].as_f64().unwrap() > 0.0);

    let last = story.json(&format!("reveal {STUDENT} --results again.bin"));
    assert_eq!(last["alarms"], json!([]));
    assert_eq!(last["excluded"], json!(["dogwood"]));
    for (sample, label) in last["labels"].as_array().unwrap().iter().enumerate() {
        let known = first[sample].parse::<u64>().ok();
        assert!(label.is_u64() && (known.is_none() || known == label.as_u64()), "{sample}");
    }
    let verified =
        story.json(&format!("verify {SERVER} --seed again.bin.seed --results again.bin"));
    assert_eq!((&verified["agrees"], &verified["audits"]), (&true.into(), &1.into()));
}

#[test]
fn what_was_committed_to_can_be_checked_and_a_ballot_found() {
    let story = story();
    let committed = story.json("election commit --election election.toml --out server.part");
    let commitment = committed["commitment"].as_str().unwrap();
    let done = story.json(&format!("aggregate {SERVER} --out results.bin --committed server.part"));
    assert_eq!(done["commitment"], commitment);
    let others = "ab".repeat(32);
    for (commitment, code) in [(commitment, 0), (&others, 1), ("zz", 2)] {
        let checked = story.run(&format!(
            "verify {SERVER} --seed results.bin.seed --results results.bin --commitment \
             {commitment}"
        ));
        assert_eq!(checked.status.code(), Some(code), "{}", stderr(&checked));
    }
    let finding = |ballot: &str| {
        story.run(&format!(
            "verify --election election.toml --ballot {ballot} --transcript \
             results.bin.transcript.toml"
        ))
    };
    assert_eq!(finding("ballots/birch").status.code(), Some(0));
    story.json(&with(&Story::voting("dogwood", "votes.csv"), "--out", "late.ballot"));
    let late = finding("late.ballot");
    assert_eq!(late.status.code(), Some(1));
    assert!(stderr(&late).contains("was not counted"), "{}", stderr(&late));
    story.refused("verify --election election.toml", &["--receipt or --ballot"]);
}

#[test]
fn a_rehearsal_needs_keys_of_one_set() {
    let story = story();
    let rehearse = |keys: &str| {
        story.run(&format!(
            "election rehearse --election-file election.toml --public-key keys/public.key \
             --evaluation-key keys/evaluation.key --secret-key {keys}/secret.key"
        ))
    };
    let fine = rehearse("keys");
    assert!(fine.status.success() && stdout(&fine).contains("the keys work"), "{}", stderr(&fine));
    story.keygen("election.toml", "other");
    assert!(!rehearse("other").status.success());
}
