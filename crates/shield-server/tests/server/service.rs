//! The server as its own process: killed, restarted, crowded.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::harness::{Parties, election_with, until, votes, wait};
use crate::programs::shield_server;
use crate::serve::{Server, serving};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use shield_client::{self as client, Client, Invitation};
use shield_core::Watch;
use shield_core::engine::{BallotBoxError, Presence};
use shield_core::framing::DecodeError;
use shield_protocol::PlannedElection;
use shield_protocol::engine::BallotBytes;
use shield_server::store::Store;

/// Starts a server in a folder, on a port that it can have again after it was killed.
fn start(folder: &Path, port: u16, limits: Limits, more: &[&str]) -> Server {
    let mut command = match limits {
        Limits::None => shield_server(),
        Limits::OneGibibyte => {
            // All address space, not only what is in use: stricter than what is asked for.
            let mut command = Command::new("prlimit");
            command.arg("--as=1073741824").arg(shield_server().get_program());
            command.env("MALLOC_ARENA_MAX", "2");
            command
        }
    };
    command
        .args(["serve", "--plain", "--data", "data", "--operator", "operator.toml"])
        .args(["--budget", "1e9", "--listen", &format!("127.0.0.1:{port}")])
        .args(more)
        .current_dir(folder);
    serving(command)
}

fn operator(folder: &Path) -> Invitation {
    Invitation::read(&folder.join("operator.toml")).expect("an invitation")
}

/// A figure of a server's memory, in bytes: `VmHWM:` for the most that it has had in use.
fn memory(server: &Server, which: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.process.id()));
    let status = status.expect("Linux");
    let line = status.lines().find(|line| line.starts_with(which)).expect("a figure");
    line.split_whitespace().nth(1).expect("a number").parse::<u64>().expect("a number") << 10
}

#[derive(Clone, Copy)]
enum Limits {
    None,
    OneGibibyte,
}

/// A port that a server can have again after it was killed: none of those that the system hands
/// out by itself, to whoever connects or listens meanwhile.
pub(crate) fn free_port() -> u16 {
    let mut rng = StdRng::from_os_rng();
    let mut ports = (0..1000).map(|_| rng.random_range(10_000..32_000));
    ports.find(|&port| TcpListener::bind(("127.0.0.1", port)).is_ok()).expect("a port")
}

fn client(invitation: &Invitation) -> Client {
    Client::new(invitation).expect("a client").with_patience(Duration::from_mins(2))
}

fn election(teachers: usize, samples: usize) -> PlannedElection {
    let lines = "classes = 10\npolynomial = \"2X^2+X\"\noffset = 2";
    election_with(lines, "big", teachers, samples, 2)
}

/// An election with its keys, and the ballots of its teachers.
fn prepare(folder: &Path, teachers: usize, samples: usize) -> (Parties, Vec<Vec<Vec<u8>>>) {
    let (file, operator) = (election(teachers, samples), operator(folder));
    let parties = Parties::create_at(&client(&operator), &operator, file, folder);
    parties.submit_keys_by(&client(&parties.student()));
    let ballot = |teacher| parties.ballot(&votes(teacher, samples), teacher as u64);
    let ballots = (0..teachers).map(ballot).collect();
    (parties, ballots)
}

/// What a run that nobody interrupted would have released, batch by batch.
fn uninterrupted(parties: &Parties, data: &Path, ballots: &[Vec<Vec<u8>>]) -> Vec<Vec<u8>> {
    let (seed, frozen) = wait(async {
        let store = Store::open(data, None).await.expect("the store");
        store.frozen(parties.file.name()).await.expect("frozen")
    });
    assert_eq!(frozen.voters.len(), ballots.len());
    let engine = Arc::clone(parties.file.engine());
    let aggregating = engine.aggregating(&parties.keys.evaluation).expect("a sound key");
    (0..parties.file.batches())
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
        let (engine, id) = (self.parties.file.engine(), self.parties.keys.id);
        engine.check_ballot(&self.bytes(teacher)?, self.batch, id).map_err(refuse)
    }

    fn bytes(&self, teacher: u32) -> Result<Vec<u8>, BallotBoxError> {
        Ok(self.ballots[teacher as usize][self.batch].clone())
    }
}

#[test]
fn thirty_kills_lose_nothing_and_change_nothing() {
    const TEACHERS: usize = 6;
    const SAMPLES: usize = 20 * 512;
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let start = || start(folder.path(), port, Limits::None, &[]);
    let mut server = Some(start());
    let (parties, ballots) = prepare(folder.path(), TEACHERS, SAMPLES);
    let student = parties.student();

    let mut rng = StdRng::seed_from_u64(30);
    let acknowledged = Mutex::new(Vec::new());
    let finished = AtomicUsize::new(0);
    let mut kills = 0;
    // Dropping it kills it, at a moment of the seed's.
    let mut kill = |moments| {
        std::thread::sleep(Duration::from_millis(rng.random_range(moments)));
        drop(server.take());
        server = Some(start());
    };
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
            kill(20..300);
            kills += 1;
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

    let is_released = || {
        let status = client::status(&client(&student), parties.file.name()).expect("a status");
        status.stage == "released"
    };
    client::close(&client(&student), parties.file.name()).unwrap();
    while kills < 30 && !is_released() {
        kill(10..250);
        kills += 1;
        // A second close, in the middle of it, must not draw anew.
        client::close(&client(&student), parties.file.name()).unwrap();
    }
    println!(
        "{during_uploads} kills during uploads, {} during the aggregation",
        kills - during_uploads
    );
    until("the results are out", || {
        // It died of us, and not of a batch: whoever closes it again lets it go on.
        let status = client::status(&client(&student), parties.file.name()).expect("a status");
        if status.stage == "failed" {
            client::close(&client(&student), parties.file.name()).unwrap();
        }
        status.stage == "released"
    });
    let fetched: Vec<Vec<u8>> = (0..parties.file.batches())
        .map(|batch| {
            let path = format!("/v1/elections/big/results/{batch}");
            client(&student).get_bytes(&path, 1 << 26).expect("a release")
        })
        .collect();
    drop(server);
    assert_eq!(fetched, uninterrupted(&parties, &folder.path().join("data"), &ballots));
    assert!(kills - during_uploads >= 5, "only {kills} kills: make the aggregation longer");
}

/// Many teachers at once against one server; gives seconds and the sorted seconds of each upload.
fn crowd(teachers: usize, samples: usize, limits: Limits) -> (f64, Vec<f64>, u64) {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), free_port(), limits, &[]);
    let (parties, ballots) = prepare(folder.path(), teachers, samples);
    let student = parties.student();
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
    parties.wait_by(&client(&student));
    let out = folder.path().join("results");
    client::fetch_results(&client(&student), &parties.file, &out, &Watch::default()).unwrap();
    let labels = parties.reveal(&std::fs::read(&out).unwrap());
    assert!(labels.iter().all(Option::is_some) && labels.len() == samples);
    let mut latencies = latencies.into_inner().unwrap();
    latencies.sort_by(f64::total_cmp);
    (seconds, latencies, memory(&server, "VmHWM:"))
}

/// 150 readers of the evaluation key that did not read once held 4.5 GB.
#[test]
fn readers_who_do_not_read_hold_little() {
    const READERS: usize = 150;
    let folder = tempfile::tempdir().unwrap();
    let more = ["--downloads-per-token", "150"];
    let port = free_port();
    let server = start(folder.path(), port, Limits::None, &more);
    let operator = operator(folder.path());
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
    let before = memory(&server, "VmRSS:");
    let get = format!(
        "GET /v1/elections/{name}/keys/evaluation HTTP/1.1\r\nhost: x\r\nauthorization: Bearer \
         {}\r\n\r\n",
        parties.teacher(0).token.secret()
    );
    let readers: Vec<TcpStream> = (0..READERS)
        .map(|_| {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("connected");
            stream.write_all(get.as_bytes()).expect("sent");
            stream
        })
        .collect();
    let (start, mut most) = (Instant::now(), 0);
    while most < READERS * 9 / 10 {
        assert!(start.elapsed() < Duration::from_mins(2), "only {most} are under way");
        most = most.max(under_way());
    }
    let held = memory(&server, "VmRSS:").saturating_sub(before);
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
