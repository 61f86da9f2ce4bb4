//! Backups: all rows and all files that they name, at one moment, while the server runs.
//!
//! Rows are read in one transaction, which sees one moment. Files are written before their rows and
//! never change, so whatever the rows of that moment name can be copied afterwards. The folder of a
//! backup has `tables.jsonl` (for every table a line with its columns, then a line for each row),
//! the files under the paths they have in the data folder, `files.b3` with the BLAKE3 hash of each
//! (as `b3sum --check` reads it), and `manifest.json` with the count and the hash of all of it. It
//! does not matter which kind of database it came from or goes to.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use shield_protocol::hex::hex;
use shield_protocol::{Name, private};
use sqlx::{AnyConnection, Connection, Row};

use super::files::Folder;
use super::schema::{Table, VERSION, tables};
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
    /// How many files that the rows name were lost or damaged when it was made.
    pub missing: u64,
    /// Those files, relative to the data folder.
    pub lost: Vec<String>,
    /// Each table, by its name.
    pub tables: BTreeMap<String, Part>,
    /// The hash of the list of files.
    pub list: String,
}

/// A table of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// How many rows it has.
    pub rows: u64,
    /// The BLAKE3 hash of its lines.
    pub hash: String,
}

impl Backup {
    /// The hash of the manifest, and so of everything: whoever notes it down can tell this backup
    /// from every other.
    pub fn digest(&self) -> String {
        hex(blake3::hash(self.text().as_bytes()).as_bytes())
    }

    fn text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

pub(super) const FORMAT: u32 = 2;
pub(super) const IDENTITY: &str = "identity";
pub(super) const ROWS: &str = "tables.jsonl";
pub(super) const FILES: &str = "files.b3";
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
    if schema != VERSION {
        return Err(StoreError::Backup(format!(
            "the database has schema version {schema} and this program {VERSION}: use the program \
             that the server runs"
        )));
    }
    let moment = Timestamp::now();
    let rows = BufWriter::new(File::create(out.join(ROWS))?);
    let mut writer = Writer { rows, files: BTreeMap::new(), parts: BTreeMap::new() };
    for table in tables() {
        writer.table(&mut connection, &table).await?;
    }
    sqlx::query("COMMIT").execute(&mut connection).await?;
    writer.rows.flush()?;
    writer.rows.get_ref().sync_all()?;
    let (mut list, mut files, mut gone) = (Vec::new(), 0, Vec::new());
    writer.files.insert(PathBuf::from(IDENTITY), None);
    for (file, written) in &writer.files {
        match copy(&data.join(file), &out.join(file))? {
            Some(hash) if written.as_ref().is_none_or(|written| *written == hash) => {
                writeln!(list, "{hash}  {}", file.display())?;
                files += u64::from(file != Path::new(IDENTITY));
            }
            Some(_) => {
                fs::remove_file(out.join(file))?;
                gone.push(file);
            }
            None => gone.push(file),
        }
    }
    private::write(&out.join(FILES), &list)?;
    // After the files: what was deleted meanwhile is not lost, either.
    let missed = Missed::read(&mut connection).await?;
    connection.close().await?;
    let lost = gone.iter().filter(|file| missed.is_missed(file));
    let lost: Vec<String> = lost.map(|file| file.display().to_string()).collect();
    let made = Backup {
        format: FORMAT,
        schema,
        moment,
        rows: writer.parts.values().map(|part| part.rows).sum(),
        files,
        missing: lost.len() as u64,
        lost,
        tables: writer.parts,
        list: hex(blake3::hash(&list).as_bytes()),
    };
    // The manifest comes last: without it, a backup is not one.
    private::write(&out.join(MANIFEST), made.text().as_bytes())?;
    Ok(made)
}

/// What is missed if it is not there.
struct Missed {
    /// Elections that are called off, or deleted: nobody needs anything of them.
    over: HashSet<String>,
    /// Elections whose ballots are deleted.
    without_ballots: HashSet<String>,
    /// Elections of which something was drawn: the others have no mark.
    drawn: HashSet<String>,
}

impl Missed {
    async fn read(connection: &mut AnyConnection) -> Result<Self, StoreError> {
        let mut elections = async |sql: &'static str| -> Result<HashSet<String>, StoreError> {
            let names: Vec<String> = sqlx::query_scalar(sql).fetch_all(&mut *connection).await?;
            Ok(names.into_iter().collect())
        };
        Ok(Self {
            over: elections(
                "SELECT name FROM elections WHERE stage = 'withdrawn' UNION SELECT election FROM \
                 erasures WHERE what = 'everything'",
            )
            .await?,
            without_ballots: elections("SELECT election FROM erasures").await?,
            drawn: elections("SELECT election FROM releases").await?,
        })
    }

    fn is_missed(&self, file: &Path) -> bool {
        let words: Vec<&str> = file.iter().filter_map(|word| word.to_str()).collect();
        match words.as_slice() {
            [_, election, ..] if self.over.contains(*election) => false,
            [_, election, "ballots", ..] => !self.without_ballots.contains(*election),
            [_, election, "drawn"] => self.drawn.contains(*election),
            _ => true,
        }
    }
}

/// Copies a file, and gives its hash; none if it is not there.
pub(super) fn copy(from: &Path, to: &Path) -> io::Result<Option<String>> {
    let mut from = match File::open(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        from => from?,
    };
    fs::create_dir_all(to.parent().unwrap_or(to))?;
    let (mut to, mut hasher, mut piece) = (File::create(to)?, blake3::Hasher::new(), [0; 1 << 14]);
    loop {
        let read = from.read(&mut piece)?;
        if read == 0 {
            to.sync_all()?;
            return Ok(Some(hex(hasher.finalize().as_bytes())));
        }
        hasher.update(&piece[..read]);
        to.write_all(&piece[..read])?;
    }
}

/// Files, and what each must hash to, where that is known.
type NamedFiles = BTreeMap<PathBuf, Option<String>>;

struct Writer {
    rows: BufWriter<File>,
    /// The files that the rows name, relative to the data folder, with the hash of what was
    /// written.
    files: NamedFiles,
    parts: BTreeMap<String, Part>,
}

impl Writer {
    async fn table(
        &mut self,
        connection: &mut AnyConnection,
        table: &Table,
    ) -> Result<(), StoreError> {
        let columns: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
        let list = columns.join(", ");
        let mut lines = Lines { to: &mut self.rows, hasher: blake3::Hasher::new(), rows: 0 };
        lines.write(&json!({ "table": table.name, "columns": columns }))?;
        if table.name == "ballots" {
            // There may be millions of these: a teacher at a time.
            let voters = sqlx::query("SELECT election, teacher FROM voters");
            for voter in voters.fetch_all(&mut *connection).await? {
                let query =
                    format!("SELECT {list} FROM ballots WHERE election = $1 AND teacher = $2");
                let rows = sqlx::query(sqlx::AssertSqlSafe(query))
                    .bind(voter.try_get::<String, _>("election")?)
                    .bind(voter.try_get::<i64, _>("teacher")?)
                    .fetch_all(&mut *connection)
                    .await?;
                lines.write_rows(table, &rows, &mut self.files)?;
            }
        } else {
            let query = format!("SELECT {list} FROM {}", table.name);
            let rows = sqlx::query(sqlx::AssertSqlSafe(query)).fetch_all(connection).await?;
            lines.write_rows(table, &rows, &mut self.files)?;
        }
        let part = Part { rows: lines.rows, hash: hex(lines.hasher.finalize().as_bytes()) };
        self.parts.insert(table.name.to_owned(), part);
        Ok(())
    }
}

/// The lines of one table, and what the manifest says of them.
struct Lines<'w> {
    to: &'w mut BufWriter<File>,
    hasher: blake3::Hasher,
    rows: u64,
}

impl Lines<'_> {
    fn write(&mut self, line: &Value) -> io::Result<()> {
        let line = format!("{line}\n");
        self.hasher.update(line.as_bytes());
        self.to.write_all(line.as_bytes())
    }

    fn write_rows(
        &mut self,
        table: &Table,
        rows: &[sqlx::any::AnyRow],
        files: &mut NamedFiles,
    ) -> Result<(), StoreError> {
        for row in rows {
            let mut line = Vec::new();
            for column in &table.columns {
                line.push(if column.is_number {
                    json!(row.try_get::<Option<i64>, _>(column.name)?)
                } else {
                    json!(row.try_get::<Option<String>, _>(column.name)?)
                });
            }
            self.write(&json!(line))?;
            self.rows += 1;
            let names = table.columns.iter().map(|column| column.name);
            files.extend(file_of(table.name, &names.zip(line).collect())?);
        }
        Ok(())
    }
}

/// The file that a row names, relative to the data folder.
fn file_of(
    table: &str,
    values: &HashMap<&str, Value>,
) -> Result<Option<(PathBuf, Option<String>)>, StoreError> {
    let number = |column: &str| small(values[column].as_i64().unwrap_or(-1));
    let text = |column: &str| values[column].as_str().unwrap_or_default();
    let object = match table {
        "elections" => {
            return Ok(Some((Path::new("elections").join(text("name")).join("drawn"), None)));
        }
        "election_keys" if text("kind") == "public" => Object::PublicKey,
        "election_keys" => Object::EvaluationKey,
        "ballots" => Object::Ballot { teacher: number("teacher")?, batch: number("batch")? },
        "releases" => Object::Release { batch: number("batch")? },
        "round_files" if text("kind") == "audit" => {
            Object::Audit { round: number("round")?, batch: number("batch")? }
        }
        "round_files" => Object::Again { round: number("round")?, batch: number("batch")? },
        _ => return Ok(None),
    };
    let election: Name = text("election").parse().map_err(|_| StoreError::Damaged("name"))?;
    let hash = text("hash");
    Ok(Some((Folder::place(&election, object, hash), Some(hash.to_owned()))))
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
