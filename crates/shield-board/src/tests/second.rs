//! A second verifier, which was written in Python from the specification alone, finds the same.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Ward;
use super::vectors::{FILE, board};
use crate::folder::{LINES, beside};
use crate::line::Line;
use crate::statement::Signature;
use crate::{Folder, verify};

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/board/verify.py")
}

/// The names of the checks of the lines that fail, by the second verifier; `None` without a Python
/// that has what it needs.
fn failing(board: &Path) -> Option<Vec<String>> {
    let version = Command::new("python3").args(["-c", "import tomllib"]).status();
    if !version.is_ok_and(|status| status.success()) {
        let required = std::env::var("SHIELD_REQUIRE_SERVICES").is_ok_and(|value| value == "1");
        assert!(!required, "there is no Python 3.11");
        eprintln!("skipped: there is no Python 3.11");
        return None;
    }
    let output = Command::new("python3").arg("-B").arg(script()).arg(board).output().unwrap();
    let found: serde_json::Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let checks = found["checks"].as_array().unwrap().iter();
    // Keys, ballots and results are made up here.
    let of_lines = checks.filter(|check| check["id"].as_u64().unwrap() <= 10);
    let failed = of_lines.filter(|check| check["result"] == "failed");
    Some(failed.map(|check| check["name"].as_str().unwrap().to_owned()).collect())
}

/// What this crate finds.
fn ours(ward: &Ward) -> Vec<String> {
    let Ok(board) = Folder::open(&ward.path()) else { return vec!["form".to_owned()] };
    let checks = verify(&board, &ward.parties);
    let failed = checks.list().iter().filter(|check| check.result == "failed");
    failed.map(|check| check.name.to_owned()).collect()
}

/// A way to tamper with lines.
type Edit = fn(&Ward, &mut Vec<Line>);

/// Ways to tamper, each with checks that must fail.
fn edits() -> [(&'static str, Edit, &'static [&'static str]); 13] {
    [
        ("nothing", |_, _| {}, &[]),
        ("dropped", |_, lines| drop(lines.remove(5)), &["chain", "seen"]),
        (
            "dropped by the operator",
            |ward, lines| {
                lines.remove(5);
                ward.rechained(lines);
            },
            &["seen"],
        ),
        (
            "swapped by the operator",
            |ward, lines| {
                lines.swap(3, 4);
                ward.rechained(lines);
            },
            &["seen", "order"],
        ),
        (
            "doubled by the operator",
            |ward, lines| {
                lines.insert(5, lines[4].clone());
                ward.rechained(lines);
            },
            &["seen", "once", "bodies"],
        ),
        (
            "forged by the operator",
            |ward, lines| {
                let mut signed = lines[7].signed.clone();
                signed.statement.by = "lab".parse().unwrap();
                lines[7] = Line::place(signed, Some(lines[6].seen()), &ward.office);
                ward.rechained(lines);
            },
            &["authors", "signatures", "seen"],
        ),
        (
            "signed by somebody else",
            |ward, lines| {
                let text = lines[4].statement().text();
                lines[4].signed.sig = Signature(ward.office.sign(text.as_bytes()));
                ward.rechained(lines);
            },
            &["signatures", "seen"],
        ),
        (
            "a signature in another form",
            |ward, lines| {
                lines[10].signed.sig = super::keys::with_order(lines[10].signed.sig);
                ward.rechained(lines);
            },
            &["signatures"],
        ),
        (
            "a head by somebody else",
            |ward, lines| {
                lines[9].head =
                    Line::place(lines[9].signed.clone(), Some(lines[8].seen()), &ward.lab).head;
            },
            &["heads"],
        ),
        ("another number", |_, lines| lines[10].n = 11, &["chain", "heads"]),
        (
            "another length",
            |_, lines| {
                lines[10].signed.statement.body.as_mut().unwrap().bytes += 1;
            },
            &["signatures", "heads", "bodies"],
        ),
        (
            "another election",
            |ward, lines| {
                lines[10].signed.statement.election = crate::line::START;
                let last = Some(lines[9].seen());
                let signed = lines[10].statement().clone().sign(&ward.vera);
                lines[10] = Line::place(signed, last, &ward.office);
            },
            &["election"],
        ),
        (
            "thawed",
            |ward, lines| {
                lines.remove(7);
                ward.rechained(lines);
            },
            &["seen", "order"],
        ),
    ]
}

#[test]
fn a_second_verifier_finds_the_same() {
    let ward = Ward::of(FILE);
    let made = board(&ward);
    drop(made);
    let path = ward.path().join(LINES);
    let good = fs::read_to_string(&path).unwrap();
    if failing(&ward.path()).is_none() {
        return;
    }
    for (what, edit, expected) in edits() {
        let mut lines: Vec<Line> =
            good.split_inclusive('\n').map(|l| Line::decode(l).unwrap()).collect();
        edit(&ward, &mut lines);
        fs::write(&path, lines.iter().map(Line::encode).collect::<String>()).unwrap();
        let ours = ours(&ward);
        for name in expected {
            assert!(ours.iter().any(|found| found == name), "{what}: {ours:?}");
        }
        assert_eq!(ours.is_empty(), expected.is_empty(), "{what}: {ours:?}");
        // An author of another election is no author of this one: the specification leaves it to
        // check 2 alone.
        let mut ours = ours;
        if ours.iter().any(|name| name == "election") {
            ours.truncate(1);
            assert_eq!(failing(&ward.path()).unwrap()[..1], ours, "{what}");
        } else {
            assert_eq!(failing(&ward.path()).unwrap(), ours, "{what}");
        }
    }
    // Other ways to write the same.
    for (from, to) in
        [("{\"n\":0", "{ \"n\":0"), ("\"bytes\":32", "\"bytes\":32.0"), ("\n", "\r\n")]
    {
        fs::write(&path, good.replacen(from, to, 1)).unwrap();
        assert_eq!(
            (ours(&ward), failing(&ward.path()).unwrap()),
            (vec!["form".into()], vec!["form".into()])
        );
    }
    fs::write(&path, &good).unwrap();
    let ballots = beside(&ward.path(), "ballots");
    let ballot = fs::read_dir(&ballots).unwrap().next().unwrap().unwrap().path();
    fs::write(ballot, "x").unwrap();
    assert_eq!(
        (ours(&ward), failing(&ward.path()).unwrap()),
        (vec!["bodies".into()], vec!["bodies".into()])
    );
    // Without the ballots the rest of the board is whole.
    fs::remove_dir_all(ballots).unwrap();
    assert_eq!((ours(&ward), failing(&ward.path()).unwrap()), (vec![], vec![]));
}
