//! The commands of the TFHE engine, as a user runs them.

use crate::common::Folder;

const PLAN: &str = "plan --teachers 250 --classes 10 --samples 1 --backend tfhe";

#[test]
fn plan_states_what_must_hold() {
    let plan = Folder::new().json(PLAN);
    assert!(plan["statistical_bits"].as_f64() >= Some(40.0), "{plan}");
    assert!(plan["failure_log2"].as_f64() <= Some(-64.0), "{plan}");
    for key in ["ring_degree", "ballot_bytes", "evaluation_key_bytes", "result_bytes", "products"] {
        assert!(plan[key].as_u64() > Some(0), "{key}");
    }
}

#[test]
fn options_that_would_be_ignored_are_refused() {
    let folder = Folder::new();
    folder.write(
        "votes.csv",
        "0,1
",
    );
    let label = "label --votes votes.csv --classes 3";
    let argmax = "--backend tfhe --mechanism noisy-argmax --noise 20";
    for line in
        [format!("{label} {argmax}"), format!("{PLAN} {argmax}").replacen("--backend tfhe ", "", 1)]
    {
        folder.refused(&line, &["--backend bfv"]);
    }
}

#[test]
fn labels_one_at_a_time_are_those_without_encryption() {
    let folder = Folder::new();
    folder.write("votes.csv", "0,1,1,1\n2,2,2,0\n1,,1,1\n");
    let label = |engine: &str| {
        let setting = "--classes 3 --seed 5 --polynomial 2X^3+X^2";
        folder.json(&format!("label --votes votes.csv {setting} --backend {engine}"))
    };
    let found = label("tfhe");
    assert_eq!(label("clear")["labels"], found["labels"]);
    assert_eq!(found["backend"], "tfhe");
}
