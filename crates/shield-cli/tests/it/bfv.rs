//! The commands of the BFV engine, as a user runs them.

use crate::common::{json, shield};

#[test]
fn plan_has_the_contract_s_keys() {
    let plan =
        json(&["plan", "--json", "--teachers", "250", "--classes", "10", "--samples", "100"]);
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
    let composable = json(&[
        "plan",
        "--json",
        "--teachers",
        "9",
        "--classes",
        "3",
        "--samples",
        "9",
        "--release",
        "composable",
    ]);
    assert!(composable["products"].as_u64() > plan["products"].as_u64());
}

#[test]
fn plan_refuses_with_the_nearest_setting() {
    let output = shield(&[
        "plan",
        "--teachers",
        "9",
        "--classes",
        "3",
        "--samples",
        "9",
        "--polynomial",
        "3X^20+X",
    ]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("3X^16+X"));
}

#[test]
fn labels_with_encryption_are_those_without() {
    let folder = tempfile::tempdir().expect("a folder");
    let votes = folder.path().join("votes.csv");
    std::fs::write(&votes, "0,1,1,1\n2,2,2,0\n1,,1,1\n0,0,0,0\n").expect("a file");
    let votes = votes.to_str().expect("a path");
    let label = |engine: &[&str]| {
        let base = ["label", "--votes", votes, "--classes", "3", "--seed", "5", "--json"];
        json(&[&base, engine].concat())
    };
    let clear = label(&[]);
    for release in ["reveal", "composable"] {
        let bfv = label(&["--backend", "bfv", "--release", release]);
        assert_eq!(clear["labels"], bfv["labels"], "{release}");
        assert_eq!(bfv["backend"], "bfv");
        assert!(bfv["seconds"]["aggregate"].as_f64() > Some(0.0));
    }
}

#[test]
fn bench_has_the_contract_s_keys() {
    let bench = json(&["bench", "--json", "--ours-only", "--teachers", "5", "--samples", "3"]);
    for key in ["teachers", "samples", "classes", "polynomial", "threads", "shield_seconds"] {
        assert!(!bench[key].is_null(), "{key}");
    }
    let object = bench.as_object().expect("an object");
    assert!(object.contains_key("published_seconds") && object.contains_key("ratio"));
    assert!(object.contains_key("ratio_unchecked") && bench["labels_agree"] == true);
}
