//! The modules of a crate form layers: none needs another that needs it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// For each top module of a crate, the top modules that it names.
type Needs = BTreeMap<String, BTreeSet<String>>;

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// The first folder or file below `src`, without its ending.
fn top_module(path: &Path, source: &Path) -> String {
    let first = path.strip_prefix(source).unwrap().components().next().unwrap();
    Path::new(first.as_os_str()).file_stem().unwrap().to_string_lossy().into_owned()
}

/// The code without comments and without tests, which may use anything.
fn code(text: &str) -> String {
    let tests = text.find("mod tests {").unwrap_or(text.len());
    let lines = text[..tests].lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// What comes right behind `crate::`: one name, or the names of a list.
fn named(code: &str) -> Vec<&str> {
    let name = |text: &str| text.find(|c: char| !c.is_alphanumeric() && c != '_');
    let mut found = Vec::new();
    for (_, rest) in code.match_indices("crate::").map(|(at, it)| (at, &code[at + it.len()..])) {
        if let Some(list) = rest.strip_prefix('{') {
            let (mut depth, mut start) = (0, 0);
            for (at, c) in list.char_indices() {
                match c {
                    '{' => depth += 1,
                    '}' if depth > 0 => depth -= 1,
                    ',' | '}' if depth == 0 => {
                        let item = list[start..at].trim_start();
                        found.push(&item[..name(item).unwrap_or(item.len())]);
                        start = at + 1;
                        if c == '}' {
                            break;
                        }
                    }
                    _ => {}
                }
            }
        } else {
            found.push(&rest[..name(rest).unwrap_or(rest.len())]);
        }
    }
    found
}

fn needs(source: &Path) -> Needs {
    let mut needs = Needs::new();
    let files =
        files(source).into_iter().filter(|path| path.extension().is_some_and(|e| e == "rs"));
    let texts: Vec<(String, String)> = files
        .filter(|path| !path.components().any(|part| part.as_os_str() == "tests"))
        .map(|path| (top_module(&path, source), code(&fs::read_to_string(&path).unwrap())))
        .filter(|(module, _)| !["lib", "main", "tests"].contains(&module.as_str()))
        .collect();
    let modules: BTreeSet<&str> = texts.iter().map(|(module, _)| module.as_str()).collect();
    for (module, code) in &texts {
        // Beside each other, two files of one folder may name each other by `super`.
        let code = code.replace("super::super::", "crate::");
        let others = named(&code).into_iter().filter(|name| modules.contains(name));
        let others = others.filter(|name| name != module).map(str::to_owned);
        needs.entry(module.clone()).or_default().extend(others);
    }
    needs
}

/// Modules that need themselves by way of others: what is left when all that need nothing are
/// taken away, again and again.
fn in_circles(mut needs: Needs) -> Vec<String> {
    loop {
        let free: Vec<String> =
            needs.iter().filter(|(_, needed)| needed.is_empty()).map(|(m, _)| m.clone()).collect();
        if free.is_empty() {
            return needs.into_iter().map(|(m, needed)| format!("{m} -> {needed:?}")).collect();
        }
        needs.retain(|module, _| !free.contains(module));
        for needed in needs.values_mut() {
            needed.retain(|module| !free.contains(module));
        }
    }
}

#[test]
fn modules_form_layers() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut circles = Vec::new();
    for entry in fs::read_dir(crates).unwrap() {
        let source = entry.unwrap().path().join("src");
        for circle in in_circles(needs(&source)) {
            circles.push(format!("{}: {circle}", source.display()));
        }
    }
    assert!(circles.is_empty(), "these modules need each other:\n{}", circles.join("\n"));
}

#[test]
fn a_circle_is_found() {
    let needs = |pairs: &[(&str, &[&str])]| -> Needs {
        let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        pairs.iter().map(|&(module, names)| (module.to_owned(), set(names))).collect()
    };
    assert!(in_circles(needs(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])])).is_empty());
    assert_eq!(in_circles(needs(&[("a", &["b"]), ("b", &["a"]), ("c", &[])])).len(), 2);
    assert_eq!(named("use crate::{a, b::{c, d}, e::f};\ncrate::g::h()"), ["a", "b", "e", "g"]);
}
