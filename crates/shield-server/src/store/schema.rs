//! The tables, as a list of migrations: what is released is never changed, only added to.
//!
//! The same statements run on SQLite and PostgreSQL, so they keep to what both understand: text,
//! whole numbers, no blobs. Ballots, keys and releases are files; the tables say which ones count.

use sqlx::AnyConnection;

/// The migrations so far; the place in the list is the version that it leads to.
const MIGRATIONS: &[&[&str]] = &[FIRST, IDENTITY, TRUST];

const FIRST: &[&str] = &[
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
        touched BIGINT NOT NULL
    )",
    "CREATE TABLE members (
        teacher TEXT NOT NULL PRIMARY KEY,
        grp TEXT NOT NULL
    )",
    "CREATE TABLE tokens (
        hash TEXT NOT NULL PRIMARY KEY,
        role TEXT NOT NULL,
        election TEXT,
        teacher BIGINT
    )",
    "CREATE TABLE election_keys (
        election TEXT NOT NULL REFERENCES elections (name),
        kind TEXT NOT NULL,
        hash TEXT NOT NULL,
        bytes BIGINT NOT NULL,
        key_id TEXT NOT NULL,
        PRIMARY KEY (election, kind)
    )",
    "CREATE TABLE ballots (
        election TEXT NOT NULL REFERENCES elections (name),
        teacher BIGINT NOT NULL,
        batch BIGINT NOT NULL,
        hash TEXT NOT NULL,
        bytes BIGINT NOT NULL,
        presence TEXT NOT NULL,
        received BIGINT NOT NULL,
        PRIMARY KEY (election, teacher, batch),
        UNIQUE (election, batch, hash)
    )",
    "CREATE TABLE releases (
        election TEXT NOT NULL REFERENCES elections (name),
        batch BIGINT NOT NULL,
        hash TEXT NOT NULL,
        bytes BIGINT NOT NULL,
        PRIMARY KEY (election, batch)
    )",
    "CREATE TABLE ledger (
        election TEXT NOT NULL PRIMARY KEY REFERENCES elections (name),
        grp TEXT NOT NULL,
        stage TEXT NOT NULL,
        voters TEXT NOT NULL,
        booked BIGINT NOT NULL
    )",
];

/// Which data folder belongs to these tables: one row, written once.
const IDENTITY: &[&str] = &["CREATE TABLE identity (id TEXT NOT NULL PRIMARY KEY)"];

/// Draws that can be checked, audits, rehearsals, and budgets that stay what they are.
const TRUST: &[&str] = &[
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
    // The checksum of a ballot's votes, without its nonce: a copy has the same.
    "ALTER TABLE ballots ADD COLUMN votes TEXT",
    // Whoever is open already goes on as it was.
    "INSERT INTO rehearsals (election, confirmed)
        SELECT name, created FROM elections WHERE stage <> 'awaiting-keys'",
];

/// Brings the tables up to date. Two servers may try at once, though only one of them will get the
/// database: the version's row is locked first.
pub(super) async fn migrate(connection: &mut AnyConnection) -> Result<(), sqlx::Error> {
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
    let done = usize::try_from(version).unwrap_or(0);
    if done > MIGRATIONS.len() {
        return Err(sqlx::Error::Configuration(
            format!(
                "the database has schema version {version}, this program knows {}; use the newer \
                 release",
                MIGRATIONS.len()
            )
            .into(),
        ));
    }
    for migration in &MIGRATIONS[done..] {
        for statement in *migration {
            sqlx::query(*statement).execute(&mut *transaction).await?;
        }
    }
    sqlx::query("UPDATE schema_version SET version = $1 WHERE id = 1")
        .bind(i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX))
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
