//! The commands of the BFV engine, as a user runs them.

use crate::common::{Folder, assert_has_keys};

#[test]
fn plan_has_the_contract_s_keys() {
    let folder = Folder::new();
    let plan = folder.json("plan --teachers 250 --classes 10 --samples 100");
    for key in [
        "ring_degree",
        "moduli_bits",
        "log_q",
        "plaintext_modulus",
        "security_bits",
        "samples_per_batch",
        "batches",
        "ballot_bytes",
        "evaluation_key_bytes",
        "result_bytes",
        "memory_bytes",
        "products",
        "rotations",
        "noise_margin_bits",
        "coding",
        "coding_reason",
        "seconds_per_batch",
        "seconds",
        "teacher_bytes",
        "server_bytes",
        "student_bytes",
        "flooding_bits",
    ] {
        assert!(!plan[key].is_null(), "{key}");
    }
    assert_eq!(plan["ring_degree"], 8192);
    assert!(plan["security_bits"].as_u64() >= Some(128));
    assert!(plan["noise_margin_bits"].as_f64() >= Some(0.0));
}

#[test]
fn plan_refuses_with_the_nearest_setting() {
    let plan = "plan --teachers 9 --classes 3 --samples 9 --polynomial 3X^20+X";
    Folder::new().refused(plan, &["3X^16+X"]);
}

#[test]
fn labels_with_encryption_are_those_without() {
    let folder = Folder::new();
    folder.write("votes.csv", "0,1,1,1\n2,2,2,0\n1,,1,1\n0,0,0,0\n");
    let label = |engine: &str| {
        folder.json(&format!("label --votes votes.csv --classes 3 --seed 5 {engine}"))
    };
    let clear = label("");
    let bfv = label("--backend bfv");
    assert_eq!(clear["labels"], bfv["labels"]);
    assert_eq!(bfv["backend"], "bfv");
    assert!(bfv["seconds"]["aggregate"].as_f64() > Some(0.0));
}

#[test]
fn bench_has_the_contract_s_keys() {
    let bench = Folder::new().json("bench --ours-only --teachers 5 --samples 3");
    for key in ["teachers", "samples", "classes", "polynomial", "threads", "shield_seconds"] {
        assert!(!bench[key].is_null(), "{key}");
    }
    assert_has_keys(&bench, &["published_seconds", "ratio", "ratio_unchecked"]);
    assert_eq!(bench["labels_agree"], true);
}

#[test]
fn trustees_label_as_one_key_does() {
    let folder = Folder::new();
    folder.write("votes.csv", "0,1,1,1\n2,2,2,0\n1,,1,1\n0,0,0,0\n");
    let label = |options: &str| {
        folder
            .json(&format!("label --votes votes.csv --classes 3 --seed 5 --backend bfv {options}"))
    };
    let alone = label("");
    for trustees in ["--trustees 3", "--trustees 2/3"] {
        assert_eq!(label(trustees)["labels"], alone["labels"], "{trustees}");
    }
    let noisy = "--mechanism noisy-argmax --noise 10";
    let (single, jointly) = (label(noisy), label(&format!("{noisy} --trustees 2")));
    assert_eq!(single["labels"], jointly["labels"]);
    // The noisy counts are paid for.
    let price = |found: &serde_json::Value| found["epsilon"].as_f64().expect("a price");
    assert!(price(&jointly) > price(&single));
}

#[test]
fn plan_says_what_trustees_send() {
    let folder = Folder::new();
    let plan = |options: &str| {
        folder.json(&format!("plan --teachers 250 --classes 10 --samples 512 {options}"))
    };
    let (three, of_five) = (plan("--trustees 3"), plan("--trustees 3/5"));
    assert_eq!((&three["trustees"], &three["trustees_needed"]), (&3.into(), &3.into()));
    assert_eq!((&of_five["trustees"], &of_five["trustees_needed"]), (&5.into(), &3.into()));
    let bytes = |found: &serde_json::Value, key: &str| found[key].as_u64().expect("bytes");
    assert!(bytes(&three, "opening_bytes") < 1_100_000);
    assert_eq!(bytes(&three, "deal_bytes"), 0);
    assert!(bytes(&of_five, "checked_opening_bytes") > bytes(&of_five, "opening_bytes"));
    assert!(of_five["noise_margin_bits"].as_f64() >= Some(0.0));
}

#[test]
fn trustees_that_cannot_be_are_refused() {
    let folder = Folder::new();
    folder.write("votes.csv", "0,1,1\n");
    let label = "label --votes votes.csv --classes 2";
    for (options, said) in [
        ("--backend bfv --trustees 1/3", "more than half"),
        ("--backend bfv --trustees 11", "1 to 10"),
        ("--backend bfv --trustees three", "no number of trustees"),
        ("--backend clear --trustees 3", "engine = \"bfv\""),
        ("--backend bfv --trustees 3 --mechanism noisy-argmax --epsilon 2", "give --noise"),
    ] {
        folder.refused(&format!("{label} {options}"), &[said]);
    }
}
