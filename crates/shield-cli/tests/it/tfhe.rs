//! The commands of the TFHE engine, as a user runs them.

use crate::common::{shield, stderr};

#[test]
fn plan_states_what_must_hold() {
    for (upload, distance) in [("plain", 40.0), ("compact", 20.0)] {
        let plan = crate::common::json(&[
            "plan",
            "--json",
            "--backend",
            "tfhe",
            "--upload",
            upload,
            "--teachers",
            "250",
            "--classes",
            "10",
            "--samples",
            "1",
        ]);
        assert!(plan["statistical_bits"].as_f64() >= Some(distance), "{plan}");
        assert!(plan["failure_log2"].as_f64() <= Some(-64.0), "{plan}");
        for key in
            ["ring_degree", "ballot_bytes", "evaluation_key_bytes", "result_bytes", "products"]
        {
            assert!(plan[key].as_u64() > Some(0), "{key}");
        }
    }
}

#[test]
fn plan_knows_the_exact_argmax() {
    let base = ["plan", "--teachers", "250", "--classes", "10", "--samples", "3"];
    let argmax = ["--mechanism", "noisy-argmax", "--noise", "20", "--dropouts", "9"];
    let plan =
        crate::common::json(&[&base[..], &argmax, &["--backend", "tfhe", "--json"]].concat());
    assert_eq!(plan["dropouts"], 9);
    assert_eq!(plan["digits"], 3, "{plan}");
    assert!(plan["failure_log2"].as_f64() <= Some(-64.0), "{plan}");
    assert!(plan["bootstrappings"].as_u64() > Some(100), "{plan}");
    // The default engine has one of its own, in batches.
    let batched = crate::common::json(&[&base[..], &argmax, &["--json"]].concat());
    assert!(batched["bootstrappings"].is_null(), "{batched}");
    let base = ["plan", "--teachers", "90", "--classes", "3000", "--samples", "3"];
    let output = shield(&[&base[..], &argmax, &["--backend", "tfhe"]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("at most 2048"), "{}", stderr(&output));
}

#[test]
fn options_that_would_be_ignored_are_refused() {
    let base = ["label", "--votes", "-", "--classes", "3"];
    for (options, remedy) in [
        (&["--upload", "compact"][..], "--backend tfhe"),
        (&["--backend", "bfv", "--upload", "smallest"], "--backend tfhe"),
        (&["--release", "composable"], "--backend bfv"),
    ] {
        let output = shield(&[&base[..], options].concat());
        assert_eq!(output.status.code(), Some(2), "{options:?}");
        assert!(stderr(&output).contains(remedy), "{}", stderr(&output));
    }
}

#[test]
fn labels_one_at_a_time_are_those_without_encryption() {
    let folder = tempfile::tempdir().expect("a folder");
    let votes = folder.path().join("votes.csv");
    std::fs::write(&votes, "0,1,1,1\n2,2,2,0\n1,,1,1\n").expect("a file");
    let votes = votes.to_str().expect("a path");
    let label = |engine: &[&str]| {
        let base = [
            "label",
            "--votes",
            votes,
            "--classes",
            "3",
            "--seed",
            "5",
            "--json",
            "--polynomial",
            "2X^3+X^2",
        ];
        crate::common::json(&[&base, engine].concat())
    };
    let clear = label(&[]);
    for upload in ["plain", "compact"] {
        let found = label(&["--backend", "tfhe", "--upload", upload]);
        assert_eq!(clear["labels"], found["labels"], "{upload}");
        assert_eq!(found["backend"], "tfhe");
    }
    // What takes bootstrappings: SHIELD with the smallest ballots, and SPEED's argmax.
    let found = label(&["--backend", "tfhe", "--upload", "smallest"]);
    assert_eq!(clear["labels"], found["labels"]);
    let argmax = ["--mechanism", "noisy-argmax", "--noise", "0.5"];
    let found = label(&[&argmax[..], &["--backend", "tfhe"]].concat());
    assert_eq!(label(&argmax)["labels"], found["labels"]);

    let base = ["label", "--votes", votes, "--classes", "3", "--backend"];
    let output = shield(&[&base[..], &["tfhe", "--upload", "compact"]].concat());
    assert!(stderr(&output).contains("to delta in all"), "{}", stderr(&output));
}
