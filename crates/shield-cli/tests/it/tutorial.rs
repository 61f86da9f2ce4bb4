//! Every command of docs/tutorial.md, exactly as it is written there.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

const TUTORIAL: &str = include_str!("../../../../docs/tutorial.md");

/// The fenced blocks of a kind in some Markdown.
fn blocks<'a>(markdown: &'a str, kind: &'a str) -> impl Iterator<Item = &'a str> {
    let start = format!("```{kind}\n");
    let mut rest = markdown;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once(&start)?;
        let (block, after) = after.split_once("```")?;
        rest = after;
        Some(block)
    })
}

/// A section of the tutorial, by its heading.
fn section(heading: &str) -> &'static str {
    let (_, after) = TUTORIAL.split_once(&format!("\n## {heading}\n")).expect("the section");
    after.split_once("\n## ").map_or(after, |(section, _)| section)
}

/// Runs a section's commands in a folder of its own; gives what they printed.
fn run(heading: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    for file in blocks(section("What all agree on"), "toml") {
        let name = file.lines().next().and_then(|line| line.strip_prefix("# ")).expect("its name");
        std::fs::write(folder.path().join(name), file).unwrap();
    }
    // Stops at the first command that fails, and leaves no server behind.
    let mut script =
        String::from("set -euo pipefail\ntrap 'kill $(jobs -p) 2> /dev/null || true' EXIT\n");
    let mut commands = 0;
    for line in blocks(section(heading), "console").flat_map(str::lines) {
        let command = line.strip_prefix("$ ").or_else(|| line.strip_prefix("> "));
        let command = command.unwrap_or_else(|| panic!("not a command: {line}"));
        commands += usize::from(line.starts_with('$'));
        writeln!(script, "{command}").unwrap();
    }
    assert!(commands > 5, "{heading}: only {commands} commands");
    let program = Path::new(env!("CARGO_BIN_EXE_shield")).parent().expect("its folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("bash")
        .args(["-c", &script])
        .current_dir(folder.path())
        .env("PATH", format!("{}:{path}", program.display()))
        .output()
        .expect("bash runs");
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
fn assert_labels(printed: &str) {
    let lines: Vec<&str> = printed.lines().collect();
    let labels = &lines[lines.len() - 6..];
    assert!(labels.iter().all(|label| ["0", "1", "2"].contains(label)), "{labels:?}");
}

#[test]
fn over_files() {
    assert_labels(&run("Over files"));
}

#[test]
fn over_the_network() {
    assert_labels(&run("Over the network"));
}
