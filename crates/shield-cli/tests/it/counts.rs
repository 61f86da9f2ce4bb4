//! Teachers that send counts of many voters, over files.

use crate::common::{Folder, SERVER, STUDENT, Story};

const ELECTION: &str = r#"
name = "wards"
group = "city"
classes = ["park", "road", "pool"]
samples = 2
mechanism = "noisy-argmax"
noise = 0.02
voters_per_teacher = 40
quorum = 3
teachers = ["north", "south", "east"]
"#;

#[test]
fn counts_become_labels_and_are_priced_by_their_bound() {
    let story = Story::new(ELECTION);
    let voting = |teacher: &str, counts: &str, flag: &str| {
        story.write("counts.csv", counts);
        Story::voting(teacher, "counts.csv") + flag
    };
    let over = ["counts.csv", "row 3", "sum to 41", "voters_per_teacher"];
    for (counts, flag, words) in [
        ("park,road,pool\n40,0,0\n1,40,0\n", " --counts", &over[..]),
        ("park,road\n40,0\n1,0\n", " --counts", &["counts.csv", "2 columns of counts"]),
        ("40,0,0\n", " --counts", &["counts.csv", "1 rows of counts", "2 samples"]),
        ("park\nroad\n", "", &["counts.csv", "up to 40 voters", "--counts"]),
    ] {
        story.refused(&voting("north", counts, flag), words);
        assert!(!story.path("ballots/north").exists());
    }
    for (teacher, counts) in [
        ("north", "road,park,pool\n0,40,0\n20,0,20\n"),
        ("south", "0,13,0\n0,0,0\n"),
        ("east", "0,26,1\n0,0,1\n"),
    ] {
        story.json(&voting(teacher, counts, " --counts"));
    }
    story.json(&format!("aggregate {SERVER} --out results"));
    let labels = story.json(&format!("reveal {STUDENT} --results results"));
    // 40 to 39, and 20 to 21.
    assert_eq!(labels["labels"], serde_json::json!([0, 2]));
}

#[test]
fn plan_prices_counts_for_whom_they_protect() {
    let (folder, election) = (Folder::new(), "--teachers 12 --classes 3 --samples 9");
    let plan = |rest: &str| {
        folder.json(&format!("plan --mechanism noisy-argmax --noise 60 {election} {rest}"))
    };
    let votes = plan("");
    let voter = plan("--voters-per-teacher 30 --protects voter");
    let teacher = plan("--voters-per-teacher 30");
    assert_eq!((&votes["protects"], &voter["protects"]), (&"teacher".into(), &"voter".into()));
    assert_eq!(votes["epsilon"], voter["epsilon"]);
    let epsilon = |plan: &serde_json::Value| plan["epsilon"].as_f64().unwrap();
    // The label alone is cheaper than the noisy counts; of counts nothing better is known.
    let of_counts = |plan: &serde_json::Value| plan["vector_epsilon"].as_f64().unwrap();
    assert!(epsilon(&votes) < 0.9 * of_counts(&votes), "{votes}");
    assert_eq!(teacher["epsilon"], teacher["vector_epsilon"]);
    assert!(epsilon(&teacher) > 20.0 * epsilon(&voter), "{teacher} {voter}");
    assert!(teacher["range"].as_u64() > votes["range"].as_u64(), "room for 360 votes");
    folder.refused(&format!("plan {election} --voters-per-teacher 30"), &["noisy-argmax"]);
}
