//! What a backup holds comes back, and nothing of it is drawn a second time.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde_json::Value;
use shield_protocol::Name;

use super::backup::{Backup, IDENTITY, ROWS, copy, make_private};
use super::files::Folder;
use super::schema::{Table, tables};
use super::verify::{Head, Whole, check};
use super::{Deed, Stage, Store, StoreError, StoredElection};
use crate::waiting::Waiting;

/// What is known of the time since a backup was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Since {
    /// Nothing: elections that were open then can only be called off, and no audit can be held of
    /// the others.
    Unknown,
    /// The data folder of that time is still there: what it says was drawn is not drawn again.
    Folder(PathBuf),
    /// Somebody vouches that no election was closed since, and no audit answered.
    NothingClosed,
}

/// How to restore.
#[derive(Clone, Debug)]
pub struct RestoreOptions {
    /// The folder of the backup.
    pub backup: PathBuf,
    /// The data folder to make.
    pub data: PathBuf,
    /// An empty PostgreSQL database; SQLite in the data folder without one.
    pub database: Option<String>,
    /// What happened since.
    pub since: Since,
}

/// Makes a data folder and a database from a backup, which must be whole (see [`super::verify`]).
///
/// What was open in the backup may have been closed since: drawing it again would answer its
/// samples twice. So it is blocked, unless what happened since is known.
pub fn restore(options: &RestoreOptions) -> Waiting<'_, Result<Backup, StoreError>> {
    Box::pin(put_back(options))
}

async fn put_back(options: &RestoreOptions) -> Result<Backup, StoreError> {
    let RestoreOptions { backup, data, database, since } = options;
    let Whole { manifest, elections, files } = check(backup)?;
    if data.exists() && fs::read_dir(data)?.next().is_some() {
        let detail = format!(
            "{}: there is something in this folder; restore into a new one, and keep the old one",
            data.display()
        );
        return Err(StoreError::NotEmpty(detail));
    }
    let _old_server = match since {
        Since::Folder(old) => {
            let lock = lock_the_old_folder(old)?;
            check_the_old_folder(old, &elections)?;
            lock
        }
        _ => None,
    };
    make_private(data)?;
    let store = Store::open(data, database.as_deref()).await?;
    if !store.elections().await?.is_empty() || store.identity().await?.is_some() {
        let detail = "the database is not empty; give an empty one".to_owned();
        return Err(StoreError::NotEmpty(detail));
    }
    for file in files.iter().filter(|file| *file != IDENTITY) {
        copy(&backup.join(file), &data.join(file))?;
    }
    store.insert_rows(&backup.join(ROWS)).await?;
    for election in store.elections().await? {
        if let Some(reason) = reason_to_block(&election, since, data, &manifest)? {
            store.block(election.file.name(), &reason).await?;
            if election.stage.is_frozen() {
                store.book_forgotten_audits(&election.file).await?;
            }
        }
    }
    let detail = format!("from the backup of {}", manifest.moment);
    let deed = Deed {
        role: "server",
        who: "",
        address: "",
        action: "restored",
        election: None,
        detail: &detail,
    };
    store.log(deed).await?;
    store.close_database().await?;
    // Last: a folder without an identity does not start, so that a restore which was interrupted
    // before everything was blocked is never taken for a whole one.
    copy(&backup.join(IDENTITY), &data.join(IDENTITY))?;
    Ok(manifest)
}

/// Why nothing must be drawn for an election of a backup, if that might be a second draw.
fn reason_to_block(
    election: &StoredElection,
    since: &Since,
    data: &Path,
    manifest: &Backup,
) -> Result<Option<String>, StoreError> {
    let name = election.file.name();
    let moment = manifest.moment;
    if election.stage == Stage::Withdrawn {
        return Ok(None);
    }
    let is_over = election.stage.is_frozen();
    let reason = match since {
        Since::NothingClosed => return Ok(None),
        Since::Folder(old) if is_over => {
            let known = Folder::at(data).drawn_again(name)?;
            let old = Folder::at(old).drawn_again(name)?;
            if old.iter().all(|drawn| known.contains(drawn)) {
                return Ok(None);
            }
            "an audit was answered after the backup was made, and its results are in the old \
             folder; no other audit can be held"
                .to_owned()
        }
        Since::Folder(old) if !Folder::at(old).was_drawn(name)? => return Ok(None),
        Since::Folder(_) => "it was closed after the backup was made, and its releases are in the \
            old folder; call it off"
            .to_owned(),
        Since::Unknown if is_over => format!(
            "an audit may have been answered since the backup of {moment}; to hold another, \
             restore again with `--old FOLDER` or `--nothing-closed-since`"
        ),
        Since::Unknown => format!(
            "it was open in the backup of {moment}, and may have been closed since; call it off, \
             or restore again with `--old FOLDER` or `--nothing-closed-since`"
        ),
    };
    Ok(Some(reason))
}

/// What the old folder shows holds only if no server goes on there. The lock is kept until the
/// restore is over.
fn lock_the_old_folder(old: &Path) -> Result<Option<File>, StoreError> {
    let lock = match File::open(old.join("lock")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        lock => lock?,
    };
    lock.try_lock().map_err(|_| {
        StoreError::Backup(format!(
            "{}: a server is running on this folder, and what it draws from now on would be drawn \
             again; stop it first",
            old.display()
        ))
    })?;
    Ok(Some(lock))
}

/// An election that the old folder released and the backup does not know would be forgotten by the
/// ledger.
fn check_the_old_folder(old: &Path, known: &HashSet<String>) -> Result<(), StoreError> {
    let old = Folder::at(old);
    for name in old.elections()? {
        let Ok(name) = name.parse::<Name>() else { continue };
        if !known.contains(name.as_str()) && old.was_drawn(&name)? {
            return Err(StoreError::Backup(format!(
                "{name} was released after this backup was made, and the restored ledger would not \
                 know: restore a later backup"
            )));
        }
    }
    Ok(())
}

impl Store {
    /// Inserts all rows of a backup: all of them, or none.
    async fn insert_rows(&self, path: &Path) -> Result<(), StoreError> {
        let damaged = || StoreError::Backup(format!("{}: this file is damaged", path.display()));
        let known = tables();
        let mut transaction = self.pool.begin().await?;
        let mut into: Option<(&Table, String)> = None;
        for line in BufReader::new(File::open(path)?).lines() {
            let line = line?;
            if let Some(head) = Head::of(&line) {
                // Names of tables and columns go into the statement: only those that are ours.
                let table = known.iter().find(|table| table.name == head.table);
                let table = table.ok_or_else(damaged)?;
                if !table.columns.iter().map(|column| column.name).eq(&head.columns) {
                    return Err(damaged());
                }
                let places = (1..=table.columns.len()).map(|place| format!("${place}"));
                let places = places.collect::<Vec<String>>().join(", ");
                let list = head.columns.join(", ");
                let insert = format!("INSERT INTO {} ({list}) VALUES ({places})", table.name);
                into = Some((table, insert));
                continue;
            }
            let (table, insert) = into.as_ref().ok_or_else(damaged)?;
            let values: Vec<Value> = serde_json::from_str(&line).map_err(|_| damaged())?;
            if values.len() != table.columns.len() {
                return Err(damaged());
            }
            let mut query = sqlx::query(sqlx::AssertSqlSafe(insert.clone()));
            for (column, value) in table.columns.iter().zip(&values) {
                query = if column.is_number {
                    query.bind(value.as_i64())
                } else {
                    query.bind(value.as_str().map(str::to_owned))
                };
            }
            query.execute(&mut *transaction).await?;
        }
        transaction.commit().await?;
        Ok(())
    }
}
