//! The tables, as one list of statements.
//!
//! The same statements run on SQLite and PostgreSQL, so they keep to what both understand: text,
//! whole numbers, no blobs. Ballots, keys and releases are files; the tables say which ones count.

use sqlx::AnyConnection;

/// The version of these tables. Others are refused; a version that takes them on adds what it needs
/// where [`create`] compares.
pub(super) const VERSION: i64 = 4;

const STATEMENTS: &[&str] = &[
    // Which data folder belongs to these tables: one row, written once.
    "CREATE TABLE identity (id TEXT NOT NULL PRIMARY KEY)",
    "CREATE TABLE elections (
        name TEXT NOT NULL PRIMARY KEY,
        grp TEXT NOT NULL,
        file TEXT NOT NULL,
        stage TEXT NOT NULL,
        created BIGINT NOT NULL,
        closed BIGINT,
        seed TEXT,
        frozen TEXT,
        problem TEXT,
        touched BIGINT NOT NULL,
        batches BIGINT NOT NULL,
        voted BIGINT NOT NULL DEFAULT 0
    )",
    "CREATE TABLE members (
        teacher TEXT NOT NULL PRIMARY KEY,
        grp TEXT NOT NULL
    )",
    "CREATE TABLE tokens (
        hash TEXT NOT NULL PRIMARY KEY,
        role TEXT NOT NULL,
        election TEXT,
        teacher BIGINT,
        created BIGINT NOT NULL,
        note TEXT
    )",
    "CREATE TABLE election_keys (
        election TEXT NOT NULL REFERENCES elections (name),
        kind TEXT NOT NULL,
        hash TEXT NOT NULL,
        bytes BIGINT NOT NULL,
        key_id TEXT NOT NULL,
        PRIMARY KEY (election, kind)
    )",
    // The votes are the checksum of a ballot without its nonce, which a copy has, too; absent are
    // the samples of the batch on which it abstains.
    "CREATE TABLE ballots (
        election TEXT NOT NULL REFERENCES elections (name),
        teacher BIGINT NOT NULL,
        batch BIGINT NOT NULL,
        hash TEXT NOT NULL,
        bytes BIGINT NOT NULL,
        presence TEXT NOT NULL,
        received BIGINT NOT NULL,
        votes TEXT NOT NULL,
        absent TEXT NOT NULL,
        PRIMARY KEY (election, teacher, batch),
        UNIQUE (election, batch, hash)
    )",
    // Who has sent how much of a ballot; the digest is there once it is all of it.
    "CREATE TABLE voters (
        election TEXT NOT NULL REFERENCES elections (name),
        teacher BIGINT NOT NULL,
        batches BIGINT NOT NULL,
        digest TEXT,
        PRIMARY KEY (election, teacher)
    )",
    // How many of those who sent all of a ballot abstained on each sample of a batch; no row where
    // nobody did.
    "CREATE TABLE absences (
        election TEXT NOT NULL REFERENCES elections (name),
        batch BIGINT NOT NULL,
        counts TEXT NOT NULL,
        PRIMARY KEY (election, batch)
    )",
    "CREATE TABLE releases (
        election TEXT NOT NULL REFERENCES elections (name),
        batch BIGINT NOT NULL,
        hash TEXT NOT NULL,
        bytes BIGINT NOT NULL,
        PRIMARY KEY (election, batch)
    )",
    // What is booked, at the group's order: its moments, its distance, the most that one label can
    // cost, and whether it is priced by its own turnouts or by that.
    "CREATE TABLE ledger (
        election TEXT NOT NULL PRIMARY KEY REFERENCES elections (name),
        grp TEXT NOT NULL,
        stage TEXT NOT NULL,
        voters TEXT NOT NULL,
        booked BIGINT NOT NULL,
        log_moment TEXT,
        distance TEXT,
        each_label TEXT,
        tight BIGINT NOT NULL DEFAULT 0
    )",
    "CREATE TABLE budgets (
        grp TEXT NOT NULL PRIMARY KEY,
        epsilon TEXT NOT NULL,
        delta TEXT NOT NULL,
        renyi_order TEXT NOT NULL
    )",
    "CREATE TABLE budget_changes (
        grp TEXT NOT NULL,
        number BIGINT NOT NULL,
        moment BIGINT NOT NULL,
        epsilon TEXT NOT NULL,
        delta TEXT NOT NULL,
        reason TEXT NOT NULL,
        PRIMARY KEY (grp, number)
    )",
    "CREATE TABLE seed_parts (
        election TEXT NOT NULL PRIMARY KEY REFERENCES elections (name),
        part TEXT NOT NULL
    )",
    "CREATE TABLE rehearsals (
        election TEXT NOT NULL PRIMARY KEY REFERENCES elections (name),
        confirmed BIGINT NOT NULL
    )",
    "CREATE TABLE rounds (
        election TEXT NOT NULL REFERENCES elections (name),
        round BIGINT NOT NULL,
        stage TEXT NOT NULL,
        question TEXT NOT NULL,
        answer TEXT,
        problem TEXT,
        PRIMARY KEY (election, round)
    )",
    "CREATE TABLE round_files (
        election TEXT NOT NULL REFERENCES elections (name),
        round BIGINT NOT NULL,
        kind TEXT NOT NULL,
        batch BIGINT NOT NULL,
        hash TEXT NOT NULL,
        bytes BIGINT NOT NULL,
        PRIMARY KEY (election, round, kind, batch)
    )",
    "CREATE TABLE audit_log (
        number BIGINT NOT NULL PRIMARY KEY,
        moment BIGINT NOT NULL,
        role TEXT NOT NULL,
        who TEXT NOT NULL,
        address TEXT NOT NULL,
        action TEXT NOT NULL,
        election TEXT,
        detail TEXT NOT NULL,
        chain TEXT NOT NULL
    )",
    // Why an election must not be closed: a backup was brought back that is older than it.
    "CREATE TABLE blocks (
        election TEXT NOT NULL PRIMARY KEY REFERENCES elections (name),
        reason TEXT NOT NULL
    )",
    "CREATE TABLE schedule (
        election TEXT NOT NULL PRIMARY KEY REFERENCES elections (name),
        priority BIGINT NOT NULL,
        paused BIGINT NOT NULL
    )",
    // What was deleted on purpose: `ballots`, or `everything`.
    "CREATE TABLE erasures (
        election TEXT NOT NULL REFERENCES elections (name),
        what TEXT NOT NULL,
        moment BIGINT NOT NULL,
        PRIMARY KEY (election, what)
    )",
];

/// A table, as backups know it.
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) columns: Vec<Column>,
}

/// A column: of whole numbers, or of text.
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) is_number: bool,
}

/// Every table, in an order in which rows can be inserted: what a backup holds.
pub(super) fn tables() -> Vec<Table> {
    let table = |statement: &'static str| {
        let (head, columns) = statement.split_once('(')?;
        let columns = columns.split([',', '\n']).filter_map(|line| {
            let mut words = line.split_whitespace();
            let (name, kind) = (words.next()?, words.next()?);
            let is_number = kind == "BIGINT";
            (is_number || kind == "TEXT").then_some(Column { name, is_number })
        });
        Some(Table { name: head.split_whitespace().last()?, columns: columns.collect() })
    };
    STATEMENTS.iter().filter_map(|statement| table(statement)).collect()
}

/// Makes the tables, unless they are there, and refuses those of another version. Two servers may
/// try at once, though only one of them will get the database: the version's row is locked first.
pub(super) async fn create(connection: &mut AnyConnection) -> Result<(), sqlx::Error> {
    let made = sqlx::query(
        "CREATE TABLE IF NOT EXISTS schema_version (id BIGINT NOT NULL PRIMARY \
        KEY, version BIGINT NOT NULL)",
    )
    .execute(&mut *connection)
    .await;
    // Two at the same moment: PostgreSQL lets one of them make the table and tells the other that
    // its name, its type or the table itself is there already, by how far the first one is.
    let lost_the_race = |error: &sqlx::Error| {
        let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
        code.is_some_and(|code| ["23505", "42710", "42P07"].contains(&&*code))
    };
    if let Err(error) = made
        && !lost_the_race(&error)
    {
        return Err(error);
    }
    sqlx::query("INSERT INTO schema_version (id, version) VALUES (1, 0) ON CONFLICT DO NOTHING")
        .execute(&mut *connection)
        .await?;
    let mut transaction = sqlx::Connection::begin(connection).await?;
    lock(&mut transaction).await?;
    let version: i64 = sqlx::query_scalar("SELECT version FROM schema_version WHERE id = 1")
        .fetch_one(&mut *transaction)
        .await?;
    if version == VERSION {
        return Ok(());
    }
    if version != 0 {
        let refusal = format!(
            "the database has schema version {version}, this program knows {VERSION}; use the \
             release that made it"
        );
        return Err(sqlx::Error::Configuration(refusal.into()));
    }
    for statement in STATEMENTS {
        sqlx::query(*statement).execute(&mut *transaction).await?;
    }
    sqlx::query("UPDATE schema_version SET version = $1 WHERE id = 1")
        .bind(VERSION)
        .execute(&mut *transaction)
        .await?;
    transaction.commit().await
}

/// Waits until no other transaction has this lock. An update takes it on both databases; a select
/// would not.
pub(super) async fn lock(connection: &mut AnyConnection) -> Result<(), sqlx::Error> {
    let update = sqlx::query("UPDATE schema_version SET version = version WHERE id = 1");
    update.execute(connection).await.map(drop)
}
