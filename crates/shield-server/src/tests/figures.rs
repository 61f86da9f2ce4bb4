//! Figures for `docs/performance.md`, measured on demand:
//! `cargo test --release -p shield-server --lib figures -- --ignored --nocapture --test-threads 1`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::StdRng;
use shield::Class;
use shield::backend::Presence;
use shield_protocol::credentials::{Role, Token};
use shield_protocol::engine::{EncodedKeys, Voting, faults};
use shield_protocol::hex::hex;
use shield_protocol::{ElectionFile, Name};

use super::closing::election;
use super::{Running, token};

fn text(name: &str, teachers: usize, samples: usize, quorum: usize) -> String {
    let teachers: Vec<String> = (0..teachers).map(|number| format!("\"{name}{number}\"")).collect();
    format!(
        "name = \"{name}\"\ngroup = \"{name}\"\nclasses = 10\nsamples = {samples}\noffset = \
         5\nquorum = {quorum}\n{}\nteachers = [{}]",
        faults::engine_line(),
        teachers.join(", ")
    )
}

/// An election with keys of the engine without encryption, whose teachers have the tokens from
/// 1,000 on; and what its teachers vote with.
async fn votable(server: &Running, text: &str) -> (Arc<ElectionFile>, Arc<Box<dyn Voting>>) {
    let store = &server.service.store;
    let file = ElectionFile::parse(text).unwrap();
    let name = file.name().clone();
    let tokens: Vec<_> = (0..u32::try_from(file.teachers().len()).unwrap())
        .map(|teacher| {
            let role = Role::Teacher { election: name.clone(), teacher };
            (token(1000 + u64::from(teacher)).hash(), role)
        })
        .collect();
    store.create_election(&file, &tokens).await.unwrap();
    let mut rng = StdRng::seed_from_u64(3);
    let EncodedKeys { public, evaluation, id, .. } = file.engine().make_keys(&mut rng).unwrap();
    for (kind, bytes) in [("public", &public), ("evaluation", &evaluation)] {
        let mut incoming = store.incoming().unwrap();
        incoming.write(bytes).unwrap();
        store.add_key(&name, kind, &hex(id.as_bytes()), incoming).await.unwrap();
    }
    store.set_rehearsed(&name).await.unwrap();
    server.service.price_election(&name).await.unwrap();
    let voting = file.engine().voting(&public).unwrap();
    (Arc::new(file), Arc::new(voting))
}

/// A connection that is kept, for requests one after the other.
struct Caller(BufReader<TcpStream>);

impl Caller {
    fn new(server: &Running) -> Self {
        let stream = TcpStream::connect(&server.address).unwrap();
        stream.set_nodelay(true).unwrap();
        Self(BufReader::new(stream))
    }

    /// Sends a request and gives the answer's status.
    fn send(&mut self, start: &str, headers: &str, body: &[u8]) -> u16 {
        let length = body.len();
        let head = format!(
            "{start} HTTP/1.1\r\nhost: 127.0.0.1\r\n{headers}\r\ncontent-length: {length}\r\n\r\n"
        );
        let stream = self.0.get_mut();
        stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
        let (mut status, mut length, mut line) = (0, 0, String::new());
        loop {
            line.clear();
            self.0.read_line(&mut line).unwrap();
            let lower = line.trim().to_ascii_lowercase();
            if let Some(rest) = lower.strip_prefix("http/1.1 ") {
                status = rest[..3].parse().unwrap();
            } else if let Some(rest) = lower.strip_prefix("content-length: ") {
                length = rest.parse().unwrap();
            } else if lower.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).unwrap();
        status
    }
}

fn bearer(token: &Token) -> String {
    format!("authorization: Bearer {}", token.secret())
}

/// Signs in at the page and gives the cookie.
fn cookie(server: &Running) -> String {
    let form = ("content-type", "application/x-www-form-urlencoded");
    let origin = server.origin();
    let body = format!("token={}", server.operator.secret());
    let session = server.send("POST", "/session", &[("origin", &origin), form], &body);
    super::header(&session, "set-cookie").split(';').next().unwrap().to_owned()
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
        let engine = service.setup(&name).await.unwrap().engine.clone();
        for teacher in 0..200_usize {
            for batch in 0..engine.batches() {
                let present = engine.batch(batch).map(|sample| teacher >= sample % 119);
                let present: Vec<bool> = present.collect();
                let mut incoming = service.store.incoming().unwrap();
                incoming.write(format!("{teacher} {batch}").as_bytes()).unwrap();
                let presence = Presence::new(present.into_iter());
                let (teacher, batch) = (u32::try_from(teacher), u32::try_from(batch));
                let added = service.store.add_ballot(
                    &name,
                    teacher.unwrap(),
                    batch.unwrap(),
                    &presence,
                    incoming,
                );
                added.await.unwrap();
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
    let bearer = server.bearer();
    let start = Instant::now();
    let answer = server.send("GET", "/v1/elections/ward", &[("authorization", &bearer)], "");
    println!("status {} in {:?}", answer.status(), start.elapsed());
}

/// Votes, one batch after the other, until it is done.
fn upload(
    server: &Running,
    file: &ElectionFile,
    voting: &Arc<Box<dyn Voting>>,
    done: &AtomicBool,
) -> Vec<Duration> {
    let mut caller = Caller::new(server);
    let mut taken = Vec::new();
    for (teacher, name) in file.teachers().iter().enumerate() {
        for batch in 0..file.batches() {
            if done.load(Ordering::Relaxed) {
                return taken;
            }
            taken.push(vote(&mut caller, file, voting, (teacher, name, batch)));
        }
    }
    taken
}

/// One batch of one teacher; gives how long the answer took.
fn vote(
    caller: &mut Caller,
    file: &ElectionFile,
    voting: &Arc<Box<dyn Voting>>,
    (teacher, name, batch): (usize, &Name, usize),
) -> Duration {
    let mut rng = StdRng::seed_from_u64((teacher * file.batches() + batch) as u64);
    let samples = 4.min(file.election().samples() - 4 * batch);
    let votes = vec![Some(Class(u16::try_from(teacher % 10).unwrap())); samples];
    let body = voting.encrypt(batch, &votes, &mut rng).unwrap();
    let path = format!("PUT /v1/elections/{}/ballots/{name}/{batch}", file.name());
    let bearer = bearer(&token(1000 + teacher as u64));
    let start = Instant::now();
    loop {
        match caller.send(&path, &bearer, &body) {
            200 | 201 => return start.elapsed(),
            503 => std::thread::sleep(Duration::from_millis(20)),
            status => panic!("{path}: {status}"),
        }
    }
}

/// Asks for something twice a second until it is done.
fn look(server: &Running, path: &str, done: &AtomicBool) -> Vec<Duration> {
    let header = match path {
        "/" => format!("cookie: {}", cookie(server)),
        _ => bearer(&server.operator),
    };
    let mut caller = Caller::new(server);
    let mut taken = Vec::new();
    while !done.load(Ordering::Relaxed) {
        let start = Instant::now();
        assert_eq!(caller.send(&format!("GET {path}"), &header, b""), 200, "{path}");
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
        let url = format!("sqlite://{}", server.data.join("shield.sqlite").display());
        let pool = sqlx::AnyPool::connect(&url).await.unwrap();
        for statement in [
            "WITH RECURSIVE t(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM t WHERE n < 9999), b(m) \
             AS (SELECT 0 UNION ALL SELECT m + 1 FROM b WHERE m < 195) INSERT INTO ballots \
             (election, teacher, batch, hash, bytes, presence, received, votes, absent) SELECT \
             'big', n, m, lower(hex(randomblob(32))), 8, '000000000000000f', 1, n || '-' || m, '' \
             FROM t, b",
            "INSERT INTO voters (election, teacher, batches, digest) SELECT election, teacher, \
             COUNT(*), lower(hex(randomblob(32))) FROM ballots GROUP BY election, teacher",
            "UPDATE elections SET voted = 10000, stage = 'open'",
        ] {
            sqlx::query(statement).execute(&pool).await.unwrap();
        }
        pool.close().await;
        service.price_election(file.name()).await.unwrap();
    });
    let operator = bearer(&server.operator);
    let cookie = format!("cookie: {}", cookie(&server));
    let mut caller = Caller::new(&server);
    for (path, header) in
        [("/v1/elections/big", &operator), ("/", &cookie), ("/metrics", &operator)]
    {
        let mut taken = Vec::new();
        for _ in 0..20 {
            // What the page shows is kept for 900 ms: each time a new look.
            std::thread::sleep(Duration::from_secs(1));
            let start = Instant::now();
            assert_eq!(caller.send(&format!("GET {path}"), header, b""), 200, "{path}");
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
                    let mut caller = Caller::new(&server);
                    let mut taken = Vec::new();
                    while start.elapsed() < limit {
                        // Batch by batch, so that all teachers are there from the start.
                        let place = next.fetch_add(1, Ordering::Relaxed);
                        let (batch, teacher) = (place / 1000, place % 1000);
                        let Some(name) = file.teachers().get(teacher) else { break };
                        if batch >= file.batches() {
                            break;
                        }
                        taken.push(vote(&mut caller, &file, &voting, (teacher, name, batch)));
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
