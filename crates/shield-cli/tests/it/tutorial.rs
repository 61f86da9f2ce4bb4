//! Every command of docs/tutorial.md, exactly as it is written there.

use crate::pages::{blocks, run_commands};

const TUTORIAL: &str = include_str!("../../../../docs/tutorial.md");

/// A section of the tutorial, by its heading.
fn section(heading: &str) -> &'static str {
    let (_, after) = TUTORIAL.split_once(&format!("\n## {heading}\n")).expect("the section");
    after.split_once("\n## ").map_or(after, |(section, _)| section)
}

/// Runs a section's commands in a folder of its own; gives what they printed.
fn run(heading: &str, at_least: usize) -> String {
    let folder = tempfile::tempdir().unwrap();
    for file in blocks(section("What all agree on"), "toml") {
        let name = file.lines().next().and_then(|line| line.strip_prefix("# ")).expect("its name");
        std::fs::write(folder.path().join(name), file).unwrap();
    }
    let output = run_commands(section(heading), at_least, folder.path());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let log = std::fs::read_to_string(folder.path().join("server.log")).unwrap_or_default();
    assert!(
        output.status.success(),
        "{heading}: {}\n{}\n{}\n{log}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}

/// The last six lines are the labels.
fn assert_labels(printed: &str, classes: [&str; 3]) {
    let lines: Vec<&str> = printed.lines().collect();
    let labels = &lines[lines.len() - 6..];
    assert!(labels.iter().all(|label| classes.contains(label)), "{labels:?}");
}

#[test]
fn over_files() {
    assert_labels(&run("Over files", 6), ["0", "1", "2"]);
}

#[test]
fn over_the_network() {
    let printed = run("Over the network", 6);
    assert_labels(&printed, ["cat", "dog", "owl"]);
    assert!(printed.contains("your ballot is in, digest "), "{printed}");
    assert!(printed.contains("more labels like these"), "{printed}");
}

#[test]
fn looking_before_choosing() {
    let printed = run("Looking before choosing", 2);
    assert!(printed.contains("http://127.0.0.1:"), "{printed}");
}

#[test]
fn with_votes_at_hand() {
    let printed = run("With votes at hand", 6);
    for word in ["right labels", "polynomial", "by moments"] {
        assert!(printed.contains(word), "{word}: {printed}");
    }
}
