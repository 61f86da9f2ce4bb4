//! What the store promises, on SQLite and on a real PostgreSQL: one list of checks, run on both.

mod backups;
mod ballots;
mod elections;
mod restarts;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use shield_core::Seed;
use shield_core::engine::Presence;
use shield_protocol::credentials::{Role, TokenHash};
use shield_protocol::ledger::Budget;
use shield_protocol::turnout::VoterCounts;
use shield_protocol::{ElectionFile, Name};
use shield_server::store::{DatabaseUrl, Roll, Stage, Store, StoreError, Stored};
use shield_server::{ServeError, Service, Settings};
use tempfile::TempDir;

use crate::postgres::Cluster;
use backups::*;
use ballots::*;
use elections::*;
use restarts::*;

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

    /// The database's URL.
    fn url(&self) -> String {
        let sqlite = self.data.join("shield.sqlite");
        let here = || format!("sqlite://{}?mode=rwc", sqlite.display());
        self.database.clone().unwrap_or_else(here)
    }

    /// A way to the tables behind the store's back.
    async fn pool(&self) -> sqlx::AnyPool {
        sqlx::AnyPool::connect(&self.url()).await.unwrap()
    }

    /// What a server on these would be told.
    fn settings(&self) -> Settings {
        Settings {
            data: self.data.clone(),
            database: self.database.clone().map(DatabaseUrl::from),
            budget: Budget::default(),
            uploads: 1,
            patience: Duration::from_secs(1),
            ..Settings::default()
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
    two_keys_of_one_set_open_an_election,
    a_ballot_counts_once,
    closing_freezes_once,
    a_failed_aggregation_goes_on_with_its_seed,
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
    folders_without_a_name_are_refused,
    an_older_database_draws_nothing_twice,
    two_servers_never_share_a_database,
    lost_files_are_found_and_come_back,
    a_backup_is_everything,
    a_cut_or_edited_backup_is_refused,
    only_what_is_lost_is_missing,
    a_backup_beside_uploads_is_whole,
    calling_off_after_a_restore_gives_nothing_back,
    an_older_database_holds_no_second_audit,
    a_backup_that_does_not_know_an_election_is_refused,
    half_a_restore_does_not_start,
    backups_are_for_their_owner_alone,
];

fn file_of(name: &str, group: &str, teachers: u32) -> ElectionFile {
    let teachers: Vec<String> =
        (0..teachers).map(|number| format!("\"{group}-{number}\"")).collect();
    let text = format!(
        "name = \"{name}\"\ngroup = \"{group}\"\nclasses = 4\nsamples = {SAMPLES}\nquorum = \
         2\nteachers = [{}]\n",
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

/// Ballots of the first three teachers, which differ from those of others by a byte.
async fn three_vote(store: &Store, name: &Name, own: u8) {
    for teacher in 0..3_u8 {
        add_ballot(store, name, teacher.into(), 0, &[own, teacher]).await.unwrap();
    }
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
    let all = async |roll: &Roll| -> Result<VoterCounts, StoreError> {
        Ok(vec![(u32::try_from(roll.voters.len()).unwrap(), SAMPLES as u64)])
    };
    store.close(name, &Seed::from_bytes([seed; 32]), all).await
}

/// How many files are in a folder, and in its folders.
fn files_under(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { files_under(&path) } else { 1 }).sum()
}
