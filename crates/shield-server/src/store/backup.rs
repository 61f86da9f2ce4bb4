//! Backups: all rows and all files that they name, at one moment, while the server runs; and back.
//!
//! Rows are read in one transaction, which sees one moment. Files are written before their rows and
//! never change, so whatever the rows of that moment name can be copied afterwards. The folder of a
//! backup has `manifest.json`, `tables.jsonl` (for every table a line with its columns, then a line
//! for each row) and the files under the paths they have in the data folder. It does not matter
//! which kind of database it came from or goes to.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use shield_protocol::hex::hex;
use shield_protocol::{Name, private};
use sqlx::{AnyConnection, Connection, Row};

use super::files::Folder;
use super::schema::{NUMBERS, TABLES, version};
use super::{Deed, Object, Stage, Store, StoreError, StoredElection, database, small};
use crate::waiting::Waiting;

/// What a backup is, in its `manifest.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Backup {
    /// The version of this format.
    pub format: u32,
    /// The version of the tables.
    pub schema: i64,
    /// When it was made.
    pub moment: Timestamp,
    /// How many rows it has.
    pub rows: u64,
    /// How many files.
    pub files: u64,
    /// Files that the rows name and that were not there.
    pub missing: u64,
}

const FORMAT: u32 = 1;
const ROWS: &str = "tables.jsonl";
const MANIFEST: &str = "manifest.json";

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

/// Backs a server up, whether it runs or not.
pub fn backup<'a>(
    data: &'a Path,
    database: Option<&'a str>,
    out: &'a Path,
) -> Waiting<'a, Result<Backup, StoreError>> {
    Box::pin(back_up(data, database, out))
}

async fn back_up(data: &Path, database: Option<&str>, out: &Path) -> Result<Backup, StoreError> {
    sqlx::any::install_default_drivers();
    let sqlite = data.join("shield.sqlite");
    let url = match database {
        Some(url) => url.to_owned(),
        None if sqlite.exists() => format!("sqlite://{}?mode=rw", sqlite.display()),
        None => {
            return Err(StoreError::Backup(format!(
                "{}: there is no data folder of a server here; give its --data, and its \
                 --database if it has one",
                data.display()
            )));
        }
    };
    database::check_the_way(&url)?;
    if out.exists() && fs::read_dir(out)?.next().is_some() {
        let detail = format!("{}: this folder is not empty; give a new one", out.display());
        return Err(StoreError::NotEmpty(detail));
    }
    make_private(out)?;
    let is_sqlite = url.starts_with("sqlite:");
    let named = |error| database::named(error, is_sqlite, &url);
    let mut connection = AnyConnection::connect(&url).await.map_err(named)?;
    let begin = if is_sqlite { "BEGIN" } else { "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" };
    sqlx::query(begin).execute(&mut connection).await?;
    let schema: i64 = sqlx::query_scalar("SELECT version FROM schema_version WHERE id = 1")
        .fetch_one(&mut connection)
        .await
        .map_err(named)?;
    if schema != version() {
        return Err(StoreError::Backup(format!(
            "the database has schema version {schema} and this program {}: use the program that \
             the server runs",
            version()
        )));
    }
    let moment = Timestamp::now();
    let mut writer =
        Writer { rows: BufWriter::new(File::create(out.join(ROWS))?), files: Vec::new(), count: 0 };
    for (table, columns) in TABLES {
        writer.table(&mut connection, table, columns).await?;
    }
    sqlx::query("COMMIT").execute(&mut connection).await?;
    connection.close().await?;
    writer.rows.flush()?;
    writer.rows.get_ref().sync_all()?;
    let (mut files, mut missing) = (0, 0);
    for file in &writer.files {
        match copy(&data.join(file), &out.join(file)) {
            Ok(()) => files += 1,
            Err(error) if error.kind() == io::ErrorKind::NotFound => missing += 1,
            Err(error) => return Err(error.into()),
        }
    }
    if data.join("identity").exists() {
        copy(&data.join("identity"), &out.join("identity"))?;
    }
    let made = Backup { format: FORMAT, schema, moment, rows: writer.count, files, missing };
    // The manifest comes last: without it, a backup is not one.
    let text = serde_json::to_vec_pretty(&made).map_err(io::Error::other)?;
    private::write(&out.join(MANIFEST), &text)?;
    Ok(made)
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to.parent().unwrap_or(to))?;
    fs::copy(from, to)?;
    File::open(to)?.sync_all()
}

/// Whether a column holds whole numbers. A member's teacher is a name, all others are numbers.
fn is_number(table: &str, column: &str) -> bool {
    NUMBERS.contains(&column) && !(table == "members" && column == "teacher")
}

struct Writer {
    rows: BufWriter<File>,
    /// The files that the rows name, relative to the data folder.
    files: Vec<PathBuf>,
    count: u64,
}

impl Writer {
    async fn table(
        &mut self,
        connection: &mut AnyConnection,
        table: &str,
        columns: &[&str],
    ) -> Result<(), StoreError> {
        let head = json!({ "table": table, "columns": columns });
        writeln!(self.rows, "{head}")?;
        let list = columns.join(", ");
        if table != "ballots" {
            let query = format!("SELECT {list} FROM {table}");
            let rows = sqlx::query(sqlx::AssertSqlSafe(query)).fetch_all(connection).await?;
            return self.rows_of(table, columns, &rows);
        }
        // There may be millions of these: a teacher at a time.
        let voters =
            sqlx::query("SELECT election, teacher FROM voters").fetch_all(&mut *connection).await?;
        for voter in &voters {
            let query = format!("SELECT {list} FROM ballots WHERE election = $1 AND teacher = $2");
            let rows = sqlx::query(sqlx::AssertSqlSafe(query))
                .bind(voter.try_get::<String, _>("election")?)
                .bind(voter.try_get::<i64, _>("teacher")?)
                .fetch_all(&mut *connection)
                .await?;
            self.rows_of(table, columns, &rows)?;
        }
        Ok(())
    }

    fn rows_of(
        &mut self,
        table: &str,
        columns: &[&str],
        rows: &[sqlx::any::AnyRow],
    ) -> Result<(), StoreError> {
        for row in rows {
            let mut values = HashMap::new();
            for column in columns {
                let value = if is_number(table, column) {
                    json!(row.try_get::<Option<i64>, _>(*column)?)
                } else {
                    json!(row.try_get::<Option<String>, _>(*column)?)
                };
                values.insert(*column, value);
            }
            self.name_files(table, &values)?;
            let line: Vec<&Value> = columns.iter().map(|column| &values[column]).collect();
            writeln!(self.rows, "{}", json!(line))?;
            self.count += 1;
        }
        Ok(())
    }

    /// Remembers the file that a row names.
    fn name_files(&mut self, table: &str, values: &HashMap<&str, Value>) -> Result<(), StoreError> {
        let number = |column: &str| small(values[column].as_i64().unwrap_or(-1));
        let text = |column: &str| values[column].as_str().unwrap_or_default();
        if table == "elections" {
            self.files.push(Path::new("elections").join(text("name")).join("drawn"));
            return Ok(());
        }
        let object = match table {
            "election_keys" if text("kind") == "public" => Object::PublicKey,
            "election_keys" => Object::EvaluationKey,
            "ballots" => Object::Ballot { teacher: number("teacher")?, batch: number("batch")? },
            "releases" => Object::Release { batch: number("batch")? },
            "round_files" if text("kind") == "audit" => {
                Object::Audit { round: number("round")?, batch: number("batch")? }
            }
            "round_files" => Object::Again { round: number("round")?, batch: number("batch")? },
            _ => return Ok(()),
        };
        let election: Name = text("election").parse().map_err(|_| StoreError::Damaged("name"))?;
        self.files.push(Folder::place(&election, object, text("hash")));
        Ok(())
    }
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

/// Makes a folder that only its owner can read. One that is there already must be such a folder:
/// what goes into it includes the seeds of all draws.
fn make_private(folder: &Path) -> Result<(), StoreError> {
    private::make_folder(folder)?;
    if private::is_open_to_others(folder)? {
        return Err(StoreError::Backup(format!(
            "{0}: others can read this folder, and the seeds of all draws would be in it; run \
             `chmod 700 {0}` first, or give a new folder",
            folder.display()
        )));
    }
    Ok(())
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
    let is_over = match election.stage {
        Stage::AwaitingKeys | Stage::Open => false,
        Stage::Closing | Stage::Released | Stage::Failed => true,
        Stage::Withdrawn => return Ok(None),
    };
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
