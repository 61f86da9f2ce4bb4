//! What an operator does for years, from the command line, against a real server: tokens, the log,
//! the ledger, the schedule, deletions, backups and what comes back of them.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use shield_client::{Client, Invitation, TOKEN_VARIABLE};

use crate::common::{stderr, stdout};
use crate::parties::{Parties, election, votes};
use crate::serve::{Server, serving};

fn serve(folder: &Path, data: &str) -> (Server, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shield"));
    command.args(["serve", "--plain", "--listen", "127.0.0.1:0", "--budget", "1000"]);
    command.args(["--data", data, "--operator", "operator.toml", "--monitor", "monitor.toml"]);
    command.current_dir(folder).env("RUST_LOG", "warn").env_remove(TOKEN_VARIABLE);
    serving(command)
}

/// Runs the program and gives its exit code, what it printed and what it complained about.
fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shield"));
    command.args(arguments).current_dir(folder).env_remove(TOKEN_VARIABLE);
    let output = command.output().unwrap();
    (output.status.code(), stdout(&output), stderr(&output))
}

fn fine(folder: &Path, arguments: &[&str]) -> String {
    let (code, said, complaint) = run(folder, arguments);
    assert_eq!(code, Some(0), "{arguments:?}: {said} {complaint}");
    said
}

/// Arguments, one list after the other.
fn all<'a>(lists: &[&[&'a str]]) -> Vec<&'a str> {
    lists.concat()
}

fn client(invitation: &Invitation, url: &str) -> Client {
    let invitation = Invitation { server: url.to_owned(), ..invitation.clone() };
    Client::new(&invitation).unwrap()
}

fn read(folder: &Path, name: &str) -> Invitation {
    Invitation::read_file(&folder.join(name)).unwrap()
}

/// The name that a token has for everybody.
fn name_of(invitation: &Invitation) -> String {
    invitation.token.hash().as_str()[..12].to_owned()
}

#[test]
fn tokens_come_and_go_from_the_command_line_and_the_log_knows() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (_server, url) = serve(folder, "data");
    let operator = read(folder, "operator.toml");
    let file = election("ward", 2, 4, 1);
    let parties = Parties::create_at(&client(&operator, &url), &operator, file, folder);
    let by = ["--invitation", "operator.toml"];

    let listed = fine(folder, &all(&[&["tokens", "list"], &by]));
    for (whose, role) in [(&operator, "operator"), (&parties.teacher(0), "teacher")] {
        assert!(listed.contains(&name_of(whose)) && listed.contains(role), "{listed}");
    }
    fine(folder, &all(&[&["tokens", "add", "--role", "monitor", "--out", "second.toml"], &by]));
    let monitor = read(folder, "second.toml");
    let metrics =
        |invitation: &Invitation| client(invitation, &url).get_bytes("/metrics", 1 << 20).is_ok();
    assert!(metrics(&monitor));
    // Each of the four roles is rotated, and the old one stops at once.
    let whoami = |invitation: &Invitation| client(invitation, &url).get::<Value>("/v1/whoami");
    for (old, out) in [
        (monitor, "monitor-2.toml"),
        (parties.student(), "student-2.toml"),
        (parties.teacher(1), "teacher-2.toml"),
    ] {
        fine(folder, &all(&[&["tokens", "rotate", &name_of(&old), "--out", out], &by]));
        let new = read(folder, out);
        assert_eq!(
            (&new.role, &new.election, &new.teacher),
            (&old.role, &old.election, &old.teacher)
        );
        assert!(whoami(&old).is_err(), "the old {} still works", old.role);
        assert_eq!(whoami(&new).unwrap()["role"], *old.role);
        fine(folder, &all(&[&["tokens", "revoke", &name_of(&new)], &by]));
        assert!(whoami(&new).is_err(), "the {} still works", old.role);
    }
    let (code, _, complaint) =
        run(folder, &all(&[&["tokens", "revoke", &name_of(&operator)], &by]));
    assert!(code != Some(0) && complaint.contains("the only operator's token"), "{complaint}");
    fine(
        folder,
        &all(&[&["tokens", "rotate", &name_of(&operator), "--out", "operator-2.toml"], &by]),
    );
    let (code, _, complaint) = run(folder, &all(&[&["tokens", "list"], &by]));
    assert!(code != Some(0) && complaint.contains("no valid token"), "{complaint}");
    // What the client prints is what the server's log calls the request.
    assert!(complaint.contains("401, request "), "{complaint}");

    let log = fine(folder, &["--json", "audit-log", "--invitation", "operator-2.toml"]);
    let log: Vec<Value> = serde_json::from_str(&log).unwrap();
    let count = |action: &str| log.iter().filter(|line| line["action"] == action).count();
    let counts = ["election created", "token added", "token rotated", "token revoked"].map(count);
    assert_eq!(counts, [1, 1, 4, 3], "{log:?}");
    assert!(log.iter().all(|line| line["address"] == "127.0.0.1"), "{log:?}");
    let saved = fine(folder, &["audit-log", "--invitation", "operator-2.toml"]);
    assert!(saved.contains("token revoked"), "{saved}");
}

#[test]
fn a_server_is_kept_and_brought_back_from_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (server, url) = serve(folder, "data");
    let operator = read(folder, "operator.toml");
    let by = ["--invitation", "operator.toml"];
    let create = |name: &str| {
        let file = election(name, 2, 4, 1);
        let parties = Parties::create_at(&client(&operator, &url), &operator, file, folder);
        let student = client(&parties.student(), &url);
        for kind in ["public", "evaluation"] {
            let path = parties.folder.join(format!("{kind}.key"));
            shield_client::submit_key(&student, parties.file.name(), &path).unwrap();
        }
        let secret = parties.folder.join("secret.key");
        shield_client::rehearse(&student, parties.file.name(), &secret).unwrap();
        for teacher in 0..2 {
            let path = parties.write_ballot(teacher, &votes(teacher, 4));
            let invitation = parties.teacher(teacher);
            let client = client(&invitation, &url);
            shield_client::submit_ballot(&client, &invitation, &path, |_, _| {}).unwrap();
        }
        parties
    };
    let (over, open) = (create("over"), create("still-open"));
    let of = |name| ["--election", name];
    let stage = |parties: &Parties| {
        let student = client(&parties.student(), &url);
        shield_client::status(&student, parties.file.name()).unwrap().stage
    };
    // Paused, it waits; then it is released.
    fine(folder, &all(&[&["schedule", "--pause"], &of("over"), &by]));
    shield_client::close(&client(&operator, &url), over.file.name()).unwrap();
    assert_eq!(stage(&over), "closing");
    fine(folder, &all(&[&["schedule", "--priority", "10"], &of("over"), &by]));
    let start = std::time::Instant::now();
    while stage(&over) != "released" {
        assert!(start.elapsed() < std::time::Duration::from_mins(2), "it stays {}", stage(&over));
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let ledger = fine(folder, &all(&[&["ledger", "--format", "csv"], &by]));
    let line = |name: &str| ledger.lines().find(|line| line.contains(name)).unwrap_or_default();
    assert!(line("over").contains(",spent,4,"), "{ledger}");
    assert!(line("still-open").contains(",set aside,4,"), "{ledger}");

    // While it runs: a backup, and what is deleted only afterwards.
    fine(folder, &["backup", "--data", "data", "--out", "saved"]);
    let (code, _, complaint) = run(folder, &all(&[&["erase", "ballots"], &of("still-open"), &by]));
    assert!(code != Some(0) && complaint.contains("only what is released"), "{complaint}");
    fine(folder, &all(&[&["erase", "ballots"], &of("over"), &by]));
    assert!(!folder.join("data/elections/over/ballots").exists());
    fine(folder, &all(&[&["erase", "everything"], &of("over"), &by]));
    assert!(!folder.join("data/elections/over/releases").exists());
    let after = fine(folder, &all(&[&["ledger", "--format", "csv"], &by]));
    assert!(after.lines().any(|line| line.contains("over,spent,4,")), "{after}");
    drop(server);

    // Brought back: what was released is there, what was open can only be called off.
    let restore = ["restore", "--backup", "saved", "--data"];
    let (code, _, notes) = run(folder, &all(&[&restore, &["unknown"]]));
    assert!(code == Some(0) && notes.contains("revoked"), "it says what else is back: {notes}");
    let (code, _, complaint) = run(folder, &all(&[&restore, &["unknown"]]));
    assert!(code != Some(0) && complaint.contains("something in this folder"), "{complaint}");
    fine(folder, &all(&[&restore, &["compared", "--old", "data"]]));
    for (data, blocked) in [("unknown", true), ("compared", false)] {
        let (_server, url) = serve(folder, data);
        let student = client(&over.student(), &url);
        let out = folder.join(format!("{data}-results"));
        shield_client::fetch_results(&student, over.file.name(), &out, |_, _| {}).unwrap();
        let labels = over.reveal(&std::fs::read(&out).unwrap());
        assert_eq!(labels.len(), 4);
        let closed = shield_client::close(&client(&operator, &url), open.file.name());
        let refused = closed.as_ref().is_err_and(|error| error.to_string().contains("blocked"));
        assert_eq!(refused, blocked, "{data}: {closed:?}");
    }
}
