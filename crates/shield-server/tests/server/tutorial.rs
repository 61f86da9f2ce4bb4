//! Every command of docs/tutorial.md, exactly as it is written there.

use std::path::Path;

use crate::pages::{blocks, run_commands};
use crate::programs::folder as programs;

const TUTORIAL: &str = include_str!("../../../../docs/tutorial.md");

/// A section of the tutorial, by its heading.
fn section(heading: &str) -> &'static str {
    let (_, after) = TUTORIAL.split_once(&format!("\n## {heading}\n")).expect("the section");
    after.split_once("\n## ").map_or(after, |(section, _)| section)
}

/// Runs a section's commands; gives what they printed.
fn run(heading: &str, at_least: usize, folder: &Path) -> String {
    // The one thing that is not as written: a port that nobody else can have.
    let start = "serve --data server-data --dev";
    let commands = section(heading).replace(start, &format!("{start} --listen 127.0.0.1:0"));
    let output = run_commands(&commands, at_least, programs(), folder);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let log = std::fs::read_to_string(folder.join("server.log")).unwrap_or_default();
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
fn from_top_to_bottom_in_one_folder() {
    let folder = tempfile::tempdir().unwrap();
    for file in blocks(section("What all agree on"), "toml") {
        let name = file.lines().next().and_then(|line| line.strip_prefix("# ")).expect("its name");
        std::fs::write(folder.path().join(name), file).unwrap();
    }
    let run = |heading, at_least| run(heading, at_least, folder.path());

    assert_labels(&run("Over files", 6), ["0", "1", "2"]);

    let printed = run("Over the network", 6);
    assert_labels(&printed, ["cat", "dog", "owl"]);
    assert!(printed.contains("your ballot is in, digest "), "{printed}");
    assert!(printed.contains("more labels like these"), "{printed}");

    let printed = run("With votes at hand", 6);
    for word in ["right labels", "polynomial", "by moments"] {
        assert!(printed.contains(word), "{word}: {printed}");
    }

    let printed = run("Looking before choosing", 2);
    assert!(printed.contains("http://127.0.0.1:"), "{printed}");
}

/// The loop that waits for the server once went on for ever.
#[test]
fn a_server_that_cannot_start_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!(" --listen {}", taken.local_addr().unwrap());
    let start = section("Over the network");
    let (_, start) = start.split_once("### The operator starts the server").expect("its heading");
    let (start, _) = start.split_once("\n### ").expect("more");
    let command = "serve --data server-data --dev";
    let output = run_commands(
        &start.replace(command, &(command.to_owned() + &address)),
        4,
        programs(),
        folder.path(),
    );
    assert!(!output.status.success());
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("--listen"), "{printed}");
}
