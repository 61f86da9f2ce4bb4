//! The commands of a page of the documentation, run as they are written there.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output};

/// The fenced blocks of a kind in some Markdown.
pub(crate) fn blocks<'a>(markdown: &'a str, kind: &'a str) -> impl Iterator<Item = &'a str> {
    let start = format!("```{kind}\n");
    let mut rest = markdown;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once(&start)?;
        let (block, after) = after.split_once("```")?;
        rest = after;
        Some(block)
    })
}

/// Runs all commands of some Markdown in a folder, up to the first that fails. No server is left
/// behind, and none is waited for longer than ten minutes.
pub(crate) fn run_commands(
    markdown: &str,
    at_least: usize,
    programs: &Path,
    folder: &Path,
) -> Output {
    let mut script = String::from(
        "set -euo pipefail\ntrap 'kill $(jobs -p) 2> /dev/null || true' EXIT\n\
         trap 'printf %s \"$BASH_COMMAND\" > \"$UNDER_WAY\"' DEBUG\n",
    );
    let mut commands = 0;
    for line in blocks(markdown, "console").flat_map(str::lines) {
        let command = line.strip_prefix("$ ").or_else(|| line.strip_prefix("> "));
        let command = command.unwrap_or_else(|| panic!("not a command: {line}"));
        commands += usize::from(line.starts_with('$'));
        writeln!(script, "{command}").unwrap();
    }
    assert!(commands >= at_least, "only {commands} commands");
    let path = std::env::var("PATH").unwrap_or_default();
    let under_way = tempfile::NamedTempFile::new().expect("a file");
    let output = Command::new("timeout")
        .args(["600", "bash", "-c", &script])
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", programs.display()))
        .env("UNDER_WAY", under_way.path())
        .output()
        .expect("bash runs");
    let last = std::fs::read_to_string(under_way.path()).unwrap_or_default();
    assert_ne!(output.status.code(), Some(124), "after ten minutes it still runs: {last}");
    output
}
