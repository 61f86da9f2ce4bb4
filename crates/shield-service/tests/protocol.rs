//! The whole story over TLS, and what each role may do.

mod common;

use std::time::{Duration, Instant};

use common::{Parties, Running, election, settings, votes};
use shield::Class;
use shield_service::client::{self, Client, ClientError, Invitation};
use shield_service::ledger::Budget;
use shield_service::store::Store;

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
    assert_eq!(ballots.len(), 5);
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
    let second = runtime.block_on(shield_service::server::Service::open(&settings(&data)));
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
    let foreign = other.backend.encode_public_key(&other.keys.public);
    assert_eq!(refused(student.put("/v1/elections/again/keys/public", &foreign)).0, 422);
    // After the freeze nothing more comes in.
    client::close(&student, parties.file.name()).unwrap();
    let late = parties.ballot(&votes(2, 20), 3);
    let late = server.client(&parties.teacher(2)).put("/v1/elections/again/ballots/t2/0", &late[0]);
    assert_eq!(refused(late), (409, "stage".to_owned()));
}

/// What somebody tries to do.
type Attempt<'a> = Box<dyn Fn(&Client) -> Result<(), ClientError> + 'a>;

#[test]
fn roles_can_do_only_what_is_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(settings(&folder.path().join("data")));
    let parties = Parties::create(&server, election("roles", 3, 20, 1), folder.path());
    let other = Parties::create(&server, election("others", 3, 20, 1), folder.path());
    parties.submit_keys(&server);
    let ballot = parties.ballot(&votes(0, 20), 1);
    let clients = [
        ("operator", server.client(&server.operator)),
        ("student", server.client(&parties.student())),
        ("teacher", server.client(&parties.teacher(0))),
        ("other teacher", server.client(&parties.teacher(1))),
        ("foreign student", server.client(&other.student())),
        ("foreign teacher", server.client(&other.teacher(0))),
    ];
    let read = |client: &Client, path: &str| client.get_bytes(path, 1 << 26).map(drop);
    // (what, who is let through, the attempt)
    let attempts: Vec<(&str, &[&str], Attempt)> = vec![
        ("status", &["operator", "student", "teacher", "other teacher"], {
            Box::new(|c| read(c, "/v1/elections/roles"))
        }),
        ("public key", &["operator", "student", "teacher", "other teacher"], {
            Box::new(|c| read(c, "/v1/elections/roles/keys/public"))
        }),
        ("ballot", &["teacher"], {
            Box::new(|c| c.put("/v1/elections/roles/ballots/t0/0", &ballot[0]))
        }),
        ("list", &["operator"], Box::new(|c| read(c, "/v1/elections"))),
        ("ledger", &["operator"], Box::new(|c| read(c, "/v1/ledger"))),
        ("incidents", &["operator"], Box::new(|c| read(c, "/v1/incidents"))),
        ("metrics", &["operator"], Box::new(|c| read(c, "/metrics"))),
        ("close", &["operator", "student"], {
            Box::new(|c| client::close(c, parties.file.name()).map(drop))
        }),
        ("results", &["student"], {
            Box::new(|c| {
                // Not there yet is an answer too, but only for those who may ask.
                match read(c, "/v1/elections/roles/results/0") {
                    Err(ClientError::Refused { status: 404, .. }) => Ok(()),
                    answer => answer,
                }
            })
        }),
        ("key upload", &["student"], {
            Box::new(|c| {
                client::submit_key(
                    c,
                    parties.file.name(),
                    "public",
                    &parties.folder.join("public.key"),
                )
            })
        }),
        ("withdraw", &[], {
            Box::new(|c| match client::withdraw(c, parties.file.name()) {
                // The operator may, but not once it is closed.
                Err(ClientError::Refused { status: 409, .. }) => Err(ClientError::Refused {
                    status: 403,
                    kind: String::new(),
                    detail: String::new(),
                }),
                answer => answer,
            })
        }),
    ];
    for (what, allowed, attempt) in &attempts {
        for (who, client) in &clients {
            match (attempt(client), allowed.contains(who)) {
                (Ok(()), true) | (Err(ClientError::Refused { status: 403, .. }), false) => {}
                (outcome, allowed) => panic!("{who}, {what}: {outcome:?}, allowed: {allowed}"),
            }
        }
    }
}

#[test]
fn without_a_token_nothing_but_health_answers() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(settings(&folder.path().join("data")));
    let stranger = Invitation {
        token: shield_service::credentials::Token::random(
            &mut <rand::rngs::StdRng as rand::SeedableRng>::seed_from_u64(99),
        ),
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
    let Err(ClientError::Refused { status: 409, kind, detail }) = second else {
        panic!("it was let through")
    };
    assert_eq!(kind, "budget");
    assert!(detail.contains("of 30") && detail.contains("on its own"), "{detail}");
    assert_eq!(std::fs::read_dir(&invitations).unwrap().count(), 0, "no invitations to nothing");
    // Once the first is called off there is room again.
    client::withdraw(&operator, &"first".parse().unwrap()).unwrap();
    Parties::create(&server, election("third", 5, 40, 4), folder.path());
    let ledger: serde_json::Value = operator.get("/v1/ledger").unwrap();
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
    let soon = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(4);
    let text = election("soon", 3, 20, 1).canonical();
    let text = text.replace("teachers =", &format!("deadline = {soon}\nteachers ="));
    let file = shield_service::ElectionFile::parse(&text).unwrap();
    let parties = Parties::create(&server, file, folder.path());
    parties.submit_keys(&server);
    parties.submit(&server, 0, &votes(0, 20));
    let student = server.client(&parties.student());
    let start = Instant::now();
    while client::status(&student, parties.file.name()).unwrap().stage == "open" {
        assert!(start.elapsed() < Duration::from_secs(30), "it stays open");
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
