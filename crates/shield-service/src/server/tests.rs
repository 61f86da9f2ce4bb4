//! The server from outside: over a socket, with and without tokens.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::StdRng;
use serde_json::Value;
use shield::backend::Presence;
use tempfile::TempDir;
use ureq::http::{Request, Response};
use ureq::tls::{RootCerts, TlsConfig};

use super::objects::see_through;
use super::problem::Problem;
use super::tls::{Certificate, self_signed};
use super::{
    HEADER_PATIENCE, NewElection, OPENAPI, ServeError, Service, Settings, Status, routes, serve,
};
use crate::credentials::{Role, Token};
use crate::election_file::ElectionFile;
use crate::ledger::Budget;
use crate::name::Name;
use crate::store::{StoreError, Stored};

fn settings(data: &Path) -> Settings {
    Settings {
        data: data.to_owned(),
        database: None,
        budget: Budget::default(),
        uploads: 8,
        patience: Duration::from_secs(5),
    }
}

/// A server on a port of its own, until it is dropped.
pub(super) struct Running {
    pub(super) service: Arc<Service>,
    pub(super) address: String,
    pub(super) operator: Token,
    pub(super) data: PathBuf,
    /// The certificate, PEM, if it speaks TLS.
    pem: Option<String>,
    runtime: tokio::runtime::Runtime,
    _folder: TempDir,
}

impl Running {
    pub(super) fn start() -> Self {
        Self::start_with(|_| None)
    }

    /// The same, with a self-signed certificate.
    pub(super) fn start_tls() -> Self {
        Self::start_with(|folder| Some(self_signed(folder).unwrap()))
    }

    fn start_with(certificate: impl FnOnce(&Path) -> Option<Certificate>) -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let service = runtime.block_on(Service::open(&settings(&data))).unwrap();
        let operator = token(0);
        runtime.block_on(service.add_operator(&operator.hash())).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let certificate = certificate(&data);
        let chain = certificate.as_ref().map(|certificate| &certificate.chain);
        let pem = chain.map(|chain| std::fs::read_to_string(chain).unwrap());
        runtime.spawn(serve(Arc::clone(&service), listener, certificate, std::future::pending()));
        Self { service, address, operator, data, pem, runtime, _folder: folder }
    }

    /// The server's address as a browser shows it.
    pub(super) fn origin(&self) -> String {
        let scheme = if self.pem.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    pub(super) fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// Sends a request and gives the answer, whatever it is.
    pub(super) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Response<String> {
        let mut tls = TlsConfig::builder();
        if let Some(pem) = &self.pem {
            let root = ureq::tls::Certificate::from_pem(pem.as_bytes()).unwrap();
            tls = tls.root_certs(RootCerts::new_with_certs(&[root]));
        }
        let config = ureq::Agent::config_builder()
            .tls_config(tls.build())
            .http_status_as_error(false)
            .max_redirects(0)
            .allow_non_standard_methods(true)
            .timeout_global(Some(Duration::from_secs(20)))
            .build();
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.origin()));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = config.new_agent().run(request.body(body.to_owned()).unwrap()).unwrap();
        let (parts, mut body) = answer.into_parts();
        Response::from_parts(parts, body.read_to_string().unwrap())
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.operator.secret())
    }
}

/// One of a few tokens.
pub(super) fn token(number: u64) -> Token {
    Token::random(&mut StdRng::seed_from_u64(number))
}

pub(super) fn header<'a>(answer: &'a Response<String>, name: &str) -> &'a str {
    answer.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

fn document() -> Value {
    serde_json::from_str(OPENAPI).unwrap()
}

fn documented() -> BTreeSet<(String, String)> {
    let document = document();
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, methods)| {
        methods.as_object().unwrap().keys().map(|method| (method.clone(), path.clone()))
    });
    operations.collect()
}

#[test]
fn what_is_documented_is_served_and_what_is_served_is_documented() {
    let served = [routes::open().list, routes::guarded().list].concat();
    let count = served.len();
    let served: BTreeSet<(String, String)> =
        served.into_iter().map(|(method, path)| (method.to_owned(), path.to_owned())).collect();
    assert_eq!(served.len(), count);
    assert_eq!(served, documented());
}

/// Every value in a document, with the names that lead to it.
fn walk<'a>(value: &'a Value, visit: &mut impl FnMut(&str, &'a Value)) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                visit(name, member);
                walk(member, visit);
            }
        }
        Value::Array(members) => members.iter().for_each(|member| walk(member, visit)),
        _ => {}
    }
}

#[test]
fn the_document_holds_together() {
    let document = document();
    assert_eq!(document["openapi"], "3.1.0");
    let mut references = 0;
    walk(&document, &mut |name, value| {
        if name == "$ref" {
            let place = value.as_str().unwrap().strip_prefix('#').unwrap();
            assert!(document.pointer(place).is_some(), "{place}");
            references += 1;
        }
    });
    assert!(references > 50);
    let mut names = BTreeSet::new();
    for (method, path) in documented() {
        let operation = &document["paths"][&path][&method];
        let about = format!("{method} {path}");
        assert!(names.insert(operation["operationId"].as_str().unwrap().to_owned()), "{about}");
        assert!(!operation["summary"].as_str().unwrap().is_empty(), "{about}");
        assert!(!operation["x-shield-roles"].as_array().unwrap().is_empty(), "{about}");
        let gaps = path.matches('{').count();
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let in_path = parameters.filter(|parameter| {
            let place = parameter["$ref"].as_str().unwrap().trim_start_matches('#');
            document.pointer(place).unwrap()["in"] == "path"
        });
        assert_eq!(in_path.count(), gaps, "{about}");
        let is_open = routes::open().list.iter().any(|route| *route == (&*method, &*path));
        assert_eq!(operation["security"].is_array(), is_open, "{about}");
    }
}

#[test]
fn examples_are_what_the_program_reads_and_writes() {
    let document = document();
    let example = |place: &str| document.pointer(place).unwrap().clone();
    let content = "content/application~1json/example";
    let new = example(&format!("/paths/~1v1~1elections/post/requestBody/{content}"));
    let new: NewElection = serde_json::from_value(new).unwrap();
    let file = ElectionFile::parse(&new.file).unwrap();
    assert!(file.teachers().iter().all(|teacher| new.teachers.contains_key(teacher.as_str())));
    let status = format!("/paths/~1v1~1elections~1{{election}}/get/responses/200/{content}");
    let status = example(&status);
    let read: Status = serde_json::from_value(status.clone()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), status);
    let names = |value: &Value| -> BTreeSet<String> {
        value.as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(names(&example("/components/schemas/Status/properties")), names(&status));
}

#[test]
fn without_a_token_nothing_but_health_answers() {
    let server = Running::start();
    let stranger = format!("Bearer {}", token(99).secret());
    let bearers: [&[(&str, &str)]; 4] = [
        &[],
        &[("authorization", &stranger)],
        &[("authorization", "Bearer x")],
        &[("authorization", "Basic eDp4")],
    ];
    let mut asked = 0;
    for (method, path) in documented() {
        for filling in ["x", "NOT%20A%20NAME", "0"] {
            let filled: String = path
                .split('{')
                .map(|piece| {
                    piece
                        .split_once('}')
                        .map_or(piece.to_owned(), |(_, rest)| format!("{filling}{rest}"))
                })
                .collect();
            for headers in bearers {
                let answer = server.send(&method.to_uppercase(), &filled, headers, "");
                let about = format!("{method} {filled}: {answer:?}");
                asked += 1;
                match &*path {
                    "/healthz" => assert_eq!(answer.status(), 200, "{about}"),
                    "/session" | "/session/end" => assert_eq!(answer.status(), 403, "{about}"),
                    _ => assert_eq!(answer.status(), 401, "{about}"),
                }
                if path != "/healthz" && path != "/" {
                    assert_eq!(header(&answer, "content-type"), "application/problem+json");
                }
            }
        }
    }
    assert!(asked > 200);
    for (method, path) in [("GET", "/nowhere"), ("DELETE", "/metrics"), ("POST", "/healthz")] {
        assert_eq!(server.send(method, path, &[], "").status(), 401, "{method} {path}");
    }
}

#[test]
fn refusals_are_problems_with_an_id() {
    let server = Running::start();
    let bearer = server.bearer();
    let json = ("content-type", "application/json");
    let token = ("authorization", &*bearer);
    for (method, path, headers, body, status) in [
        ("POST", "/v1/elections", &[token, json][..], "{", 400),
        ("POST", "/v1/elections", &[token, json], "{}", 422),
        ("POST", "/v1/elections", &[token], "{}", 415),
        ("GET", "/v1/elections/NOT%20A%20NAME", &[token], "", 400),
        ("GET", "/v1/elections/none", &[token], "", 404),
        ("GET", "/nowhere", &[token], "", 404),
        ("PATCH", "/v1/elections", &[token], "", 405),
        ("GET", "/v1/elections/none/results/0", &[token], "", 403),
    ] {
        let answer = server.send(method, path, headers, body);
        let about = format!("{method} {path}: {answer:?}");
        assert_eq!(answer.status(), status, "{about}");
        assert_eq!(header(&answer, "content-type"), "application/problem+json", "{about}");
        assert!(!header(&answer, "x-request-id").is_empty(), "{about}");
        let problem: Value = serde_json::from_str(answer.body()).unwrap();
        assert_eq!(problem["status"], status, "{about}");
        assert!(!problem["detail"].as_str().unwrap().is_empty(), "{about}");
        assert!(problem["type"].as_str().unwrap().starts_with("urn:shield:problem:"), "{about}");
    }
}

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
    stream.set_read_timeout(Some(2 * HEADER_PATIENCE)).unwrap();
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
    stream.set_read_timeout(Some(2 * HEADER_PATIENCE)).unwrap();
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
        stream.set_read_timeout(Some(2 * HEADER_PATIENCE)).unwrap();
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
    assert!(start.elapsed() < HEADER_PATIENCE + Duration::from_secs(5), "{:?}", start.elapsed());
}

/// The seeds are in the data base, and SQLite's file is as open as the umask leaves it.
#[cfg(unix)]
#[test]
fn a_data_folder_that_others_can_open_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    std::fs::create_dir(&data).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let open = |mode: u32| {
        std::fs::set_permissions(&data, std::fs::Permissions::from_mode(mode)).unwrap();
        runtime.block_on(Service::open(&settings(&data))).map(drop)
    };
    for mode in [0o755, 0o750, 0o701] {
        let error = open(mode).expect_err("others can open it");
        assert!(matches!(error, ServeError::Exposed(_)) && error.is_bad_input(), "{error}");
        assert!(error.to_string().contains(&format!("chmod 700 {}", data.display())), "{error}");
    }
    assert_eq!(std::fs::read_dir(&data).unwrap().count(), 0, "nothing was written into it");
    open(0o700).unwrap();
}

/// A caller who hung up once gave its turn and its room back, while the work for it went on: any
/// number of them could be under way.
#[test]
fn work_keeps_its_turn_and_its_room_when_the_caller_hangs_up() {
    let server = Running::start();
    let service = &server.service;
    let (turns, rooms) = (service.checks.available_permits(), service.uploads.available_permits());
    let (go_on, wait) = std::sync::mpsc::channel::<()>();
    server.wait(async {
        let room = Arc::clone(&service.uploads).try_acquire_owned().unwrap();
        let checking = Arc::clone(service);
        let upload = see_through(async move {
            let _room = room;
            checking.check(move || wait.recv().map_err(Problem::internal)).await
        });
        let caller = tokio::time::timeout(Duration::from_millis(50), upload);
        assert!(caller.await.is_err(), "it hangs up");
        assert_eq!(service.checks.available_permits(), turns - 1);
        assert_eq!(service.uploads.available_permits(), rooms - 1);
        go_on.send(()).unwrap();
        let start = Instant::now();
        while service.uploads.available_permits() < rooms {
            assert!(start.elapsed() < Duration::from_secs(10), "the room is never given back");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(service.checks.available_permits(), turns);

        // Nor does one who waits for the check alone take the turn along.
        let (go_on, wait) = std::sync::mpsc::channel::<()>();
        let check = service.check(move || wait.recv().map_err(Problem::internal));
        assert!(tokio::time::timeout(Duration::from_millis(50), check).await.is_err());
        assert_eq!(service.checks.available_permits(), turns - 1);
        go_on.send(()).unwrap();
    });
}

#[test]
fn a_token_of_another_role_makes_no_operator() {
    let server = Running::start();
    server.wait(async {
        let service = &server.service;
        assert!(service.has_role(&Role::Operator).await.unwrap());
        assert!(!service.has_role(&Role::Monitor).await.unwrap());
        service.add_operator(&server.operator.hash()).await.unwrap();
        service.add_monitor(&token(1).hash()).await.unwrap();
        let refused = service.add_operator(&token(1).hash()).await;
        let Err(error @ ServeError::OtherRole("operator")) = refused else { panic!("{refused:?}") };
        assert!(error.is_bad_input());
        assert!(matches!(
            service.add_monitor(&server.operator.hash()).await,
            Err(ServeError::OtherRole("monitor"))
        ));
    });
}

/// The lines of one counter, each with its labels.
fn series(server: &Running, counter: &str) -> Vec<String> {
    let answer = server.send("GET", "/metrics", &[("authorization", &server.bearer())], "");
    let lines = answer.body().lines().filter(|line| line.starts_with(counter));
    lines.map(str::to_owned).collect()
}

#[test]
fn methods_of_the_callers_choosing_do_not_grow_the_metrics() {
    let server = Running::start();
    for number in 0..100 {
        assert_eq!(server.send(&format!("ODD{number}"), "/healthz", &[], "").status(), 401);
    }
    let odd: Vec<String> = series(&server, "shield_requests_total")
        .into_iter()
        .filter(|line| !line.contains("method=\"GET\""))
        .collect();
    assert_eq!(odd.len(), 1, "{odd:?}");
    assert!(odd[0].contains("method=\"other\"") && odd[0].ends_with(" 100"), "{odd:?}");
}

/// An election on which the first `voters` teachers have voted, with files that no engine would
/// read.
pub(super) async fn election(service: &Service, text: &str, voters: u32) -> Name {
    let file = ElectionFile::parse(text).unwrap();
    let name = file.name().clone();
    let student = Role::Student { election: name.clone() };
    let hash = Token::random(&mut StdRng::from_os_rng()).hash();
    assert_eq!(
        service.store.create_election(&file, &[(hash, student)]).await.unwrap(),
        Stored::New
    );
    for kind in ["public", "evaluation"] {
        let mut incoming = service.store.incoming().unwrap();
        incoming.write(kind.as_bytes()).unwrap();
        service.store.add_key(&name, kind, &"0".repeat(64), incoming).await.unwrap();
    }
    for teacher in 0..voters {
        ballot(service, &name, teacher).await.unwrap();
    }
    name
}

async fn ballot(service: &Service, name: &Name, teacher: u32) -> Result<Stored, StoreError> {
    let file = service.store.election(name).await?.file;
    let mut incoming = service.store.incoming()?;
    incoming.write(format!("{name} {teacher}").as_bytes())?;
    let presence = Presence::new((0..file.election().samples()).map(|_| true));
    service.store.add_ballot(name, teacher, 0, &presence, incoming).await
}

/// Closing reads what the other elections cost. It once did so while it held the election's row,
/// and waited for a connection while all connections waited for that row.
#[test]
fn closing_does_not_wait_for_the_ballots_that_wait_for_it() {
    const TEACHERS: u32 = 60;
    let server = Running::start();
    let teachers: Vec<String> = (0..TEACHERS).map(|number| format!("\"t{number}\"")).collect();
    let teachers = teachers.join(", ");
    server.wait(async {
        for round in 0..3 {
            let text = format!(
                "name = \"ward-{round}\"\ngroup = \"g\"\nclasses = 3\nsamples = 4\noffset = 20\nquorum = 2\nteachers = [{teachers}]"
            );
            let name = election(&server.service, &text, 2).await;
            let ballots: Vec<_> = (2..TEACHERS)
                .map(|teacher| {
                    let (service, name) = (Arc::clone(&server.service), name.clone());
                    tokio::spawn(async move { ballot(&service, &name, teacher).await })
                })
                .collect();
            tokio::time::sleep(Duration::from_millis(5)).await;
            let start = Instant::now();
            server.service.close(&name).await.unwrap();
            for ballot in ballots {
                match ballot.await.unwrap() {
                    Ok(_) | Err(StoreError::Stage { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
        }
    });
}
