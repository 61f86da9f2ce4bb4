//! What `shield-server serve` is started with, and what it refuses to start with.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::Value;
use shield_client::{Client, Invitation, TOKEN_VARIABLE};
use shield_protocol::credentials::{Role, Token};
use shield_server::store::Store;
use shield_server::tls::Certificate;
use tempfile::TempDir;
use ureq::tls::{RootCerts, TlsConfig};

use crate::harness::{until, wait};
use crate::programs::{shield, shield_server, stderr};

/// A server as a process of its own, from the moment that it serves; it ends when this is dropped.
pub(crate) struct Server {
    pub(crate) process: Child,
    pub(crate) url: String,
    /// What it said until then.
    said: String,
    /// What it says from then on.
    lines: Receiver<String>,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    /// Starts one; gives what it said and how it ended if it ends before it serves.
    fn start(mut command: Command) -> Result<Self, (String, ExitStatus)> {
        let mut process = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(process.stderr.take().unwrap()).lines().map_while(Result::ok);
        let (send, lines) = mpsc::channel();
        // To the end: a full pipe would stop it.
        thread::spawn(move || output.for_each(|line| drop(send.send(line))));
        let mut server = Self { process, url: String::new(), said: String::new(), lines };
        loop {
            match server.lines.recv_timeout(Duration::from_mins(2)) {
                Ok(line) => {
                    server.said.extend([&*line, "\n"]);
                    if let Some((_, rest)) = line.split_once("shield serves at ") {
                        rest.split(',').next().unwrap_or_default().clone_into(&mut server.url);
                        return Ok(server);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let ended = server.process.wait().unwrap();
                    return Err((std::mem::take(&mut server.said), ended));
                }
                Err(RecvTimeoutError::Timeout) => {
                    panic!("it neither serves nor ends: {}", server.said)
                }
            }
        }
    }
}

/// Starts a server that must serve.
pub(crate) fn serving(command: Command) -> Server {
    Server::start(command).unwrap_or_else(|(said, _)| panic!("it does not serve: {said}"))
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = shield_server();
    command.args(["serve", "--data", "data", "--listen", "127.0.0.1:0"]).args(arguments);
    command.current_dir(folder).env("RUST_LOG", "warn").env_remove(TOKEN_VARIABLE);
    command
}

/// What a server says that must start; it is stopped again.
fn said(command: Command) -> String {
    serving(command).said.clone()
}

/// What a server says that must refuse to start.
fn refused(command: Command) -> String {
    let Err((said, ended)) = Server::start(command) else { panic!("it was let through") };
    assert_eq!(ended.code(), Some(2), "{said}");
    said
}

/// The role that the server gives a token.
fn role(folder: &TempDir, token: &Token) -> Option<Role> {
    let data = folder.path().join("data");
    wait(async { Store::open(&data, None).await.unwrap().role(&token.hash()).await.unwrap() })
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

/// An authority, and a certificate for this machine that it has signed, in a folder.
pub(crate) fn of_an_authority(folder: &Path) -> (PathBuf, Certificate) {
    let mut own = CertificateParams::new(Vec::new()).unwrap();
    own.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let authority = own.self_signed(&key).unwrap().pem();
    let issuer = Issuer::new(own, key);
    let names = ["localhost", "127.0.0.1"].map(str::to_owned);
    let key = KeyPair::generate().unwrap();
    let signed = CertificateParams::new(names).unwrap().signed_by(&key, &issuer).unwrap();
    let write = |name: &str, pem: &str| {
        let path = folder.join(name);
        std::fs::write(&path, pem).unwrap();
        path
    };
    let chain = write("chain.pem", &signed.pem());
    let key = write("key.pem", &key.serialize_pem());
    (write("authority.pem", &authority), Certificate { chain, key })
}

/// Hospitals sign their servers' certificates themselves: that once ended in `UnknownIssuer`, for
/// no invitation carried the authority and no client asked the system.
#[test]
fn an_authority_of_ones_own_is_trusted_by_invitation_or_by_the_machine() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let (authority, pair) = of_an_authority(folder.path());
    let (chain, key) = (pair.chain.to_str().unwrap(), pair.key.to_str().unwrap());
    let certified = ["--certificate", chain, "--key", key];
    let of = |authority| [&certified[..], &["--authority", authority]].concat();
    let secret = refused(command(folder.path(), &of(key)));
    assert!(secret.contains("key.pem: there is no certificate in it"), "{secret}");
    let server = serving(command(folder.path(), &of("authority.pem")));
    // The one who has the invitation trusts it, and invites others with it.
    let operator = Invitation::read_file(&place("operator.toml")).unwrap();
    let pem = std::fs::read_to_string(&authority).unwrap();
    assert_eq!(operator.certificate.as_ref(), Some(&pem));
    Client::new(&operator).unwrap().get::<Value>("/v1/incidents").unwrap();
    // So does the page.
    let root = ureq::tls::Certificate::from_pem(pem.as_bytes()).unwrap();
    let tls = TlsConfig::builder().root_certs(RootCerts::new_with_certs(&[root])).build();
    let agent = ureq::Agent::config_builder().tls_config(tls).max_redirects(0).build().new_agent();
    let form = agent.post(format!("{}/session", server.url)).header("origin", &server.url);
    let session = form.send_form([("token", operator.token.secret())]).unwrap();
    let cookie = session.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap();
    let page = agent.get(&server.url).header("cookie", cookie).call().unwrap();
    let page = page.into_body().read_to_string().unwrap();
    assert!(page.contains(pem.lines().nth(1).unwrap()), "invitations from the page lack it");
    // Or the machine trusts it.
    Invitation { certificate: None, ..operator }.write(&place("bare.toml")).unwrap();
    let status = "election status --invitation bare.toml";
    let unknown = crate::programs::refused(folder.path(), status, 1);
    assert!(unknown.contains("SSL_CERT_FILE"), "{unknown}");
    for (file, code) in [(&authority, 0), (&pair.key, 2)] {
        let mut client = shield();
        client.args(status.split(' ')).current_dir(folder.path()).env("SSL_CERT_FILE", file);
        let output = client.output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{file:?}: {}", stderr(&output));
    }
}

fn signal(server: &Server, name: &str) {
    let kill = format!("kill -{name} {}", server.process.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
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
    let mut server = serving(command(folder.path(), &arguments));
    let url = server.url.clone();
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
    assert!(server.process.try_wait().unwrap().is_none(), "no signal so far has ended it");
    assert!(place("data/shield.sqlite-wal").exists());
    signal(&server, "TERM");
    let mut ended = None;
    until("it ends", || {
        ended = server.process.try_wait().unwrap();
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
    let server = serving(command);
    let event = |line: &str| -> Value {
        serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}"))
    };
    assert!(server.said.lines().map(event).all(|event| event["message"].is_string()));
    let until = |what: &str| loop {
        let line = server.lines.recv_timeout(Duration::from_mins(2));
        let event = event(&line.unwrap_or_else(|_| panic!("it never says: {what}")));
        if event["message"].as_str().is_some_and(|said| said.contains(what)) {
            return event;
        }
    };
    let operator = Invitation::read_file(&folder.path().join("operator.toml")).unwrap();
    let parties = folder.path().join("parties");
    let file = crate::harness::election("ward", 2, 4, 1);
    crate::harness::Parties::create_at(&Client::new(&operator).unwrap(), &operator, file, &parties);
    let event = until("election created");
    let span = &event["span"];
    assert_eq!((&span["role"], &span["address"]), (&"operator".into(), &"127.0.0.1".into()));
    assert!(span["id"].as_str().is_some_and(|id| id.len() >= 32), "{event}");
    let whole = event.to_string();
    assert!(!whole.contains(operator.token.secret()), "a token in the log");
}
