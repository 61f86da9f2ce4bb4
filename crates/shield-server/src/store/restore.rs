//! What a backup holds comes back, and nothing of it is drawn a second time.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use shield_protocol::Name;
use shield_protocol::hex::hex;

use super::backup::{Backup, FORMAT, MANIFEST, ROWS, copy, is_number, make_private};
use super::files::Folder;
use super::schema::{TABLES, version};
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

/// Makes a data folder and a database from a backup.
///
/// What was open in the backup may have been closed since: drawing it again would answer its
/// samples twice. So it is blocked, unless what happened since is known.
pub fn restore(options: &RestoreOptions) -> Waiting<'_, Result<Backup, StoreError>> {
    Box::pin(put_back(options))
}

async fn put_back(options: &RestoreOptions) -> Result<Backup, StoreError> {
    let RestoreOptions { backup, data, database, since } = options;
    let unusable = |detail: String| StoreError::Backup(format!("{}: {detail}", backup.display()));
    let text = fs::read(backup.join(MANIFEST))
        .map_err(|_| unusable("there is no backup here, or not all of it".to_owned()))?;
    let manifest: Backup =
        serde_json::from_slice(&text).map_err(|error| unusable(error.to_string()))?;
    if manifest.format != FORMAT || manifest.schema > version() {
        return Err(unusable("a newer program made this backup; use that one".to_owned()));
    }
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
            check_the_old_folder(old, backup)?;
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
    copy_files(backup, data)?;
    store.insert_rows(&backup.join(ROWS)).await?;
    store.count_up().await?;
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
    if backup.join("identity").exists() {
        copy(&backup.join("identity"), &data.join("identity"))?;
    }
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
fn check_the_old_folder(old: &Path, backup: &Path) -> Result<(), StoreError> {
    let old = Folder::at(old);
    let known = elections_in(&backup.join(ROWS))?;
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

/// The names of the elections in a backup. Other tables have the same names in them.
fn elections_in(rows: &Path) -> Result<HashSet<String>, StoreError> {
    let mut names = HashSet::new();
    let (mut inside, mut place) = (false, 0);
    for line in BufReader::new(File::open(rows)?).lines() {
        let line = line?;
        if let Some(head) = Head::of(&line) {
            inside = head.table == "elections";
            place = head.columns.iter().position(|column| column == "name").unwrap_or(0);
        } else if inside {
            let values: Vec<Value> = serde_json::from_str(&line).unwrap_or_default();
            names.extend(values.get(place).and_then(Value::as_str).map(str::to_owned));
        }
    }
    Ok(names)
}

/// What the lines after it are.
#[derive(Deserialize)]
struct Head {
    table: String,
    columns: Vec<String>,
}

impl Head {
    /// The head that a line is, if it is one.
    fn of(line: &str) -> Option<Self> {
        if line.starts_with('{') { serde_json::from_str(line).ok() } else { None }
    }
}

/// Copies the files of a backup; each must be what its name says.
fn copy_files(backup: &Path, data: &Path) -> Result<(), StoreError> {
    let mut folders = vec![PathBuf::from("elections")];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(backup.join(&folder)) else { continue };
        for entry in entries {
            let entry = entry?;
            let inner = folder.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                folders.push(inner);
                continue;
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            let hash = name.rsplit('-').next().unwrap_or_default();
            if name != "drawn" {
                let mut hasher = blake3::Hasher::new();
                io::copy(&mut File::open(entry.path())?, &mut hasher)?;
                if hex(hasher.finalize().as_bytes()) != hash {
                    let path = entry.path();
                    return Err(StoreError::Backup(format!(
                        "{}: this file of the backup is damaged",
                        path.display()
                    )));
                }
            }
            copy(&entry.path(), &data.join(inner))?;
        }
    }
    Ok(())
}

impl Store {
    /// Inserts all rows of a backup: all of them, or none.
    async fn insert_rows(&self, path: &Path) -> Result<(), StoreError> {
        let damaged = || StoreError::Backup(format!("{}: this file is damaged", path.display()));
        let mut transaction = self.pool.begin().await?;
        let mut head: Option<Head> = None;
        for line in BufReader::new(File::open(path)?).lines() {
            let line = line?;
            if let Some(found) = Head::of(&line) {
                // Names of tables and columns go into the statement: only those that are ours.
                let known = TABLES.iter().find(|(table, _)| *table == found.table);
                let (_, columns) = known.ok_or_else(damaged)?;
                if !found.columns.iter().all(|column| columns.contains(&column.as_str())) {
                    return Err(damaged());
                }
                head = Some(found);
                continue;
            }
            let Head { table, columns } = head.as_ref().ok_or_else(damaged)?;
            let values: Vec<Value> = serde_json::from_str(&line).map_err(|_| damaged())?;
            if values.len() != columns.len() {
                return Err(damaged());
            }
            let places: Vec<String> =
                (1..=columns.len()).map(|place| format!("${place}")).collect();
            let insert = format!(
                "INSERT INTO {table} ({}) VALUES ({})",
                columns.join(", "),
                places.join(", ")
            );
            let mut query = sqlx::query(sqlx::AssertSqlSafe(insert));
            for (column, value) in columns.iter().zip(&values) {
                query = if is_number(table, column) {
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
