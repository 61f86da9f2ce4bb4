//! The whole story over TLS, and what each role may do.

use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::StdRng;
use serde_json::Value;
use shield::Class;
use shield_client::{self as client, ClientError, Invitation};
use shield_protocol::Name;
use shield_protocol::credentials::Token;
use shield_server::OPENAPI;
use shield_server::ledger::Budget;
use shield_server::store::Store;

use crate::harness::{Parties, Running, election, settings, votes};

fn refused(result: Result<impl Sized, ClientError>) -> (u16, String) {
    match result {
        Err(ClientError::Refused { status, kind, .. }) => (status, kind),
        Err(other) => panic!("not refused: {other}"),
        Ok(_) => panic!("it was let through"),
    }
}

#[test]
fn labels_are_those_of_the_clear_operator_for_the_stored_seed() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Running::start(settings(&data));
    let parties = Parties::create(&server, election("story", 6, 50, 4), folder.path());
    parties.submit_keys(&server);
    let mut all: Vec<_> = (0..6).map(|teacher| Some(votes(teacher, 50))).collect();
    all[2] = None;
    all[4].as_mut().unwrap()[10] = None;
    for (teacher, votes) in all.iter().enumerate() {
        if let Some(votes) = votes {
            parties.submit(&server, teacher, votes);
        }
    }
    let student = server.client(&parties.student());
    let status = client::close(&student, parties.file.name()).unwrap();
    assert_eq!(status.voted, 5);
    parties.wait(&server);
    let (results, labels) = parties.fetch(&server);
    // Closing again changes nothing.
    client::close(&student, parties.file.name()).unwrap();
    assert_eq!(parties.fetch(&server).0, results);
    server.stop();

    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (seed, ballots) = runtime.block_on(async {
        let store = Store::open(&data, None).await.unwrap();
        store.frozen(parties.file.name()).await.unwrap()
    });
    assert_eq!(ballots.voters.len(), 5);
    assert_eq!(labels, parties.reference(&all, &seed));
    let other = shield::Seed::from_number(1);
    assert_ne!(labels, parties.reference(&all, &other), "the reference must be able to differ");
}

#[test]
fn a_server_that_starts_again_knows_everything() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Running::start(settings(&data));
    let parties = Parties::create(&server, election("restart", 3, 20, 2), folder.path());
    parties.submit_keys(&server);
    parties.submit(&server, 0, &votes(0, 20));
    parties.submit(&server, 1, &votes(1, 20));
    server.stop();
    let server = Running::start(settings(&data));
    let student = server.client(&parties.student());
    assert_eq!(client::status(&student, parties.file.name()).unwrap().voted, 2);
    client::close(&student, parties.file.name()).unwrap();
    server.stop();
    let server = Running::start(settings(&data));
    parties.wait(&server);
    assert_eq!(parties.fetch(&server).1.len(), 20);
}

#[test]
fn two_servers_never_share_a_data_folder() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let _server = Running::start(settings(&data));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let second = runtime.block_on(shield_server::Service::open(&settings(&data)));
    assert!(second.err().expect("refused").to_string().contains("another server"));
}

#[test]
fn the_same_again_is_fine_and_anything_else_a_conflict() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(settings(&folder.path().join("data")));
    let parties = Parties::create(&server, election("again", 3, 20, 1), folder.path());
    parties.submit_keys(&server);
    parties.submit_keys(&server);
    let teacher = server.client(&parties.teacher(0));
    let first = parties.ballot(&votes(0, 20), 1);
    let second = parties.ballot(&votes(0, 20), 2);
    let path = "/v1/elections/again/ballots/t0/0";
    teacher.put(path, &first[0]).unwrap();
    teacher.put(path, &first[0]).unwrap();
    assert_eq!(refused(teacher.put(path, &second[0])), (409, "conflict".to_owned()));
    // Another teacher who copies the ballot byte by byte.
    let copycat = server.client(&parties.teacher(1));
    let copied = copycat.put("/v1/elections/again/ballots/t1/0", &first[0]);
    assert_eq!(refused(copied), (409, "replayed".to_owned()));
    // Keys of another set.
    let other = Parties::create(&server, election("other", 3, 20, 1), folder.path());
    let student = server.client(&parties.student());
    let foreign = other.keys.public.clone();
    assert_eq!(refused(student.put("/v1/elections/again/keys/public", &foreign)).0, 422);
    // After the freeze nothing more comes in.
    client::close(&student, parties.file.name()).unwrap();
    let late = parties.ballot(&votes(2, 20), 3);
    let late = server.client(&parties.teacher(2)).put("/v1/elections/again/ballots/t2/0", &late[0]);
    assert_eq!(refused(late), (409, "stage".to_owned()));
}

/// An operation of the API's description, and the roles that it names.
struct Operation {
    method: String,
    path: String,
    roles: Vec<String>,
}

/// Everything that needs a token, as the API describes itself.
fn operations() -> Vec<Operation> {
    let document: Value = serde_json::from_str(OPENAPI).unwrap();
    let mut operations = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            if !operation["security"].is_array() {
                let roles = operation["x-shield-roles"].as_array().unwrap().iter();
                let roles = roles.map(|role| role.as_str().unwrap().to_owned()).collect();
                operations.push(Operation { method: method.clone(), path: path.clone(), roles });
            }
        }
    }
    // What ends an election comes last.
    operations.sort_by_key(|operation| operation.path.ends_with("/close"));
    operations
}

/// Everybody with a token: of this election, of another, of none.
fn callers(server: &Running, own: &Parties, other: &Parties) -> Vec<(&'static str, Token)> {
    vec![
        ("operator", server.operator.token.clone()),
        ("monitor", server.monitor.clone()),
        ("student", own.student().token),
        ("teacher", own.teacher(0).token),
        ("other teacher", own.teacher(1).token),
        ("foreign student", other.student().token),
        ("foreign teacher", other.teacher(0).token),
    ]
}

/// Whether the description lets a caller do something with an election and the first teacher's
/// place in it.
fn is_listed(operation: &Operation, who: &str) -> bool {
    let named = |role: &str| operation.roles.iter().any(|named| named == role);
    match who {
        _ if named("anybody with a token") => true,
        "operator" | "monitor" | "student" => named(who),
        "teacher" => named("teacher") || named("teacher (its own)"),
        "other teacher" => named("teacher"),
        _ => false,
    }
}

/// The status that somebody is answered with.
fn status(server: &Running, token: &Token, method: &str, path: &str, body: &[u8]) -> u16 {
    let agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .allow_non_standard_methods(true)
        .timeout_await_100(Some(Duration::from_mins(1)))
        .timeout_global(Some(Duration::from_mins(2)))
        .build()
        .new_agent();
    let mut request = ureq::http::Request::builder()
        .method(method)
        .uri(format!("{}{path}", server.url))
        .header("authorization", format!("Bearer {}", token.secret()))
        .header("content-type", "application/json");
    if !body.is_empty() {
        // Who is refused is refused before the body is read, and would find the connection closed
        // while it sends.
        request = request.header("expect", "100-continue");
    }
    agent.run(request.body(body).unwrap()).unwrap().status().as_u16()
}

#[test]
fn roles_can_do_only_what_is_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start_plain(settings(&folder.path().join("data")));
    let create = |name| Parties::create(&server, election(name, 3, 20, 1), folder.path());
    let (parties, spare, other) = (create("roles"), create("spare"), create("others"));
    parties.submit_keys(&server);
    spare.submit_keys(&server);
    let ballot = parties.ballot(&votes(0, 20), 1).remove(0);
    let key = |kind| std::fs::read(parties.folder.join(format!("{kind}.key"))).unwrap();
    let bodies = [("/keys/public", key("public")), ("/keys/evaluation", key("evaluation"))];
    let mut asked = 0;
    for operation in operations() {
        let Operation { method, path, .. } = &operation;
        // Calling it off would end it for everything that comes after.
        let own = if method == "delete" { &spare } else { &parties };
        let path = path.replace("{election}", own.file.name().as_str());
        let path = path.replace("{teacher}", "t0").replace("{batch}", "0");
        let path = path.replace("{round}", "1").replace("{group}", "everybody");
        let path = path.replace("{hash}", &"0".repeat(64)).replace("{token}", &"0".repeat(12));
        let kinds: &[&str] =
            if path.contains("{kind}") { &["public", "evaluation"] } else { &[""] };
        for kind in kinds {
            let path = path.replace("{kind}", kind);
            let body: &[u8] = match method.as_str() {
                "put" if path.contains("/ballots/") => &ballot,
                "put" => &bodies.iter().find(|(place, _)| path.ends_with(place)).unwrap().1,
                "post" if path == "/v1/elections" => b"{}",
                _ => b"",
            };
            // Those who may not come first: they find everything as it was.
            let mut callers = callers(&server, own, &other);
            callers.sort_by_key(|(who, _)| is_listed(&operation, who));
            for (who, token) in callers {
                asked += 1;
                let status = status(&server, &token, &method.to_uppercase(), &path, body);
                let expected = match (is_listed(&operation, who), &*path) {
                    (false, _) => status == 403,
                    (true, "/v1/elections") if method == "post" => status == 422,
                    // Let through: what it sends is nothing, what it asks for may not be there yet.
                    (true, "/v1/elections/roles/results/0") => status == 404,
                    (true, path) if method == "post" && !path.ends_with("/close") => {
                        matches!(status, 400 | 409 | 415 | 422)
                    }
                    (true, path)
                        if ["/audits/", "/seed", "/transcript", "/results/", "/tokens/"]
                            .iter()
                            .any(|part| path.contains(part)) =>
                    {
                        matches!(status, 200 | 404)
                    }
                    (true, _) => (200..300).contains(&status),
                };
                assert!(expected, "{who}, {method} {path}: {status}");
            }
        }
    }
    let known = operations();
    let twice = known.iter().filter(|operation| operation.path.contains("{kind}")).count();
    let all = 7 * (known.len() + twice);
    assert_eq!(asked, all, "7 callers, all operations, some of them for two kinds of key");
    let words =
        ["operator", "monitor", "student", "teacher", "teacher (its own)", "anybody with a token"];
    for operation in operations() {
        let known = |role: &String| words.contains(&role.as_str());
        assert!(operation.roles.iter().all(known), "{}: a role that is not tried", operation.path);
    }
}

#[test]
fn without_a_token_nothing_but_health_answers() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(settings(&folder.path().join("data")));
    let stranger = Invitation {
        token: Token::random(&mut <rand::rngs::StdRng as rand::SeedableRng>::seed_from_u64(99)),
        ..server.operator.clone()
    };
    let client = server.client(&stranger);
    assert_eq!(client.get_bytes("/healthz", 100).unwrap(), b"ok\n");
    for path in [
        "/v1/elections",
        "/v1/elections/x",
        "/v1/elections/x/file",
        "/v1/elections/x/keys/public",
        "/v1/elections/x/results/0",
        "/v1/ledger",
        "/v1/incidents",
        "/v1/whoami",
        "/v1/openapi.json",
        "/metrics",
        "/anything",
    ] {
        assert_eq!(refused(client.get_bytes(path, 1 << 20)).0, 401, "{path}");
    }
    assert_eq!(refused(client.put("/v1/elections/x/ballots/y/0", b"")).0, 401);
    assert_eq!(refused(client.delete("/v1/elections/x")).0, 401);
    assert_eq!(refused(client.put("/v1/elections", b"")).0, 401);
}

#[test]
fn the_budget_is_checked_before_anyone_encrypts() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = settings(&folder.path().join("data"));
    settings.budget = Budget { epsilon: 30.0, ..Budget::default() };
    let server = Running::start(settings);
    let operator = server.client(&server.operator);
    Parties::create(&server, election("first", 5, 40, 4), folder.path());
    let invitations = folder.path().join("second");
    let second = client::create_election(
        &operator,
        &server.operator,
        &election("second", 5, 400, 4),
        &invitations,
        &mut <rand::rngs::StdRng as rand::SeedableRng>::seed_from_u64(1),
    );
    let Err(ClientError::Refused { status: 409, kind, detail, .. }) = second else {
        panic!("it was let through")
    };
    assert_eq!(kind, "budget");
    assert!(detail.contains("of 30") && detail.contains("on its own"), "{detail}");
    assert_eq!(std::fs::read_dir(&invitations).unwrap().count(), 0, "no invitations to nothing");
    // Once the first is called off there is room again.
    client::withdraw(&operator, &"first".parse().unwrap()).unwrap();
    Parties::create(&server, election("third", 5, 40, 4), folder.path());
    let ledger: Value = operator.get("/v1/ledger").unwrap();
    assert_eq!(ledger[0]["group"], "everybody");
    assert_eq!(ledger[0]["entries"].as_array().unwrap().len(), 1);
    assert_eq!(ledger[0]["entries"][0]["voters"], 4);
}

#[test]
fn a_missing_quorum_keeps_an_election_open() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(settings(&folder.path().join("data")));
    let parties = Parties::create(&server, election("quorum", 3, 20, 2), folder.path());
    parties.submit_keys(&server);
    parties.submit(&server, 0, &votes(0, 20));
    let student = server.client(&parties.student());
    let name = parties.file.name();
    assert_eq!(refused(client::close(&student, name)), (409, "quorum".to_owned()));
    // Two teachers, but the second leaves one sample out: that sample has one voter.
    let mut sparse = votes(1, 20);
    sparse[3] = None;
    parties.submit(&server, 1, &sparse);
    assert_eq!(refused(client::close(&student, name)), (409, "quorum".to_owned()));
    parties.submit(&server, 2, &[Some(Class(0)); 20]);
    let status = client::close(&student, name).unwrap();
    assert_eq!(status.stage, "closing");
    parties.wait(&server);
}

#[test]
fn a_deadline_closes_by_itself_and_refuses_latecomers() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(settings(&folder.path().join("data")));
    let soon = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(15);
    let text = election("soon", 3, 20, 1).canonical();
    let text = text.replace("teachers =", &format!("deadline = {soon}\nteachers ="));
    let file = shield_protocol::ElectionFile::parse(&text).unwrap();
    let parties = Parties::create(&server, file, folder.path());
    parties.submit_keys(&server);
    parties.submit(&server, 0, &votes(0, 20));
    let student = server.client(&parties.student());
    let start = Instant::now();
    while client::status(&student, parties.file.name()).unwrap().stage == "open" {
        assert!(start.elapsed() < Duration::from_mins(2), "it stays open");
        std::thread::sleep(Duration::from_millis(100));
    }
    let late = parties.ballot(&votes(1, 20), 5);
    let late = server.client(&parties.teacher(1)).put("/v1/elections/soon/ballots/t1/0", &late[0]);
    assert_eq!(refused(late), (409, "deadline".to_owned()));
    parties.wait(&server);
}

#[test]
fn preflight_finds_what_is_wrong() {
    use client::preflight::{Own, Verdict, preflight};
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(settings(&folder.path().join("data")));
    let parties = Parties::create(&server, election("checks", 3, 20, 1), folder.path());
    parties.submit_keys(&server);
    let other = Parties::create(&server, election("checks-too", 3, 20, 1), folder.path());
    let path = parties.folder.join("teacher-t0.toml");
    let verdict = |invitation: &Invitation, own: Own, subject: &str| {
        let checks = preflight(&path, invitation, own);
        let found = checks.into_iter().find(|check| check.subject == subject);
        found.map(|check| check.verdict)
    };
    let good = parties.teacher(0);
    let key = parties.folder.join("public.key");
    let foreign = other.folder.join("public.key");
    let own = |key| Own { key: Some(key), ..Own::default() };
    for subject in ["invitation", "server", "certificate", "token", "version", "clock", "key"] {
        assert_eq!(verdict(&good, own(&key), subject), Some(Verdict::Fine), "{subject}");
    }
    assert_eq!(verdict(&good, own(&foreign), "key"), Some(Verdict::Wrong));
    let elsewhere = Invitation { server: "https://127.0.0.1:1".to_owned(), ..good.clone() };
    assert_eq!(verdict(&elsewhere, Own::default(), "server"), Some(Verdict::Wrong));
    let strange = Invitation { certificate: None, ..good.clone() };
    assert_eq!(verdict(&strange, Own::default(), "server"), Some(Verdict::Wrong));
    let unknown =
        Invitation { token: format!("shield_{}", "0".repeat(64)).parse().unwrap(), ..good };
    assert_eq!(verdict(&unknown, Own::default(), "token"), Some(Verdict::Wrong));
}

#[test]
fn a_new_token_ends_the_old_one_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(settings(&folder.path().join("data")));
    let parties = Parties::create(&server, election("ward", 2, 4, 1), folder.path());
    let name = parties.file.name();
    let operator = server.client(&server.operator);
    let fresh = Token::random(&mut StdRng::seed_from_u64(77));
    let first: Name = "t0".parse().unwrap();
    let nobody: Name = "nobody".parse().unwrap();
    assert!(client::replace_token(&operator, name, Some(&nobody), &fresh).is_err());
    let teacher = server.client(&parties.teacher(0));
    assert!(client::replace_token(&teacher, name, Some(&first), &fresh).is_err(), "not a teacher");
    client::status(&teacher, name).expect("the old token works so far");

    client::replace_token(&operator, name, Some(&first), &fresh).expect("replaced");
    let refused = client::status(&teacher, name);
    assert!(matches!(refused, Err(ClientError::Refused { status: 401, .. })), "{refused:?}");
    let with_fresh = Invitation { token: fresh.clone(), ..parties.teacher(0) };
    client::status(&server.client(&with_fresh), name).expect("the new one works");
    client::status(&server.client(&parties.teacher(1)), name).expect("others are as before");
    client::status(&server.client(&parties.student()), name).expect("and so is the student");
    // A token that is somebody's already would have two roles.
    let taken = parties.student().token;
    assert!(client::replace_token(&operator, name, Some(&first), &taken).is_err());
    client::status(&server.client(&with_fresh), name).expect("nothing changed");
}
