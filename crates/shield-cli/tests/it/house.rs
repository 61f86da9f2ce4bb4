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

/// Where the links of a text lead, those that leave the project apart.
fn links(text: &str) -> Vec<&str> {
    let ends = text.match_indices("](").map(|(at, _)| &text[at + 2..]);
    let targets = ends.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
    targets
        .filter(|target| !target.contains("://") && !target.contains(char::is_whitespace))
        .collect()
}

/// What a heading is called in an address.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().to_lowercase();
    kept.chars()
        .filter(|c| c.is_alphanumeric() || "-_ ".contains(*c))
        .collect::<String>()
        .replace(' ', "-")
}

#[test]
fn links_lead_somewhere() {
    let mut dead = Vec::new();
    for path in sources(&["md"]) {
        let text = fs::read_to_string(&path).unwrap();
        for link in links(&text) {
            let (file, place) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { path.clone() } else { path.with_file_name(file) };
            let found = target.exists()
                && (place.is_empty() || {
                    let text = fs::read_to_string(&target).unwrap();
                    text.lines().any(|line| line.starts_with('#') && anchor(line) == place)
                });
            if !found {
                dead.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert!(dead.is_empty(), "these links lead nowhere:\n{}", dead.join("\n"));
    assert_eq!(links("[a](b.md#c) [d](https://e) ![f](g.svg)"), ["b.md#c", "g.svg"]);
    assert_eq!(anchor("## The proven bound, `here`"), "the-proven-bound-here");
}

/// The page of claims names tests; each of them must be there.
#[test]
fn tests_that_the_privacy_page_names_exist() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/privacy.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, claims) = page.split_once("## Where each claim is checked").unwrap();
    let code: Vec<String> =
        sources(&["rs"]).iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    let is_test = |name: &&str| name.contains('_') && !name.contains(' ');
    let mut named = 0;
    for name in claims.split('`').skip(1).step_by(2).filter(is_test) {
        let function = format!("fn {name}()");
        assert!(code.iter().any(|text| text.contains(&function)), "there is no test {name}");
        named += 1;
    }
    assert!(named > 20, "{named}");
}
