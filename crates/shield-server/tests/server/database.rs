//! A server whose database goes away and comes back.

use std::time::{Duration, Instant};

use shield_client as client;
use shield_server::Settings;
use shield_server::store::DatabaseUrl;

use crate::harness::{Parties, Running, election, settings, until, votes, wait};
use crate::postgres::Cluster;

/// What a server answers to a request without a body: the status and the text.
fn get(server: &Running, path: &str, bearer: Option<&str>) -> (u16, String) {
    let mut request = ureq::get(format!("{}{path}", server.url))
        .config()
        .http_status_as_error(false)
        .timeout_global(Some(Duration::from_mins(1)))
        .build();
    if let Some(bearer) = bearer {
        request = request.header("authorization", format!("Bearer {bearer}"));
    }
    let mut answer = request.call().expect("an answer");
    (answer.status().as_u16(), answer.body_mut().read_to_string().unwrap_or_default())
}

/// Every request once waited eight seconds for a database that was not there.
#[test]
fn a_database_that_is_gone_is_said_at_once_and_nothing_is_lost() {
    let Some(mut cluster) = Cluster::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let url = wait(cluster.database("shield"));
    let settings = Settings {
        database: Some(DatabaseUrl::from(url)),
        ..settings(&folder.path().join("data"))
    };
    let server = Running::start_plain(settings);
    let parties = Parties::create(&server, election("ward", 3, 20, 2), folder.path());
    parties.submit_keys(&server);
    parties.submit(&server, 0, &votes(0, 20));
    let operator = server.operator.token.secret().to_owned();
    assert_eq!(get(&server, "/readyz", None).0, 200);

    cluster.stop();
    until("not ready", || get(&server, "/readyz", None).0 == 503);
    let (_, reason) = get(&server, "/readyz", None);
    assert!(reason.contains("not ready: database"), "{reason}");
    assert_eq!(get(&server, "/livez", None).0, 200);
    // One after the other: whoever waited for the database would wait for minutes in all.
    let start = Instant::now();
    for path in ["/v1/elections", "/v1/whoami", "/metrics", "/v1/ledger", "/v1/tokens"] {
        for _ in 0..6 {
            let (status, text) = get(&server, path, Some(&operator));
            assert_eq!(status, 503, "{path}: {text}");
            assert!(text.contains("database does not answer"), "{path}: {text}");
        }
    }
    assert!(start.elapsed() < Duration::from_mins(2), "they waited: {:?}", start.elapsed());

    // A teacher who votes meanwhile gets through once it is back.
    std::thread::scope(|scope| {
        let voting = scope.spawn(|| {
            let path = parties.write_ballot(1, &votes(1, 20));
            let client = server.client(&parties.teacher(1)).with_patience(Duration::from_mins(3));
            parties.send_by(&client, 1, &path).expect("taken");
        });
        std::thread::sleep(Duration::from_millis(300));
        cluster.start_again();
        until("ready again", || get(&server, "/readyz", None).0 == 200);
        voting.join().expect("the ballot is taken");
    });
    let student = server.client(&parties.student()).with_patience(Duration::from_mins(2));
    let status = client::status(&student, parties.file.name()).unwrap();
    assert_eq!((status.stage.as_str(), status.voted), ("open", 2));
    parties.close(&server);
    assert_eq!(parties.fetch(&server).1.len(), 20);
    // The lock was taken again: nobody else gets in.
    assert_eq!(get(&server, "/readyz", None).0, 200);
}
