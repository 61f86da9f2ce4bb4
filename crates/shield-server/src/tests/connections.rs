//! Callers who speak slowly, hang up, or would rather speak something else.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Running;
use crate::objects::see_through;
use crate::problem::Problem;
use crate::serve::{HEAD, HEADER_PATIENCE};

/// A TLS client as browsers are: it would rather speak HTTP/2.
fn browser(server: &Running) -> rustls::StreamOwned<rustls::ClientConnection, TcpStream> {
    use rustls::pki_types::pem::PemObject;
    let mut roots = rustls::RootCertStore::empty();
    let pem = server.pem.as_ref().unwrap();
    roots.add(rustls::pki_types::CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let name = "localhost".try_into().unwrap();
    let mut connection = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(6 * HEADER_PATIENCE)).unwrap();
    connection.complete_io(&mut stream).unwrap();
    rustls::StreamOwned::new(connection, stream)
}

#[test]
fn browsers_that_offer_http_2_get_http_1() {
    let server = Running::start_tls();
    assert_eq!(browser(&server).conn.alpn_protocol(), Some(&b"http/1.1"[..]));
    // Nor does it listen to those who begin with it unasked.
    let plain = Running::start();
    let mut stream = TcpStream::connect(&plain.address).unwrap();
    stream.set_read_timeout(Some(6 * HEADER_PATIENCE)).unwrap();
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 "), "{answer:?}");
}

/// The limit on headers once began to count only after hyper had seen by which version they would
/// come.
#[test]
fn who_says_nothing_is_sent_away() {
    let (plain, tls) = (Running::start(), Running::start_tls());
    let open = |start: &[u8]| {
        let mut stream = TcpStream::connect(&plain.address).unwrap();
        stream.set_read_timeout(Some(6 * HEADER_PATIENCE)).unwrap();
        stream.write_all(start).unwrap();
        stream
    };
    let mut silent: Vec<(&str, Box<dyn Read + Send>)> = vec![
        ("nothing", Box::new(open(b""))),
        ("a letter that begins HTTP/2", Box::new(open(b"P"))),
        ("half a request", Box::new(open(b"GET / HTTP/1.1\r\nhost:"))),
        ("nothing after the handshake", Box::new(browser(&tls))),
    ];
    let start = Instant::now();
    std::thread::scope(|scope| {
        for (what, stream) in &mut silent {
            scope.spawn(move || {
                let mut answer = Vec::new();
                // Hung up on: an end, or a reset. Not our own patience.
                let ended = stream.read_to_end(&mut answer);
                let waited = ended.is_err_and(|error| {
                    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
                });
                assert!(!waited, "{what}: still connected after {:?}", start.elapsed());
            });
        }
    });
}

/// Each connection of somebody unknown could once fill 400 kB with the head of a request.
#[test]
fn the_head_of_a_request_is_bounded() {
    let server = Running::start();
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(6 * HEADER_PATIENCE)).unwrap();
    let head = format!("GET /livez HTTP/1.1\r\nhost: x\r\nx-much: {}", "x".repeat(HEAD));
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 431", "refused before it ends");
}

/// Drops some work as soon as it has begun.
async fn hang_up<T>(work: impl Future<Output = T>, begun: tokio::sync::oneshot::Receiver<()>) {
    tokio::select! {
        _ = work => panic!("it is over before anybody hangs up"),
        begun = begun => begun.expect("it begins"),
    }
}

/// A caller who hung up once gave its turn and its room back, while the work for it went on: any
/// number of them could be under way.
#[test]
fn work_keeps_its_turn_and_its_room_when_the_caller_hangs_up() {
    let server = Running::start();
    let service = &server.service;
    let (turns, rooms) = (service.checks.available_permits(), service.uploads.available_permits());
    let (begin, begun) = tokio::sync::oneshot::channel();
    let (go_on, wait) = std::sync::mpsc::channel::<()>();
    server.wait(async {
        let room = Arc::clone(&service.uploads).try_acquire_owned().unwrap();
        let checking = Arc::clone(service);
        let upload = see_through(async move {
            let _room = room;
            let work = move || {
                let _ = begin.send(());
                wait.recv().map_err(Problem::internal)
            };
            checking.check(work).await
        });
        hang_up(upload, begun).await;
        assert_eq!(service.checks.available_permits(), turns - 1);
        assert_eq!(service.uploads.available_permits(), rooms - 1);
        go_on.send(()).unwrap();
        let start = Instant::now();
        while service.uploads.available_permits() < rooms {
            assert!(start.elapsed() < Duration::from_mins(2), "the room is never given back");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(service.checks.available_permits(), turns);

        // Nor does one who waits for the check alone take the turn along.
        let (begin, begun) = tokio::sync::oneshot::channel();
        let (go_on, wait) = std::sync::mpsc::channel::<()>();
        let check = service.check(move || {
            let _ = begin.send(());
            wait.recv().map_err(Problem::internal)
        });
        hang_up(check, begun).await;
        assert_eq!(service.checks.available_permits(), turns - 1);
        go_on.send(()).unwrap();
    });
}
