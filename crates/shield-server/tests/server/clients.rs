//! What the clients send, write and show, as their users run them.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::harness::{Parties, Running, election, settings, votes};
use crate::programs::{done, shield, stderr, stdout};
use shield_client::{self as client, TOKEN_VARIABLE};
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

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = shield();
        command.args(arguments.split_whitespace()).current_dir(self.folder.path());
        command
    }

    /// Runs the program here; it must succeed.
    fn done(&self, arguments: &str) {
        done(self.folder.path(), arguments);
    }
}

/// What the student wants from the server, and where it should go.
fn fetching(what: &str, out: &str) -> String {
    format!("election fetch {what} --invitation ward/student.toml --out {out}")
}

fn fine(command: &mut Command) {
    let output = command.output().expect("the program runs");
    assert_eq!(output.status.code(), Some(0), "{command:?}: {}", stderr(&output));
}

#[test]
fn the_token_in_the_environment_is_the_callers_alone() {
    let place = Place::new();
    let file = election("ward", 2, 4, 1).canonical();
    fs::write(place.path("election.toml"), file).unwrap();
    // Twice, as after an interruption: the second time the invitations are there and are read.
    for _ in 0..2 {
        let token = place.server.operator.token.secret();
        let arguments = "election submit --invitation operator.toml election.toml";
        fine(place.command(arguments).env(TOKEN_VARIABLE, token));
    }
    let arguments = "election status --invitation invitations/student.toml";
    let output = place.command(arguments).env(TOKEN_VARIABLE, "none").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains(TOKEN_VARIABLE), "{}", stderr(&output));
    for party in ["student", "teacher-t0", "teacher-t1"] {
        place.done(&format!("election status --invitation invitations/{party}.toml"));
    }
}

/// An election of four samples with its results released, in the folder `ward`.
fn released(place: &Place) -> Parties {
    let parties = Parties::create(&place.server, election("ward", 2, 4, 1), place.folder.path());
    parties.submit_keys(&place.server);
    parties.submit(&place.server, 0, &votes(0, 4));
    let student = place.server.client(&parties.student());
    client::close(&student, parties.file.name()).unwrap();
    parties.wait(&place.server);
    parties
}

#[test]
fn nothing_is_fetched_over_something_else() {
    let place = Place::new();
    let parties = released(&place);
    fs::write(place.path("secret.key"), "the only one").unwrap();
    for (what, out) in [("election", "e.toml"), ("public-key", "p.key"), ("results", "r")] {
        let output = place.command(&fetching(what, "secret.key")).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{what}: {}", stderr(&output));
        assert!(stdout(&output).is_empty(), "{what}");
        for word in ["secret.key", "something else already", "give another file"] {
            assert!(stderr(&output).contains(word), "{what}: {}", stderr(&output));
        }
        assert_eq!(fs::read(place.path("secret.key")).unwrap(), b"the only one", "{what}");
        assert!(!place.path("secret.key.parts").exists(), "{what}");
        // The same again is fine.
        place.done(&fetching(what, out));
        let bytes = fs::read(place.path(out)).unwrap();
        place.done(&fetching(what, out));
        assert!(fs::read(place.path(out)).unwrap() == bytes, "{what}");
    }
    let whole = fs::read(place.path("r")).unwrap();
    assert!(parties.reveal(&whole).iter().all(Option::is_some));
    assert!(!place.path("r.parts").exists(), "the parts have gone");
}

#[test]
fn what_others_keep_beside_the_results_stays() {
    let place = Place::new();
    released(&place);
    fs::create_dir(place.path("r.parts")).unwrap();
    fs::write(place.path("r.parts/thesis.tex"), "years of work").unwrap();
    place.done(&fetching("results", "r"));
    let left: Vec<_> = fs::read_dir(place.path("r.parts")).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(fs::read(place.path("r.parts/thesis.tex")).unwrap(), b"years of work");

    // A folder in the way of the parts is nobody's input, and neither is a full disk.
    fs::write(place.path("s.parts"), "a file").unwrap();
    let output = place.command(&fetching("results", "s")).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("s.parts: cannot be written"), "{}", stderr(&output));

    // Two names that read alike, but are not: what is fetched for one is not taken for the other.
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStringExt;
        let mut command = place.command("election fetch results --invitation ward/student.toml");
        let name = OsString::from_vec(b"results-\xff".to_vec());
        fs::write(place.path("results-\u{fffd}.parts"), "a file").unwrap();
        fine(command.arg("--out").arg(&name));
        assert_eq!(
            fs::read(place.folder.path().join(&name)).unwrap(),
            fs::read(place.path("r")).unwrap()
        );
    }
}
