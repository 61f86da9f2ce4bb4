//! The server as its own process: killed, restarted, crowded.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::parties::{Parties, votes};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use shield::backend::{BallotBoxError, Presence};
use shield::framing::DecodeError;
use shield_client::{self as client, Client, Invitation};
use shield_protocol::ElectionFile;
use shield_protocol::engine::BallotBytes;
use shield_server::store::Store;

/// A `shield serve` of our own.
struct Server {
    child: Child,
    folder: PathBuf,
    port: u16,
}

impl Server {
    /// Starts it, and waits until it answers.
    fn start(folder: &Path, port: u16, limits: Limits) -> Self {
        Self::start_with(folder, port, limits, &[])
    }

    /// The same, with more flags.
    fn start_with(folder: &Path, port: u16, limits: Limits, more: &[&str]) -> Self {
        let mut command = match limits {
            Limits::None => Command::new(env!("CARGO_BIN_EXE_shield")),
            Limits::OneGibibyte => {
                // All address space, not only what is in use: stricter than what is asked for.
                let mut command = Command::new("prlimit");
                command.arg("--as=1073741824").arg(env!("CARGO_BIN_EXE_shield"));
                command.env("MALLOC_ARENA_MAX", "2");
                command
            }
        };
        let child = command
            .args(["serve", "--plain", "--data", "data", "--operator", "operator.toml"])
            .args(["--budget", "1e9", "--listen", &format!("127.0.0.1:{port}")])
            .args(more)
            .current_dir(folder)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut server = Self { child, folder: folder.to_owned(), port };
        server.wait_until_it_answers();
        server
    }

    fn wait_until_it_answers(&mut self) {
        let start = Instant::now();
        while !self.is_healthy() {
            if let Some(status) = self.child.try_wait().expect("a status") {
                let stderr = self.child.stderr.take().expect("piped");
                let said: Vec<_> = BufReader::new(stderr).lines().map_while(Result::ok).collect();
                panic!("the server ended with {status}: {said:#?}");
            }
            assert!(start.elapsed() < Duration::from_mins(1), "the server does not start");
            std::thread::sleep(Duration::from_millis(10));
        }
        // Nobody reads what it says, and a full pipe would stop it.
        if let Some(stderr) = self.child.stderr.take() {
            std::thread::spawn(move || BufReader::new(stderr).lines().for_each(drop));
        }
    }

    fn is_healthy(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) else { return false };
        let asked =
            stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        let mut answer = String::new();
        asked.is_ok() && stream.read_to_string(&mut answer).is_ok() && answer.contains(" 200 ")
    }

    fn operator(&self) -> Invitation {
        Invitation::read(&self.folder.join("operator.toml")).expect("an invitation")
    }

    fn kill(&mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("gone");
    }

    /// The most memory that it has had in use, in bytes.
    fn peak_memory(&self) -> u64 {
        self.memory("VmHWM:")
    }

    fn memory(&self, which: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.expect("Linux");
        let line = status.lines().find(|line| line.starts_with(which)).expect("a figure");
        line.split_whitespace().nth(1).expect("a number").parse::<u64>().expect("a number") << 10
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[derive(Clone, Copy)]
enum Limits {
    None,
    OneGibibyte,
}

pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port()
}

fn client(invitation: &Invitation) -> Client {
    Client::new(invitation).expect("a client").with_patience(Duration::from_mins(2))
}

fn election(teachers: usize, samples: usize) -> ElectionFile {
    let names: Vec<String> = (0..teachers).map(|teacher| format!("\"t{teacher}\"")).collect();
    let text = format!(
        "name = \"big\"\ngroup = \"g\"\nclasses = 10\nsamples = {samples}\npolynomial \
         = \"2X^2+X\"\noffset = 2\n\
         quorum = 2\nteachers = [{}]\n",
        names.join(", ")
    );
    ElectionFile::parse(&text).expect("a sound file")
}

/// What a run that nobody interrupted would have released, batch by batch.
fn uninterrupted(parties: &Parties, data: &Path, ballots: &[Vec<Vec<u8>>]) -> Vec<Vec<u8>> {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (seed, frozen) = runtime.block_on(async {
        let store = Store::open(data, None).await.expect("the store");
        store.frozen(parties.file.name()).await.expect("frozen")
    });
    assert_eq!(frozen.voters.len(), ballots.len());
    let engine = Arc::clone(&parties.engine);
    let aggregating = engine.aggregating(&parties.keys.evaluation).expect("a sound key");
    (0..parties.engine.batches())
        .map(|batch| {
            let ballots = Submitted { parties, ballots, batch };
            aggregating.aggregate(batch, &ballots, &seed).expect("a release")
        })
        .collect()
}

/// What every teacher submitted for one batch.
struct Submitted<'a> {
    parties: &'a Parties,
    ballots: &'a [Vec<Vec<u8>>],
    batch: usize,
}

impl BallotBytes for Submitted<'_> {
    fn presence(&self, teacher: u32) -> Result<Presence, BallotBoxError> {
        let refuse = |error: DecodeError| BallotBoxError { teacher, source: error.into() };
        let (engine, id) = (&self.parties.engine, self.parties.keys.id);
        engine.check_ballot(&self.bytes(teacher)?, self.batch, id).map_err(refuse)
    }

    fn bytes(&self, teacher: u32) -> Result<Vec<u8>, BallotBoxError> {
        Ok(self.ballots[teacher as usize][self.batch].clone())
    }
}

/// Kills and restarts the server until `done`, at most `kills` times, at random moments.
fn torment(
    server: &mut Server,
    rng: &mut StdRng,
    kills: usize,
    moments: std::ops::Range<u64>,
    done: impl Fn() -> bool,
) -> usize {
    for killed in 0..kills {
        std::thread::sleep(Duration::from_millis(rng.random_range(moments.clone())));
        if done() {
            return killed;
        }
        server.kill();
        *server = Server::start(&server.folder.clone(), server.port, Limits::None);
    }
    kills
}

#[test]
fn thirty_kills_lose_nothing_and_change_nothing() {
    const TEACHERS: usize = 6;
    const SAMPLES: usize = 20 * 512;
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let mut server = Server::start(folder.path(), port, Limits::None);
    let operator = server.operator();
    let parties = Parties::create_at(
        &client(&operator),
        &operator,
        election(TEACHERS, SAMPLES),
        folder.path(),
    );
    let student = parties.student();
    for kind in ["public", "evaluation"] {
        let path = parties.folder.join(format!("{kind}.key"));
        client::submit_key(&client(&student), parties.file.name(), &path).unwrap();
    }
    let secret = parties.folder.join("secret.key");
    client::rehearse(&client(&student), parties.file.name(), &secret).unwrap();
    let ballots: Vec<Vec<Vec<u8>>> = (0..TEACHERS)
        .map(|teacher| parties.ballot(&votes(teacher, SAMPLES), teacher as u64))
        .collect();

    let mut rng = StdRng::seed_from_u64(30);
    let acknowledged = Mutex::new(Vec::new());
    let finished = AtomicUsize::new(0);
    let mut kills = 0;
    std::thread::scope(|scope| {
        for (teacher, parts) in ballots.iter().enumerate() {
            let (parties, acknowledged, finished) = (&parties, &acknowledged, &finished);
            scope.spawn(move || {
                let client = client(&parties.teacher(teacher));
                for (batch, part) in parts.iter().enumerate() {
                    let path = format!("/v1/elections/big/ballots/t{teacher}/{batch}");
                    client.put(&path, part).expect("acknowledged in the end");
                    acknowledged.lock().unwrap().push((teacher, batch));
                    std::thread::sleep(Duration::from_millis(20));
                }
                finished.fetch_add(1, Ordering::Relaxed);
            });
        }
        // Whatever has been acknowledged is there after every single kill.
        while kills < 15 && finished.load(Ordering::Relaxed) < TEACHERS {
            kills += torment(&mut server, &mut rng, 1, 20..300, || false);
            let known = acknowledged.lock().unwrap().clone();
            for (teacher, parts) in ballots.iter().enumerate() {
                let status =
                    client::status(&client(&parties.teacher(teacher)), parties.file.name());
                let submitted = status.expect("a status").submitted.expect("a teacher's");
                for &(_, batch) in known.iter().filter(|(owner, _)| *owner == teacher) {
                    let hash = blake3::hash(&parts[batch]).to_hex().to_string();
                    let there =
                        submitted.iter().any(|s| s.batch as usize == batch && s.hash == hash);
                    assert!(there, "teacher {teacher}, batch {batch} is lost");
                }
            }
        }
    });
    let during_uploads = kills;

    let released = AtomicBool::new(false);
    client::close(&client(&student), parties.file.name()).unwrap();
    while kills < 30 && !released.load(Ordering::Relaxed) {
        kills += torment(&mut server, &mut rng, 1, 10..250, || {
            let status = client::status(&client(&student), parties.file.name()).expect("a status");
            released.store(status.stage == "released", Ordering::Relaxed);
            released.load(Ordering::Relaxed)
        });
        // A second close, in the middle of it, must not draw anew.
        client::close(&client(&student), parties.file.name()).unwrap();
    }
    println!(
        "{during_uploads} kills during uploads, {} during the aggregation",
        kills - during_uploads
    );
    let start = Instant::now();
    while client::status(&client(&student), parties.file.name()).unwrap().stage != "released" {
        assert!(start.elapsed() < Duration::from_mins(2), "it does not finish");
        std::thread::sleep(Duration::from_millis(50));
    }
    let fetched: Vec<Vec<u8>> = (0..parties.engine.batches())
        .map(|batch| {
            let path = format!("/v1/elections/big/results/{batch}");
            client(&student).get_bytes(&path, 1 << 26).expect("a release")
        })
        .collect();
    server.kill();
    assert_eq!(fetched, uninterrupted(&parties, &folder.path().join("data"), &ballots));
    assert!(kills - during_uploads >= 5, "only {kills} kills: make the aggregation longer");
}

/// Many teachers at once against one server; gives seconds and the sorted seconds of each upload.
fn crowd(teachers: usize, samples: usize, limits: Limits) -> (f64, Vec<f64>, u64) {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), free_port(), limits);
    let operator = server.operator();
    let parties = Parties::create_at(
        &client(&operator),
        &operator,
        election(teachers, samples),
        folder.path(),
    );
    let student = parties.student();
    for kind in ["public", "evaluation"] {
        let path = parties.folder.join(format!("{kind}.key"));
        client::submit_key(&client(&student), parties.file.name(), &path).unwrap();
    }
    let secret = parties.folder.join("secret.key");
    client::rehearse(&client(&student), parties.file.name(), &secret).unwrap();
    let ballots: Vec<Vec<Vec<u8>>> = (0..teachers)
        .map(|teacher| parties.ballot(&votes(teacher, samples), teacher as u64))
        .collect();
    let latencies = Mutex::new(Vec::new());
    let start = Instant::now();
    std::thread::scope(|scope| {
        for (teacher, parts) in ballots.iter().enumerate() {
            let (parties, latencies) = (&parties, &latencies);
            scope.spawn(move || {
                let client = client(&parties.teacher(teacher));
                for (batch, part) in parts.iter().enumerate() {
                    let start = Instant::now();
                    let path = format!("/v1/elections/big/ballots/t{teacher}/{batch}");
                    client.put(&path, part).expect("taken");
                    latencies.lock().unwrap().push(start.elapsed().as_secs_f64());
                }
            });
        }
    });
    let seconds = start.elapsed().as_secs_f64();
    let status = client::status(&client(&student), parties.file.name()).unwrap();
    assert_eq!(status.voted, teachers, "nothing lost, nothing twice");
    client::close(&client(&student), parties.file.name()).unwrap();
    let start = Instant::now();
    while client::status(&client(&student), parties.file.name()).unwrap().stage != "released" {
        assert!(start.elapsed() < Duration::from_mins(5), "it does not finish");
        std::thread::sleep(Duration::from_millis(50));
    }
    let out = folder.path().join("results");
    client::fetch_results(&client(&student), parties.file.name(), &out, |_, _| {}).unwrap();
    let labels = parties.reveal(&std::fs::read(&out).unwrap());
    assert!(labels.iter().all(Option::is_some) && labels.len() == samples);
    let mut latencies = latencies.into_inner().unwrap();
    latencies.sort_by(f64::total_cmp);
    (seconds, latencies, server.peak_memory())
}

/// 150 readers of the evaluation key that did not read once held 4.5 GB.
#[test]
fn readers_who_do_not_read_hold_little() {
    const READERS: usize = 150;
    let folder = tempfile::tempdir().unwrap();
    let more = ["--downloads-per-token", "150"];
    let server = Server::start_with(folder.path(), free_port(), Limits::None, &more);
    let operator = server.operator();
    let parties =
        Parties::create_at(&client(&operator), &operator, election(3, 100), folder.path());
    let name = parties.file.name();
    let path = parties.folder.join("evaluation.key");
    client::submit_key(&client(&parties.student()), name, &path).unwrap();
    let bytes = parties.keys.evaluation.len() as u64;
    assert!(bytes > 4 << 20, "more than a socket's buffers hold: {bytes}");
    let under_way = || {
        let metrics = client(&operator).get_bytes("/metrics", 1 << 20).expect("metrics");
        let metrics = String::from_utf8(metrics).expect("text");
        let line = metrics.lines().find(|line| line.starts_with("shield_downloads_in_flight "));
        line.and_then(|line| line.rsplit(' ').next()?.parse::<usize>().ok()).expect("a number")
    };
    let before = server.memory("VmRSS:");
    let get = format!(
        "GET /v1/elections/{name}/keys/evaluation HTTP/1.1\r\nhost: x\r\nauthorization: Bearer \
         {}\r\n\r\n",
        parties.teacher(0).token.secret()
    );
    let readers: Vec<TcpStream> = (0..READERS)
        .map(|_| {
            let mut stream = TcpStream::connect(("127.0.0.1", server.port)).expect("connected");
            stream.write_all(get.as_bytes()).expect("sent");
            stream
        })
        .collect();
    let (start, mut most) = (Instant::now(), 0);
    while most < READERS * 9 / 10 {
        assert!(start.elapsed() < Duration::from_mins(2), "only {most} are under way");
        most = most.max(under_way());
    }
    let held = server.memory("VmRSS:").saturating_sub(before);
    println!(
        "{most} readers of {} MiB hold {} MiB; before there were {}",
        bytes >> 20,
        held >> 20,
        before >> 20
    );
    assert!(held < READERS as u64 * bytes / 8, "{held} bytes");
    drop(readers);
}

#[test]
fn forty_teachers_at_once_lose_nothing() {
    let (_, latencies, _) = crowd(40, 100, Limits::None);
    assert_eq!(latencies.len(), 40);
}

/// The figures of docs/performance.md: run it alone, with `--ignored --nocapture`.
#[test]
#[ignore = "a measurement of minutes"]
fn two_hundred_and_fifty_teachers_within_a_gibibyte() {
    let (seconds, latencies, peak) = crowd(250, 1_000, Limits::OneGibibyte);
    let at = |percent: usize| latencies[(latencies.len() - 1) * percent / 100];
    println!(
        "{} ballots in {seconds:.2} s: {:.0} a second; median {:.3} s, 99th percentile {:.3} s; \
         peak {} MiB",
        latencies.len(),
        latencies.len() as f64 / seconds,
        at(50),
        at(99),
        peak >> 20,
    );
}
