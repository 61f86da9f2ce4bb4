//! Backups: all rows and all files that they name, at one moment, while the server runs.
//!
//! Rows are read in one transaction, which sees one moment. Files are written before their rows and
//! never change, so whatever the rows of that moment name can be copied afterwards. The folder of a
//! backup has `manifest.json`, `tables.jsonl` (for every table a line with its columns, then a line
//! for each row) and the files under the paths they have in the data folder. It does not matter
//! which kind of database it came from or goes to.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use shield_protocol::{Name, private};
use sqlx::{AnyConnection, Connection, Row};

use super::files::Folder;
use super::schema::{NUMBERS, TABLES, version};
use super::{Object, StoreError, database, small};
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

pub(super) const FORMAT: u32 = 1;
pub(super) const ROWS: &str = "tables.jsonl";
pub(super) const MANIFEST: &str = "manifest.json";

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

pub(super) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to.parent().unwrap_or(to))?;
    fs::copy(from, to)?;
    File::open(to)?.sync_all()
}

/// Whether a column holds whole numbers. A member's teacher is a name, all others are numbers.
pub(super) fn is_number(table: &str, column: &str) -> bool {
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

/// Makes a folder that only its owner can read. One that is there already must be such a folder:
/// what goes into it includes the seeds of all draws.
pub(super) fn make_private(folder: &Path) -> Result<(), StoreError> {
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
