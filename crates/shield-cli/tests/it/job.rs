//! `job`: freeze, run, status and finish, one after the other and by several.

use std::fs;
use std::path::Path;

use crate::common::{json, shield, stderr};

// The composable release has small batches, so that there are several.
const ELECTION: &str = "name = \"ward-7\"\ngroup = \"wards\"\nclasses = 3\nsamples = 2500\n\
    polynomial = \"X\"\nrelease = \"composable\"\nquorum = 2\n\
    teachers = [\"amber\", \"birch\", \"cedar\"]\n";

/// A folder with keys and the ballots of two teachers.
fn prepare(folder: &Path) -> impl Fn(&str) -> String {
    let at = |name: &str| folder.join(name).display().to_string();
    fs::write(folder.join("election.toml"), ELECTION).unwrap();
    fs::create_dir(folder.join("ballots")).unwrap();
    let votes = "0\n1\n2\n".repeat(833) + "0\n";
    fs::write(folder.join("votes.csv"), votes).unwrap();
    json(&["keygen", "--json", "--election", &at("election.toml"), "--out", &at("keys")]);
    for teacher in ["amber", "birch"] {
        let ballot = at(&format!("ballots/{teacher}"));
        json(&[
            "vote",
            "--json",
            "--election",
            &at("election.toml"),
            "--public-key",
            &at("keys/public.key"),
            "--teacher",
            teacher,
            "--votes",
            &at("votes.csv"),
            "--out",
            &ballot,
        ]);
    }
    let folder = folder.to_owned();
    move |name: &str| folder.join(name).display().to_string()
}

#[test]
fn a_job_is_frozen_run_and_finished() {
    let folder = tempfile::tempdir().unwrap();
    let at = prepare(folder.path());
    let freeze = || {
        json(&[
            "job",
            "freeze",
            "--json",
            "--election",
            &at("election.toml"),
            "--evaluation-key",
            &at("keys/evaluation.key"),
            "--ballots",
            &at("ballots"),
            "--out",
            &at("job"),
        ])
    };
    let frozen = freeze();
    let batches = frozen["batches"].as_u64().unwrap();
    assert!(batches >= 3, "{frozen}");
    assert_eq!(frozen["absent"], serde_json::json!(["cedar"]));
    assert_eq!(frozen["missing"].as_array().unwrap().len() as u64, batches);
    let early = shield(&["job", "finish", &at("job"), "--out", &at("results")]);
    assert_eq!(early.status.code(), Some(2), "{}", stderr(&early));
    assert!(stderr(&early).contains("shield job run"), "{}", stderr(&early));

    let ran = json(&["job", "run", &at("job"), "--batches", "1-2", "--json"]);
    assert_eq!((ran["computed"].as_u64(), &ran["missing"][0]), (Some(2), &0.into()));
    let first = fs::read(folder.path().join("job/parts/1.release")).unwrap();
    fs::remove_file(folder.path().join("job/parts/1.release")).unwrap();
    assert_eq!(freeze()["missing"].as_array().unwrap().len() as u64, batches - 1);
    json(&["job", "run", &at("job"), "--json"]);
    assert!(fs::read(folder.path().join("job/parts/1.release")).unwrap() == first);
    let status = json(&["job", "status", &at("job"), "--json"]);
    assert_eq!(status["missing"], serde_json::json!([]));

    let done = json(&["job", "finish", &at("job"), "--out", &at("results"), "--json"]);
    assert_eq!(done["results"].as_str(), Some(&*at("results")));
    let revealed = json(&[
        "reveal",
        "--json",
        "--election",
        &at("election.toml"),
        "--secret-key",
        &at("keys/secret.key"),
        "--results",
        &at("results"),
    ]);
    // Dummies may win a draw, but all votes on a sample agree: about 1,030 labels are right, with a
    // deviation of 25, and 833 would be if the votes did not count.
    let labels = revealed["labels"].as_array().unwrap();
    let right = labels
        .iter()
        .enumerate()
        .filter(|(i, label)| label.as_u64() == Some(*i as u64 % 3))
        .count();
    assert!(labels.len() == 2500 && right > 900, "{right} labels are what all voted for");

    let past = shield(&["job", "run", &at("job"), "--batches", "0-999"]);
    assert_eq!(past.status.code(), Some(2), "{}", stderr(&past));
    let second = shield(&[
        "aggregate",
        "--election",
        &at("election.toml"),
        "--evaluation-key",
        &at("keys/evaluation.key"),
        "--ballots",
        &at("ballots"),
        "--out",
        &at("other"),
    ]);
    assert!(stderr(&second).contains("two draws"), "{}", stderr(&second));
}
