//! The whole story over TLS, and what each role may do.

use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::StdRng;
use serde_json::{Value, json};
use shield_client::{self as client, ClientError, Invitation};
use shield_core::Class;
use shield_protocol::Name;
use shield_protocol::credentials::Token;
use shield_protocol::ledger::Budget;
use shield_server::openapi;

use crate::described::{Answered, check};
use crate::harness::{Parties, Running, election, election_with, open, settings, votes, wait};

fn refused(result: Result<impl Sized, ClientError>) -> (u16, String) {
    match result {
        Err(ClientError::Refused { status, kind, .. }) => (status, kind),
        Err(other) => panic!("not refused: {other}"),
        Ok(_) => panic!("it was let through"),
    }
}

#[test]
fn two_servers_never_share_a_data_folder() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let _server = Running::start(settings(&data));
    let second = wait(shield_server::Service::open(&settings(&data)));
    assert!(second.err().expect("refused").to_string().contains("another server"));
}

/// A ballot made for another teacher, whose votes its sender does not know, is refused on arrival;
/// the teacher's own is taken, and the labels come.
#[test]
fn a_ballot_must_prove_itself_in_its_teachers_name() {
    let lines = "classes = 3\npolynomial = \"X^2+X\"\noffset = 2\nproofs = true";
    let (_folder, server, parties) = open(election_with(lines, "proven", 2, 10, 2));
    let teacher = server.client(&parties.teacher(0));
    let path = "/v1/elections/proven/ballots/t0/0";
    let others = parties.ballot_of(1, &votes(1, 10), 1);
    assert_eq!(refused(teacher.put(path, &others[0])), (422, "unusable".to_owned()));
    parties.submit(&server, 0, &votes(0, 10));
    parties.submit(&server, 1, &votes(1, 10));
    client::close(&server.client(&parties.student()), parties.file.name()).unwrap();
}

#[test]
fn the_same_again_is_fine_and_anything_else_a_conflict() {
    let (folder, server, parties) = open(election("again", 3, 20, 1));
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
    let document = openapi();
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

/// Status and content of an answer, which must be one that the API's description has.
pub(crate) fn ask(
    server: &Running,
    token: &Token,
    method: &str,
    path: &str,
    body: &[u8],
) -> (u16, Vec<u8>) {
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
    let mut answer = agent.run(request.body(body).unwrap()).unwrap();
    let content = answer.body_mut().read_to_vec().unwrap();
    let kind = answer.headers().get("content-type").map_or("", |kind| kind.to_str().unwrap());
    let status = answer.status().as_u16();
    check(&openapi(), &Answered { method, path, status, kind, body: &content });
    (status, content)
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
                let (status, _) = ask(&server, &token, &method.to_uppercase(), &path, body);
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
fn answers_are_as_described() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start_plain(settings(&folder.path().join("data")));
    let operator = &server.operator.token;
    let hash = |digit: &str| digit.repeat(64);
    let post = |path: &str, body: Value| {
        let (status, content) = ask(&server, operator, "POST", path, body.to_string().as_bytes());
        (status, serde_json::from_slice(&content).unwrap_or(Value::Null))
    };
    let file = election("planned", 2, 20, 1).canonical();
    let teachers = json!({ "t0": hash("2"), "t1": hash("3") });
    let new = json!({ "file": file, "student": hash("1"), "teachers": teachers });
    assert_eq!(post("/v1/elections", new.clone()).0, 201);
    assert_eq!(post("/v1/elections", new).0, 200);
    let (status, price): (_, Value) = post("/v1/price", json!({ "file": file }));
    assert_eq!((status, &price["fits"]), (200, &json!(true)));
    for part in [json!("estimate"), json!({ "other": "gnmax" }), json!("proof")] {
        let asked = json!({
            "part": part, "polynomial": "X", "offset": 5, "queries": 10, "teachers": 20,
            "classes": 3, "epsilon": 2.0, "histogram": [9, 8, 3],
        });
        assert_eq!(post("/v1/calculator", asked).0, 200);
    }
    let lost = json!({ "teacher": "t1", "token": hash("4") });
    assert_eq!(post("/v1/elections/planned/tokens", lost).0, 200);
    let turn = json!({ "priority": 5, "paused": false });
    assert_eq!(post("/v1/elections/planned/schedule", turn).0, 200);
    let more = json!({ "epsilon": 2000.0, "reason": "more elections" });
    assert_eq!(post("/v1/groups/everybody/budget", more).0, 200);
    let (status, added) = post("/v1/tokens", json!({ "role": "monitor", "token": hash("5") }));
    let rotate = format!("/v1/tokens/{}/rotate", added["name"].as_str().unwrap());
    assert_eq!((status, post(&rotate, json!({ "token": hash("6") })).0), (201, 200));
    let student = json!({ "role": "student", "token": hash("7") });
    assert_eq!(post("/v1/tokens", student).0, 422);

    let parties = Parties::create(&server, election("ward", 3, 20, 1), folder.path());
    parties.submit_keys(&server);
    assert_eq!(
        ask(&server, &parties.teacher(2).token, "PUT", "/v1/elections/ward/ballots/t2/0", b"x").0,
        422
    );
    (0..3).for_each(|teacher| parties.submit(&server, teacher, &votes(teacher, 20)));
    let get = |token: &Token, path: &str| {
        let (status, content) = ask(&server, token, "GET", path, b"");
        assert_eq!(status, 200, "{path}: {}", String::from_utf8_lossy(&content));
        String::from_utf8_lossy(&content).into_owned()
    };
    let (student, teacher) = (parties.student().token, parties.teacher(0).token);
    for token in [operator, &student, &teacher] {
        get(token, "/v1/whoami");
        get(token, "/v1/elections/ward");
    }
    assert_eq!(post("/v1/elections/ward/close", json!({})).0, 202);
    parties.wait(&server);
    let everything = [
        "/v1/elections",
        "/v1/ledger",
        "/v1/tokens",
        "/v1/incidents",
        "/v1/audit-log",
        "/v1/ledger/export",
        "/v1/openapi.json",
        "/metrics",
        "/v1/elections/ward/file",
        "/v1/elections/ward/transcript",
        "/v1/elections/ward/seed",
        "/v1/elections/ward/results/0",
    ];
    for path in everything {
        get(operator, path);
    }
    assert!(get(operator, "/v1/audit-log?format=csv&after=1").starts_with("number,moment,role,"));
    let table = get(operator, "/v1/ledger/export?format=csv");
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].starts_with("group,election,state,labels,") && lines.len() == 3, "{table}");
    assert!(lines[2].starts_with("everybody,ward,spent,20,3,"), "{table}");
    assert_eq!(post("/v1/elections/ward/erase", json!({ "what": "ballots" })).0, 200);
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
    let (_folder, server, parties) = open(election("quorum", 3, 20, 2));
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
fn preflight_finds_what_is_wrong() {
    use client::preflight::{Own, Verdict, preflight};
    let (folder, server, parties) = open(election("checks", 3, 20, 1));
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
