//! Backups of both kinds of database, into both kinds, and what a restored server must not do.

use std::sync::atomic::{AtomicBool, Ordering};

use shield_core::Delta;
use shield_privacy::price::LogMoment;
use shield_server::store::{
    BookedPrice, Deed, Erasure, Object, RestoreOptions, RoundFile, RoundStage, Since, Turn, backup,
    restore, verify,
};
use sqlx::{Connection, PgConnection};

use super::*;

/// Restores a backup into a new folder beside the place's own, and gives its store.
async fn restored(
    place: &Place,
    made: &Path,
    to: &str,
    database: Option<String>,
    since: Since,
) -> Result<Store, StoreError> {
    let data = place.data.with_file_name(to);
    let options = RestoreOptions {
        backup: made.to_owned(),
        data: data.clone(),
        database: database.clone(),
        since,
    };
    restore(&options).await?;
    Store::open(&data, database.as_deref()).await
}

async fn back_up(place: &Place, to: &str) -> PathBuf {
    let out = place.data.with_file_name(to);
    backup(&place.data, place.database.as_deref(), &out).await.unwrap();
    out
}

/// An empty database of the same kind; none where that is a file in the data folder.
async fn empty_database(place: &Place, name: &str) -> Option<String> {
    let url = place.database.as_deref()?;
    let mut connection = PgConnection::connect(url).await.unwrap();
    let own = url.rsplit('/').next().unwrap();
    let name = format!("{own}_{name}");
    let create = sqlx::AssertSqlSafe(format!("CREATE DATABASE \"{name}\""));
    sqlx::query(create).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    Some(format!("{}/{name}", url.rsplit_once('/').unwrap().0))
}

/// The rows of a backup, but for what a restore itself writes down.
fn rows(made: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(made.join("tables.jsonl")).unwrap();
    let (mut rows, mut table) = (Vec::new(), String::new());
    for line in text.lines() {
        if line.starts_with('{') {
            line.clone_into(&mut table);
        } else if !table.contains("\"blocks\"") && !line.contains("\"restored\"") {
            rows.push(format!("{table} {line}"));
        }
    }
    rows.sort();
    rows
}

async fn release(store: &Store, name: &Name) {
    close(store, name, 1).await.unwrap();
    store.add_release(name, 0, b"release").await.unwrap();
    store.finish(name, None).await.unwrap();
}

/// A server with something in every table.
async fn busy(store: &Store) -> Name {
    let ward = open_election(store, &file("ward")).await;
    three_vote(store, &ward, 1).await;
    store.set_rehearsed(&ward).await.unwrap();
    let over = open_election(store, &file("over")).await;
    three_vote(store, &over, 2).await;
    release(store, &over).await;
    answered(store, &over, 1).await.unwrap();
    let gone = open_election(store, &file("gone")).await;
    add_ballot(store, &gone, 0, 0, &[3]).await.unwrap();
    store.withdraw(&gone).await.unwrap();
    store.erase(&gone, Erasure::Ballots).await.unwrap();
    store.set_turn(&ward, Turn { priority: 7, paused: true }).await.unwrap();
    store.block(&gone, "a reason").await.unwrap();
    store.add_new_token(&token("boss"), &Role::Operator, Some("\"é\", a note")).await.unwrap();
    let budget = shield_protocol::ledger::GroupBudget {
        epsilon: 2.5,
        delta: Delta::new(1e-6).unwrap(),
        order: 17.25,
    };
    store.set_first_budget(file("ward").group(), budget).await.unwrap();
    for detail in ["first", "second"] {
        let (role, who, address, action) = ("operator", "0123", "127.0.0.1", "token added");
        let deed = Deed { role, who, address, action, election: Some(&ward), detail };
        store.log(deed).await.unwrap();
    }
    ward
}

/// Asks for an audit, answers it, and draws again.
async fn answered(store: &Store, name: &Name, round: u32) -> Result<(), StoreError> {
    store.ask(name, round, "\"a question\"").await?;
    store.add_round_file(name, round, RoundFile::Audit, 0, b"checks").await?;
    store.move_round(name, round, RoundStage::Audited, None).await?;
    let voters = vec![(3, SAMPLES as u64), (2, 1)];
    let price = BookedPrice { log_moment: Some(LogMoment::booked(0.5)), ..BookedPrice::default() };
    store.answer(name, round, "\"an answer\"", &voters, price).await?;
    store.add_round_file(name, round, RoundFile::Again, 0, b"again").await?;
    store.move_round(name, round, RoundStage::Released, None).await
}

/// Every row and every file comes back, from one kind of database into the other and again.
pub(super) async fn a_backup_is_everything(place: Place) {
    let store = place.open().await;
    let ward = busy(&store).await;
    let first = back_up(&place, "first").await;
    let expected = rows(&first);
    for table in ["elections", "tokens", "ballots", "voters", "releases", "rounds", "round_files"] {
        let table = format!("\"table\":\"{table}\"");
        assert!(expected.iter().any(|row| row.contains(&table)), "{table} is not in it");
    }
    let again = backup(&place.data, place.database.as_deref(), &first).await;
    assert!(matches!(again, Err(StoreError::NotEmpty(_))), "{again:?}");
    // Into SQLite, whatever it was.
    let sqlite = restored(&place, &first, "sqlite", None, Since::NothingClosed).await.unwrap();
    assert_eq!(sqlite.sweep().await.unwrap(), 0);
    assert_eq!(sqlite.compare().await.unwrap().1, store.compare().await.unwrap().1);
    assert_eq!(sqlite.roll(&ward).await.unwrap(), store.roll(&ward).await.unwrap());
    for ballot in sqlite.ballots(&ward).await.unwrap() {
        let object = Object::Ballot { teacher: ballot.teacher, batch: ballot.batch };
        sqlite.read(&ward, object, &ballot.hash).unwrap();
    }
    let mut before = String::new();
    for line in sqlite.log_lines(0, 100).await.unwrap() {
        assert_eq!(line.chain, line.expected(&before), "the log goes on where it was");
        before = line.chain;
    }
    drop(sqlite);
    let second = place.data.with_file_name("second");
    backup(&place.data.with_file_name("sqlite"), None, &second).await.unwrap();
    assert_eq!(rows(&second), expected);
    // And from there into a database of its own kind.
    let database = empty_database(&place, "back").await;
    let back = restored(&place, &second, "back", database.clone(), Since::NothingClosed).await;
    close(&back.unwrap(), &ward, 5).await.expect("it goes on");
    // Nothing is written over, and nothing of a try that was refused stays in the way.
    if let Some(database) = database {
        let full = restored(&place, &second, "full", Some(database), Since::Unknown).await;
        assert!(matches!(full, Err(StoreError::NotEmpty(_))), "{full:?}");
    }
}

/// A backup that was cut after 29 lines once restored an empty ledger and said that all was well.
pub(super) async fn a_cut_or_edited_backup_is_refused(place: Place) {
    drop(Service::open(&place.settings()).await.unwrap());
    let store = place.open().await;
    busy(&store).await;
    let made = back_up(&place, "made").await;
    let digest = verify(&made).unwrap().digest();
    let tables = std::fs::read_to_string(made.join("tables.jsonl")).unwrap();
    let list = std::fs::read_to_string(made.join("files.b3")).unwrap();
    let (_, first) = list.lines().next().unwrap().split_once("  ").unwrap();
    let cut: String = tables.split_inclusive('\n').take(29).collect();
    let spent = tables.replace("\"spent\"", "\"reserved\"");
    let fewer = list.split_inclusive('\n').skip(1).collect::<String>();
    for (file, content, said) in [
        ("tables.jsonl", cut, "rows: it is not what the backup was made with: it was cut"),
        ("tables.jsonl", spent, "table ledger, 2 of 2 rows"),
        ("files.b3", fewer, "files.b3"),
        (first, "other".to_owned(), first),
    ] {
        let path = made.join(file);
        let before = std::fs::read(&path).unwrap();
        std::fs::write(&path, content).unwrap();
        let refused = restored(&place, &made, "copy", None, Since::NothingClosed).await;
        let Err(error @ StoreError::Backup(_)) = refused else { panic!("{file}: {refused:?}") };
        assert!(error.to_string().contains(said), "{error}");
        assert!(!place.data.with_file_name("copy").exists(), "nothing is left of it");
        std::fs::write(&path, before).unwrap();
    }
    std::fs::rename(made.join(first), made.join("elsewhere")).unwrap();
    assert!(verify(&made).unwrap_err().to_string().contains(first));
    std::fs::rename(made.join("elsewhere"), made.join(first)).unwrap();
    assert_eq!(verify(&made).unwrap().digest(), digest);
    // Whoever changes the log in the database is noticed, too.
    let edit = "UPDATE audit_log SET detail = 'nothing' WHERE number = 1";
    sqlx::query(edit).execute(&place.pool().await).await.unwrap();
    let edited = back_up(&place, "edited").await;
    let error = verify(&edited).unwrap_err().to_string();
    assert!(error.contains("audit log was changed at or before its line 1"), "{error}");
}

/// A healthy backup once missed a file of every election that was not drawn, and named none.
pub(super) async fn only_what_is_lost_is_missing(place: Place) {
    drop(Service::open(&place.settings()).await.unwrap());
    let store = place.open().await;
    let ward = busy(&store).await;
    let healthy = verify(&back_up(&place, "healthy").await).unwrap();
    assert_eq!((healthy.missing, &healthy.lost), (0, &Vec::new()));
    let own = place.data.join(format!("elections/{ward}"));
    let name = |folder: &str| std::fs::read_dir(own.join(folder)).unwrap().next().unwrap().unwrap();
    let (gone, damaged) = (name("ballots/0").path(), name("ballots/1").path());
    std::fs::remove_file(&gone).unwrap();
    std::fs::write(&damaged, b"something else").unwrap();
    let lost = verify(&back_up(&place, "lost").await).unwrap().lost;
    let expected = [&gone, &damaged].map(|path| path.strip_prefix(&place.data).unwrap());
    assert_eq!(lost, expected.map(|path| path.display().to_string()));
}

/// Rows are of one moment, and every file that they name is there, though ballots keep coming in.
pub(super) async fn a_backup_beside_uploads_is_whole(place: Place) {
    let store = place.open().await;
    let wide = file_of("wide", "hospitals", 400);
    let name = open_election(&store, &wide).await;
    let done = Arc::new(AtomicBool::new(false));
    let uploads = {
        let (store, name, done) = (store.clone(), name.clone(), Arc::clone(&done));
        tokio::spawn(async move {
            let mut sent = 0;
            while sent < 400 && !done.load(Ordering::Relaxed) {
                add_ballot(&store, &name, sent, 0, &sent.to_le_bytes()).await.unwrap();
                sent += 1;
            }
            sent
        })
    };
    let start = std::time::Instant::now();
    while store.roll(&name).await.unwrap().voters.len() < 5 {
        assert!(start.elapsed() < Duration::from_mins(2), "never: five have voted");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let made = back_up(&place, "made").await;
    done.store(true, Ordering::Relaxed);
    let sent = uploads.await.unwrap() as usize;
    let copy = restored(&place, &made, "copy", None, Since::NothingClosed).await.unwrap();
    assert!(copy.compare().await.unwrap().1.is_empty());
    assert_eq!(copy.sweep().await.unwrap(), 0);
    let counted = copy.roll(&name).await.unwrap().voters.len();
    assert!((5..=sent).contains(&counted), "{counted} of {sent}");
    assert_eq!(copy.ballots(&name).await.unwrap().len(), counted);
}

/// Calling off what was released after the backup once gave its budget back.
pub(super) async fn calling_off_after_a_restore_gives_nothing_back(place: Place) {
    let store = place.open().await;
    let ward = file("ward");
    let name = open_election(&store, &ward).await;
    three_vote(&store, &name, 1).await;
    let made = back_up(&place, "made").await;
    release(&store, &name).await;
    for (to, since) in [("old", Since::Folder(place.data.clone())), ("unknown", Since::Unknown)] {
        let copy = restored(&place, &made, to, None, since).await.unwrap();
        let closed = close(&copy, &name, 2).await;
        assert!(matches!(closed, Err(StoreError::Blocked { .. })), "{closed:?}");
        copy.withdraw(&name).await.unwrap();
        let booked = copy.bookings(ward.group()).await.unwrap();
        assert!(booked.len() == 1 && booked[0].spent, "{to}: {booked:?}");
        // And its teachers cannot go on with the budget of another group, also once a second
        // election is called off that was never drawn.
        let second = open_election(&copy, &file("second")).await;
        copy.withdraw(&second).await.unwrap();
        let elsewhere = file_of("elsewhere", "hospitals", TEACHERS).canonical();
        let elsewhere = elsewhere.replace("group = \"hospitals\"", "group = \"clinics\"");
        let elsewhere = ElectionFile::parse(&elsewhere).unwrap();
        let moved = copy.create_election(&elsewhere, &tokens(&elsewhere)).await;
        assert!(matches!(moved, Err(StoreError::OtherGroup { .. })), "{to}: {moved:?}");
    }
    // Who knows that nothing was closed gets it back, as ever.
    let copy = restored(&place, &made, "vouched", None, Since::NothingClosed).await.unwrap();
    copy.withdraw(&name).await.unwrap();
    assert_eq!(copy.bookings(ward.group()).await.unwrap(), []);
}

/// An older database once let a second answer to an audit draw the same samples again, and the
/// ledger had forgotten the first.
pub(super) async fn an_older_database_holds_no_second_audit(place: Place) {
    let store = place.open().await;
    let name = open_election(&store, &file("ward")).await;
    three_vote(&store, &name, 1).await;
    release(&store, &name).await;
    let made = back_up(&place, "made").await;
    let quiet = restored(&place, &made, "quiet", None, Since::Folder(place.data.clone())).await;
    answered(&quiet.unwrap(), &name, 1).await.expect("nobody had asked");
    answered(&store, &name, 1).await.unwrap();

    for (to, since) in [("old", Since::Folder(place.data.clone())), ("unknown", Since::Unknown)] {
        let copy = restored(&place, &made, to, None, since).await.unwrap();
        let asked = answered(&copy, &name, 1).await;
        assert!(matches!(asked, Err(StoreError::Blocked { .. })), "{to}: {asked:?}");
        // What it cost is booked: three audits of all samples, beside the first labels.
        let booking = copy.booking(&name).await.unwrap().unwrap();
        let labels: u64 = booking.voters.iter().map(|&(_, labels)| labels).sum();
        assert_eq!(labels, 4 * SAMPLES as u64, "{to}: {booking:?}");
        assert_eq!(copy.unpriced().await.unwrap(), std::slice::from_ref(&name));
    }
    // The database alone, beside its own folder: what was drawn lies there.
    let pool = place.pool().await;
    sqlx::query("DELETE FROM round_files").execute(&pool).await.unwrap();
    sqlx::query("UPDATE rounds SET stage = 'audited', answer = NULL").execute(&pool).await.unwrap();
    let price = BookedPrice::default();
    let other = store.answer(&name, 1, "\"another\"", &vec![(2, 1)], price).await;
    assert!(matches!(other, Err(StoreError::DrawnBefore { .. })), "{other:?}");
    sqlx::query("DELETE FROM rounds").execute(&pool).await.unwrap();
    pool.close().await;
    let asked = store.ask(&name, 1, "\"another\"").await;
    assert!(matches!(asked, Err(StoreError::DrawnBefore { .. })), "{asked:?}");
    // Erasing takes the draws away, but not the knowledge of them.
    store.erase(&name, Erasure::Everything).await.unwrap();
    let since = Since::Folder(place.data.clone());
    let copy = restored(&place, &made, "erased", None, since).await.unwrap();
    let asked = answered(&copy, &name, 1).await;
    assert!(matches!(asked, Err(StoreError::Blocked { .. })), "{asked:?}");
}

/// A restore that died halfway once left a folder in which everything could be drawn again.
pub(super) async fn half_a_restore_does_not_start(place: Place) {
    let service = Service::open(&place.settings()).await.unwrap();
    let store = place.open().await;
    open_election(&store, &file("ward")).await;
    let made = back_up(&place, "made").await;
    // What a server on the old folder draws meanwhile would not be known.
    let beside = restored(&place, &made, "beside", None, Since::Folder(place.data.clone())).await;
    assert!(matches!(beside, Err(StoreError::Backup(_))), "{beside:?}");
    assert!(!place.data.with_file_name("beside").exists());
    drop(service);
    assert!(made.join("identity").exists());
    // It ends at a row that cannot be inserted.
    let elsewhere = place.data.with_file_name("elsewhere");
    let taken = Store::open(&elsewhere, None).await.unwrap();
    taken.add_token(&tokens(&file("ward"))[0].0, &Role::Monitor).await.unwrap();
    taken.close_database().await.unwrap();
    let database = format!("sqlite://{}", elsewhere.join("shield.sqlite").display());
    restored(&place, &made, "half", Some(database), Since::Unknown).await.unwrap_err();
    assert!(place.data.with_file_name("half").exists());
    assert!(!place.data.with_file_name("half").join("identity").exists());
}

/// Whoever reads a backup knows every draw.
#[cfg(unix)]
pub(super) async fn backups_are_for_their_owner_alone(place: Place) {
    use std::os::unix::fs::PermissionsExt;
    let store = place.open().await;
    open_election(&store, &file("ward")).await;
    let made = back_up(&place, "made").await;
    for to in ["out", "data-2"] {
        let open = place.data.with_file_name(to);
        std::fs::create_dir(&open).unwrap();
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let out = place.data.with_file_name("out");
    let refused = backup(&place.data, place.database.as_deref(), &out).await;
    let Err(error @ StoreError::Backup(_)) = refused else { panic!("{refused:?}") };
    assert!(error.to_string().contains("chmod 700"), "{error}");
    assert_eq!(files_under(&out), 0);
    let refused = restored(&place, &made, "data-2", None, Since::NothingClosed).await;
    assert!(matches!(refused, Err(StoreError::Backup(_))), "{refused:?}");
}

/// A teacher who was called like an election once made a backup seem to know that election.
pub(super) async fn a_backup_that_does_not_know_an_election_is_refused(place: Place) {
    let store = place.open().await;
    open_election(&store, &file_of("ward", "hospitals", TEACHERS)).await;
    let made = back_up(&place, "made").await;
    let later = open_election(&store, &file_of("hospitals-0", "clinics", TEACHERS)).await;
    three_vote(&store, &later, 1).await;
    release(&store, &later).await;
    let since = Since::Folder(place.data.clone());
    let refused = restored(&place, &made, "copy", None, since).await;
    let Err(error @ StoreError::Backup(_)) = refused else { panic!("{refused:?}") };
    assert!(error.to_string().contains("hospitals-0 was released after"), "{error}");
    assert!(!place.data.with_file_name("copy").exists(), "nothing is left of it");
}
