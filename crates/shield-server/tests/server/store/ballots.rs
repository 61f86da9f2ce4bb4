//! Ballots count once, freeze once, and are released once.

use super::*;

pub(super) async fn a_ballot_counts_once(place: Place) {
    let store = place.open().await;
    let ward = file("ward");
    store.create_election(&ward, &tokens(&ward)).await.unwrap();
    let early = add_ballot(&store, ward.name(), 0, 0, b"zero").await;
    assert!(
        matches!(early, Err(StoreError::Stage { stage: Stage::AwaitingKeys, .. })),
        "{early:?}"
    );

    let name = open_election(&store, &file("clinic")).await;
    assert_eq!(add_ballot(&store, &name, 1, 0, b"one").await.unwrap(), Stored::New);
    assert_eq!(add_ballot(&store, &name, 1, 0, b"one").await.unwrap(), Stored::Again);
    let other = add_ballot(&store, &name, 1, 0, b"changed my mind").await;
    assert!(matches!(other, Err(StoreError::Conflict { .. })), "{other:?}");
    let copied = add_ballot(&store, &name, 2, 0, b"one").await;
    assert!(matches!(copied, Err(StoreError::Replayed)), "{copied:?}");
    // Another batch, and another election, are other places.
    assert_eq!(add_ballot(&store, &name, 1, 1, b"one").await.unwrap(), Stored::New);
    let second = open_election(&store, &file("second")).await;
    assert_eq!(add_ballot(&store, &second, 2, 0, b"one").await.unwrap(), Stored::New);

    let ballots = store.ballots(&name).await.unwrap();
    let places: Vec<(u32, u32)> = ballots.iter().map(|one| (one.teacher, one.batch)).collect();
    assert_eq!(places, [(1, 0), (1, 1)]);
    let presence = shield_server::store::presence_from_text(SAMPLES, &ballots[0].presence).unwrap();
    assert!(presence.contains(0) && !presence.contains(1) && presence.contains(2));
}

pub(super) async fn closing_freezes_once(place: Place) {
    let store = place.open().await;
    let ward = file("ward");
    let name = open_election(&store, &ward).await;
    for teacher in 0..3 {
        add_ballot(&store, &name, teacher, 0, &[1, u8::try_from(teacher).unwrap()]).await.unwrap();
    }

    // Refused: nothing changes.
    let refuse = async |roll: &Roll| -> Result<VoterCounts, StoreError> {
        assert_eq!(roll.voters.len(), 3);
        Err(StoreError::Damaged("quorum"))
    };
    let refused = store.close(&name, &Seed::from_bytes([9; 32]), refuse).await;
    assert!(matches!(refused, Err(StoreError::Damaged("quorum"))), "{refused:?}");
    assert_eq!(store.election(&name).await.unwrap().stage, Stage::Open);
    assert!(store.frozen(&name).await.is_err());
    assert!(store.closing().await.unwrap().is_empty());

    assert_eq!(close(&store, &name, 1).await.unwrap(), Stored::New);
    let election = store.election(&name).await.unwrap();
    assert_eq!(election.stage, Stage::Closing);
    assert!(election.closed.is_some_and(|closed| closed >= election.created));
    assert_eq!(store.closing().await.unwrap(), std::slice::from_ref(&name));

    // The second seed is not taken.
    assert_eq!(close(&store, &name, 2).await.unwrap(), Stored::Again);
    let (seed, frozen) = store.frozen(&name).await.unwrap();
    assert_eq!(seed.as_bytes(), &[1; 32]);
    assert_eq!(frozen.teachers(), [0, 1, 2]);

    let late = add_ballot(&store, &name, 3, 0, b"late").await;
    assert!(matches!(late, Err(StoreError::Stage { stage: Stage::Closing, .. })), "{late:?}");
    // Who did not hear that its ballot arrived may still ask.
    assert_eq!(add_ballot(&store, &name, 0, 0, &[1, 0]).await.unwrap(), Stored::Again);
    assert_eq!(store.roll(&name).await.unwrap(), frozen);

    let bookings = store.bookings(ward.group()).await.unwrap();
    assert!(bookings[0].spent);
    assert_eq!(bookings[0].voters, [(3, SAMPLES as u64)]);

    store.finish(&name, None).await.unwrap();
    assert_eq!(store.election(&name).await.unwrap().stage, Stage::Released);
    assert_eq!(close(&store, &name, 3).await.unwrap(), Stored::Again);
    assert_eq!(store.election(&name).await.unwrap().stage, Stage::Released);
    assert_eq!(store.frozen(&name).await.unwrap().0.as_bytes(), &[1; 32]);
}

pub(super) async fn a_failed_aggregation_goes_on_with_its_seed(place: Place) {
    let store = place.open().await;
    let name = open_election(&store, &file("ward")).await;
    add_ballot(&store, &name, 0, 0, b"zero").await.unwrap();
    close(&store, &name, 1).await.unwrap();
    store.finish(&name, Some("the disk is full")).await.unwrap();
    let election = store.election(&name).await.unwrap();
    assert_eq!(election.stage, Stage::Failed);
    assert_eq!(election.problem.as_deref(), Some("the disk is full"));
    assert!(store.closing().await.unwrap().is_empty());
    let late = add_ballot(&store, &name, 1, 0, b"one").await;
    assert!(matches!(late, Err(StoreError::Stage { stage: Stage::Failed, .. })), "{late:?}");

    assert_eq!(close(&store, &name, 2).await.unwrap(), Stored::Again);
    let election = store.election(&name).await.unwrap();
    assert_eq!((election.stage, election.problem), (Stage::Closing, None));
    assert_eq!(store.frozen(&name).await.unwrap().0.as_bytes(), &[1; 32]);
}

/// Many ballots and one closing at once, again and again: what was answered with "stored" is among
/// the frozen, and nothing else is.
pub(super) async fn nothing_is_accepted_after_the_freeze(place: Place) {
    const ROUNDS: usize = 6;
    const VOTERS: u32 = 32;
    let store = Arc::new(place.open().await);
    let mut both = 0;
    for round in 0..ROUNDS {
        let name = open_election(&store, &file_of(&format!("ward-{round}"), "many", VOTERS)).await;
        let start = Arc::new(tokio::sync::Barrier::new(VOTERS as usize + 1));
        let ballots: Vec<_> = (0..VOTERS)
            .map(|teacher| {
                let (store, name, start) = (Arc::clone(&store), name.clone(), Arc::clone(&start));
                tokio::spawn(async move {
                    start.wait().await;
                    let bytes = format!("{name} {teacher}");
                    let stored = add_ballot(&store, &name, teacher, 0, bytes.as_bytes()).await;
                    (teacher, stored)
                })
            })
            .collect();
        start.wait().await;
        let began = std::time::Instant::now();
        while store.voters(&name).await.unwrap().len() <= round {
            assert!(began.elapsed() < Duration::from_mins(2), "never: {round} have voted");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        close(&store, &name, 1).await.unwrap();
        let (_, frozen) = store.frozen(&name).await.unwrap();
        let mut accepted = Vec::new();
        for ballot in ballots {
            match ballot.await.unwrap() {
                (teacher, Ok(stored)) => {
                    assert_eq!(stored, Stored::New);
                    accepted.push(teacher);
                }
                (_, Err(StoreError::Stage { stage: Stage::Closing, .. })) => {}
                (teacher, Err(error)) => panic!("teacher {teacher}: {error}"),
            }
        }
        assert_eq!(accepted, frozen.teachers(), "round {round}");
        assert_eq!(store.frozen(&name).await.unwrap().1, frozen);
        both += usize::from(!accepted.is_empty() && accepted.len() < VOTERS as usize);
    }
    assert!(both > 0, "no round had ballots on both sides of the freeze: the check shows nothing");
}

pub(super) async fn the_same_ballot_at_once_is_stored_once(place: Place) {
    let store = Arc::new(place.open().await);
    let name = open_election(&store, &file("ward")).await;
    let copies: Vec<_> = (0..16)
        .map(|copy| {
            let (store, name) = (Arc::clone(&store), name.clone());
            // Half of them are the teacher's second thoughts.
            let bytes: &[u8] = if copy % 2 == 0 { b"first" } else { b"second" };
            tokio::spawn(async move { (copy, add_ballot(&store, &name, 0, 0, bytes).await) })
        })
        .collect();
    let mut new = Vec::new();
    let mut again = Vec::new();
    for copy in copies {
        match copy.await.unwrap() {
            (copy, Ok(Stored::New)) => new.push(copy),
            (copy, Ok(Stored::Again)) => again.push(copy),
            (_, Err(StoreError::Conflict { .. })) => {}
            (copy, Err(error)) => panic!("copy {copy}: {error}"),
        }
    }
    assert_eq!(new.len(), 1);
    assert_eq!(again.len(), 7);
    assert!(again.iter().all(|copy| copy % 2 == new[0] % 2));
    assert_eq!(store.ballots(&name).await.unwrap().len(), 1);
}

/// Each of these uploads once left its file behind: whoever had a token could fill the disk.
pub(super) async fn what_is_refused_leaves_no_file(place: Place) {
    let store = Arc::new(place.open().await);
    let elections = place.data.join("elections");
    let waiting = file("waiting");
    store.create_election(&waiting, &tokens(&waiting)).await.unwrap();
    add_key(&store, waiting.name(), "public", "aa", b"key").await.unwrap();
    let open = open_election(&store, &file("open")).await;
    add_ballot(&store, &open, 0, 0, b"zero").await.unwrap();
    let closed = open_election(&store, &file("closed")).await;
    close(&store, &closed, 1).await.unwrap();
    store.add_release(&closed, 0, b"release").await.unwrap();
    let kept = files_under(&elections);
    let mut refused = 0;
    for number in 0..5 {
        let bytes = format!("number {number}");
        let bytes = bytes.as_bytes();
        let answers = [
            add_ballot(&store, waiting.name(), 1, 0, bytes).await,
            add_ballot(&store, &open, 0, 0, bytes).await,
            add_ballot(&store, &open, 1 + number % 4, 0, b"zero").await,
            add_ballot(&store, &closed, 1, 0, bytes).await,
            add_key(&store, waiting.name(), "public", "aa", bytes).await,
            add_key(&store, waiting.name(), "evaluation", "bb", bytes).await,
            add_key(&store, &closed, "public", "00", bytes).await,
            store.add_release(&closed, 0, bytes).await,
        ];
        for answer in answers {
            answer.expect_err("refused");
            refused += 1;
        }
    }
    assert_eq!((refused, files_under(&elections)), (40, kept));

    // At once: what all of them look for is there only when the first of them is through.
    let many: Vec<_> = (0..20)
        .map(|number: u32| {
            let (store, open) = (Arc::clone(&store), open.clone());
            let bytes = format!("copy {}", number % 2);
            tokio::spawn(async move {
                add_ballot(&store, &open, 1 + number % 3, 0, bytes.as_bytes()).await
            })
        })
        .collect();
    for one in many {
        let _ = one.await.unwrap();
    }
    let ballots = store.ballots(&open).await.unwrap();
    assert_eq!(files_under(&elections), kept + ballots.len() - 1);
    for ballot in ballots {
        let object = shield_server::store::Object::Ballot { teacher: ballot.teacher, batch: 0 };
        store.read(&open, object, &ballot.hash).unwrap();
    }
}
