//! Restarts, damage, backups, and folders that belong to other databases.

use super::*;

pub(super) async fn a_restart_forgets_nothing(place: Place) {
    let ward = file("ward");
    let store = place.open().await;
    let name = open_election(&store, &ward).await;
    three_vote(&store, &name, 1).await;
    close(&store, &name, 1).await.unwrap();
    store.add_release(&name, 0, b"release").await.unwrap();
    let before = store.frozen(&name).await.unwrap();
    // A crash came between the file and its row, and one in the middle of an upload.
    let elections = place.data.join("elections");
    let kept = files_under(&elections);
    // Two keys, three ballots, a release, and the mark that something was drawn.
    assert_eq!(kept, 7);
    std::fs::write(elections.join("ward").join("keys").join("7-litter"), b"litter").unwrap();
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
    assert_eq!((election.stage, &*election.file), (Stage::Closing, &ward));
    assert_eq!(store.closing().await.unwrap(), std::slice::from_ref(&name));
    assert_eq!(store.add_release(&name, 0, b"release").await.unwrap(), Stored::Again);
    for ballot in &store.ballots(&name).await.unwrap() {
        let object = shield_server::store::Object::Ballot { teacher: ballot.teacher, batch: 0 };
        let bytes = store.read(&name, object, &ballot.hash).unwrap();
        assert_eq!(bytes, [1, u8::try_from(ballot.teacher).unwrap()]);
    }
    for (token, role) in tokens(&ward) {
        assert_eq!(store.role(&token).await.unwrap(), Some(role));
    }
}

/// Whoever writes to the tables behind the server's back does not go unnoticed.
pub(super) async fn damaged_rows_are_noticed(place: Place) {
    let store = place.open().await;
    let name = open_election(&store, &file("ward")).await;
    add_ballot(&store, &name, 0, 0, b"zero").await.unwrap();
    add_ballot(&store, &name, 1, 0, b"one").await.unwrap();
    close(&store, &name, 1).await.unwrap();
    store.frozen(&name).await.unwrap();

    let pool = place.pool().await;
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

    // Another version's tables are left alone.
    sqlx::query("UPDATE schema_version SET version = 999").execute(&pool).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let opened = Store::open(folder.path(), Some(&place.url())).await;
    let error = opened.expect_err("the tables are another version's").to_string();
    assert!(error.contains("use the release that made it"), "{error}");
    pool.close().await;
}

/// A start with yesterday's database once deleted every ballot of today.
pub(super) async fn an_older_data_base_destroys_no_ballot(place: Place) {
    let store = place.open().await;
    let name = open_election(&store, &file("ward")).await;
    add_ballot(&store, &name, 0, 0, b"yesterday").await.unwrap();
    add_ballot(&store, &name, 1, 0, b"today").await.unwrap();
    let pool = place.pool().await;
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

/// What the database says when it has too much to do, as it really says it.
pub(super) async fn busy_is_told_from_broken(place: Place) {
    drop(place.open().await);
    let pool = place.pool().await;
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

/// The tables of an empty database are made once, whoever comes first.
pub(super) async fn stores_may_open_at_once(place: Place) {
    std::fs::create_dir(&place.data).unwrap();
    let place = Arc::new(place);
    let openings: Vec<_> = (0..6)
        .map(|_| {
            let place = Arc::clone(&place);
            tokio::spawn(async move {
                let folder = tempfile::tempdir().unwrap();
                Store::open(folder.path(), Some(&place.url())).await.map(drop)
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
/// one database must not be two servers.
pub(super) async fn folder_and_data_base_belong_together(place: Place) {
    let settings = place.settings();
    opens(&settings).await.unwrap();
    opens(&settings).await.unwrap();
    let here = place.url();
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

/// Elections without a name to compare may be anybody's: in the database, or in the folder.
pub(super) async fn folders_without_a_name_are_refused(place: Place) {
    let store = place.open().await;
    open_election(&store, &file("ward")).await;
    drop(store);
    let settings = place.settings();
    let elsewhere = tempfile::tempdir().unwrap();
    let empty = format!("sqlite://{}?mode=rwc", elsewhere.path().join("other.sqlite").display());
    let slip = opens(&Settings { database: Some(empty.into()), ..settings.clone() }).await;
    assert!(matches!(slip, Err(ServeError::OtherDatabase(_))), "{slip:?}");
    std::fs::remove_dir_all(place.data.join("elections")).unwrap();
    let slip = opens(&settings).await;
    assert!(matches!(slip, Err(ServeError::OtherDatabase(_))), "{slip:?}");
}

/// A database that was restored alone once answered 121 of 200 samples differently, and the ledger
/// had charged them once.
pub(super) async fn an_older_database_draws_nothing_twice(place: Place) {
    let store = place.open().await;
    let ward = file("ward");
    let name = open_election(&store, &ward).await;
    three_vote(&store, &name, 1).await;
    close(&store, &name, 1).await.unwrap();
    store.add_release(&name, 0, b"release").await.unwrap();
    let pool = place.pool().await;
    for older in [
        "UPDATE elections SET stage = 'open', seed = NULL, frozen = NULL, closed = NULL",
        "UPDATE ledger SET stage = 'reserved'",
        "DELETE FROM releases",
    ] {
        sqlx::query(older).execute(&pool).await.unwrap();
    }
    pool.close().await;
    drop(store);
    let store = place.open().await;
    assert_eq!(store.forgotten().await.unwrap(), std::slice::from_ref(&name));
    let closed = close(&store, &name, 2).await;
    let Err(error @ StoreError::DrawnBefore { .. }) = closed else { panic!("{closed:?}") };
    assert!(error.to_string().contains("bring the latest database back"), "{error}");
    assert_eq!(store.election(&name).await.unwrap().stage, Stage::Open);
    // The mark alone is enough, and so is the release alone.
    let folder = place.data.join("elections/ward");
    let (mark, hidden) = (folder.join("drawn"), folder.join("hidden"));
    std::fs::rename(&mark, &hidden).unwrap();
    assert!(matches!(close(&store, &name, 2).await, Err(StoreError::DrawnBefore { .. })));
    std::fs::rename(&hidden, &mark).unwrap();
    std::fs::remove_dir_all(folder.join("parts")).unwrap();
    assert!(matches!(close(&store, &name, 2).await, Err(StoreError::DrawnBefore { .. })));
    // Calling it off is the way out, and what was drawn stays spent.
    store.withdraw(&name).await.unwrap();
    assert!(store.bookings(ward.group()).await.unwrap()[0].spent);
}

/// Two servers with copied folders on one database once reserved 5.84 of a budget of 5.
pub(super) async fn two_servers_never_share_a_database(place: Place) {
    let settings = place.settings();
    let first = Service::open(&settings).await.unwrap();
    let copy = tempfile::tempdir().unwrap();
    let data = copy.path().join("data");
    shield_protocol::private::make_folder(&data).unwrap();
    std::fs::copy(place.data.join("identity"), data.join("identity")).unwrap();
    let here = place.url();
    let second = Settings { data, database: Some(here.into()), ..settings.clone() };
    let refused = opens(&second).await;
    let Err(error @ ServeError::DatabaseLocked) = refused else { panic!("{refused:?}") };
    assert!(error.is_bad_input());
    drop(first);
    // PostgreSQL lets go of a lock when it sees that the connection is gone.
    let start = std::time::Instant::now();
    while let Err(error) = opens(&second).await {
        assert!(matches!(error, ServeError::DatabaseLocked), "{error}");
        assert!(start.elapsed() < Duration::from_mins(2), "the lock is never let go of");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// A lost file once stayed lost.
pub(super) async fn lost_files_are_found_and_come_back(place: Place) {
    let store = place.open().await;
    let name = open_election(&store, &file("ward")).await;
    three_vote(&store, &name, 1).await;
    let ballots = place.data.join("elections/ward/ballots");
    std::fs::remove_dir_all(ballots.join("1")).unwrap();
    let (swept, lost) = store.compare().await.unwrap();
    assert_eq!((swept, lost.ballots), (0, vec![(name.clone(), 1, 0)]));
    // Sending it again restores it; something else is refused, as ever.
    assert!(add_ballot(&store, &name, 1, 0, b"another").await.is_err());
    assert_eq!(add_ballot(&store, &name, 1, 0, &[1, 1]).await.unwrap(), Stored::Again);
    assert!(store.compare().await.unwrap().1.is_empty());
    close(&store, &name, 1).await.unwrap();
    store.add_release(&name, 0, b"release").await.unwrap();
    store.finish(&name, None).await.unwrap();
    let releases = place.data.join("elections/ward/parts");
    std::fs::remove_dir_all(&releases).unwrap();
    assert_eq!(store.compare().await.unwrap().1.releases, [(name.clone(), 0)]);
    // The worker computes it again; it must be the very same.
    assert_eq!(store.election(&name).await.unwrap().stage, Stage::Closing);
    assert!(store.released_batches(&name).await.unwrap().is_empty());
    let other = store.add_release(&name, 0, b"other").await;
    assert!(matches!(other, Err(StoreError::Conflict { .. })), "{other:?}");
    assert_eq!(store.add_release(&name, 0, b"release").await.unwrap(), Stored::Again);
    assert!(store.compare().await.unwrap().1.is_empty());
}
