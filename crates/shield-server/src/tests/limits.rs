//! What one caller can take, and what it cannot.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::StdRng;
use shield_protocol::credentials::{Role, Token};
use shield_protocol::engine::{EncodedKeys, faults};
use shield_protocol::{ElectionFile, Name};

use super::{Running, header, token};

const TEXT: &str = "name = \"ward\"\ngroup = \"g\"\nclasses = 3\nsamples = 4\noffset = 20\n\
    quorum = 2\nteachers = [\"a\", \"b\"]";

/// How long a test waits for what must come, on a machine that has much else to do.
const PATIENT: Duration = Duration::from_mins(2);

/// An election with a student and two teachers, whose tokens are 10, 11 and 12.
fn create(server: &Running, text: &str) -> Name {
    let file = ElectionFile::parse(text).unwrap();
    let name = file.name().clone();
    let roles = [
        (token(10).hash(), Role::Student { election: name.clone() }),
        (token(11).hash(), Role::Teacher { election: name.clone(), teacher: 0 }),
        (token(12).hash(), Role::Teacher { election: name.clone(), teacher: 1 }),
    ];
    server.wait(server.service.store.create_election(&file, &roles)).unwrap();
    name
}

fn connect(server: &Running, start: &str, token: &Token) -> TcpStream {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(PATIENT)).unwrap();
    let head = format!(
        "{start}\r\nhost: {}\r\nconnection: close\r\nauthorization: Bearer {}\r\n\r\n",
        server.address,
        token.secret()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

fn first_line(stream: &mut TcpStream) -> String {
    let mut bytes = [0; 12];
    stream.read_exact(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < PATIENT, "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// 150 readers that did not read once held 4.5 GB, and their connections, for ever. How much they
/// hold is in the test of the program, where the server is a process of its own.
#[test]
fn who_does_not_read_is_cut_off() {
    let serving = |write_patience| {
        let server = Running::with(|settings| {
            settings.downloads_per_token = 2;
            settings.write_patience = write_patience;
        });
        let name = create(&server, TEXT);
        keep_key(&server, &name, 32 << 20);
        server
    };
    let get = "GET /v1/elections/ward/keys/evaluation HTTP/1.1";
    let server = serving(PATIENT);
    let _idle = [(); 2].map(|()| connect(&server, get, &token(11)));
    until("they are under way", || server.service.downloads.under_way() == 2);
    let mut third = connect(&server, get, &token(11));
    assert_eq!(first_line(&mut third), "HTTP/1.1 429");
    // Somebody else is not in their way.
    let mut other = connect(&server, get, &token(12));
    assert_eq!(first_line(&mut other), "HTTP/1.1 200");
    let mut rest = Vec::new();
    other.read_to_end(&mut rest).unwrap();
    assert!(rest.len() >= 32 << 20, "{}", rest.len());

    let server = serving(Duration::from_secs(1));
    let mut idle = connect(&server, get, &token(11));
    assert_eq!(first_line(&mut idle), "HTTP/1.1 200");
    until("who does not read is cut off", || server.service.downloads.under_way() == 0);
    let mut some = Vec::new();
    let _ = idle.read_to_end(&mut some);
    assert!(some.len() < 32 << 20, "cut off before the end: {}", some.len());
}

/// Whatever takes too long is ended, and says so; an upload has a pace instead.
#[test]
fn no_answer_takes_longer_than_its_limit() {
    let server = Running::with(|settings| settings.answer_limit = Duration::from_millis(500));
    create(&server, TEXT);
    let post = "POST /v1/elections/ward/rehearsal HTTP/1.1\r\ncontent-length: 100";
    let mut stream = connect(&server, post, &token(10));
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("too-slow"), "{answer}");
}

/// Keeps an evaluation key of so many bytes, which no engine would read.
fn keep_key(server: &Running, name: &Name, bytes: usize) {
    let mut incoming = server.service.store.incoming().unwrap();
    incoming.write(&vec![7; bytes]).unwrap();
    let store = &server.service.store;
    server.wait(store.add_key(name, "evaluation", &"0".repeat(64), incoming)).unwrap();
}

/// Every rehearsal that a student asked for once had both keys in memory, and any number of them
/// waited for their turn.
#[test]
fn a_student_holds_one_rehearsal_at_a_time() {
    let server = Running::start();
    let name = create(&server, TEXT);
    keep_key(&server, &name, 1 << 20);
    let mut public = server.service.store.incoming().unwrap();
    public.write(b"public").unwrap();
    let store = &server.service.store;
    server.wait(store.add_key(&name, "public", &"0".repeat(64), public)).unwrap();
    let body = format!("{{\"digest\":\"{}\"}}", "0".repeat(64));
    let post = format!(
        "POST /v1/elections/ward/rehearsal HTTP/1.1\r\ncontent-length: {}\r\ncontent-type: \
         application/json",
        body.len()
    );
    let confirm = || {
        let mut stream = connect(&server, &post, &token(10));
        stream.write_all(body.as_bytes()).unwrap();
        stream
    };
    // Nothing can be checked, so that the first one waits.
    let all = u32::try_from(server.service.checks.available_permits()).unwrap();
    let checks = Arc::clone(&server.service.checks);
    let busy = server.wait(checks.acquire_many_owned(all)).unwrap();
    let mut first = confirm();
    until("the first one waits", || server.service.rehearsing.under_way() == 1);
    assert_eq!(first_line(&mut confirm()), "HTTP/1.1 429");
    drop(busy);
    assert_eq!(first_line(&mut first), "HTTP/1.1 422");
    until("its turn ends", || server.service.rehearsing.under_way() == 0);
    assert_eq!(first_line(&mut confirm()), "HTTP/1.1 422");
}

/// Documents are in memory until they are answered; any number of large ones once could be.
#[test]
fn one_token_has_few_documents_under_way() {
    let server = Running::start();
    create(&server, TEXT);
    let post = "POST /v1/elections/ward/rehearsal HTTP/1.1\r\ncontent-length: 10000000".to_owned();
    let mut stalled: Vec<TcpStream> = (0..4).map(|_| connect(&server, &post, &token(11))).collect();
    until("four are under way", || server.service.documents.under_way() == 4);
    assert_eq!(first_line(&mut connect(&server, &post, &token(11))), "HTTP/1.1 429");
    // Questions without a document are answered, and so are others.
    let get = "GET /v1/elections/ward HTTP/1.1";
    assert_eq!(first_line(&mut connect(&server, get, &token(11))), "HTTP/1.1 200");
    let small = "POST /v1/elections/ward/rehearsal HTTP/1.1\r\ncontent-length: 2";
    let mut other = connect(&server, small, &token(12));
    other.write_all(b"{}").unwrap();
    assert_eq!(first_line(&mut other), "HTTP/1.1 403");
    stalled.pop();
    until("one is given back", || server.service.documents.under_way() == 3);
    // A question of an audit may be larger, and there is one at a time.
    let ask = "POST /v1/elections/ward/audits HTTP/1.1\r\ncontent-length: 60000000";
    let _first = connect(&server, ask, &token(10));
    until("it is read", || server.service.rehearsing.under_way() == 1);
    assert_eq!(first_line(&mut connect(&server, ask, &token(10))), "HTTP/1.1 429");
}

/// A party that is refused again and again once pushed out what was known of everybody else.
#[test]
fn one_election_does_not_fill_the_list_of_errors() {
    let server = Running::start();
    let (loud, quiet): (Name, Name) = ("loud".parse().unwrap(), "quiet".parse().unwrap());
    server.service.incident(None, "the disk");
    server.service.incident(Some(&quiet), "its ballot");
    for number in 0..200 {
        server.service.incident(Some(&loud), &format!("refused: {number}"));
    }
    let known = server.service.incidents();
    assert!(known.iter().any(|incident| incident.message == "the disk"));
    assert!(known.iter().any(|incident| incident.message == "its ballot"));
    assert_eq!(known[0].message, "refused: 199");
    assert_eq!(known.len(), 14, "the latest dozen of one election");
}

/// 30 MB at 1.8 Mbit/s take 134 seconds and were once cut off after 120. Here everything is
/// smaller: an upload takes several times as long as any answer may. Its pace is a test of its own.
#[test]
fn an_upload_at_an_honest_pace_takes_as_long_as_it_takes() {
    let server = Running::with(|settings| {
        settings.patience = PATIENT;
        settings.answer_limit = Duration::from_millis(50);
    });
    let name = create(&server, TEXT);
    let file = ElectionFile::parse(TEXT).unwrap().plan();
    let EncodedKeys { public, .. } =
        file.engine().make_keys(&mut StdRng::seed_from_u64(1)).unwrap();
    let put = format!(
        "PUT /v1/elections/{name}/keys/public HTTP/1.1\r\ncontent-length: {}",
        public.len()
    );
    let mut stream = connect(&server, &put, &token(10));
    let start = Instant::now();
    for piece in public.chunks(public.len().div_ceil(10)) {
        stream.write_all(piece).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(start.elapsed() > 3 * server.service.settings.answer_limit);
    assert_eq!(first_line(&mut stream), "HTTP/1.1 201");
}

/// One teacher's 32 stalled uploads once kept everybody from uploading for two minutes.
#[test]
fn stalled_uploads_of_one_token_do_not_stop_another() {
    let serving = |patience| {
        let server = Running::with(|settings| {
            settings.uploads_per_token = 2;
            settings.patience = patience;
            settings.pace = 1 << 20;
        });
        create(&server, TEXT);
        server
    };
    let put = "PUT /v1/elections/ward/keys/evaluation HTTP/1.1\r\ncontent-length: 100000";
    let server = serving(PATIENT);
    let _stalled = [(); 2].map(|()| connect(&server, put, &token(10)));
    until("two are under way", || server.service.uploading.under_way() == 2);
    let mut third = connect(&server, put, &token(10));
    assert_eq!(first_line(&mut third), "HTTP/1.1 429");
    // Nor in its way, until all of the room is taken: then whoever comes is asked to come back.
    assert_eq!(server.service.uploads.available_permits(), 6);
    let uploads = Arc::clone(&server.service.uploads);
    let busy = server.wait(uploads.acquire_many_owned(6)).unwrap();
    let other = Role::Student { election: "ward".parse().unwrap() };
    server.wait(server.service.store.add_token(&token(20).hash(), &other)).unwrap();
    let key = "/v1/elections/ward/keys/public";
    let away = server.ask("PUT", key, &token(20), "k");
    assert_eq!((away.status().as_u16(), header(&away, "retry-after")), (503, "1"));
    drop(busy);
    assert_eq!(server.ask("PUT", key, &token(20), "k").status(), 422, "it is looked at");

    // A trickle is no honest pace.
    let server = serving(Duration::from_secs(1));
    let mut trickle = connect(&server, put, &token(10));
    trickle.set_read_timeout(Some(Duration::from_millis(80))).unwrap();
    let mut answer = [0; 12];
    until("it is sent away", || {
        let _ = trickle.write_all(b"x");
        trickle.read_exact(&mut answer).is_ok()
    });
    assert_eq!(&answer, b"HTTP/1.1 408");
    until("its room is given back", || server.service.uploading.under_way() == 0);
}

/// An upload that broke off once had to start from its first byte.
#[test]
fn an_upload_goes_on_where_it_broke_off() {
    let server = Running::start();
    let text = format!("{}\n{TEXT}", faults::engine_line());
    let name = create(&server, &text);
    let file = ElectionFile::parse(&text).unwrap().plan();
    let EncodedKeys { public, .. } =
        file.engine().make_keys(&mut StdRng::seed_from_u64(1)).unwrap();
    assert!(public.len() > 8, "{}", public.len());
    let hash = blake3::hash(&public).to_hex().to_string();
    let path = format!("/v1/elections/{name}/keys/public");
    let put = |offset: usize, bytes: &[u8]| {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        let head = format!(
            "PUT {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer \
             {}\r\nupload-part: {offset}/{}/{hash}\r\ncontent-length: {}\r\n\r\n",
            token(10).secret(),
            public.len(),
            bytes.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(bytes).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let received =
        || server.ask("GET", &format!("/v1/uploads/{hash}"), &token(10), "").body().clone();
    assert_eq!(received(), "{\"received\":0}");
    assert!(put(0, &public[..5]).starts_with("HTTP/1.1 202"));
    assert_eq!(received(), "{\"received\":5}");
    // Not where it ends: it says where that is.
    let answer = put(3, &public[3..]);
    assert!(answer.starts_with("HTTP/1.1 409") && answer.contains("\"received\":5"), "{answer}");
    assert!(put(5, &public[5..]).starts_with("HTTP/1.1 201"));
    assert_eq!(received(), "{\"received\":0}");
    // Parts that do not make up what was announced are not taken.
    let mut wrong = public.clone();
    wrong[0] ^= 1;
    assert!(put(0, &wrong).starts_with("HTTP/1.1 422"));
    let stored = server.wait(server.service.store.key(&name, "public")).unwrap().unwrap();
    assert_eq!(stored.hash, hash);
    assert_eq!(Arc::strong_count(&server.service.uploads), 1);
}
