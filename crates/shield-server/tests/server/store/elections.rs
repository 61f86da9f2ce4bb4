//! Elections, tokens and keys: created once, called off before they are closed.

use super::*;

pub(super) async fn elections_are_created_once(place: Place) {
    let store = place.open().await;
    let ward = file("ward");
    let mut ward_tokens = tokens(&ward);
    assert_eq!(store.create_election(&ward, &ward_tokens).await.unwrap(), Stored::New);
    assert_eq!(store.create_election(&ward, &ward_tokens).await.unwrap(), Stored::Again);
    let bookings = store.bookings(ward.group()).await.unwrap();
    assert_eq!(bookings.len(), 1);
    assert!(!bookings[0].spent);
    assert_eq!(bookings[0].voters, [(2, SAMPLES as u64)]);

    // The same tokens in other hands are other invitations.
    let mut swapped = ward_tokens.clone();
    let (first, second) = (swapped[1].0.clone(), swapped[2].0.clone());
    (swapped[1].0, swapped[2].0) = (second, first);
    let again = store.create_election(&ward, &swapped).await;
    assert!(matches!(again, Err(StoreError::NameTaken)), "{again:?}");
    ward_tokens[1].0 = token("somebody else's");
    let again = store.create_election(&ward, &ward_tokens).await;
    assert!(matches!(again, Err(StoreError::NameTaken)), "{again:?}");
    let other = file_of("ward", "hospitals", TEACHERS + 1);
    let again = store.create_election(&other, &tokens(&other)).await;
    assert!(matches!(again, Err(StoreError::NameTaken)), "{again:?}");
    assert_eq!(*store.election(ward.name()).await.unwrap().file, ward);

    // A teacher pays from one budget. Nothing of a refused election stays.
    let text = ward
        .canonical()
        .replace("\"ward\"", "\"raid\"")
        .replace("group = \"hospitals\"", "group = \"laboratories\"");
    let raid = ElectionFile::parse(&text).unwrap();
    let refused = store.create_election(&raid, &tokens(&raid)).await;
    let Err(StoreError::OtherGroup { teacher, group }) = refused else { panic!("{refused:?}") };
    assert_eq!((teacher.as_str(), group.as_str()), ("hospitals-0", "hospitals"));
    assert!(matches!(store.election(raid.name()).await, Err(StoreError::NoElection)));
    assert_eq!(store.role(&tokens(&raid)[0].0).await.unwrap(), None);
    assert!(store.bookings(raid.group()).await.unwrap().is_empty());

    let clinic = file("clinic");
    store.create_election(&clinic, &tokens(&clinic)).await.unwrap();
    let all = store.elections().await.unwrap();
    let mut names: Vec<&str> = all.iter().map(|election| election.file.name().as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["clinic", "ward"]);
}

pub(super) async fn two_keys_of_one_set_open_an_election(place: Place) {
    let store = place.open().await;
    let ward = file("ward");
    let name = ward.name();
    store.create_election(&ward, &tokens(&ward)).await.unwrap();
    assert_eq!(store.key(name, "public").await.unwrap(), None);
    assert_eq!(add_key(&store, name, "public", "aa", b"key").await.unwrap(), Stored::New);
    assert_eq!(add_key(&store, name, "public", "aa", b"key").await.unwrap(), Stored::Again);
    assert_eq!(store.election(name).await.unwrap().stage, Stage::AwaitingKeys);
    let other = add_key(&store, name, "public", "aa", b"another").await;
    assert!(matches!(other, Err(StoreError::Conflict { .. })), "{other:?}");
    let other = add_key(&store, name, "evaluation", "bb", b"evaluation").await;
    assert!(matches!(other, Err(StoreError::Conflict { .. })), "{other:?}");
    assert_eq!(store.election(name).await.unwrap().stage, Stage::AwaitingKeys);
    assert_eq!(
        add_key(&store, name, "evaluation", "aa", b"evaluation").await.unwrap(),
        Stored::New
    );
    assert_eq!(store.election(name).await.unwrap().stage, Stage::Open);
    assert_eq!(add_key(&store, name, "public", "aa", b"key").await.unwrap(), Stored::Again);
    let key = store.key(name, "public").await.unwrap().unwrap();
    assert_eq!(key.key_id, "aa");
    let read = store.read(name, shield_server::store::Object::PublicKey, &key.hash).unwrap();
    assert_eq!(read, b"key");
    let nowhere: Name = "nowhere".parse().unwrap();
    let refused = add_key(&store, &nowhere, "public", "aa", b"key").await;
    assert!(matches!(refused, Err(StoreError::NoElection)), "{refused:?}");
}

pub(super) async fn only_what_is_not_closed_can_be_called_off(place: Place) {
    let store = place.open().await;
    let ward = file("ward");
    let name = open_election(&store, &ward).await;
    store.withdraw(&name).await.unwrap();
    assert_eq!(store.election(&name).await.unwrap().stage, Stage::Withdrawn);
    assert!(store.bookings(ward.group()).await.unwrap().is_empty());
    for refused in [
        store.withdraw(&name).await,
        add_ballot(&store, &name, 0, 0, b"zero").await.map(drop),
        close(&store, &name, 1).await.map(drop),
    ] {
        assert!(
            matches!(refused, Err(StoreError::Stage { stage: Stage::Withdrawn, .. })),
            "{refused:?}"
        );
    }

    // Nobody is invited to what was called off.
    let again = store.create_election(&ward, &tokens(&ward)).await;
    assert!(matches!(again, Err(StoreError::NameTaken)), "{again:?}");

    let clinic = open_election(&store, &file("clinic")).await;
    close(&store, &clinic, 1).await.unwrap();
    let refused = store.withdraw(&clinic).await;
    assert!(matches!(refused, Err(StoreError::Stage { stage: Stage::Closing, .. })), "{refused:?}");
    assert_eq!(store.bookings(ward.group()).await.unwrap().len(), 1);
    let nowhere: Name = "nowhere".parse().unwrap();
    assert!(matches!(store.withdraw(&nowhere).await, Err(StoreError::NoElection)));
    assert!(matches!(close(&store, &nowhere, 1).await, Err(StoreError::NoElection)));
}

pub(super) async fn a_mistyped_group_binds_nobody_for_ever(place: Place) {
    let store = place.open().await;
    let in_group = |name: &str, group: &str, teachers: &str| {
        let text = format!(
            "name = \"{name}\"\ngroup = \"{group}\"\nclasses = 4\nsamples = {SAMPLES}\nquorum = \
             1\nteachers = [{teachers}]\n"
        );
        ElectionFile::parse(&text).unwrap()
    };
    let create = async |file: &ElectionFile| store.create_election(file, &tokens(file)).await;
    let typo = in_group("typo", "hopsitals", "\"amber\", \"birch\"");
    let other = in_group("other", "hopsitals", "\"birch\"");
    let amber = in_group("amber", "hospitals", "\"amber\"");
    let birch = in_group("birch", "hospitals", "\"birch\"");
    create(&typo).await.unwrap();
    create(&other).await.unwrap();
    assert!(matches!(create(&amber).await, Err(StoreError::OtherGroup { .. })));
    store.withdraw(typo.name()).await.unwrap();
    create(&amber).await.unwrap();
    // Who has another election in the group stays in it, also once that one is closed.
    assert!(matches!(create(&birch).await, Err(StoreError::OtherGroup { .. })));
    add_key(&store, other.name(), "public", "00", b"public").await.unwrap();
    add_key(&store, other.name(), "evaluation", "00", b"evaluation").await.unwrap();
    close(&store, other.name(), 1).await.unwrap();
    let third = in_group("third", "hopsitals", "\"birch\"");
    create(&third).await.unwrap();
    store.withdraw(third.name()).await.unwrap();
    assert!(matches!(create(&birch).await, Err(StoreError::OtherGroup { .. })));
}
