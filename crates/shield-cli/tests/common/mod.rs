//! What the tests of the program share.

// Every test file compiles this module for itself and uses a part of it.
#![allow(dead_code, unreachable_pub)]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// Runs the program.
pub fn shield(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_shield")).args(arguments).output().expect("the program runs")
}

/// What it wrote to stdout.
pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// What it wrote to stderr.
pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Runs the program, which must succeed and print one JSON document.
pub fn json(arguments: &[&str]) -> Value {
    let output = shield(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    serde_json::from_slice(&output.stdout).expect("one JSON document on stdout")
}

/// The keys of an object.
pub fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// Fails unless the object has all the keys.
pub fn assert_has_keys(value: &Value, expected: &[&str]) {
    let found = keys(value);
    for key in expected {
        assert!(found.contains(key), "{key} is missing from {found:?}");
    }
}

/// A file of the synthetic example votes.
pub fn shipped(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/synthetic");
    root.join(name).to_str().unwrap().to_owned()
}
