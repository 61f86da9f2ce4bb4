//! Closing an election beside everything else.

use std::sync::Arc;
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::StdRng;
use shield::backend::Presence;
use shield_protocol::credentials::{Role, Token};
use shield_protocol::{ElectionFile, Name};

use super::Running;
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
                "name = \"ward-{round}\"\ngroup = \"g\"\nclasses = 3\nsamples = 4\noffset = \
                 20\nquorum = 2\nteachers = [{teachers}]"
            );
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
