//! Closing an election beside everything else.

use std::sync::Arc;
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::StdRng;
use shield_core::engine::Presence;
use shield_protocol::credentials::{Role, Token};
use shield_protocol::{ElectionFile, Name};

use super::{Running, keep_ballot, keep_keys, text};
use crate::service::Service;
use crate::store::{StoreError, Stored};

/// An election on which the first `voters` teachers have voted, with files that no engine would
/// read.
pub(crate) async fn election(service: &Service, text: &str, voters: u32) -> Name {
    let file = ElectionFile::parse(text).unwrap();
    let name = file.name().clone();
    let student = Role::Student { election: name.clone() };
    let hash = Token::random(&mut StdRng::from_os_rng()).hash();
    assert_eq!(
        service.store.create_election(&file, &[(hash, student)]).await.unwrap(),
        Stored::New
    );
    keep_keys(service, &name, &"0".repeat(64), [b"public", b"evaluation"]).await;
    for teacher in 0..voters {
        ballot(service, &name, teacher).await.unwrap();
    }
    name
}

async fn ballot(service: &Service, name: &Name, teacher: u32) -> Result<Stored, StoreError> {
    let file = service.store.election(name).await?.file;
    let presence = Presence::new((0..file.election().samples()).map(|_| true));
    keep_ballot(service, name, (teacher, 0), &presence, format!("{name} {teacher}").as_bytes())
        .await
}

/// Closing reads what the other elections cost. It once did so while it held the election's row,
/// and waited for a connection while all connections waited for that row.
#[test]
fn closing_does_not_wait_for_the_ballots_that_wait_for_it() {
    const TEACHERS: u32 = 60;
    let server = Running::start();
    server.wait(async {
        for round in 0..3 {
            let text = text(&format!("ward-{round}"), TEACHERS as usize, 4, 2);
            let name = election(&server.service, &text, 2).await;
            let ballots: Vec<_> = (2..TEACHERS)
                .map(|teacher| {
                    let (service, name) = (Arc::clone(&server.service), name.clone());
                    tokio::spawn(async move { ballot(&service, &name, teacher).await })
                })
                .collect();
            tokio::time::sleep(Duration::from_millis(5)).await;
            // Whoever waits for a connection that never comes gets an error in the end.
            server.service.close(&name).await.unwrap();
            for ballot in ballots {
                match ballot.await.unwrap() {
                    Ok(_) | Err(StoreError::Stage { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        }
    });
}
