//! A signed election over folders, as people run it, and what parties could try.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::common::{Folder, assert_refused, document, stderr, stdout};
use crate::pages::run_commands;

const VOTES: &str = "0\n1\n2\n0\n1\n2\n0\n1\n";
const PARTIES: [&str; 6] = ["office", "lab", "vera", "amber", "birch", "cedar"];

/// A folder with an identity for every party, and a file with all public lines.
struct Ward(Folder);

impl Ward {
    /// An election up to the student's keys on its board.
    fn new() -> Self {
        let ward = Self(Folder::new());
        let lines = PARTIES.map(|name| {
            let made = ward.0.json(&format!("identity new {name}"));
            made["public_line"].as_str().unwrap().to_owned()
        });
        let [office, lab, vera, teachers @ ..] = lines;
        let teachers = teachers.map(|line| format!("\"{line}\"")).join(", ");
        ward.0.write("votes.csv", VOTES);
        ward.0.write(
            "ward-7.toml",
            format!(
                "name = \"ward-7\"\ngroup = \"wards\"\nclasses = 3\nsamples = 8\n\
                 polynomial = \"20X^4+X\"\noffset = 1\nquorum = 2\noperator = \"{office}\"\n\
                 student = \"{lab}\"\nauditors = [\"{vera}\"]\nteachers = [{teachers}]\n"
            ),
        );
        let made =
            ward.0.json("board new ward-7.board --election ward-7.toml --identity office.identity");
        let trust = made["fingerprint"].as_str().unwrap().to_owned();
        ward.0.json(&format!(
            "keygen --board ward-7.board --identity lab.identity --out keys --roster lab.toml \
             --trust {trust}"
        ));
        ward.add("keys/public.key.signed keys/evaluation.key.signed");
        // Everybody else has compared the number, too.
        for name in ["vera", "amber", "birch", "cedar"] {
            fs::copy(ward.0.path("lab.toml"), ward.0.path(&format!("{name}.toml"))).unwrap();
        }
        ward
    }

    fn add(&self, statements: &str) -> Value {
        self.0.json(&format!("board add ward-7.board {statements} --identity office.identity"))
    }

    fn voting(name: &str) -> String {
        format!(
            "vote --board ward-7.board --identity {name}.identity --roster {name}.toml --votes \
             votes.csv"
        )
    }

    fn vote(&self, name: &str) {
        self.0.json(&Self::voting(name));
        self.add(&format!("{name}.ballot.signed"));
    }

    fn aggregate(&self) -> Value {
        self.0.json("board aggregate ward-7.board --identity office.identity")
    }

    /// The outcome of a check, by its name.
    fn checks(&self, line: &str) -> (Value, Option<i32>) {
        let output = self.0.run(&format!("verify {line} --json"));
        let found = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{}", stderr(&output)));
        (found, output.status.code())
    }

    /// What the student gets: the board without its ballots.
    fn copy(&self, to: &str) {
        copy(&self.0.path("ward-7.board"), &self.0.path(to));
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(path, to).unwrap();
        }
    }
}

fn result<'a>(checks: &'a Value, name: &str) -> &'a str {
    let list = checks["checks"].as_array().unwrap();
    let check = list.iter().find(|check| check["name"] == name).expect(name);
    check["result"].as_str().unwrap()
}

/// The verifier in Python reads ballots and results, too.
fn second_opinion(board: &Path) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/board/verify.py");
    let has_python = Command::new("python3").args(["-c", "import tomllib"]).status();
    if !has_python.is_ok_and(|status| status.success()) {
        let required = std::env::var("SHIELD_REQUIRE_SERVICES").is_ok_and(|value| value == "1");
        assert!(!required, "there is no Python 3.11");
        return eprintln!("skipped: there is no Python 3.11");
    }
    let output = Command::new("python3").arg("-B").arg(script).arg(board).output().unwrap();
    let found: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    for check in found["checks"].as_array().unwrap() {
        assert_eq!(check["result"], "passed", "{check}");
    }
}

const REVEAL: &str = "reveal --board lab.board --secret-key keys/secret.key --roster lab.toml";

#[test]
fn a_signed_election_from_identities_to_labels() {
    let ward = Ward::new();
    for name in ["amber", "birch", "cedar"] {
        ward.vote(name);
    }
    let (early, code) = ward.checks("ward-7.board");
    assert_eq!(
        (result(&early, "ballots"), result(&early, "results"), code),
        ("passed", "not run", Some(0))
    );
    let done = ward.aggregate();
    assert_eq!((&done["voted"], &done["auditors"]), (&3.into(), &1.into()));
    // Again: the same lines.
    assert_eq!(ward.aggregate()["lines"], done["lines"]);

    // The student opens nothing that no auditor has computed again.
    ward.copy("lab.board");
    let early = ward.0.run(REVEAL);
    assert_refused(&early, &["0 of 1 auditors", "nothing is decrypted before"]);
    fs::remove_dir_all(ward.0.path("lab.board")).unwrap();
    let audit = "--identity vera.identity --roster vera.toml";
    let (checks, code) = ward.checks(&format!("ward-7.board {audit}"));
    assert_eq!((result(&checks, "recomputed"), code), ("passed", Some(0)));
    ward.add("ward-7.board.audited.signed");
    ward.copy("lab.board");
    let opened = ward.0.json(REVEAL);
    let labels: Vec<u64> =
        opened["labels"].as_array().unwrap().iter().map(|label| label.as_u64().unwrap()).collect();
    let expected: Vec<u64> = VOTES.lines().map(|vote| vote.parse().unwrap()).collect();
    // All three teachers agree: 99 of 100 labels are theirs, and with a chance of 1e-8 fewer than
    // four of these eight.
    let agreement = labels.iter().zip(&expected).filter(|(a, b)| a == b).count();
    assert!(agreement >= 4, "{labels:?}");

    // Anybody, without ballots: what can be checked, is.
    let (checks, code) = ward.checks("lab.board");
    assert_eq!(code, Some(0));
    for (name, expected) in [
        ("signatures", "passed"),
        ("bodies", "passed"),
        ("keys", "passed"),
        ("ballots", "not run"),
        ("results", "passed"),
        ("audits", "passed"),
        ("recomputed", "not run"),
        ("own", "not run"),
    ] {
        assert_eq!(result(&checks, name), expected, "{name}");
    }
    let ids =
        checks["checks"].as_array().unwrap().iter().map(|check| check["id"].as_u64().unwrap());
    assert!(ids.eq(1..=16));
    let (own, code) = ward.checks("lab.board --statement birch.ballot.signed");
    assert_eq!((result(&own, "own"), code), ("passed", Some(0)));
    second_opinion(&ward.0.path("ward-7.board"));

    // A student who has the ballots reads none of the results.
    fs::create_dir(ward.0.path("lab.board.ballots")).unwrap();
    assert_refused(&ward.0.run(REVEAL), &["your key reads these ballots"]);
}

#[test]
fn the_page_on_boards_works_as_it_is_written() {
    let page = include_str!("../../../../docs/board.md");
    let folder = Folder::new();
    let programs = Path::new(env!("CARGO_BIN_EXE_shield")).parent().unwrap();
    let output = run_commands(page, 15, programs, &folder.path(""));
    assert!(output.status.success(), "{}\n{}", stdout(&output), stderr(&output));
    assert_eq!(folder.text("labels.csv").lines().count(), 6);
}

#[test]
fn nobody_votes_with_keys_that_the_student_did_not_sign() {
    let ward = Ward::new();
    // The operator makes keys of its own and an election whose student it is: the teacher's roster
    // knows another student.
    let office = ward.0.json("identity new lab --out fake.identity");
    let fake = office["public_line"].as_str().unwrap();
    let text = ward.0.text("ward-7.toml");
    let line = text.lines().find(|line| line.starts_with("student")).unwrap();
    ward.0.write("fake.toml", text.replace(line, &format!("student = \"{fake}\"")));
    ward.0.json("board new fake.board --election fake.toml --identity office.identity");
    let vote = Ward::voting("amber").replace("ward-7.board", "fake.board");
    ward.0.refused(&vote, &["`wards/lab` has other keys", "pretending"]);
    // On the right board, under the student's name.
    let other = "keygen --board fake.board --identity fake.identity --out other --roster new.toml";
    let first = ward.0.run(other);
    let said = stderr(&first);
    assert_refused(&first, &["are not in new.toml yet", "--trust"]);
    let (_, number) = said.rsplit_once("--trust ").unwrap();
    ward.0.json(&format!("{other} --trust {}", number.trim()));
    ward.0.refused(
        "board add ward-7.board other/public.key.signed --identity office.identity",
        &["another election"],
    );
    // The operator swaps the body of the key: whoever votes finds that it was not signed.
    let lines = ward.0.text("ward-7.board/board.jsonl");
    let key = lines.lines().find(|line| line.contains("public-key")).unwrap();
    let line: Value = serde_json::from_str(key).unwrap();
    let body = format!("ward-7.board/bodies/{}", line["body"].as_str().unwrap());
    ward.0.write(&body, ward.0.read("other/public.key"));
    let output = ward.0.run(&Ward::voting("amber"));
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("check 10 (bodies) failed"), "{}", stderr(&output));
    assert!(!ward.0.path("amber.ballot").exists());
}

#[test]
fn a_ballot_is_its_authors_and_there_is_one() {
    let ward = Ward::new();
    ward.vote("amber");
    // A second vote is refused before anything is signed.
    ward.0.json(&Ward::voting("birch"));
    let again = format!("{} --out second.ballot", Ward::voting("amber"));
    ward.0.refused(&again, &["it is said once"]);
    assert!(!ward.0.path("second.ballot").exists());
    // Birch signs amber's ballot as its own: the same bytes.
    for (what, from) in [("copy", "amber.ballot"), ("mine", "birch.ballot")] {
        fs::copy(ward.0.path(from), ward.0.path(&format!("{what}.ballot"))).unwrap();
    }
    let adding = |name: &str| {
        ward.0
            .run(&format!("board add ward-7.board {name}.ballot.signed --identity office.identity"))
    };
    // Cedar hands in birch's ballot, with a signature of its own.
    let board = shield_protocol::SignedElection::open(&ward.0.path("ward-7.board")).unwrap();
    let cedar = shield_board::Identity::read(&ward.0.path("cedar.identity")).unwrap();
    let kind = shield_board::Kind::Ballot;
    for name in ["copy", "mine"] {
        let about = ward.0.path(&format!("{name}.ballot"));
        let signed = shield_protocol::signed::state(&board, &cedar, kind, &about);
        // What the operator would refuse at a glance is not even signed.
        assert_eq!(signed.is_ok(), name == "mine");
    }
    assert_refused(&adding("mine"), &["`cedar` signed this as its ballot", "another teacher's"]);
    // Another file under a statement of amber's.
    fs::copy(ward.0.path("birch.ballot.signed"), ward.0.path("swapped.ballot.signed")).unwrap();
    fs::copy(ward.0.path("amber.ballot"), ward.0.path("swapped.ballot")).unwrap();
    assert_refused(&adding("swapped"), &["not the file that the statement"]);
    ward.add("birch.ballot.signed");
    let (checks, code) = ward.checks("ward-7.board");
    assert_eq!((result(&checks, "ballots"), code), ("passed", Some(0)));
    // A stray file among the ballots, whatever it is.
    ward.0.write("ward-7.board.ballots/stray", "x");
    let (checks, code) = ward.checks("ward-7.board");
    assert_eq!((result(&checks, "ballots"), code), ("failed", Some(1)));
}

#[test]
fn other_results_are_found_by_anybody_or_by_the_auditor() {
    let ward = Ward::new();
    ward.vote("amber");
    ward.vote("birch");
    ward.aggregate();
    let board = || shield_board::Folder::open(&ward.0.path("ward-7.board")).unwrap();
    let (_, path) = board().body_of(shield_board::Kind::Results).unwrap();
    let good = fs::read(&path).unwrap();
    // The operator puts other bytes into the results and signs them.
    let mut bad = good.clone();
    let last = bad.len() - 1;
    bad[last] ^= 1;
    let office = shield_board::Identity::read(&ward.0.path("office.identity")).unwrap();
    let forge = |results: &[u8]| {
        let mut lines = board().lines().to_vec();
        let place = lines
            .iter()
            .position(|line| line.statement().kind == shield_board::Kind::Results)
            .unwrap();
        let body = board().add_body(shield_board::Kind::Results, results).unwrap();
        let mut last = Some(lines[place - 1].seen());
        for line in &mut lines[place..] {
            let mut statement = line.statement().clone();
            statement.seen = last;
            if statement.kind == shield_board::Kind::Results {
                statement.body = Some(body);
            }
            *line = shield_board::Line::place(statement.sign(&office), last, &office);
            last = Some(line.seen());
        }
        let text: String = lines.iter().map(shield_board::Line::encode).collect();
        ward.0.write("ward-7.board/board.jsonl", text);
    };
    let audit = "ward-7.board --identity vera.identity --roster vera.toml";
    forge(&bad);
    let (checks, code) = ward.checks("ward-7.board");
    assert_eq!((result(&checks, "results"), code), ("passed", Some(0)));
    let (checks, code) = ward.checks(audit);
    assert_eq!((result(&checks, "recomputed"), code), ("failed", Some(1)));
    assert!(!ward.0.path("ward-7.board.audited.signed").exists());
    // The transcript in them leaves a teacher out.
    let at = good.windows(5).rposition(|window| window == b"birch").unwrap();
    let mut other = good.clone();
    other[at..at + 5].copy_from_slice(b"cedar");
    forge(&other);
    let (checks, code) = ward.checks("ward-7.board");
    assert_eq!((result(&checks, "results"), code), ("failed", Some(1)));
    forge(&good);
    assert_eq!(ward.checks(audit).1, Some(0));
}

#[test]
fn two_boards_are_proven_in_one_command() {
    let ward = Ward::new();
    copy(&ward.0.path("ward-7.board"), &ward.0.path("other.board"));
    copy(&ward.0.path("ward-7.board.ballots"), &ward.0.path("other.board.ballots"));
    ward.vote("amber");
    let same = ward.0.json("board compare ward-7.board other.board");
    assert_eq!(
        (&same["common"], &same["first"], &same["fork"]),
        (&4.into(), &5.into(), &Value::Null)
    );
    ward.0.json(&Ward::voting("birch").replace("ward-7.board", "other.board"));
    ward.0.json("board add other.board birch.ballot.signed --identity office.identity");
    let forked = ward.0.run("board compare ward-7.board other.board --json");
    assert_eq!(forked.status.code(), Some(1));
    assert!(stderr(&forked).contains("two lines with number 4"), "{}", stderr(&forked));
    let proof: Value = serde_json::from_str(&stdout(&forked)).unwrap();
    assert_eq!(
        (&proof["fork"][0]["by"], &proof["fork"][1]["by"]),
        (&"amber".into(), &"birch".into())
    );
    // Amber finds that its line is not on the other one.
    let (own, code) = ward.checks("other.board --statement amber.ballot.signed");
    assert_eq!((result(&own, "own"), code), ("failed", Some(1)));
}

#[test]
fn signed_and_unsigned_elections_are_not_mixed() {
    let ward = Ward::new();
    ward.0.refused(
        "keygen --election ward-7.toml --out new",
        &["this election is signed", "--board"],
    );
    ward.0.refused("reveal --secret-key keys/secret.key", &["--election"]);
    let text: String = ward.0.text("ward-7.toml").lines().fold(String::new(), |text, line| {
        let kept = !["operator", "student", "auditors", "teachers"]
            .iter()
            .any(|key| line.starts_with(key));
        if kept { text + line + "\n" } else { text }
    });
    ward.0.write("plain.toml", text + "teachers = [\"amber\", \"birch\"]\n");
    let made = ward.0.run("keygen --election plain.toml --out new");
    assert!(stderr(&made).contains("This election is unsigned"), "{}", stderr(&made));
    ward.0.refused(
        "board new plain.board --election plain.toml --identity office.identity",
        &["this election is not signed"],
    );
    ward.0.refused(
        "board new lab.board --election ward-7.toml --identity lab.identity",
        &["a step of the election's operator", "is a student"],
    );
    // An identity is shown without its secret.
    let shown = ward.0.json("identity show --identity amber.identity");
    assert!(shown["public_line"].as_str().unwrap().starts_with("amber shield1"));
    let secret = ward.0.text("amber.identity");
    let seed = secret.split('"').nth(3).unwrap();
    assert!(
        !document(&ward.0.run("identity show --identity amber.identity --json"))
            .to_string()
            .contains(seed)
    );
    ward.0.refused("identity new Amber", &["is not a name"]);
}
