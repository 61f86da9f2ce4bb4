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
