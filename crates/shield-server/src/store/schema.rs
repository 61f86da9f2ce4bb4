//! The tables, as a list of migrations: what is released is never changed, only added to.
//!
//! The same statements run on SQLite and PostgreSQL, so they keep to what both understand: text,
//! whole numbers, no blobs. Ballots, keys and releases are files; the tables say which ones count.

use sqlx::AnyConnection;

/// The migrations so far; the place in the list is the version that it leads to.
const MIGRATIONS: &[&[&str]] = &[FIRST, IDENTITY, TRUST, RUNNING];

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

/// What a server needs that runs for years: turnouts and prices that are kept instead of computed
/// again, tokens that can be told apart, a log of who did what, and who goes first.
const RUNNING: &[&str] = &[
    // Both are filled in by `Store::count_up`, which can read election files.
    "ALTER TABLE elections ADD COLUMN batches BIGINT",
    "ALTER TABLE elections ADD COLUMN voted BIGINT NOT NULL DEFAULT 0",
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
    // On which samples of a batch a ballot abstains.
    "ALTER TABLE ballots ADD COLUMN absent TEXT",
    // What is booked, at the group's order: its moments, its distance, the most that one label can
    // cost, and whether it is priced by its own turnouts or by that.
    "ALTER TABLE ledger ADD COLUMN log_moment TEXT",
    "ALTER TABLE ledger ADD COLUMN distance TEXT",
    "ALTER TABLE ledger ADD COLUMN each_label TEXT",
    "ALTER TABLE ledger ADD COLUMN tight BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE tokens ADD COLUMN created BIGINT",
    "ALTER TABLE tokens ADD COLUMN note TEXT",
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

/// Every table and its columns, in an order in which rows can be inserted: what a backup holds.
pub(super) const TABLES: &[(&str, &[&str])] = &[
    ("identity", &["id"]),
    (
        "elections",
        &[
            "name", "grp", "file", "stage", "created", "closed", "seed", "frozen", "problem",
            "touched", "batches", "voted",
        ],
    ),
    ("members", &["teacher", "grp"]),
    ("tokens", &["hash", "role", "election", "teacher", "created", "note"]),
    ("election_keys", &["election", "kind", "hash", "bytes", "key_id"]),
    (
        "ballots",
        &[
            "election", "teacher", "batch", "hash", "bytes", "presence", "received", "votes",
            "absent",
        ],
    ),
    ("releases", &["election", "batch", "hash", "bytes"]),
    (
        "ledger",
        &[
            "election",
            "grp",
            "stage",
            "voters",
            "booked",
            "log_moment",
            "distance",
            "each_label",
            "tight",
        ],
    ),
    ("seed_parts", &["election", "part"]),
    ("rehearsals", &["election", "confirmed"]),
    ("rounds", &["election", "round", "stage", "question", "answer", "problem"]),
    ("round_files", &["election", "round", "kind", "batch", "hash", "bytes"]),
    ("budgets", &["grp", "epsilon", "delta", "renyi_order"]),
    ("budget_changes", &["grp", "number", "moment", "epsilon", "delta", "reason"]),
    ("voters", &["election", "teacher", "batches", "digest"]),
    ("absences", &["election", "batch", "counts"]),
    (
        "audit_log",
        &["number", "moment", "role", "who", "address", "action", "election", "detail", "chain"],
    ),
    ("blocks", &["election", "reason"]),
    ("schedule", &["election", "priority", "paused"]),
    ("erasures", &["election", "what", "moment"]),
];

/// The columns that hold whole numbers; all others hold text.
pub(super) const NUMBERS: &[&str] = &[
    "created",
    "closed",
    "touched",
    "batches",
    "voted",
    "teacher",
    "bytes",
    "batch",
    "received",
    "booked",
    "tight",
    "confirmed",
    "round",
    "number",
    "moment",
    "priority",
    "paused",
];

/// The version that the migrations lead to.
pub(super) fn version() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

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
