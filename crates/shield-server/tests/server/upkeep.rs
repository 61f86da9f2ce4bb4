//! What an operator does for years, from the command line, against a real server: tokens, the log,
//! the ledger, the schedule, deletions, backups and what comes back of them.

use std::path::Path;

use serde_json::Value;
use shield_client::{Client, Invitation, TOKEN_VARIABLE};
use shield_core::Watch;

use crate::harness::{Parties, election, votes};
use crate::programs::{done, refused, shield_server};
use crate::serve::{Server, serving};

fn serve(folder: &Path, data: &str) -> Server {
    let mut command = shield_server();
    command.args(["serve", "--plain", "--listen", "127.0.0.1:0", "--budget", "1000"]);
    command.args(["--data", data, "--operator", "operator.toml", "--monitor", "monitor.toml"]);
    command.current_dir(folder).env("RUST_LOG", "warn").env_remove(TOKEN_VARIABLE);
    serving(command)
}

/// What a command prints that must succeed.
fn fine(folder: &Path, arguments: &str) -> String {
    done(folder, arguments).0
}

/// A command of the operator's.
fn by(command: &str) -> String {
    format!("operator {command} --invitation operator.toml")
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
    let server = serve(folder, "data");
    let url = server.url.clone();
    let operator = read(folder, "operator.toml");
    let file = election("ward", 2, 4, 1);
    let parties = Parties::create_at(&client(&operator, &url), &operator, file, folder);

    let listed = fine(folder, &by("tokens list"));
    for (whose, role) in [(&operator, "operator"), (&parties.teacher(0), "teacher")] {
        assert!(listed.contains(&name_of(whose)) && listed.contains(role), "{listed}");
    }
    fine(folder, &by("tokens add --role monitor --out second.toml"));
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
        fine(folder, &by(&format!("tokens rotate {} --out {out}", name_of(&old))));
        let new = read(folder, out);
        assert_eq!(
            (&new.role, &new.election, &new.teacher),
            (&old.role, &old.election, &old.teacher)
        );
        assert!(whoami(&old).is_err(), "the old {} still works", old.role);
        assert_eq!(whoami(&new).unwrap()["role"], *old.role);
        fine(folder, &by(&format!("tokens revoke {}", name_of(&new))));
        assert!(whoami(&new).is_err(), "the {} still works", old.role);
    }
    let revoke = by(&format!("tokens revoke {}", name_of(&operator)));
    let complaint = refused(folder, &revoke, 1);
    assert!(complaint.contains("the only operator's token"), "{complaint}");
    fine(folder, &by(&format!("tokens rotate {} --out operator-2.toml", name_of(&operator))));
    let complaint = refused(folder, &by("tokens list"), 1);
    assert!(complaint.contains("no valid token"), "{complaint}");
    // What the client prints is what the server's log calls the request.
    assert!(complaint.contains("401, request "), "{complaint}");

    let log = fine(folder, "--json operator audit-log --invitation operator-2.toml");
    let log: Vec<Value> = serde_json::from_str(&log).unwrap();
    let count = |action: &str| log.iter().filter(|line| line["action"] == action).count();
    let counts = ["election created", "token added", "token rotated", "token revoked"].map(count);
    assert_eq!(counts, [1, 1, 4, 3], "{log:?}");
    assert!(log.iter().all(|line| line["address"] == "127.0.0.1"), "{log:?}");
    let saved = fine(folder, "operator audit-log --invitation operator-2.toml");
    assert!(saved.contains("token revoked"), "{saved}");
}

#[test]
fn a_server_is_kept_and_brought_back_from_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let server = serve(folder, "data");
    let url = server.url.clone();
    let operator = read(folder, "operator.toml");
    let create = |name: &str| {
        let file = election(name, 2, 4, 1);
        let parties = Parties::create_at(&client(&operator, &url), &operator, file, folder);
        parties.submit_keys_by(&client(&parties.student(), &url));
        for teacher in 0..2 {
            let path = parties.write_ballot(teacher, &votes(teacher, 4));
            let client = client(&parties.teacher(teacher), &url);
            parties.send_by(&client, teacher, &path).unwrap();
        }
        parties
    };
    let (over, open) = (create("over"), create("still-open"));
    let stage = |parties: &Parties| {
        let student = client(&parties.student(), &url);
        shield_client::status(&student, parties.file.name()).unwrap().stage
    };
    // Paused, it waits; then it is released.
    fine(folder, &by("schedule --pause --election over"));
    shield_client::close(&client(&operator, &url), over.file.name()).unwrap();
    assert_eq!(stage(&over), "closing");
    fine(folder, &by("schedule --priority 10 --election over"));
    over.wait_by(&client(&over.student(), &url));
    let ledger = fine(folder, &by("ledger --format csv"));
    let line = |name: &str| ledger.lines().find(|line| line.contains(name)).unwrap_or_default();
    assert!(line("over").contains(",spent,4,"), "{ledger}");
    assert!(line("still-open").contains(",set aside,4,"), "{ledger}");

    // While it runs: a backup, and what is deleted only afterwards.
    let made = fine(folder, "backup --data data --out saved");
    let whole = fine(folder, "backup --verify saved");
    let digest = |said: &str| said.lines().find(|line| line.contains("digest")).map(str::to_owned);
    assert!(digest(&made).is_some() && digest(&made) == digest(&whole), "{made}{whole}");
    let complaint = refused(folder, &by("erase ballots --election still-open"), 1);
    assert!(complaint.contains("only what is released"), "{complaint}");
    fine(folder, &by("erase ballots --election over"));
    assert!(!folder.join("data/elections/over/ballots").exists());
    let complaint = refused(folder, &by("erase everything --election over"), 2);
    assert!(complaint.contains("--yes"), "{complaint}");
    assert!(folder.join("data/elections/over/parts").exists());
    fine(folder, &by("erase everything --yes --election over"));
    assert!(!folder.join("data/elections/over/parts").exists());
    let after = fine(folder, &by("ledger --format csv"));
    assert!(after.lines().any(|line| line.contains("over,spent,4,")), "{after}");
    drop(server);

    // What was lost is named, and the exit code says so.
    let ballots = folder.join("data/elections/still-open/ballots");
    std::fs::remove_dir_all(ballots.join("1")).unwrap();
    for command in ["backup --data data --out less", "backup --verify less"] {
        let complaint = refused(folder, command, 1);
        assert!(complaint.contains("elections/still-open/ballots/1/0-"), "{complaint}");
    }
    // Brought back: what was released is there, what was open can only be called off.
    let (_, notes) = done(folder, "restore --backup saved --data unknown");
    assert!(notes.contains("revoked"), "it says what else is back: {notes}");
    let complaint = refused(folder, "restore --backup saved --data unknown", 2);
    assert!(complaint.contains("something in this folder"), "{complaint}");
    fine(folder, "restore --backup saved --data compared --old data");
    for (data, blocked) in [("unknown", true), ("compared", false)] {
        let server = serve(folder, data);
        let url = server.url.clone();
        let student = client(&over.student(), &url);
        let out = folder.join(format!("{data}-results"));
        shield_client::fetch_results(&student, &over.file, &out, &Watch::default()).unwrap();
        let labels = over.reveal(&std::fs::read(&out).unwrap());
        assert_eq!(labels.len(), 4);
        let closed = shield_client::close(&client(&operator, &url), open.file.name());
        let refused = closed.as_ref().is_err_and(|error| error.to_string().contains("blocked"));
        assert_eq!(refused, blocked, "{data}: {closed:?}");
    }
}
