//! What `shield serve` is started with, and what it refuses to start with.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use serde_json::Value;
use shield_client::{Client, Invitation, TOKEN_VARIABLE};
use shield_protocol::credentials::{Role, Token};
use shield_server::store::Store;
use tempfile::TempDir;

/// A server that has said what it has to say at the start.
pub(crate) struct Server(Child);

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
        if line.contains("shield serves at ") {
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

/// A server that goes on serving, and where it does so.
pub(crate) fn serving(mut command: Command) -> (Server, String) {
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut server = Server(child);
    let mut lines = BufReader::new(server.0.stderr.take().unwrap()).lines().map_while(Result::ok);
    let url = lines.find_map(|line| {
        let rest = line.split("shield serves at ").nth(1)?;
        Some(rest.split(',').next()?.to_owned())
    });
    // Nobody reads what it says, and a full pipe would stop it.
    std::thread::spawn(move || lines.for_each(drop));
    (server, url.expect("it serves"))
}

fn signal(server: &Server, name: &str) {
    let kill = format!("kill -{name} {}", server.0.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
}

/// Polls for what must come, on a machine that may have much else to do.
fn until(what: &str, mut done: impl FnMut() -> bool) {
    let start = std::time::Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_mins(2), "never: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_hang_up_reads_a_renewed_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let pair = |name: &str| shield_server::tls::self_signed(&place(name)).unwrap();
    let (old, new) = (pair("old"), pair("new"));
    let install = |chain: &Path, key: &Path| {
        std::fs::copy(chain, place("chain.pem")).unwrap();
        std::fs::copy(key, place("key.pem")).unwrap();
    };
    install(&old.chain, &old.key);
    let arguments = ["--certificate", "chain.pem", "--key", "key.pem"];
    let (mut server, url) = serving(command(folder.path(), &arguments));
    let operator = Invitation::read_file(&place("operator.toml")).unwrap();
    // A connection of its own each time: one that is open keeps the certificate it began with.
    let client = |pair: &shield_server::tls::Certificate| {
        let certificate = Some(std::fs::read_to_string(&pair.chain).unwrap());
        let invitation = Invitation { certificate, server: url.clone(), ..operator.clone() };
        Client::new(&invitation).unwrap().with_patience(Duration::from_mins(1))
    };
    let asked = |pair| client(pair).get::<Value>("/v1/incidents");
    asked(&old).expect("the certificate that it started with");
    assert!(asked(&new).is_err());
    // One that does not go with its key is refused, and the old one stays.
    install(&new.chain, &old.key);
    signal(&server, "HUP");
    until("it says what is wrong with the new one", || {
        asked(&old).expect("the old one stays").to_string().contains("the new certificate")
    });
    install(&new.chain, &new.key);
    signal(&server, "HUP");
    until("the new one is shown", || asked(&new).is_ok());
    assert!(asked(&old).is_err(), "and no longer the old one");
    // It ends as it should, with everything in the database's one file.
    assert!(server.0.try_wait().unwrap().is_none(), "no signal so far has ended it");
    assert!(place("data/shield.sqlite-wal").exists());
    signal(&server, "TERM");
    let mut ended = None;
    until("it ends", || {
        ended = server.0.try_wait().unwrap();
        ended.is_some()
    });
    assert!(ended.is_some_and(|status| status.success()), "{ended:?}");
    assert!(!place("data/shield.sqlite-wal").exists(), "the write-ahead log is left behind");
}

/// Programs read the log: every line is an event, from the first one on, and says who asked.
#[test]
fn the_log_is_json_from_the_first_line_and_knows_who_asked() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = command(folder.path(), &["--plain"]);
    command.env("RUST_LOG", "info");
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut server = Server(child);
    let lines = BufReader::new(server.0.stderr.take().unwrap()).lines();
    let (send, said) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        lines.map_while(Result::ok).try_for_each(|line| send.send(line)).ok();
    });
    let next = || -> Value {
        let line = said.recv_timeout(Duration::from_mins(2)).expect("it says something");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line}"))
    };
    let text = |event: &Value| event["message"].as_str().unwrap_or_default().to_owned();
    let until = |what: &str| loop {
        let event = next();
        if text(&event).contains(what) {
            return event;
        }
    };
    until("shield serves at");
    let operator = Invitation::read_file(&folder.path().join("operator.toml")).unwrap();
    let parties = folder.path().join("parties");
    let file = crate::parties::election("ward", 2, 4, 1);
    crate::parties::Parties::create_at(&Client::new(&operator).unwrap(), &operator, file, &parties);
    let event = until("election created");
    let span = &event["span"];
    assert_eq!((&span["role"], &span["address"]), (&"operator".into(), &"127.0.0.1".into()));
    assert!(span["id"].as_str().is_some_and(|id| id.len() >= 32), "{event}");
    let whole = event.to_string();
    assert!(!whole.contains(operator.token.secret()), "a token in the log");
}
