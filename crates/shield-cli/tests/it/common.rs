//! What the tests of the program share.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// Runs the program.
pub(crate) fn shield(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_shield")).args(arguments).output().expect("the program runs")
}

/// What it wrote to stdout.
pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// What it wrote to stderr.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Runs the program, which must succeed and print one JSON document.
pub(crate) fn json(arguments: &[&str]) -> Value {
    let output = shield(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    serde_json::from_slice(&output.stdout).expect("one JSON document on stdout")
}

/// The keys of an object.
pub(crate) fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// Fails unless the object has all the keys.
pub(crate) fn assert_has_keys(value: &Value, expected: &[&str]) {
    let found = keys(value);
    for key in expected {
        assert!(found.contains(key), "{key} is missing from {found:?}");
    }
}

/// A file of the synthetic example votes.
pub(crate) fn shipped(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/synthetic");
    root.join(name).to_str().unwrap().to_owned()
}
