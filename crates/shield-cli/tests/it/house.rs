//! The rules of the house that a machine can check: how long lines and files are, and which words
//! we do not use.

use std::fs;
use std::path::{Path, PathBuf};

const COLUMNS: usize = 100;
const LINES: usize = 500;

/// Ways of putting it that readers stumbled over, and what to write instead.
const WORDS: [(&str, &str); 3] =
    [("data base", "database"), ("at once a sample", "per sample"), ("mended", "fixed")];

/// Every file of ours with one of these endings, without what is built or fetched.
fn sources(endings: &[&str]) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = ["crates", "docs", "examples", "python"].map(|name| root.join(name)).to_vec();
    let mut found: Vec<PathBuf> = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]
        .iter()
        .map(|name| root.join(name))
        .collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && name != "target" && !name.starts_with('.') {
                folders.push(path);
            } else if path.is_file() {
                found.push(path);
            }
        }
    }
    found.retain(|path| {
        path.extension().is_some_and(|end| endings.iter().any(|ending| end == *ending))
    });
    assert!(!found.is_empty());
    found
}

/// Every line of every such file for which `wrong` has something to say, with its place.
fn complaints(endings: &[&str], wrong: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut found = Vec::new();
    for path in sources(endings) {
        let text = fs::read_to_string(&path).unwrap();
        for (number, line) in (1..).zip(text.lines()) {
            if let Some(complaint) = wrong(line) {
                found.push(format!("{}:{number}: {complaint}", path.display()));
            }
        }
    }
    found
}

/// Rows of tables, addresses and commands to copy cannot be refilled.
fn may_be_long(line: &str) -> bool {
    let start = line.trim_start();
    line.contains('|')
        || line.contains("://")
        || line.starts_with("$ ")
        || line.starts_with("//! $ ")
        || start.starts_with("use ")
        || start.starts_with("> ")
        || start.starts_with("![")
        || start.starts_with("ExecStart=")
}

#[test]
fn lines_end_at_100_columns() {
    let long = complaints(&["rs", "md", "py", "pyi"], |line| {
        let columns = line.chars().count();
        (columns > COLUMNS && !may_be_long(line)).then(|| format!("{columns} columns"))
    });
    assert!(long.is_empty(), "refill these lines:\n{}", long.join("\n"));
}

#[test]
fn files_fit_in_a_readers_head() {
    let long: Vec<String> = sources(&["rs", "py"])
        .into_iter()
        .filter_map(|path| {
            let lines = fs::read_to_string(&path).unwrap().lines().count();
            (lines > LINES).then(|| format!("{}: {lines} lines", path.display()))
        })
        .collect();
    assert!(long.is_empty(), "split these files:\n{}", long.join("\n"));
}

#[test]
fn one_word_for_one_thing() {
    let odd = complaints(&["md", "html"], |line| {
        let line = line.to_lowercase();
        let (odd, better) = WORDS.iter().find(|(odd, _)| line.contains(odd))?;
        Some(format!("write `{better}`, not `{odd}`"))
    });
    assert!(odd.is_empty(), "{}", odd.join("\n"));
}
