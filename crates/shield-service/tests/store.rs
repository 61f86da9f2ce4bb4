//! What the store promises, on SQLite and on a real PostgreSQL: one list of checks, run on both.

mod support;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use shield::Seed;
use shield::backend::Presence;
use shield_service::credentials::{Role, TokenHash};
use shield_service::ledger::Budget;
use shield_service::server::{ServeError, Service, Settings};
use shield_service::store::{
    DatabaseUrl, Stage, Store, StoreError, Stored, StoredBallot, VoterCounts,
};
use shield_service::{ElectionFile, Name};
use support::postgres::Cluster;
use tempfile::TempDir;

const TEACHERS: u32 = 5;
const SAMPLES: usize = 8;

/// A store that can be closed and opened again.
struct Place {
    data: PathBuf,
    database: Option<String>,
    _folder: TempDir,
}

impl Place {
    fn new(database: Option<String>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { data: folder.path().join("data"), database, _folder: folder }
    }

    async fn open(&self) -> Store {
        let store = Store::open(&self.data, self.database.as_deref()).await.unwrap();
        store.sweep().await.unwrap();
        store
    }

    /// What a server on these would be told.
    fn settings(&self) -> Settings {
        Settings {
            data: self.data.clone(),
            database: self.database.clone().map(DatabaseUrl::from),
            budget: Budget::default(),
            uploads: 1,
            patience: Duration::from_secs(1),
        }
    }
}

/// Every check stands once, as its own test on SQLite; PostgreSQL is started once for all of them.
macro_rules! on_both {
    ($($check:ident),* $(,)?) => {
        mod sqlite {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $check() {
                    super::$check(super::Place::new(None)).await;
                }
            )*
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn postgresql() {
            let Some(cluster) = Cluster::start() else { return };
            $(
                println!(stringify!($check));
                $check(Place::new(Some(cluster.database(stringify!($check)).await))).await;
            )*
        }
    };
}

on_both![
    elections_are_created_once,
    tokens_open_their_own_role,
    two_keys_of_one_set_open_an_election,
    a_ballot_counts_once,
    closing_freezes_once,
    a_failed_aggregation_goes_on_with_its_seed,
    a_batch_has_one_release,
    only_what_is_not_closed_can_be_called_off,
    a_mistyped_group_binds_nobody_for_ever,
    a_restart_forgets_nothing,
    damaged_rows_are_noticed,
    nothing_is_accepted_after_the_freeze,
    the_same_ballot_at_once_is_stored_once,
    what_is_refused_leaves_no_file,
    an_older_data_base_destroys_no_ballot,
    busy_is_told_from_broken,
    stores_may_open_at_once,
    folder_and_data_base_belong_together,
    folders_without_a_name_are_taken_on,
];

fn file_of(name: &str, group: &str, teachers: u32) -> ElectionFile {
    let teachers: Vec<String> =
        (0..teachers).map(|number| format!("\"{group}-{number}\"")).collect();
    let text = format!(
        "name = \"{name}\"\ngroup = \"{group}\"\nclasses = 4\nsamples = {SAMPLES}\nquorum = 2\nteachers = [{}]\n",
        teachers.join(", ")
    );
    ElectionFile::parse(&text).unwrap()
}

fn file(name: &str) -> ElectionFile {
    file_of(name, "hospitals", TEACHERS)
}

fn token(of: &str) -> TokenHash {
    blake3::hash(of.as_bytes()).to_hex().to_string().try_into().unwrap()
}

fn tokens(file: &ElectionFile) -> Vec<(TokenHash, Role)> {
    let name = file.name();
    let student = (token(&format!("{name} student")), Role::Student { election: name.clone() });
    let teachers = (0..).zip(file.teachers()).map(|(number, teacher)| {
        let role = Role::Teacher { election: name.clone(), teacher: number };
        (token(&format!("{name} {teacher}")), role)
    });
    std::iter::once(student).chain(teachers).collect()
}

async fn add_key(
    store: &Store,
    name: &Name,
    kind: &'static str,
    set: &str,
    bytes: &[u8],
) -> Result<Stored, StoreError> {
    let mut incoming = store.incoming()?;
    incoming.write(bytes)?;
    store.add_key(name, kind, set, incoming).await
}

async fn add_ballot(
    store: &Store,
    name: &Name,
    teacher: u32,
    batch: u32,
    bytes: &[u8],
) -> Result<Stored, StoreError> {
    let mut incoming = store.incoming()?;
    incoming.write(bytes)?;
    let presence = Presence::new((0..SAMPLES).map(|sample| sample != teacher as usize));
    store.add_ballot(name, teacher, batch, &presence, incoming).await
}

/// An election that takes ballots.
async fn open_election(store: &Store, file: &ElectionFile) -> Name {
    let name = file.name().clone();
    assert_eq!(store.create_election(file, &tokens(file)).await.unwrap(), Stored::New);
    add_key(store, &name, "public", "00", b"public").await.unwrap();
    add_key(store, &name, "evaluation", "00", b"evaluation").await.unwrap();
    assert_eq!(store.election(&name).await.unwrap().stage, Stage::Open);
    name
}

async fn close(store: &Store, name: &Name, seed: u8) -> Result<Stored, StoreError> {
    let all = async |ballots: &[StoredBallot]| -> Result<VoterCounts, StoreError> {
        Ok(vec![(u32::try_from(ballots.len()).unwrap(), SAMPLES as u64)])
    };
    store.close(name, &Seed::from_bytes([seed; 32]), all).await
}

async fn elections_are_created_once(place: Place) {
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
    assert_eq!(store.election(ward.name()).await.unwrap().file, ward);

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

async fn tokens_open_their_own_role(place: Place) {
    let store = place.open().await;
    let ward = file("ward");
    store.create_election(&ward, &tokens(&ward)).await.unwrap();
    for (token, role) in tokens(&ward) {
        assert_eq!(store.role(&token).await.unwrap(), Some(role));
    }
    for (name, role) in [("boss", Role::Operator), ("prometheus", Role::Monitor)] {
        assert_eq!(store.role(&token(name)).await.unwrap(), None);
        store.add_token(&token(name), &role).await.unwrap();
        store.add_token(&token(name), &role).await.unwrap();
        assert_eq!(store.role(&token(name)).await.unwrap(), Some(role));
    }
    // A token that is in use does not change its role.
    let (student, role) = tokens(&ward).swap_remove(0);
    store.add_token(&student, &Role::Operator).await.unwrap();
    assert_eq!(store.role(&student).await.unwrap(), Some(role));
}

async fn two_keys_of_one_set_open_an_election(place: Place) {
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
    let read = store.read(name, shield_service::store::Object::PublicKey, &key.hash).unwrap();
    assert_eq!(read, b"key");
    let nowhere: Name = "nowhere".parse().unwrap();
    let refused = add_key(&store, &nowhere, "public", "aa", b"key").await;
    assert!(matches!(refused, Err(StoreError::NoElection)), "{refused:?}");
}

async fn a_ballot_counts_once(place: Place) {
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
    let presence =
        shield_service::store::presence_from_text(SAMPLES, &ballots[0].presence).unwrap();
    assert!(presence.contains(0) && !presence.contains(1) && presence.contains(2));
}

async fn closing_freezes_once(place: Place) {
    let store = place.open().await;
    let ward = file("ward");
    let name = open_election(&store, &ward).await;
    for teacher in 0..3 {
        add_ballot(&store, &name, teacher, 0, &[1, u8::try_from(teacher).unwrap()]).await.unwrap();
    }

    // Refused: nothing changes.
    let refuse = async |ballots: &[StoredBallot]| -> Result<VoterCounts, StoreError> {
        assert_eq!(ballots.len(), 3);
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
    assert_eq!(frozen.len(), 3);

    let late = add_ballot(&store, &name, 3, 0, b"late").await;
    assert!(matches!(late, Err(StoreError::Stage { stage: Stage::Closing, .. })), "{late:?}");
    // Who did not hear that its ballot arrived may still ask.
    assert_eq!(add_ballot(&store, &name, 0, 0, &[1, 0]).await.unwrap(), Stored::Again);
    assert_eq!(store.ballots(&name).await.unwrap(), frozen);

    let bookings = store.bookings(ward.group()).await.unwrap();
    assert!(bookings[0].spent);
    assert_eq!(bookings[0].voters, [(3, SAMPLES as u64)]);

    store.finish(&name, None).await.unwrap();
    assert_eq!(store.election(&name).await.unwrap().stage, Stage::Released);
    assert_eq!(close(&store, &name, 3).await.unwrap(), Stored::Again);
    assert_eq!(store.election(&name).await.unwrap().stage, Stage::Released);
    assert_eq!(store.frozen(&name).await.unwrap().0.as_bytes(), &[1; 32]);
}

async fn a_failed_aggregation_goes_on_with_its_seed(place: Place) {
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

async fn a_batch_has_one_release(place: Place) {
    let store = place.open().await;
    let name = open_election(&store, &file("ward")).await;
    close(&store, &name, 1).await.unwrap();
    assert_eq!(store.add_release(&name, 1, b"release").await.unwrap(), Stored::New);
    assert_eq!(store.add_release(&name, 1, b"release").await.unwrap(), Stored::Again);
    let other = store.add_release(&name, 1, b"another").await;
    assert!(matches!(other, Err(StoreError::Conflict { .. })), "{other:?}");
    assert_eq!(store.add_release(&name, 0, b"release").await.unwrap(), Stored::New);
    let releases = store.releases(&name).await.unwrap();
    assert_eq!(releases.iter().map(|release| release.batch).collect::<Vec<_>>(), [0, 1]);
    for release in releases {
        let object = shield_service::store::Object::Release { batch: release.batch };
        assert_eq!(store.read(&name, object, &release.hash).unwrap(), b"release");
    }
}

async fn only_what_is_not_closed_can_be_called_off(place: Place) {
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

async fn a_mistyped_group_binds_nobody_for_ever(place: Place) {
    let store = place.open().await;
    let in_group = |name: &str, group: &str, teachers: &str| {
        let text = format!(
            "name = \"{name}\"\ngroup = \"{group}\"\nclasses = 4\nsamples = {SAMPLES}\nquorum = 1\nteachers = [{teachers}]\n"
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

fn files_under(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { files_under(&path) } else { 1 }).sum()
}

async fn a_restart_forgets_nothing(place: Place) {
    let ward = file("ward");
    let store = place.open().await;
    let name = open_election(&store, &ward).await;
    for teacher in 0..3 {
        add_ballot(&store, &name, teacher, 0, &[1, u8::try_from(teacher).unwrap()]).await.unwrap();
    }
    close(&store, &name, 1).await.unwrap();
    store.add_release(&name, 0, b"release").await.unwrap();
    let before = store.frozen(&name).await.unwrap();
    // A crash came between the file and its row, and one in the middle of an upload.
    let elections = place.data.join("elections");
    let kept = files_under(&elections);
    assert_eq!(kept, 6);
    std::fs::write(elections.join("ward").join("releases").join("7-litter"), b"litter").unwrap();
    std::fs::write(place.data.join("incoming").join("half"), b"hal").unwrap();
    drop(store);

    let store = place.open().await;
    assert_eq!(files_under(&elections), kept);
    assert_eq!(files_under(&place.data.join("incoming")), 0);
    assert_eq!(files_under(&place.data.join("swept")), 1);
    let after = store.frozen(&name).await.unwrap();
    assert_eq!(before.0.as_bytes(), after.0.as_bytes());
    assert_eq!(before.1, after.1);
    let election = store.election(&name).await.unwrap();
    assert_eq!((election.stage, election.file), (Stage::Closing, ward.clone()));
    assert_eq!(store.closing().await.unwrap(), std::slice::from_ref(&name));
    assert_eq!(store.add_release(&name, 0, b"release").await.unwrap(), Stored::Again);
    for ballot in &after.1 {
        let object = shield_service::store::Object::Ballot { teacher: ballot.teacher, batch: 0 };
        let bytes = store.read(&name, object, &ballot.hash).unwrap();
        assert_eq!(bytes, [1, u8::try_from(ballot.teacher).unwrap()]);
    }
    for (token, role) in tokens(&ward) {
        assert_eq!(store.role(&token).await.unwrap(), Some(role));
    }
}

/// Whoever writes to the tables behind the server's back does not go unnoticed.
async fn damaged_rows_are_noticed(place: Place) {
    let store = place.open().await;
    let name = open_election(&store, &file("ward")).await;
    add_ballot(&store, &name, 0, 0, b"zero").await.unwrap();
    add_ballot(&store, &name, 1, 0, b"one").await.unwrap();
    close(&store, &name, 1).await.unwrap();
    store.frozen(&name).await.unwrap();

    let sqlite = format!("sqlite://{}", place.data.join("shield.sqlite").display());
    let pool = sqlx::AnyPool::connect(place.database.as_deref().unwrap_or(&sqlite)).await.unwrap();
    let clinic = open_election(&store, &file("clinic")).await;
    let unbooked = "DELETE FROM ledger WHERE election = 'clinic'";
    sqlx::query(unbooked).execute(&pool).await.unwrap();
    let closed = close(&store, &clinic, 1).await;
    assert!(matches!(closed, Err(StoreError::Damaged("ledger"))), "{closed:?}");
    assert_eq!(store.election(&clinic).await.unwrap().stage, Stage::Open);

    sqlx::query("DELETE FROM ballots WHERE teacher = 1").execute(&pool).await.unwrap();
    let frozen = store.frozen(&name).await;
    assert!(matches!(frozen, Err(StoreError::Damaged(_))), "{frozen:?}");
    sqlx::query("UPDATE elections SET stage = 'afloat'").execute(&pool).await.unwrap();
    assert!(matches!(store.election(&name).await, Err(StoreError::Damaged(_))));

    // A newer program's tables are left alone.
    sqlx::query("UPDATE schema_version SET version = 999").execute(&pool).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let database = place.database.clone().unwrap_or(sqlite);
    let opened = Store::open(folder.path(), Some(&database)).await;
    let error = opened.expect_err("the tables are newer").to_string();
    assert!(error.contains("newer release"), "{error}");
    pool.close().await;
}

/// Many ballots and one closing at once, again and again: what was answered with "stored" is among
/// the frozen, and nothing else is.
async fn nothing_is_accepted_after_the_freeze(place: Place) {
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
        tokio::time::sleep(std::time::Duration::from_millis(5 * round as u64)).await;
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
        let teachers: Vec<u32> = frozen.iter().map(|ballot| ballot.teacher).collect();
        assert_eq!(accepted, teachers, "round {round}");
        assert_eq!(store.frozen(&name).await.unwrap().1, frozen);
        both += usize::from(!accepted.is_empty() && accepted.len() < VOTERS as usize);
    }
    assert!(both > 0, "no round had ballots on both sides of the freeze: the check shows nothing");
}

async fn the_same_ballot_at_once_is_stored_once(place: Place) {
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
async fn what_is_refused_leaves_no_file(place: Place) {
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
        let object = shield_service::store::Object::Ballot { teacher: ballot.teacher, batch: 0 };
        store.read(&open, object, &ballot.hash).unwrap();
    }
}

/// A start with yesterday's data base once deleted every ballot of today.
async fn an_older_data_base_destroys_no_ballot(place: Place) {
    let store = place.open().await;
    let name = open_election(&store, &file("ward")).await;
    add_ballot(&store, &name, 0, 0, b"yesterday").await.unwrap();
    add_ballot(&store, &name, 1, 0, b"today").await.unwrap();
    let sqlite = format!("sqlite://{}", place.data.join("shield.sqlite").display());
    let pool = sqlx::AnyPool::connect(place.database.as_deref().unwrap_or(&sqlite)).await.unwrap();
    let older = "DELETE FROM ballots WHERE teacher = 1";
    sqlx::query(older).execute(&pool).await.unwrap();
    pool.close().await;
    drop(store);
    let store = place.open().await;
    assert_eq!(store.sweep().await.unwrap(), 0, "once is enough");
    let elections = place.data.join("elections");
    assert_eq!(files_under(&elections), 3);
    // It can be put back where it was.
    let swept: Vec<_> = std::fs::read_dir(place.data.join("swept")).unwrap().collect();
    let moment = swept[0].as_ref().unwrap().path();
    let from = moment.join("elections/ward/ballots/1");
    let file = std::fs::read_dir(&from).unwrap().next().unwrap().unwrap();
    assert_eq!(std::fs::read(file.path()).unwrap(), b"today");
    assert_eq!(swept.len(), 1);
}

/// What the data base says when it has too much to do, as it really says it.
async fn busy_is_told_from_broken(place: Place) {
    drop(place.open().await);
    let sqlite = format!("sqlite://{}", place.data.join("shield.sqlite").display());
    let pool = sqlx::AnyPool::connect(place.database.as_deref().unwrap_or(&sqlite)).await.unwrap();
    let mut connection = pool.acquire().await.unwrap();
    let mut answers = Vec::new();
    if place.database.is_some() {
        for statement in [
            "DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '40001'; END $$",
            "DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '40P01'; END $$",
        ] {
            answers.push(sqlx::query(statement).execute(&mut *connection).await);
        }
    } else {
        let mut other = pool.acquire().await.unwrap();
        sqlx::query("PRAGMA busy_timeout = 0").execute(&mut *connection).await.unwrap();
        // Somebody else writes: wait. Somebody else wrote since we read: begin again.
        sqlx::query("BEGIN IMMEDIATE").execute(&mut *other).await.unwrap();
        let write = "UPDATE schema_version SET version = version";
        answers.push(sqlx::query(write).execute(&mut *connection).await);
        sqlx::query("BEGIN").execute(&mut *connection).await.unwrap();
        sqlx::query("SELECT * FROM schema_version").fetch_all(&mut *connection).await.unwrap();
        // Writing what is there already would be no change.
        let change = "UPDATE schema_version SET version = version + 1";
        sqlx::query(change).execute(&mut *other).await.unwrap();
        sqlx::query("COMMIT").execute(&mut *other).await.unwrap();
        answers.push(sqlx::query(write).execute(&mut *connection).await);
        sqlx::query("ROLLBACK").execute(&mut *connection).await.unwrap();
    }
    for answer in answers {
        let error = StoreError::from(answer.expect_err("busy"));
        assert!(error.is_busy(), "{error:?}");
    }
    let broken = sqlx::query("SELECT * FROM nowhere").execute(&mut *connection).await;
    assert!(!StoreError::from(broken.expect_err("no such table")).is_busy());
}

/// The tables of an empty data base are made once, whoever comes first.
async fn stores_may_open_at_once(place: Place) {
    std::fs::create_dir(&place.data).unwrap();
    let place = Arc::new(place);
    let openings: Vec<_> = (0..6)
        .map(|_| {
            let place = Arc::clone(&place);
            tokio::spawn(async move {
                let folder = tempfile::tempdir().unwrap();
                let sqlite = place.data.join("shield.sqlite");
                let sqlite = format!("sqlite://{}?mode=rwc", sqlite.display());
                let database = place.database.clone().unwrap_or(sqlite);
                Store::open(folder.path(), Some(&database)).await.map(drop)
            })
        })
        .collect();
    for opening in openings {
        opening.await.unwrap().unwrap();
    }
}

/// Whether a server opens, and if not, why.
async fn opens(settings: &Settings) -> Result<(), ServeError> {
    Service::open(settings).await.map(drop)
}

/// A restart that forgets `--database` must not begin anew with whole budgets, and two folders with
/// one data base must not be two servers.
async fn folder_and_data_base_belong_together(place: Place) {
    let settings = place.settings();
    opens(&settings).await.unwrap();
    opens(&settings).await.unwrap();
    let sqlite = format!("sqlite://{}?mode=rwc", place.data.join("shield.sqlite").display());
    let here = place.database.clone().unwrap_or(sqlite);
    let elsewhere = tempfile::tempdir().unwrap();

    let file = std::fs::read(place.data.join("identity")).unwrap();
    let other = format!("sqlite://{}?mode=rwc", elsewhere.path().join("other.sqlite").display());
    let slip = opens(&Settings { database: Some(other.into()), ..settings.clone() }).await;
    let Err(error @ ServeError::OtherDatabase(_)) = slip else { panic!("{slip:?}") };
    assert!(error.is_bad_input() && error.to_string().contains("--database of last time"));

    let data = elsewhere.path().join("data");
    let second = Settings { data: data.clone(), database: Some(here.into()), ..settings.clone() };
    let slip = opens(&second).await;
    let Err(error @ ServeError::OtherFolder(_)) = slip else { panic!("{slip:?}") };
    assert!(error.is_bad_input());
    assert!(!data.join("identity").exists(), "the second folder stays nobody's");

    // Neither of them harmed the pair.
    opens(&settings).await.unwrap();
    assert_eq!(std::fs::read(place.data.join("identity")).unwrap(), file);
    // A crash before the last rename: the next start goes on.
    let (name, draft) = (place.data.join("identity"), place.data.join("identity.new"));
    std::fs::rename(&name, &draft).unwrap();
    opens(&settings).await.unwrap();
    assert!(name.exists() && !draft.exists());
    // A folder that lost its name is not taken for another's.
    std::fs::remove_file(&name).unwrap();
    assert!(matches!(opens(&settings).await, Err(ServeError::OtherFolder(_))));
}

/// Earlier releases wrote no name: theirs are taken on, if folder and data base know the same
/// elections.
async fn folders_without_a_name_are_taken_on(place: Place) {
    let store = place.open().await;
    let name = open_election(&store, &file("ward")).await;
    drop(store);
    let settings = place.settings();
    let elsewhere = tempfile::tempdir().unwrap();
    let empty = format!("sqlite://{}?mode=rwc", elsewhere.path().join("other.sqlite").display());
    let slip = opens(&Settings { database: Some(empty.into()), ..settings.clone() }).await;
    assert!(matches!(slip, Err(ServeError::OtherDatabase(_))), "{slip:?}");
    let folder = place.data.join("elections").join(name.as_str());
    let hidden = elsewhere.path().join("hidden");
    std::fs::rename(&folder, &hidden).unwrap();
    let slip = opens(&settings).await;
    assert!(matches!(slip, Err(ServeError::OtherDatabase(_))), "{slip:?}");
    std::fs::rename(&hidden, &folder).unwrap();
    opens(&settings).await.unwrap();
    opens(&settings).await.unwrap();
}
