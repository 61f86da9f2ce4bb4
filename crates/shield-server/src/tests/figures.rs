//! Figures for `docs/performance.md`, measured on demand:
//! `cargo test --release -p shield-server --lib figures -- --ignored --nocapture --test-threads 1`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::StdRng;
use shield_core::Class;
use shield_core::engine::Presence;
use shield_protocol::credentials::Role;
use shield_protocol::engine::{EncodedKeys, Voting};
use shield_protocol::hex::hex;
use shield_protocol::{ElectionFile, Name, PlannedElection};

use super::closing::election;
use super::{Running, bearer, cookie, keep_ballot, keep_keys, token};

fn text(name: &str, teachers: usize, samples: usize, quorum: usize) -> String {
    // Each has teachers and a budget of its own.
    let text = super::text(name, teachers, samples, quorum).replace("classes = 3", "classes = 10");
    text.replace("\"g\"", &format!("\"{name}\"")).replace("\"t", &format!("\"{name}"))
}

/// An election with keys of the engine without encryption, whose teachers have the tokens from
/// 1,000 on; and what its teachers vote with.
async fn votable(server: &Running, text: &str) -> (PlannedElection, Arc<Box<dyn Voting>>) {
    let store = &server.service.store;
    let file = ElectionFile::parse(text).unwrap().plan();
    let name = file.name().clone();
    let teachers = (0..).take(file.teachers().len()).map(|teacher: u32| {
        let role = Role::Teacher { election: name.clone(), teacher };
        (token(1000 + u64::from(teacher)).hash(), role)
    });
    store.create_election(&file, &teachers.collect::<Vec<_>>()).await.unwrap();
    let mut rng = StdRng::seed_from_u64(3);
    let EncodedKeys { public, evaluation, id, .. } = file.engine().make_keys(&mut rng).unwrap();
    keep_keys(&server.service, &name, &hex(id.as_bytes()), [&public, &evaluation]).await;
    store.set_rehearsed(&name).await.unwrap();
    server.service.price_election(&name).await.unwrap();
    let voting = Arc::clone(file.engine()).voting(&public).unwrap();
    (file, Arc::new(voting))
}

/// How somebody looks at something: an operator at the page, or a program.
fn looking(server: &Running, path: &str) -> (&'static str, String) {
    match path {
        "/" => ("cookie", cookie(&server.sign_in(server.operator.secret(), &[]))),
        _ => ("authorization", bearer(&server.operator)),
    }
}

/// The times of requests in milliseconds, as a line.
fn times(what: &str, mut all: Vec<Duration>) {
    if all.is_empty() {
        return println!("{what}: none");
    }
    all.sort_unstable();
    let at = |percent: usize| all[(all.len() - 1) * percent / 100].as_secs_f64() * 1e3;
    let (count, median, slow, most) = (all.len(), at(50), at(99), at(100));
    println!("{what}: {count}, median {median:.1} ms, 99% {slow:.1} ms, most {most:.1} ms");
}

/// 200 teachers, 500 samples, 119 different turnouts; another election goes on meanwhile.
#[test]
#[ignore = "a measurement"]
fn closing_with_scattered_abstentions() {
    let server = Running::start();
    let service = Arc::clone(&server.service);
    let (other, voting) = server.wait(votable(&server, &text("other", 400, 400, 2)));
    let name: Name = server.wait(async {
        let start = Instant::now();
        let name = election(&service, &text("ward", 200, 500, 60), 0).await;
        service.price_election(&name).await.unwrap();
        println!("priced for setting aside in {:?}", start.elapsed());
        let engine = service.planned(&name).await.unwrap().engine().clone();
        for teacher in 0..200_usize {
            for batch in 0..engine.batches() {
                let present = engine.batch(batch).map(|sample| teacher >= sample % 119);
                let present: Vec<bool> = present.collect();
                let presence = Presence::new(present.into_iter());
                let place = (u32::try_from(teacher).unwrap(), u32::try_from(batch).unwrap());
                let bytes = format!("{teacher} {batch}");
                keep_ballot(&service, &name, place, &presence, bytes.as_bytes()).await.unwrap();
            }
        }
        name
    });
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let uploads = scope.spawn(|| upload(&server, &other, &voting, &done));
        let statuses = scope.spawn(|| look(&server, "/v1/elections/other", &done));
        server.wait(async {
            let start = Instant::now();
            service.close(&name).await.unwrap();
            println!("closed in {:?}", start.elapsed());
            let start = Instant::now();
            service.price_election(&name).await.unwrap();
            let booking = service.store.booking(&name).await.unwrap().unwrap();
            let turnouts = booking.voters.len();
            println!("{turnouts} turnouts priced in the background in {:?}", start.elapsed());
        });
        done.store(true, Ordering::Relaxed);
        times("uploads of another election meanwhile", uploads.join().unwrap());
        times("its status meanwhile", statuses.join().unwrap());
    });
    let start = Instant::now();
    let answer = server.ask("GET", "/v1/elections/ward", &server.operator, "");
    println!("status {} in {:?}", answer.status(), start.elapsed());
}

/// Votes, one batch after the other, until it is done.
fn upload(
    server: &Running,
    file: &ElectionFile,
    voting: &Arc<Box<dyn Voting>>,
    done: &AtomicBool,
) -> Vec<Duration> {
    let mut taken = Vec::new();
    for (teacher, name) in file.teachers().iter().enumerate() {
        for batch in 0..file.batches() {
            if done.load(Ordering::Relaxed) {
                return taken;
            }
            taken.push(vote(server, file, voting, (teacher, name, batch)));
        }
    }
    taken
}

/// One batch of one teacher; gives how long the answer took.
fn vote(
    server: &Running,
    file: &ElectionFile,
    voting: &Arc<Box<dyn Voting>>,
    (teacher, name, batch): (usize, &Name, usize),
) -> Duration {
    let mut rng = StdRng::seed_from_u64((teacher * file.batches() + batch) as u64);
    let samples = 4.min(file.election().samples() - 4 * batch);
    let votes = vec![Some(Class(u16::try_from(teacher % 10).unwrap())); samples];
    let body = voting.encrypt(batch, u32::try_from(teacher).unwrap(), &votes, &mut rng).unwrap();
    let path = format!("/v1/elections/{}/ballots/{name}/{batch}", file.name());
    let bearer = bearer(&token(1000 + teacher as u64));
    let start = Instant::now();
    loop {
        match server.fetch("PUT", &path, &[("authorization", &bearer)], &body).status().as_u16() {
            200 | 201 => return start.elapsed(),
            503 if start.elapsed() < Duration::from_mins(2) => {
                std::thread::sleep(Duration::from_millis(20));
            }
            status => panic!("{path}: {status}"),
        }
    }
}

/// Asks for something twice a second until it is done.
fn look(server: &Running, path: &str, done: &AtomicBool) -> Vec<Duration> {
    let (name, value) = looking(server, path);
    let mut taken = Vec::new();
    while !done.load(Ordering::Relaxed) {
        let start = Instant::now();
        assert_eq!(server.fetch("GET", path, &[(name, &value)], b"").status(), 200, "{path}");
        taken.push(start.elapsed());
        std::thread::sleep(Duration::from_millis(500));
    }
    taken
}

/// 10,000 teachers and 196 batches: two million rows of ballots.
#[test]
#[ignore = "a measurement"]
fn a_look_at_ten_thousand_teachers() {
    let server = Running::start();
    let service = Arc::clone(&server.service);
    let file = ElectionFile::parse(&text("big", 10_000, 784, 9_990)).unwrap();
    server.wait(async {
        service.store.create_election(&file, &[]).await.unwrap();
    });
    server.run_sql(&[
        "WITH RECURSIVE t(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM t WHERE n < 9999), b(m) \
             AS (SELECT 0 UNION ALL SELECT m + 1 FROM b WHERE m < 195) INSERT INTO ballots \
             (election, teacher, batch, hash, bytes, presence, received, votes, absent) SELECT \
             'big', n, m, lower(hex(randomblob(32))), 8, '000000000000000f', 1, n || '-' || m, '' \
             FROM t, b",
        "INSERT INTO voters (election, teacher, batches, digest) SELECT election, teacher, \
             COUNT(*), lower(hex(randomblob(32))) FROM ballots GROUP BY election, teacher",
        "UPDATE elections SET voted = 10000, stage = 'open'",
    ]);
    server.wait(service.price_election(file.name())).unwrap();
    for path in ["/v1/elections/big", "/", "/metrics"] {
        let (name, value) = looking(&server, path);
        let mut taken = Vec::new();
        for _ in 0..20 {
            // What the page shows is kept for 900 ms: each time a new look.
            std::thread::sleep(Duration::from_secs(1));
            let start = Instant::now();
            assert_eq!(server.fetch("GET", path, &[(name, &value)], b"").status(), 200, "{path}");
            taken.push(start.elapsed());
        }
        times(path, taken);
    }
}

/// 1,000 teachers with 200 batches each, as many of the 200,000 uploads as come in some seconds
/// (`SHIELD_SECONDS`, 240 without it).
#[test]
#[ignore = "a measurement of minutes"]
fn a_thousand_teachers_with_two_hundred_batches() {
    const CALLERS: usize = 24;
    let seconds = std::env::var("SHIELD_SECONDS").ok().and_then(|text| text.parse().ok());
    let limit = Duration::from_secs(seconds.unwrap_or(240));
    let server = Running::with(|settings| settings.uploads = 32);
    let (file, voting) = server.wait(votable(&server, &text("big", 1000, 800, 900)));
    assert_eq!(file.batches(), 200);
    let (next, done) = (AtomicUsize::new(0), AtomicBool::new(false));
    let start = Instant::now();
    let taken: Vec<Duration> = std::thread::scope(|scope| {
        let looks = ["/v1/elections/big", "/"].map(|path| {
            let (server, done) = (&server, &done);
            (path, scope.spawn(move || look(server, path, done)))
        });
        let callers: Vec<_> = (0..CALLERS)
            .map(|_| {
                scope.spawn(|| {
                    let mut taken = Vec::new();
                    while start.elapsed() < limit {
                        // Batch by batch, so that all teachers are there from the start.
                        let place = next.fetch_add(1, Ordering::Relaxed);
                        let (batch, teacher) = (place / 1000, place % 1000);
                        let Some(name) = file.teachers().get(teacher) else { break };
                        if batch >= file.batches() {
                            break;
                        }
                        taken.push(vote(&server, &file, &voting, (teacher, name, batch)));
                    }
                    taken
                })
            })
            .collect();
        let taken = callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect();
        done.store(true, Ordering::Relaxed);
        for (path, look) in looks {
            times(path, look.join().unwrap());
        }
        taken
    });
    let seconds = start.elapsed().as_secs_f64();
    let count = taken.len();
    println!("{count} uploads in {seconds:.1} s: {:.0} a second", count as f64 / seconds);
    times("uploads", taken);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    println!("{}", status.lines().find(|line| line.starts_with("VmHWM")).unwrap());
    let stored = server.wait(server.service.store.ballots(file.name())).unwrap();
    assert_eq!(stored.len(), count, "nothing lost, nothing twice");
}
