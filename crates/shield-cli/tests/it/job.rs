//! `job`: freeze, run, status and finish, one after the other and by several.

use std::fs;

use serde_json::json;

use crate::common::{SERVER, STUDENT, Story, stderr};

// Rounds of this degree have small batches, so that there are several.
const ELECTION: &str = "name = \"ward-7\"\ngroup = \"wards\"\nclasses = 3\nsamples = 2500\n\
    polynomial = \"X^4+X\"\nquorum = 2\n\
    teachers = [\"amber\", \"birch\", \"cedar\"]\n";

/// Keys and the ballots of two teachers.
fn prepared() -> Story {
    let story = Story::new(ELECTION);
    story.write("votes.csv", "0\n1\n2\n".repeat(833) + "0\n");
    for teacher in ["amber", "birch"] {
        story.json(&Story::voting(teacher, "votes.csv"));
    }
    story
}

#[test]
fn a_job_is_frozen_run_and_finished() {
    let folder = prepared();
    let freeze = || folder.json(&format!("job freeze {SERVER} --out job"));
    let frozen = freeze();
    let batches = frozen["batches"].as_u64().unwrap();
    assert!(batches >= 3, "{frozen}");
    assert_eq!(frozen["absent"], json!(["cedar"]));
    assert_eq!(frozen["missing"].as_array().unwrap().len() as u64, batches);
    folder.refused("job finish job --out results", &["shield job run"]);

    let ran = folder.json("job run job --batches 1-2");
    assert_eq!((ran["computed"].as_u64(), &ran["missing"][0]), (Some(2), &0.into()));
    let first = folder.read("job/parts/1.release");
    fs::remove_file(folder.path("job/parts/1.release")).unwrap();
    assert_eq!(freeze()["missing"].as_array().unwrap().len() as u64, batches - 1);
    folder.json("job run job");
    assert!(folder.read("job/parts/1.release") == first);
    assert_eq!(folder.json("job status job")["missing"], json!([]));

    assert_eq!(folder.json("job finish job --out results")["results"], "results");
    let revealed = folder.json(&format!("reveal {STUDENT} --results results"));
    // Dummies may win a draw, but all votes on a sample agree: about 1,030 labels are right, with a
    // deviation of 25, and 833 would be if the votes did not count.
    let labels = revealed["labels"].as_array().unwrap();
    let right =
        labels.iter().zip((0..3).cycle()).filter(|(label, voted)| **label == *voted).count();
    assert!(labels.len() == 2500 && right > 900, "{right} labels are what all voted for");

    folder.refused("job run job --batches 0-999", &["--batches ends at 999"]);
    let second = folder.run(&format!("aggregate {SERVER} --out other"));
    assert!(stderr(&second).contains("two draws"), "{}", stderr(&second));
}
