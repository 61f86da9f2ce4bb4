//! A data folder of version 0.1.0, with an election that is open and one that is released.

use super::*;

/// The tables as that version made them.
const TABLES: &str = include_str!("../../data/version-0.1.0.sql");

/// A file under its hash, as that version kept it.
fn keep(data: &Path, place: &str, prefix: &str, bytes: &[u8]) -> String {
    let hash = blake3::hash(bytes).to_hex().to_string();
    let folder = data.join("elections").join(place);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("{prefix}-{hash}")), bytes).unwrap();
    hash
}

fn election(name: &str, stage: &str, closed: &str, frozen: &str) -> String {
    let text = format!(
        "name = \"{name}\"\ngroup = \"hospitals\"\nclasses = 4\nsamples = 8\npolynomial = \
         \"8X^4+6X^3+4X^2+X\"\noffset = 1\nquorum = 2\nteachers = [\"amber\", \"birch\", \
         \"cedar\"]\n"
    );
    format!(
        "INSERT INTO elections (name, grp, file, stage, created, closed, seed, frozen, touched) \
         VALUES ('{name}', 'hospitals', '{text}', '{stage}', 1790000000000, {closed}, {}, \
         {frozen}, 3)",
        if closed == "NULL" { "NULL".to_owned() } else { format!("'{}'", "5a".repeat(32)) }
    )
}

/// What version 0.1.0 left behind is taken on: counted, priced, and as safe as what is new.
pub(super) async fn a_folder_of_version_0_1_0_is_taken_on(place: Place) {
    sqlx::any::install_default_drivers();
    shield_protocol::private::make_folder(&place.data).unwrap();
    let sqlite = format!("sqlite://{}?mode=rwc", place.data.join("shield.sqlite").display());
    let pool = sqlx::AnyPool::connect(place.database.as_deref().unwrap_or(&sqlite)).await.unwrap();
    let run = async |statement: String| {
        sqlx::query(sqlx::AssertSqlSafe(statement)).execute(&pool).await.unwrap();
    };
    for statement in TABLES.split(";\n").map(str::trim).filter(|text| text.contains("TABLE")) {
        run(statement.to_owned()).await;
    }
    run("INSERT INTO schema_version (id, version) VALUES (1, 2)".to_owned()).await;
    let mut hasher = blake3::Hasher::new_derive_key("shield 2026 frozen ballots v1");
    let mut rows = Vec::new();
    for election in ["clinic", "ward"] {
        for teacher in 0_u32..2 {
            let bytes = format!("{election} {teacher}");
            let folder = format!("{election}/ballots/{teacher}");
            let hash = keep(&place.data, &folder, "0", bytes.as_bytes());
            if election == "clinic" {
                hasher.update(&teacher.to_le_bytes());
                hasher.update(&0_u32.to_le_bytes());
                hasher.update(hash.as_bytes());
            }
            // The first abstains on the first sample.
            let presence = if teacher == 0 { "00000000000000fe" } else { "00000000000000ff" };
            rows.push(format!(
                "INSERT INTO ballots (election, teacher, batch, hash, bytes, presence, received) \
                 VALUES ('{election}', {teacher}, 0, '{hash}', 8, '{presence}', 1790000000001)"
            ));
        }
    }
    let frozen = format!("'{}'", hasher.finalize().to_hex());
    run(election("ward", "open", "NULL", "NULL")).await;
    run(election("clinic", "released", "1790000000002", &frozen)).await;
    for row in rows {
        run(row).await;
    }
    let release = keep(&place.data, "clinic/releases", "0", b"release");
    run(format!(
        "INSERT INTO releases (election, batch, hash, bytes) VALUES ('clinic', 0, '{release}', 7)"
    ))
    .await;
    run("INSERT INTO ledger (election, grp, stage, voters, booked) VALUES ('ward', 'hospitals', \
         'reserved', '[[2,8]]', 1)"
        .to_owned())
    .await;
    run("INSERT INTO ledger (election, grp, stage, voters, booked) VALUES ('clinic', \
         'hospitals', 'spent', '[[1,1],[2,7]]', 2)"
        .to_owned())
    .await;
    run(format!(
        "INSERT INTO tokens (hash, role) VALUES ('{}', 'operator')",
        token("the operator's").as_str()
    ))
    .await;
    pool.close().await;

    let store = place.open().await;
    let name = |text: &str| -> Name { text.parse().unwrap() };
    assert_eq!(store.role(&token("the operator's")).await.unwrap(), Some(Role::Operator));
    for election in ["clinic", "ward"] {
        let roll = store.roll(&name(election)).await.unwrap();
        assert_eq!(roll.teachers(), [0, 1], "{election}");
        assert_eq!(roll.absences[&0], [1], "{election}");
        assert_eq!(store.election(&name(election)).await.unwrap().voted, 2);
    }
    // What was frozen by the old rule is still what was frozen.
    store.frozen(&name("clinic")).await.unwrap();
    assert_eq!(store.add_release(&name("clinic"), 0, b"release").await.unwrap(), Stored::Again);
    // What is open goes on: another ballot, then the freeze.
    add_ballot(&store, &name("ward"), 2, 0, b"new").await.unwrap();
    assert_eq!(store.roll(&name("ward")).await.unwrap().absences[&0], [1, 0, 1]);
    assert_eq!(store.unpriced().await.unwrap().len(), 2, "the background proves them");
    close(&store, &name("ward"), 1).await.unwrap();
    assert_eq!(store.frozen(&name("ward")).await.unwrap().1.teachers(), [0, 1, 2]);
    store.close_database().await.unwrap();
    Service::open(&place.settings()).await.map(drop).unwrap();
}
