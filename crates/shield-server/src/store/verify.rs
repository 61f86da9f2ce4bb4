//! Whether a backup is whole: every table and every file as its manifest says.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use shield_protocol::audit_log::{LogLine, broken_chain};
use shield_protocol::hex::hex;

use super::backup::{Backup, FILES, FORMAT, MANIFEST, Part, ROWS};
use super::schema::VERSION;
use super::{StoreError, moment, small};

/// A backup that is whole.
pub(super) struct Whole {
    pub(super) manifest: Backup,
    /// The names of its elections.
    pub(super) elections: HashSet<String>,
    /// Its files, relative to its folder.
    pub(super) files: Vec<PathBuf>,
}

/// Compares a backup with its manifest, and checks the chain of its audit log. Fails on what was
/// cut or edited.
pub fn verify(backup: &Path) -> Result<Backup, StoreError> {
    Ok(check(backup)?.manifest)
}

/// The same, with what a restore needs to know of it.
pub(super) fn check(backup: &Path) -> Result<Whole, StoreError> {
    let wrong = |detail: &str| StoreError::Backup(format!("{}: {detail}", backup.display()));
    let text = fs::read(backup.join(MANIFEST))
        .map_err(|_| wrong("there is no backup here, or not all of it"))?;
    let version: Version =
        serde_json::from_slice(&text).map_err(|error| wrong(&error.to_string()))?;
    if version.format != FORMAT || version.schema != VERSION {
        return Err(wrong("another version of the program made this backup; use that one"));
    }
    let manifest: Backup =
        serde_json::from_slice(&text).map_err(|error| wrong(&error.to_string()))?;
    let other = "it is not what the backup was made with: it was cut or edited; use another backup";
    let tables = Tables::read(&backup.join(ROWS))?;
    for name in manifest.tables.keys().chain(tables.parts.keys()) {
        let (made, found) = (manifest.tables.get(name), tables.parts.get(name));
        if made != found {
            let rows = |part: Option<&Part>| part.map_or(0, |part| part.rows);
            let (made, found) = (rows(made), rows(found));
            return Err(wrong(&format!("table {name}, {found} of {made} rows: {other}")));
        }
    }
    if let Some(number) = broken_chain(&tables.log) {
        let detail = format!(
            "the audit log was changed at or before its line {number}; whoever did so had the \
             database or this backup: compare it with an earlier export (`shield operator \
             audit-log`), and use an earlier backup"
        );
        return Err(wrong(&detail));
    }
    let list = fs::read_to_string(backup.join(FILES)).map_err(|_| wrong("files.b3 is missing"))?;
    if hex(blake3::hash(list.as_bytes()).as_bytes()) != manifest.list {
        return Err(wrong(&format!("{FILES}: {other}")));
    }
    let mut files = Vec::new();
    for line in list.lines() {
        let (hash, path) = line.split_once("  ").ok_or_else(|| wrong(FILES))?;
        let mut hasher = blake3::Hasher::new();
        let read =
            File::open(backup.join(path)).and_then(|file| hasher.update_reader(file).map(drop));
        read.map_err(|error| wrong(&format!("{path}: {error}; use another backup")))?;
        if hex(hasher.finalize().as_bytes()) != hash {
            return Err(wrong(&format!("{path}: {other}")));
        }
        files.push(PathBuf::from(path));
    }
    Ok(Whole { manifest, elections: tables.elections, files })
}

/// As much of a manifest as every version has.
#[derive(Deserialize)]
struct Version {
    format: u32,
    schema: i64,
}

/// What the lines after it are.
#[derive(Deserialize)]
pub(super) struct Head {
    pub(super) table: String,
    pub(super) columns: Vec<String>,
}

impl Head {
    /// The head that a line is, if it is one.
    pub(super) fn of(line: &str) -> Option<Self> {
        if line.starts_with('{') { serde_json::from_str(line).ok() } else { None }
    }
}

/// What was found in the rows of a backup.
#[derive(Default)]
struct Tables {
    parts: BTreeMap<String, Part>,
    elections: HashSet<String>,
    log: Vec<LogLine>,
}

impl Tables {
    fn read(path: &Path) -> Result<Self, StoreError> {
        let damaged = |detail: &str| StoreError::Backup(format!("{}: {detail}", path.display()));
        let mut found = Self::default();
        let mut hashers = BTreeMap::new();
        let mut head: Option<Head> = None;
        let mut lines = BufReader::new(File::open(path)?);
        let mut line = String::new();
        while lines.read_line(&mut line)? > 0 {
            let new = Head::of(&line);
            let is_row = new.is_none();
            head = new.or(head);
            let head = head.as_ref().ok_or_else(|| damaged("there is a row before any table"))?;
            let hasher = hashers.entry(head.table.clone()).or_insert_with(blake3::Hasher::new);
            hasher.update(line.as_bytes());
            let empty = Part { rows: 0, hash: String::new() };
            let part = found.parts.entry(head.table.clone()).or_insert(empty);
            if is_row {
                part.rows += 1;
                let row: Vec<Value> = serde_json::from_str(&line)
                    .map_err(|_| damaged("there is a line that is no row"))?;
                let columns = head.columns.iter().map(String::as_str);
                found.note(&head.table, &columns.zip(row).collect())?;
            }
            line.clear();
        }
        for (table, hasher) in hashers {
            if let Some(part) = found.parts.get_mut(&table) {
                part.hash = hex(hasher.finalize().as_bytes());
            }
        }
        found.log.sort_by_key(|line| line.number);
        Ok(found)
    }

    fn note(&mut self, table: &str, row: &HashMap<&str, Value>) -> Result<(), StoreError> {
        let text = |column| row.get(column).and_then(Value::as_str).map(str::to_owned);
        let number = |column| row.get(column).and_then(Value::as_i64).unwrap_or(-1);
        match table {
            "elections" => self.elections.extend(text("name")),
            "audit_log" => self.log.push(LogLine {
                number: small(number("number"))?,
                moment: moment(number("moment"))?,
                role: text("role").unwrap_or_default(),
                who: text("who").unwrap_or_default(),
                address: text("address").unwrap_or_default(),
                action: text("action").unwrap_or_default(),
                election: text("election"),
                detail: text("detail").unwrap_or_default(),
                chain: text("chain").unwrap_or_default(),
            }),
            _ => {}
        }
        Ok(())
    }
}
