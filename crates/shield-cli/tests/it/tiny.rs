//! Tiny ballots on the command line: labels, plans, and where there are none yet.

use crate::common::Folder;

/// Seven teachers, three samples.
const VOTES: &str = "1,1,1,1,1,0,1\n0,0,0,1,0,0,0\n1,1,0,0,1,1,1\n";

#[test]
fn tiny_ballots_give_the_labels_of_checked_ones() {
    let folder = Folder::new();
    folder.write("votes.csv", VOTES);
    let label = |ballots: &str| {
        let seeded = "--votes votes.csv --classes 2 --seed 5 --backend bfv";
        let noise = "--mechanism noisy-argmax --noise 2.2";
        folder.json(&format!("label {seeded} {noise} --ballots {ballots}"))["labels"].clone()
    };
    // The same seed draws the same noise.
    assert_eq!(label("tiny"), label("checked"));
}

#[test]
fn a_plan_states_the_bytes_of_a_vote() {
    let folder = Folder::new();
    let plan = |rest: &str| {
        let election = "--teachers 250 --classes 10 --mechanism noisy-argmax";
        folder.json(&format!("plan {election} {rest}"))
    };
    let bytes = |plan: &serde_json::Value| plan["bytes_per_vote"].as_f64().unwrap();
    let tiny = plan("--samples 100 --noise 42.75 --ballots tiny");
    let checked = plan("--samples 100 --noise 42.75");
    assert_eq!((&tiny["ballots"], &checked["ballots"]), (&"tiny".into(), &"checked".into()));
    assert!(bytes(&tiny) < 60.0 && bytes(&checked) > 10_000.0, "{tiny} {checked}");
    assert_eq!(tiny["epsilon"], checked["epsilon"]);
    assert!(bytes(&plan("--samples 2048 --noise 42.75 --ballots tiny")) < 25.0);
    let refused = |rest: &str, words: &[&str]| {
        let election = "plan --teachers 250 --classes 10 --samples 100 --ballots tiny";
        folder.refused(&format!("{election} {rest}"), words);
    };
    let argmax = "--mechanism noisy-argmax";
    refused(&format!("{argmax} --noise 12"), &["--noise of 12.65", "--ballots checked"]);
    refused(&format!("{argmax} --noise 40 --noise-law laplace"), &["--noise-law skellam"]);
    refused("", &["noisy-argmax"]);
    refused(&format!("{argmax} --backend clear"), &["--backend bfv"]);
    for held in ["--proofs", "--trustees 3", "--trustees 2/3 --proofs"] {
        let left_out = ["student holds", "--ballots checked", "leave --trustees and --proofs out"];
        refused(&format!("{argmax} --noise 42.75 {held}"), &left_out);
    }
    let counts = "--noise 42.75 --voters-per-teacher 3";
    assert_eq!(plan(&format!("--samples 10 {counts} --ballots tiny"))["ballots"], "tiny");
    refused(&format!("{argmax} {counts} --trustees 3"), &["student holds"]);
}

#[test]
fn noise_that_an_epsilon_chose_keeps_the_ballots() {
    let folder = Folder::new();
    folder.write("votes.csv", VOTES);
    let within = |epsilon| format!("label --votes votes.csv --classes 2 --epsilon {epsilon}");
    let argmax = |epsilon| format!("{} --mechanism noisy-argmax", within(epsilon));
    let tiny = format!("{} --ballots tiny", argmax(3));
    assert_eq!(folder.json(&tiny)["labels"].as_array().map(Vec::len), Some(3));
    // Checked ballots take the noise that hides no tiny one.
    folder.json(&argmax(5));
    folder.refused(&format!("{} --ballots tiny", argmax(5)), &["--noise of 2.12"]);
    folder.refused(&format!("{tiny} --proofs"), &["--proofs out"]);
    folder.refused(
        &format!("{} --mechanism shield --ballots tiny", within(3)),
        &["--mechanism noisy-argmax"],
    );
}
