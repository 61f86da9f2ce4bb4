//! The worker: whose turn it is, what it does not try a third time, and what it cannot find.

use std::collections::HashMap;
use std::sync::Arc;

use shield_core::engine::Presence;
use shield_protocol::hex::hex;
use shield_protocol::job::audit::Question;
use shield_protocol::transcript::AskedBatch;
use shield_protocol::{ElectionFile, Name};

use super::{keep_ballot, keep_keys, text};
use crate::service::Service;
use crate::store::{RoundFile, RoundStage, Stage, StoreError, Turn};
use crate::worker;

/// An election of one batch once waited for 157 batches of another.
#[test]
fn elections_take_turns() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let service = Service::open(&super::settings(&folder.path().join("data"))).await.unwrap();
        let mut names = Vec::new();
        for (name, samples) in [("large", 40), ("small", 4), ("waits", 4)] {
            names.push(frozen(&service, &text(name, 3, samples, 2)).await);
        }
        let [large, small, waits] = names.try_into().unwrap();
        let paused = Turn { priority: 1, paused: true };
        service.store.set_turn(&waits, paused).await.unwrap();
        let mut jobs = HashMap::new();
        let done = async |name: &Name| service.store.count_releases(name).await.unwrap();
        assert!(worker::take_turns(&service, &mut jobs).await.unwrap());
        let after = (done(&large).await, done(&small).await, done(&waits).await);
        assert_eq!(after, (1, 1, 0), "a batch each, and none for who is paused");
        let turn = Turn { priority: 3, paused: false };
        service.store.set_turn(&large, turn).await.unwrap();
        service.store.set_turn(&waits, Turn::default()).await.unwrap();
        assert!(worker::take_turns(&service, &mut jobs).await.unwrap());
        assert_eq!((done(&large).await, done(&waits).await), (4, 1));
        assert_eq!(service.store.election(&small).await.unwrap().stage, Stage::Released);
        while worker::take_turns(&service, &mut jobs).await.unwrap() {}
        assert_eq!(service.store.election(&large).await.unwrap().stage, Stage::Released);
        let unknown = service.store.set_turn(&"nobody".parse().unwrap(), turn).await;
        assert!(matches!(unknown, Err(StoreError::NoElection)));
    });
}

/// An audit of two batches lets the batches of an election that waits come in between.
#[test]
fn audits_take_turns() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut settings = super::settings(&folder.path().join("data"));
        settings.budget.epsilon = 1e9;
        let service = Service::open(&settings).await.unwrap();
        let store = &service.store;
        let encrypted = |samples| text("audited", 3, samples, 2).replace("clear", "bfv");
        let batches = |samples| ElectionFile::parse(&encrypted(samples)).unwrap().batches();
        let samples = (1..99).map(|times| 512 * times).find(|&samples| batches(samples) == 2);
        let audited = frozen(&service, &encrypted(samples.unwrap())).await;
        let mut jobs = HashMap::new();
        while worker::take_turns(&service, &mut jobs).await.unwrap() {}
        let asked = [0, 1].map(|batch| AskedBatch { batch, samples: vec![0] }).to_vec();
        let (election, results) = ("0".repeat(64), "0".repeat(64));
        let question = serde_json::to_string(&Question { election, results, asked }).unwrap();
        store.ask(&audited, 0, &question).await.unwrap();
        let waiting = frozen(&service, &text("waiting", 3, 8, 2)).await;
        let computed = async || {
            let mut computed = 0;
            for batch in 0..2 {
                let file = store.round_file(&audited, 0, RoundFile::Audit, batch).await;
                computed += usize::from(file.unwrap().is_some());
            }
            (computed, store.count_releases(&waiting).await.unwrap())
        };
        assert!(worker::take_turns(&service, &mut jobs).await.unwrap());
        assert_eq!(computed().await, (1, 1), "a batch each");
        assert!(worker::take_turns(&service, &mut jobs).await.unwrap());
        assert_eq!(computed().await, (2, 2));
        while worker::take_turns(&service, &mut jobs).await.unwrap() {}
        assert_eq!(store.rounds(&audited).await.unwrap()[0].stage, RoundStage::Audited);
    });
}

/// An election with real keys and ballots, frozen.
async fn frozen(service: &Service, text: &str) -> Name {
    use rand::SeedableRng;
    let file = ElectionFile::parse(text).unwrap().plan();
    let (name, engine) = (file.name().clone(), file.engine());
    let mut rng = rand::rngs::StdRng::seed_from_u64(3);
    let keys = engine.make_keys(&mut rng).unwrap();
    service.store.create_election(&file, &[]).await.unwrap();
    let id = hex(keys.id.as_bytes());
    keep_keys(service, &name, &id, [&keys.public, &keys.evaluation]).await;
    let voting = Arc::clone(engine).voting(&keys.public).unwrap();
    for teacher in 0..3 {
        for batch in 0..engine.batches() {
            let votes = vec![Some(shield_core::Class(1)); engine.batch(batch).len()];
            let bytes = voting.encrypt(batch, teacher, &votes, &mut rng).unwrap();
            let presence = Presence::new(votes.iter().map(Option::is_some));
            let place = (teacher, u32::try_from(batch).unwrap());
            keep_ballot(service, &name, place, &presence, &bytes).await.unwrap();
        }
    }
    service.price_election(&name).await.unwrap();
    service.close(&name).await.unwrap();
    name
}

/// A batch that takes more memory than there is once killed the server at every start.
#[test]
fn a_batch_that_the_server_died_of_twice_fails_and_can_be_asked_for_again() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let service = Service::open(&super::settings(&folder.path().join("data"))).await.unwrap();
        let name = frozen(&service, &text("ward", 3, 4, 2)).await;
        let file = service.planned(&name).await.unwrap();
        let mut jobs = HashMap::new();
        for _ in 0..2 {
            let begun = service.heavy.begin(&service.store, &file, "batch 0").await;
            std::mem::forget(begun.unwrap());
        }
        while worker::take_turns(&service, &mut jobs).await.unwrap() {}
        let failed = service.store.election(&name).await.unwrap();
        assert!(failed.problem.unwrap().contains("died 2 times while it computed batch 0"));
        service.close(&name).await.unwrap();
        while worker::take_turns(&service, &mut jobs).await.unwrap() {}
        assert_eq!(service.store.election(&name).await.unwrap().stage, Stage::Released);
    });
}

/// A ballot that was lost after it was frozen once left an election that failed for ever.
#[test]
fn a_ballot_that_is_lost_after_the_freeze_comes_again_and_the_election_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let service = Service::open(&super::settings(&data)).await.unwrap();
        let name = frozen(&service, &text("ward", 3, 4, 2)).await;
        let row = service.store.ballots_of(&name, 1..2).await.unwrap().remove(0);
        let path = data.join(format!("elections/ward/ballots/1/0-{}", row.hash));
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let mut jobs = HashMap::new();
        while worker::take_turns(&service, &mut jobs).await.unwrap() {}
        assert_eq!(service.store.election(&name).await.unwrap().stage, Stage::Failed);
        let said = service.incidents();
        assert!(said[0].message.contains("sending the ballot again restores it"), "{said:?}");
        assert!(service.store.is_ballot_lost(&name, 1, 0).await.unwrap());
        assert_eq!(service.store.roll(&name).await.unwrap().voters.len(), 3, "as it was frozen");
        let presence = Presence::new((0..4).map(|_| true));
        keep_ballot(&service, &name, (1, 0), &presence, &bytes).await.unwrap();
        service.close(&name).await.unwrap();
        while worker::take_turns(&service, &mut jobs).await.unwrap() {}
        assert_eq!(service.store.election(&name).await.unwrap().stage, Stage::Released);
    });
}
