//! What the clients send, write and show, as their users run them.

mod common;
#[path = "../../shield-service/tests/common/mod.rs"]
mod parties;

use std::process::{Command, Output};

use common::stderr;
use parties::{Running, election, settings};
use shield_service::client::TOKEN_VARIABLE;
use tempfile::TempDir;

/// A server, and the folder that a party works in.
struct Place {
    folder: TempDir,
    server: Running,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = Running::start(settings(&folder.path().join("data")));
        server.operator.write(&folder.path().join("operator.toml")).unwrap();
        Self { folder, server }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_shield"));
        command.args(arguments).current_dir(self.folder.path());
        command
    }

    /// Runs the program here; it must succeed.
    fn done(&self, arguments: &[&str]) {
        fine(&mut self.command(arguments));
    }
}

fn fine(command: &mut Command) -> Output {
    let output = command.output().expect("the program runs");
    assert_eq!(output.status.code(), Some(0), "{command:?}: {}", stderr(&output));
    output
}

#[test]
fn the_token_in_the_environment_is_the_callers_alone() {
    let place = Place::new();
    let file = election("ward", 2, 4, 1).canonical();
    std::fs::write(place.folder.path().join("election.toml"), file).unwrap();
    // Twice, as after an interruption: the second time the invitations are there and are read.
    for _ in 0..2 {
        let arguments = ["submit", "--invitation", "operator.toml", "election.toml"];
        let token = place.server.operator.token.secret();
        fine(place.command(&arguments).env(TOKEN_VARIABLE, token));
    }
    for party in ["student", "teacher-t0", "teacher-t1"] {
        place.done(&["status", "--invitation", &format!("invitations/{party}.toml")]);
    }
}
