//! A server that does not follow the protocol, and parties who do, with the real program.
//!
//! The lying server passes every request on to an honest one, and answers some of them itself. It
//! writes down what the parties send.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use rand::SeedableRng;
use rand::rngs::StdRng;
use shield_bfv::BfvEngine;
use shield_client::Invitation;
use shield_core::engine::Encoding;
use shield_protocol::KeyFiles;
use shield_protocol::rehearsal::{Rehearsed, rehearse};

use crate::harness::{Parties, Running, election, settings, votes};
use crate::programs::{shield, stderr};

/// A request as it came: its first line and head, and its body.
#[derive(Clone)]
struct Asked {
    head: String,
    body: Vec<u8>,
}

/// What the lying server says instead of the honest one, if it says anything.
type Lie = dyn Fn(&Asked) -> Option<Vec<u8>> + Send + Sync;

/// A server between the parties and an honest one.
struct Lying {
    url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Lying {
    fn start(
        honest: &Running,
        lie: impl Fn(&Asked) -> Option<Vec<u8>> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let honest = honest.url.strip_prefix("http://").expect("a plain one").to_owned();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (known, lie): (_, Arc<Lie>) = (Arc::clone(&asked), Arc::new(lie));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (known, lie, honest) = (Arc::clone(&known), Arc::clone(&lie), honest.clone());
                std::thread::spawn(move || answer(stream, &honest, &*lie, &known));
            }
        });
        Self { url, asked }
    }

    /// An invitation to it, in the party's folder.
    fn invite(&self, parties: &Parties, name: &str) -> std::path::PathBuf {
        let path = parties.folder.join(format!("lying-{name}"));
        let honest = Invitation::read(&parties.folder.join(name)).expect("an invitation");
        Invitation { server: self.url.clone(), ..honest }.write(&path).expect("written");
        path
    }

    /// Every body that was sent to a path that ends so.
    fn bodies(&self, method: &str, end: &str) -> Vec<Vec<u8>> {
        let asked = self.asked.lock().expect("no panic");
        let there = |asked: &&Asked| {
            let mut words = asked.head.split(' ');
            words.next() == Some(method) && words.next().is_some_and(|path| path.ends_with(end))
        };
        asked.iter().filter(there).map(|asked| asked.body.clone()).collect()
    }
}

/// Reads one request, and answers it.
fn answer(mut stream: TcpStream, honest: &str, lie: &Lie, known: &Mutex<Vec<Asked>>) {
    let Some(asked) = read(&mut stream) else { return };
    known.lock().expect("no panic").push(asked.clone());
    if let Some(body) = lie(&asked) {
        let head = format!(
            "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/octet-stream\r\n\
             content-length: {}\r\n\r\n",
            body.len()
        );
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
        return;
    }
    let mut passed = TcpStream::connect(honest).expect("the honest server listens");
    let mut lines = asked.head.split("\r\n").filter(|line| !line.is_empty());
    let mut head = format!("{}\r\nconnection: close\r\n", lines.next().unwrap_or_default());
    for line in lines.filter(|line| !line.to_lowercase().starts_with("connection:")) {
        head.extend([line, "\r\n"]);
    }
    let mut answer = Vec::new();
    let _ = passed.write_all(format!("{head}\r\n").as_bytes());
    let _ = passed.write_all(&asked.body).and_then(|()| passed.read_to_end(&mut answer).map(drop));
    let _ = stream.write_all(&answer);
}

fn read(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let mut some = [0; 1 << 14];
    loop {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        if let Some(end) = end {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let length = head.to_lowercase();
            let length = length.split("content-length: ").nth(1).and_then(|l| l.lines().next());
            let length: usize = length.and_then(|length| length.parse().ok()).unwrap_or(0);
            while bytes.len() < end + 4 + length {
                let read = stream.read(&mut some).ok().filter(|&read| read > 0)?;
                bytes.extend(&some[..read]);
            }
            return Some(Asked { head, body: bytes.split_off(end + 4) });
        }
        let read = stream.read(&mut some).ok().filter(|&read| read > 0)?;
        bytes.extend(&some[..read]);
    }
}

/// A server that puts a teacher's ballot where the rehearsal's release should be reads nothing.
#[test]
fn a_rehearsal_reads_no_ballot_to_the_server() {
    const SAMPLES: usize = 60;
    let folder = tempfile::tempdir().unwrap();
    let honest = Running::start_plain(settings(&folder.path().join("data")));
    let parties = Parties::create(&honest, election("ward", 4, SAMPLES, 2), folder.path());
    // What the server has of a teacher, in truth from a later day.
    let own = votes(1, SAMPLES);
    let engine = BfvEngine::new(parties.file.election().clone()).unwrap();
    let key = engine.decode_public_key(&parties.keys.public).unwrap();
    let sent = parties.ballot(&own, 11).remove(0);
    let ballot = engine.decode_ballot(&sent[..sent.len() - 32], 0, parties.keys.id).unwrap();
    let mut rng = StdRng::seed_from_u64(3);
    let release = engine.encode_release(&engine.oracle(&key, &ballot, &mut rng));
    // It is an oracle: with the secret key it tells every vote.
    let revealing = Arc::clone(parties.file.engine()).revealing(&parties.keys.secret).unwrap();
    assert_eq!(revealing.reveal(0, &release).unwrap(), own);

    let lying = Lying::start(&honest, move |asked| {
        (asked.head.starts_with("GET ") && asked.head.contains("/rehearsal "))
            .then(|| release.clone())
    });
    let invitation = lying.invite(&parties, "student.toml");
    let run = |words: &[&str]| {
        let mut command = shield();
        command.args(words).arg("--invitation").arg(&invitation).current_dir(&parties.folder);
        command.output().expect("the program runs")
    };
    run(&["election", "submit", "public.key", "evaluation.key"]);
    let output = run(&["election", "rehearse", "--secret-key", "secret.key"]);
    // The keys are confirmed, and nothing that could hold a vote was said.
    assert!(output.status.success(), "{}", stderr(&output));
    let keys = KeyFiles::in_folder(&parties.folder);
    let (labels, rehearsed) = rehearse(&parties.file, &keys).unwrap();
    assert_eq!(labels, SAMPLES);
    let bodies = lying.bodies("POST", "/rehearsal");
    let said: Vec<Rehearsed> =
        bodies.iter().map(|body| serde_json::from_slice(body).unwrap()).collect();
    assert!(!said.is_empty() && said.iter().all(|said| *said == rehearsed), "{said:?}");
    assert!(lying.bodies("GET", "/rehearsal").is_empty(), "nothing was asked for");
    honest.stop();
}
