//! 2,000 malformed and hostile requests: each a clear no, none of them changes anything.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::Value;
use shield_client as client;

use crate::harness::{Parties, Running, election, settings, votes};

/// What came back on a raw connection.
struct Answer {
    status: u16,
    problem: bool,
    detail: String,
}

/// What a caller does once it has sent everything.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    Wait,
    HangUp,
}

/// Sends bytes as they are, and reads what comes back until the server hangs up.
fn send(address: &str, bytes: &[u8], then: Then) -> Option<Answer> {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    stream.set_read_timeout(Some(Duration::from_mins(2))).expect("set");
    // The server may hang up before it has all: that is its right.
    let _ = stream.write_all(bytes);
    if then == Then::HangUp {
        let _ = stream.shutdown(std::net::Shutdown::Write);
    }
    read_answer(&mut stream)
}

fn read_answer(stream: &mut TcpStream) -> Option<Answer> {
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let text = String::from_utf8_lossy(&answer);
    let status = text.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    let body = text.split("\r\n\r\n").nth(1).unwrap_or("");
    let document: Value = serde_json::from_str(body).unwrap_or(Value::Null);
    Some(Answer {
        status,
        problem: text.to_lowercase().contains("content-type: application/problem+json"),
        detail: document["detail"].as_str().unwrap_or("").to_owned(),
    })
}

fn request(method: &str, path: &str, token: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!(
        "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer \
         {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend(body);
    bytes
}

#[test]
#[expect(clippy::too_many_lines, reason = "a list of requests, one after the other")]
fn two_thousand_hostile_requests_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start_plain(settings(&folder.path().join("data")));
    let address = server.url.strip_prefix("http://").unwrap().to_owned();
    let parties = Parties::create(&server, election("target", 4, 20, 2), folder.path());
    let other = Parties::create(&server, election("elsewhere", 4, 20, 2), folder.path());
    parties.submit_keys(&server);
    other.submit_keys(&server);
    parties.submit(&server, 0, &votes(0, 20));

    let operator = server.client(&server.operator);
    let state = || {
        let elections: Value = operator.get("/v1/elections").expect("elections");
        let ledger: Value = operator.get("/v1/ledger").expect("a ledger");
        (elections, ledger)
    };
    let before = state();
    let token = |invitation: &client::Invitation| invitation.token.secret().to_owned();
    let (teacher, student) = (token(&parties.teacher(1)), token(&parties.student()));
    let (chief, stranger) = (token(&server.operator), token(&other.teacher(1)));
    let good = parties.ballot(&votes(1, 20), 11).remove(0);
    let foreign = other.ballot(&votes(1, 20), 12).remove(0);
    let taken = parties.ballot(&votes(0, 20), 100).remove(0);
    let key = std::fs::read(parties.folder.join("evaluation.key")).unwrap();
    let place = "/v1/elections/target/ballots/t1/0";
    let new = |file: &str| {
        let hash = "0".repeat(64);
        let teachers = serde_json::json!({ "t0": hash, "t1": hash, "t2": hash, "t3": hash });
        serde_json::json!({ "file": file, "student": hash, "teachers": teachers }).to_string()
    };

    let mut rng = StdRng::seed_from_u64(2000);
    let (mut asked, mut hung_up) = (0, 0);
    while asked < 2_000 {
        let case = asked % 16;
        let mut bad = good.clone();
        let bytes = match case {
            // Truncated, at any length.
            0 | 1 => request("PUT", place, &teacher, &good[..rng.random_range(0..good.len())]),
            // Bit-flipped, anywhere.
            2 | 3 => {
                let bit = rng.random_range(0..8 * bad.len());
                bad[bit / 8] ^= 1 << (bit % 8);
                request("PUT", place, &teacher, &bad)
            }
            // Oversized, by a little or by an announcement.
            4 => {
                bad.extend(vec![0; rng.random_range(1..100)]);
                request("PUT", place, &teacher, &bad)
            }
            5 => {
                let bytes = rng.random_range(1_u64 << 32..u64::MAX);
                let start = format!(
                    "PUT {place} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: \
                     Bearer {teacher}\r\ncontent-length: {bytes}\r\n\r\n"
                );
                start.into_bytes()
            }
            // Of another election, for another teacher, batch or election that is not there.
            6 => request("PUT", place, &teacher, &foreign),
            7 => {
                let batch = rng.random::<u64>();
                request("PUT", &format!("/v1/elections/target/ballots/t1/{batch}"), &teacher, &good)
            }
            8 => {
                let name = ["nobody", "t2", "..", "%2e%2e%2f", "T1", "%00", "t1%20"]
                    [rng.random_range(0..7)];
                request("PUT", &format!("/v1/elections/target/ballots/{name}/0"), &teacher, &good)
            }
            // The wrong role.
            9 => {
                let wrong = [&student, &chief, &stranger][rng.random_range(0..3)];
                request("PUT", place, wrong, &good)
            }
            10 => {
                let what = ["target/results/0", "target/close"][rng.random_range(0..2)];
                let method = if what.ends_with("close") { "POST" } else { "GET" };
                request(method, &format!("/v1/elections/{what}"), &teacher, b"")
            }
            // Replayed: another teacher's very ballot.
            11 => request("PUT", place, &teacher, &taken),
            // No token, or one that is none.
            12 => {
                let length = rng.random_range(0..200);
                let junk: String = (0..length).map(|_| rng.random_range('!'..'~')).collect();
                request("GET", "/v1/elections/target", &junk, b"")
            }
            // An election file of noise, a broken one, a name out of its folder.
            13 => {
                let file =
                    ["", "name = 1", "name = \"../x\"", "= = =", "\u{0}"][rng.random_range(0..5)];
                request("POST", "/v1/elections", &chief, new(file).as_bytes())
            }
            14 => {
                let mut noise = new("x").into_bytes();
                let place = rng.random_range(0..noise.len());
                noise[place] = rng.random();
                request("POST", "/v1/elections", &chief, &noise)
            }
            // Not HTTP at all, or keys that are damaged.
            _ if rng.random_bool(0.5) => {
                (0..rng.random_range(1..400)).map(|_| rng.random()).collect()
            }
            _ => {
                let mut damaged = key.clone();
                let place = rng.random_range(0..damaged.len());
                damaged[place] ^= 0x10;
                request("PUT", "/v1/elections/target/keys/evaluation", &student, &damaged)
            }
        };
        asked += 1;
        // A connection of noise would be listened to until the server's patience ends.
        let then = if case == 15 { Then::HangUp } else { Then::Wait };
        let Some(answer) = send(&address, &bytes, then) else {
            // Noise may be a connection that says nothing at all; anything else must be answered.
            assert_eq!(case, 15, "case {case} was not answered");
            hung_up += 1;
            continue;
        };
        assert!((400..500).contains(&answer.status), "case {case}: {}", answer.status);
        if case != 15 {
            assert!(answer.problem && !answer.detail.is_empty(), "case {case}: {}", answer.detail);
        }
    }
    println!("{asked} asked, {hung_up} hung up on");

    // Slow ones: half a ballot, then nothing.
    let slow: Vec<TcpStream> = (0..20)
        .map(|_| {
            let bytes = request("PUT", place, &teacher, &good);
            let mut stream = TcpStream::connect(&address).expect("the server listens");
            stream.write_all(&bytes[..bytes.len() / 2]).expect("taken");
            stream
        })
        .collect();
    for mut stream in slow {
        let answer = read_answer(&mut stream).expect("an answer");
        assert_eq!(answer.status, 408, "{}", answer.detail);
    }

    assert_eq!(state(), before);
    let metrics = operator.get_bytes("/metrics", 1 << 20).unwrap();
    let metrics = String::from_utf8(metrics).unwrap();
    assert!(!metrics.contains("status=\"5"), "{metrics}");
    // And it still does its work.
    parties.submit(&server, 1, &votes(1, 20));
    parties.close(&server);
    assert_eq!(parties.fetch(&server).1.len(), 20);
}
