//! What is refused, and how.

use serde_json::Value;
use shield_protocol::credentials::Role;

use super::openapi::documented;
use super::{Running, bearer, header, settings, token};
use crate::error::ServeError;
use crate::service::Service;

#[test]
fn without_a_token_nothing_but_health_answers() {
    let server = Running::start();
    let stranger = super::bearer(&token(99));
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
                    "/healthz" | "/livez" | "/readyz" => {
                        assert_eq!(answer.status(), 200, "{about}");
                    }
                    "/session" | "/session/end" => assert_eq!(answer.status(), 403, "{about}"),
                    _ => assert_eq!(answer.status(), 401, "{about}"),
                }
                if !["/healthz", "/livez", "/readyz", "/"].contains(&&*path) {
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
    let bearer = bearer(&server.operator);
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
        ("GET", "/v1/elections/none/results/0", &[token], "", 404),
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

/// A server that took one would let parties believe that somebody checks their signatures.
#[test]
fn a_signed_election_is_refused() {
    let server = Running::start();
    let file = include_str!("../../../shield-board/tests/vectors/election.toml");
    let hash = token(10).hash();
    let new = serde_json::json!({
        "file": file, "student": hash, "teachers": {"amber": hash, "birch": hash, "cedar": hash},
    });
    let bearer = bearer(&server.operator);
    let headers = [("authorization", &*bearer), ("content-type", "application/json")];
    let answer = server.send("POST", "/v1/elections", &headers, &new.to_string());
    assert_eq!(answer.status(), 422, "{answer:?}");
    assert!(answer.body().contains("this election is signed"), "{answer:?}");
}

/// The seeds are in the database, and SQLite's file is as open as the umask leaves it.
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

#[test]
fn a_token_of_another_role_makes_no_operator() {
    let server = Running::start();
    server.wait(async {
        let service = &server.service;
        assert!(service.has_role(&Role::Operator).await.unwrap());
        assert!(!service.has_role(&Role::Monitor).await.unwrap());
        service.add(&server.operator.hash(), &Role::Operator).await.unwrap();
        service.add(&token(1).hash(), &Role::Monitor).await.unwrap();
        let refused = service.add(&token(1).hash(), &Role::Operator).await;
        let Err(error @ ServeError::OtherRole("operator")) = refused else { panic!("{refused:?}") };
        assert!(error.is_bad_input());
        assert!(matches!(
            service.add(&server.operator.hash(), &Role::Monitor).await,
            Err(ServeError::OtherRole("monitor"))
        ));
    });
}

/// The lines of one counter, each with its labels.
fn series(server: &Running, counter: &str) -> Vec<String> {
    let answer = server.ask("GET", "/metrics", &server.operator, "");
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
