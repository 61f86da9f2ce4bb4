//! What a server must do that runs for years.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::SignedDuration;
use serde_json::{Value, json};
use shield_core::engine::Presence;
use shield_protocol::Name;
use shield_protocol::credentials::Role;

use super::closing::election;
use super::{Running, bearer, cookie, header, keep_ballot, text, token};
use crate::service::Service;
use crate::store::{Erasure, Stage, StoreError};

/// Ballots with scattered abstentions: teacher n abstains on sample s if (7 n + s^2) mod 11 < s mod
/// 5.
async fn scattered(service: &Service, name: &Name, teachers: u32) {
    let file = service.planned(name).await.unwrap();
    let engine = file.engine();
    for teacher in 0..teachers {
        for batch in 0..engine.batches() {
            let samples = engine.batch(batch);
            let present = samples.map(|s| (7 * teacher as usize + s * s) % 11 >= s % 5);
            let present: Vec<bool> = present.collect();
            let presence = Presence::new(present.into_iter());
            let batch = u32::try_from(batch).unwrap();
            let bytes = format!("{name} {teacher} {batch}");
            let place = (teacher, batch);
            keep_ballot(service, name, place, &presence, bytes.as_bytes()).await.unwrap();
        }
    }
}

/// Closing once held the write transaction, and everybody, for 50 seconds of proofs.
#[test]
fn closing_waits_for_no_proof_and_the_background_proves_the_rest() {
    let server = Running::start();
    let service = Arc::clone(&server.service);
    server.wait(async {
        let name = election(&service, &text("ward", 60, 40, 30), 0).await;
        service.price_election(&name).await.unwrap();
        scattered(&service, &name, 60).await;
        // No proof can run: whoever needs one waits for ever.
        let taken = Arc::clone(&service.proofs).acquire_many_owned(2).await.unwrap();
        let closed = tokio::time::timeout(Duration::from_mins(2), service.close(&name)).await;
        closed.expect("it waits for no proof").unwrap();
        let booking = service.store.booking(&name).await.unwrap().unwrap();
        let turnouts = booking.voters.len();
        assert!(turnouts > 4, "{:?}", booking.voters);
        assert_eq!(booking.voters.iter().map(|count| count.1).sum::<u64>(), 40);
        // By hand: how many voted on sample 4.
        let absent = (0..60).filter(|teacher| (7 * teacher + 16) % 11 < 4).count();
        let voters = u32::try_from(60 - absent).unwrap();
        assert!(booking.voters.iter().any(|count| count.0 == voters), "{:?}", booking.voters);
        assert!(booking.spent);
        let most = 40.0 * booking.price.each_label.unwrap().get();
        if !booking.price.tight {
            assert!((booking.price.log_moment.unwrap().get() / most - 1.0).abs() < 1e-12);
        }
        drop(taken);
        service.price_election(&name).await.unwrap();
        let tight = service.store.booking(&name).await.unwrap().unwrap().price;
        assert!(tight.tight && tight.log_moment.unwrap().get() < most);
    });
}

/// Status and page once read every ballot, and proved what everything costs, at every look.
#[test]
fn a_look_reads_a_few_rows_and_proves_nothing() {
    let server = Running::start();
    let service = Arc::clone(&server.service);
    let path = "/v1/elections/ward";
    let get = |path| server.ask("GET", path, &server.operator, "");
    server.wait(async {
        let name = election(&service, &text("ward", 50, 40, 2), 0).await;
        service.price_election(&name).await.unwrap();
        scattered(&service, &name, 50).await;
    });
    // There are no ballots to read, whoever would want to, and no proof can run: whoever needs one
    // waits for ever.
    server.run_sql(&["ALTER TABLE ballots RENAME TO hidden"]);
    let _taken = server.wait(Arc::clone(&service.proofs).acquire_many_owned(2)).unwrap();
    for path in [path, "/v1/elections", "/v1/ledger", "/v1/ledger/export", "/metrics"] {
        let answer = get(path);
        assert_eq!(answer.status(), 200, "{path}: {}", answer.body());
    }
    // The page, too.
    let cookie = cookie(&server.sign_in(server.operator.secret(), &[]));
    let page = server.send("GET", "/", &[("cookie", &cookie)], "");
    assert!(page.status() == 200 && page.body().contains("50 of 50"), "{}", page.body());
    let status: Value = serde_json::from_str(get(path).body()).unwrap();
    assert_eq!((&status["voted"], &status["epsilon"].is_number()), (&json!(50), &true));
}

/// A first election that was refused once left its group's budget behind, with an order of its own.
#[test]
fn a_refused_first_election_leaves_no_budget() {
    let server = Running::with(|settings| settings.budget.epsilon = 0.001);
    let file = text("dear", 3, 4, 2);
    let hash = |number: u64| token(number).hash().as_str().to_owned();
    let body = json!({ "file": file, "student": hash(50),
        "teachers": { "t0": hash(51), "t1": hash(52), "t2": hash(53) } });
    let answer = server.ask("POST", "/v1/elections", &server.operator, &body.to_string());
    assert_eq!(answer.status(), 409, "{}", answer.body());
    let group: Name = "g".parse().unwrap();
    assert_eq!(server.wait(server.service.store.budget(&group)).unwrap(), None);
}

/// Tokens once lived for ever, and nobody knew who had done what.
#[test]
fn tokens_come_and_go_one_by_one_and_the_log_knows() {
    let server = Running::start();
    let ask = |method, path: &str, body: &Value| {
        server.ask(method, path, &server.operator, &body.to_string())
    };
    let add = |number: u64, role: &str| {
        let body = json!({ "role": role, "token": token(number).hash(), "note": "for a test" });
        ask("POST", "/v1/tokens", &body)
    };
    assert_eq!(add(20, "monitor").status(), 201);
    assert_eq!(add(20, "monitor").status(), 409);
    assert_eq!(add(21, "teacher").status(), 422);
    let metrics = |number: u64| server.ask("GET", "/metrics", &token(number), "").status().as_u16();
    assert_eq!(metrics(20), 200);
    let name = |number: u64| token(number).hash().as_str()[..12].to_owned();
    let body = json!({ "token": token(22).hash() });
    let rotated = ask("POST", &format!("/v1/tokens/{}/rotate", name(20)), &body);
    assert_eq!(rotated.status(), 200, "{}", rotated.body());
    assert_eq!((metrics(20), metrics(22)), (401, 200), "the old one stops at once");
    let revoke =
        |number: u64| ask("DELETE", &format!("/v1/tokens/{}", name(number)), &Value::Null).status();
    assert_eq!(revoke(22), 204);
    assert_eq!(metrics(22), 401);
    assert_eq!(revoke(22), 404);
    // Nobody locks everybody out.
    assert_eq!(revoke(0), 409);
    assert_eq!(add(23, "operator").status(), 201);
    assert_eq!(revoke(0), 204);
    assert_eq!(add(24, "monitor").status(), 401);
    let lines = server.wait(server.service.store.log_lines(0, 100)).unwrap();
    let deeds: Vec<&str> = lines.iter().map(|line| line.action.as_str()).collect();
    let expected =
        ["token added", "token rotated", "token revoked", "token added", "token revoked"];
    assert_eq!(deeds, expected);
    let mut before = String::new();
    for line in &lines {
        assert_eq!((&*line.role, &*line.who, &*line.address), ("operator", &*name(0), "127.0.0.1"));
        assert_eq!(line.chain, line.expected(&before));
        before.clone_from(&line.chain);
    }
}

#[test]
fn requests_are_named_by_the_server_and_meant_for_it() {
    let server =
        Running::with(|settings| settings.public_host = Some("shield.example.org".to_owned()));
    let bearer = bearer(&server.operator);
    let ask = |host: &str, path: &str| {
        let headers = [("authorization", &*bearer), ("host", host), ("x-request-id", "mine")];
        server.send("GET", path, &headers, "")
    };
    let answer = ask("shield.example.org:8443", "/v1/whoami");
    assert_eq!(answer.status(), 200);
    assert_ne!(header(&answer, "x-request-id"), "mine");
    assert_eq!(ask("evil.example.org", "/v1/whoami").status(), 421);
    assert_eq!(ask("evil.example.org", "/readyz").status(), 200);
    assert_eq!(ask("127.0.0.1", "/v1/whoami").status(), 200);
    assert_eq!(header(&answer, "strict-transport-security"), "", "not over plain HTTP");
    let tls = Running::start_tls();
    let answer = tls.send("GET", "/livez", &[], "");
    assert_eq!(header(&answer, "strict-transport-security"), "max-age=31536000");
}

#[test]
fn a_full_disk_is_not_ready_and_lives() {
    let server = Running::with(|settings| settings.disk_reserve = u64::MAX);
    server.wait(server.service.look());
    let ready = server.send("GET", "/readyz", &[], "");
    assert_eq!(ready.status(), 503);
    assert!(ready.body().contains("not ready: disk"), "{}", ready.body());
    assert_eq!(server.send("GET", "/livez", &[], "").status(), 200);
    // Nobody fills it to the last byte, which the database needs.
    let name = server.wait(election(&server.service, &text("ward", 2, 4, 2), 0));
    let role = Role::Student { election: name };
    server.wait(server.service.store.add_token(&token(40).hash(), &role)).unwrap();
    let put = server.ask("PUT", "/v1/elections/ward/keys/public", &token(40), "k");
    assert_eq!((put.status().as_u16(), header(&put, "retry-after")), (503, "1"));
}

/// A clock that was 300 days ahead for four seconds once closed an election.
#[test]
fn a_clock_that_jumps_closes_nothing_and_opens_nothing() {
    let server = Running::start();
    let service = Arc::clone(&server.service);
    server.wait(async {
        let soon = service.clock.system() + SignedDuration::from_secs(3600);
        let file = format!("{}\ndeadline = {soon}", text("ward", 4, 4, 2));
        let name = election(&service, &file, 3).await;
        service.price_election(&name).await.unwrap();
        service.clock.pass(SignedDuration::from_mins(11));
        service.clock.set_wrong(SignedDuration::from_hours(300 * 24));
        for _ in 0..3 {
            service.close_overdue().await.unwrap();
            service.clock.pass(SignedDuration::from_secs(1));
        }
        service.look().await;
        assert_eq!(service.store.election(&name).await.unwrap().stage, Stage::Open);
        assert!(service.incidents()[0].message.contains("jumped"), "{:?}", service.incidents());
    });
    // While either clock says that it is over, no ballot is taken.
    let teacher = token(31);
    let role = Role::Teacher { election: "ward".parse().unwrap(), teacher: 3 };
    server.wait(service.store.add_token(&teacher.hash(), &role)).unwrap();
    let path = "/v1/elections/ward/ballots/t3/0";
    let vote = || server.ask("PUT", path, &teacher, "").body().clone();
    assert!(vote().contains("problem:deadline"), "{}", vote());
    service.clock.set_wrong(SignedDuration::ZERO);
    assert!(!vote().contains("problem:deadline"), "{}", vote());
}

/// A server that was started with a wrong clock once released an election within four seconds, or
/// took ballots after their deadline.
#[test]
fn a_clock_that_is_wrong_at_the_start_closes_nothing_and_opens_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let settings = super::settings(&folder.path().join("data"));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let service = Service::open(&settings).await.unwrap();
        let soon = service.clock.system() + SignedDuration::from_hours(24);
        let file = format!("{}\ndeadline = {soon}", text("ward", 4, 4, 2));
        let name = election(&service, &file, 3).await;
        service.price_election(&name).await.unwrap();
        service.clock.start_wrong(SignedDuration::from_hours(300 * 24));
        for _ in 0..3 {
            service.close_overdue().await.unwrap();
            service.clock.pass(SignedDuration::from_secs(1));
        }
        assert_eq!(service.store.election(&name).await.unwrap().stage, Stage::Open);
        // Started behind what it has written itself.
        let late = (soon + SignedDuration::from_hours(1)).as_millisecond();
        service.store.age_ballots(late).await;
        service.store.close_database().await.unwrap();
        service.let_go();
        let service = Service::open(&settings).await.unwrap();
        assert!(service.clock.may_have_passed(soon), "no ballot is taken any more");
        service.look().await;
        assert!(service.incidents()[0].message.contains("jumped"), "{:?}", service.incidents());
    });
}

#[test]
fn a_deadline_closes_by_itself_and_refuses_latecomers() {
    let server = Running::start();
    let service = Arc::clone(&server.service);
    let soon = service.clock.system() + SignedDuration::from_secs(3600);
    let file = format!("{}\ndeadline = {soon}", text("ward", 4, 4, 2));
    let name = server.wait(election(&service, &file, 3));
    server.wait(service.price_election(&name)).unwrap();
    let teacher = token(31);
    let role = Role::Teacher { election: name.clone(), teacher: 3 };
    server.wait(service.store.add_token(&teacher.hash(), &role)).unwrap();
    service.clock.pass(SignedDuration::from_secs(3601));
    let late = server.ask("PUT", "/v1/elections/ward/ballots/t3/0", &teacher, "");
    assert!(late.body().contains("problem:deadline"), "{}", late.body());
    // Nobody calls: the worker sees it when it looks.
    let start = Instant::now();
    while server.wait(service.store.election(&name)).unwrap().stage == Stage::Open {
        assert!(start.elapsed() < Duration::from_mins(2), "never: the election is closed");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A question of more than two megabytes was once refused unread.
#[test]
fn a_large_question_is_read() {
    let server = Running::start();
    let name = server.wait(election(&server.service, &text("ward", 3, 4, 2), 0));
    let role = Role::Student { election: name };
    server.wait(server.service.store.add_token(&token(40).hash(), &role)).unwrap();
    let body = format!("[{}1]", "1,".repeat(2 << 20));
    let answer = server.ask("POST", "/v1/elections/ward/audits", &token(40), &body);
    assert_eq!(answer.status(), 422, "{}", answer.body());
}

/// A damaged database was once tried for half a minute before anything was said.
#[test]
fn a_damaged_database_is_named_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let settings = super::settings(&data);
    runtime.block_on(async {
        Service::open(&settings).await.unwrap().store.close_database().await.unwrap();
        let path = data.join("shield.sqlite");
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[..4096].fill(0x5a);
        std::fs::write(&path, bytes).unwrap();
        let error = Service::open(&settings).await.err().unwrap();
        // The pool, which tries for half a minute, would only say that it ran out of time.
        assert!(error.is_bad_input() && error.to_string().contains("shield.sqlite"), "{error}");
    });
}

/// 5,000 rounds were taken on by a server of 1 GiB, which every rehearsal then killed.
#[test]
fn what_takes_more_memory_than_there_is_is_refused() {
    let server = Running::with(|settings| settings.memory = 1 << 30);
    let file = |polynomial: &str, samples: usize| {
        let text = text("ward", 3, samples, 2).replace("clear", "bfv");
        json!({ "file": text.replace("8X^4+6X^3+4X^2+X", polynomial) }).to_string()
    };
    let price = |body: &str| server.ask("POST", "/v1/price", &server.operator, body);
    let small = price(&file("8X^4+6X^3+4X^2+X", 512));
    let memory: Value = serde_json::from_str(small.body()).unwrap();
    assert!(memory["memory"].as_u64().unwrap() < 512 << 20, "{memory}");
    let large = price(&file("5000X^2+X", 512));
    assert_eq!(large.status(), 422, "{}", large.body());
    assert!(large.body().contains("--memory"), "{}", large.body());
}

#[test]
fn what_is_deleted_is_gone_and_the_ledger_stays() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let service = Service::open(&super::settings(&data)).await.unwrap();
        let name = election(&service, &text("ward", 4, 4, 2), 0).await;
        scattered(&service, &name, 3).await;
        let refused = service.store.erase(&name, Erasure::Ballots).await;
        assert!(matches!(refused, Err(StoreError::Stage { .. })), "{refused:?}");
        service.price_election(&name).await.unwrap();
        service.close(&name).await.unwrap();
        service.store.add_release(&name, 0, b"release").await.unwrap();
        service.store.finish(&name, None).await.unwrap();
        let booked = service.store.booking(&name).await.unwrap().unwrap();
        service.store.erase(&name, Erasure::Ballots).await.unwrap();
        let folder = data.join("elections/ward");
        assert!(!folder.join("ballots").exists() && folder.join("parts").exists());
        assert_eq!(service.store.compare().await.unwrap().1, crate::store::Lost::default());
        service.store.erase(&name, Erasure::Everything).await.unwrap();
        assert!(!folder.join("parts").exists() && folder.join("drawn").exists());
        let after = service.store.booking(&name).await.unwrap().unwrap();
        assert_eq!((after.spent, after.voters), (true, booked.voters));
        assert!(
            service
                .store
                .tokens(9)
                .await
                .unwrap()
                .iter()
                .all(|token| token.role.election().is_none())
        );
    });
}
