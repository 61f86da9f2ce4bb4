//! What `shield serve` is started with, and what it refuses to start with.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use shield_client::{Invitation, TOKEN_VARIABLE};
use shield_protocol::credentials::{Role, Token};
use shield_server::store::Store;
use tempfile::TempDir;

/// A server that has said what it has to say at the start.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shield"));
    command.args(["serve", "--data", "data", "--listen", "127.0.0.1:0"]).args(arguments);
    command.current_dir(folder).env("RUST_LOG", "warn").env_remove(TOKEN_VARIABLE);
    command
}

/// Starts a server and stops it once it serves. Gives what it said, and how it ended if it did so
/// by itself.
fn run(mut command: Command) -> (String, Option<ExitStatus>) {
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut server = Server(child);
    let mut said = String::new();
    for line in BufReader::new(server.0.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        said.extend([&*line, "\n"]);
        if line.starts_with("shield serves at ") {
            return (said, None);
        }
    }
    (said, Some(server.0.wait().unwrap()))
}

/// What a server says that must start.
fn said(command: Command) -> String {
    let (said, ended) = run(command);
    assert!(ended.is_none(), "it does not serve: {said}");
    said
}

/// What a server says that must refuse to start.
fn refused(command: Command) -> String {
    let (said, ended) = run(command);
    let ended = ended.unwrap_or_else(|| panic!("it was let through: {said}"));
    assert_eq!(ended.code(), Some(2), "{said}");
    said
}

/// The role that the server gives a token.
fn role(folder: &TempDir, token: &Token) -> Option<Role> {
    let data = folder.path().join("data");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        Store::open(&data, None).await.unwrap().role(&token.hash()).await.unwrap()
    })
}

/// Every start without `operator.toml` once registered one more operator, for ever.
#[test]
fn an_invitation_that_was_moved_away_is_not_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let invitation = folder.path().join("operator.toml");
    said(command(folder.path(), &["--plain"]));
    said(command(folder.path(), &["--plain"]));
    let first = Invitation::read_file(&invitation).unwrap().token;
    std::fs::rename(&invitation, folder.path().join("safe.toml")).unwrap();
    let note = said(command(folder.path(), &["--plain"]));
    assert!(note.contains("the operator's invitation is elsewhere"), "{note}");
    assert!(!invitation.exists());
    said(command(folder.path(), &["--plain", "--new-operator"]));
    let second = Invitation::read_file(&invitation).unwrap().token;
    assert_ne!(first, second);
    for token in [first, second] {
        assert_eq!(role(&folder, &token), Some(Role::Operator));
    }
    let again = refused(command(folder.path(), &["--plain", "--new-operator"]));
    assert!(again.contains("operator.toml: this invitation is there already"), "{again}");
}

#[test]
fn only_an_operators_own_invitation_makes_an_operator() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("operator.toml");
    said(command(folder.path(), &["--plain"]));
    let mut student = Invitation::read_file(&path).unwrap();
    student.role = "student".to_owned();
    student.write(&folder.path().join("student.toml")).unwrap();
    let wrong = refused(command(folder.path(), &["--plain", "--operator", "student.toml"]));
    assert!(wrong.contains("student.toml: this is an invitation for the student"), "{wrong}");
    // The token in the environment is for clients: the server would give it the run of the place.
    let mut with_token = command(folder.path(), &["--plain"]);
    let token: Token = format!("shield_{}", "0".repeat(64)).parse().unwrap();
    with_token.env(TOKEN_VARIABLE, token.secret());
    said(with_token);
    assert_eq!(role(&folder, &token), None);
}

#[test]
fn invitations_to_nowhere_are_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let clear = refused(command(folder.path(), &["--plain", "--public-url", "http://10.0.0.1"]));
    assert!(clear.contains("--public-url http://10.0.0.1 would send every token"), "{clear}");
    assert!(!folder.path().join("operator.toml").exists());
}

#[test]
fn a_monitor_gets_an_invitation_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("monitor.toml");
    let arguments = ["--plain", "--monitor", "monitor.toml"];
    said(command(folder.path(), &arguments));
    let monitor = Invitation::read_file(&file).unwrap();
    assert_eq!(monitor.role, "monitor");
    assert_eq!(role(&folder, &monitor.token), Some(Role::Monitor));
    std::fs::rename(&file, folder.path().join("safe.toml")).unwrap();
    let note = said(command(folder.path(), &arguments));
    assert!(note.contains("the monitor's invitation is elsewhere; --new-monitor"), "{note}");
    assert!(!file.exists());
    let wrong = refused(command(folder.path(), &["--plain", "--monitor", "operator.toml"]));
    assert!(wrong.contains("operator.toml: this is an invitation for the operator"), "{wrong}");
}

#[test]
fn a_certificate_that_cannot_be_read_is_named_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let pair = shield_server::tls::self_signed(&folder.path().join("pair")).unwrap();
    std::fs::write(folder.path().join("bad.pem"), "not a certificate").unwrap();
    let (chain, key) = (pair.chain.to_str().unwrap(), pair.key.to_str().unwrap());
    for (chain, key) in [("bad.pem", key), (chain, "bad.pem")] {
        let arguments = ["--certificate", chain, "--key", key];
        let said = refused(command(folder.path(), &arguments));
        assert!(said.contains("error: bad.pem: there is no"), "{said}");
    }
    assert!(!folder.path().join("operator.toml").exists());
    assert!(!folder.path().join("data").exists());
}
