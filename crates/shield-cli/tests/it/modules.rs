//! The modules of a crate form layers: in no folder do two files or folders need each other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Where a module is: the names from the crate's root to it.
type Module = Vec<String>;

/// For each name in a folder, the names in it that it needs.
type Needs = BTreeMap<String, BTreeSet<String>>;

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// The module that a file below `src` is; `None` of a crate's root and of tests.
fn module(file: &Path, source: &Path) -> Option<Module> {
    let names = file.strip_prefix(source).unwrap().with_extension("");
    let mut names: Module = names.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    if names.last().is_some_and(|name| name == "mod") {
        names.pop();
    }
    let root = names.len() == 1 && ["lib", "main"].contains(&names[0].as_str());
    let tests = names.iter().any(|name| name == "tests");
    (!root && !tests && file.extension()? == "rs").then_some(names)
}

/// The code without comments and without tests, which may use anything.
fn code(text: &str) -> String {
    let tests = text.find("#[cfg(test)]\nmod tests").unwrap_or(text.len());
    let lines = text[..tests].lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// A name at the beginning of a text, and what follows it.
fn name(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len()))
}

/// All paths of a tree such as `a::{b, c::d}` at the beginning of a text, and what follows it.
fn tree(text: &str) -> (Vec<Module>, &str) {
    if let Some(mut rest) = text.strip_prefix('{') {
        let mut all = Vec::new();
        loop {
            let (paths, left) = tree(rest.trim_start());
            all.extend(paths);
            let left = left.trim_start();
            match left.strip_prefix(',') {
                Some(left) if !left.trim_start().starts_with('}') => rest = left,
                Some(left) => return (all, left.trim_start().strip_prefix('}').unwrap_or(left)),
                None => return (all, left.strip_prefix('}').unwrap_or(left)),
            }
        }
    }
    let (first, rest) = name(text);
    let Some(below) = rest.strip_prefix("::") else {
        return (vec![vec![first.to_owned()]], rest);
    };
    let (paths, rest) = tree(below);
    let under = |mut path: Module| {
        path.insert(0, first.to_owned());
        path
    };
    (paths.into_iter().map(under).collect(), rest)
}

/// What the code of a module names by `crate` and `super`, from the crate's root.
fn named(code: &str, module: &Module) -> Vec<Module> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::").chain(code.match_indices("super::")) {
        let begins = code[..at].chars().next_back();
        if begins.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
            continue;
        }
        for path in tree(&code[at..]).0 {
            let ups = path.iter().take_while(|name| *name == "super").count();
            let from = if ups == 0 { 0 } else { module.len().saturating_sub(ups) };
            let below = path.into_iter().skip(ups.max(1));
            found.push(module[..from].iter().cloned().chain(below).collect());
        }
    }
    found
}

/// For each folder of a crate, what its files and folders need of each other.
fn needs(source: &Path) -> BTreeMap<Module, Needs> {
    let modules: BTreeMap<Module, PathBuf> =
        files(source).into_iter().filter_map(|file| Some((module(&file, source)?, file))).collect();
    let mut folders: BTreeMap<Module, Needs> = BTreeMap::new();
    for (from, file) in &modules {
        for mut to in named(&code(&fs::read_to_string(file).unwrap()), from) {
            while !to.is_empty() && !modules.contains_key(&to) {
                to.pop();
            }
            let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
            // One that is above the other is no neighbour.
            if let (Some(needing), Some(needed)) = (from.get(shared), to.get(shared)) {
                let folder = folders.entry(from[..shared].to_vec()).or_default();
                folder.entry(needing.clone()).or_default().insert(needed.clone());
                folder.entry(needed.clone()).or_default();
            }
        }
    }
    folders
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
        for (folder, needs) in needs(&source) {
            let here = source.join(folder.join("/"));
            circles.extend(in_circles(needs).iter().map(|it| format!("{}: {it}", here.display())));
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
}

#[test]
fn names_are_found_from_the_root() {
    let here: Module = ["a", "b"].map(str::to_owned).to_vec();
    let paths = |code: &str| -> Vec<String> {
        named(code, &here).iter().map(|path| path.join("/")).collect()
    };
    assert_eq!(paths("use crate::{c, d::{e, f},};\ncrate::g::h()"), ["c", "d/e", "d/f", "g/h"]);
    assert_eq!(paths("use super::c::D; super::super::e()"), ["a/c/D", "e"]);
    assert!(paths("use mycrate::c; std::fs::read()").is_empty());
}
