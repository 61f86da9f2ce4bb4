//! `backup` and `restore`: the server's database and files, at one moment, and back.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use shield_server::ServeError;
use shield_server::store::{self, Backup, DatabaseUrl, RestoreOptions, Since, StoreError};

use shield_terminal::{Failure, Output, console};

/// Back up a server's database and files, consistent with each other, while it runs
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shield-server backup --data /var/lib/shield --out \
        /backup/shield-2027-03-01\n\n\
    Run it as the user that the server runs as. The backup holds the seeds: keep it as safe as the \
    data folder. Note down its digest: --verify shows it again, and another for every other \
    backup.\n\n\
    Exit code 1 if files that the database names were lost; they are named, and the rest is backed \
    up.")]
pub(super) struct BackupArgs {
    /// The server's data folder
    #[arg(long, value_name = "FOLDER", required_unless_present = "verify")]
    data: Option<PathBuf>,

    /// The server's PostgreSQL URL, if it has one
    #[arg(long, value_name = "URL", env = "SHIELD_DATABASE", hide_env_values = true)]
    database: Option<DatabaseUrl>,

    /// A new folder for the backup
    #[arg(long, value_name = "FOLDER", required_unless_present = "verify")]
    out: Option<PathBuf>,

    /// Make no backup, but check that this one is whole: every row and every file
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["data", "out"])]
    verify: Option<PathBuf>,
}

/// Make a data folder and a database from a backup, which must be whole; refuses what would draw an
/// election twice
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shield-server restore --backup /backup/shield-2027-03-01 --data \
        /var/lib/shield-new --old /var/lib/shield\n\n\
    An election that was open in the backup may have been closed since. Closing it again would \
    answer its samples from a second draw, so it can then only be called off, unless the old data \
    folder shows that nothing was drawn (--old), or somebody vouches for it."
)]
pub(super) struct RestoreArgs {
    /// The folder of the backup
    #[arg(long, value_name = "FOLDER")]
    backup: PathBuf,

    /// The data folder to make
    #[arg(long, value_name = "FOLDER")]
    data: PathBuf,

    /// An empty PostgreSQL database, instead of SQLite in the data folder
    #[arg(long, value_name = "URL", env = "SHIELD_DATABASE", hide_env_values = true)]
    database: Option<DatabaseUrl>,

    /// The data folder of before, if it is still there: shows what was drawn since
    #[arg(long, value_name = "FOLDER", conflicts_with = "nothing_closed_since")]
    old: Option<PathBuf>,

    /// You know that since the backup no election was closed and no audit answered
    #[arg(long)]
    nothing_closed_since: bool,
}

fn wait<T>(work: impl Future<Output = Result<T, StoreError>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Runtime::new().map_err(Failure::failed)?;
    Ok(runtime.block_on(work).map_err(ServeError::from)?)
}

/// Says what was done; fails if something of it was lost before.
fn say(made: &Backup, what: &str, output: Output) -> Result<(), Failure> {
    match output {
        Output::Json => console::print_json(&json!(made))?,
        Output::Tables => console::print(&console::properties(&[
            (what, format!("{} rows, {} files", made.rows, made.files)),
            ("of", made.moment.to_string()),
            ("missing files", made.missing.to_string()),
            ("digest", made.digest()),
        ]))?,
    }
    if made.lost.is_empty() {
        return Ok(());
    }
    Err(Failure::failed(format!(
        "{} files that the database names were lost or damaged when the backup was made: {}; look \
         for them in earlier backups",
        made.missing,
        made.lost.join(", ")
    )))
}

pub(super) fn run(args: &BackupArgs, output: Output) -> Result<(), Failure> {
    if let Some(backup) = &args.verify {
        return say(&store::verify(backup).map_err(ServeError::from)?, "whole", output);
    }
    let (Some(data), Some(out)) = (&args.data, &args.out) else {
        return Err(Failure::bad_input("give --data and --out, or --verify"));
    };
    let database = args.database.as_ref().map(DatabaseUrl::secret);
    say(&wait(store::backup(data, database, out))?, "backed up", output)
}

pub(super) fn restore(args: &RestoreArgs, output: Output) -> Result<(), Failure> {
    let since = match (&args.old, args.nothing_closed_since) {
        (Some(old), _) => Since::Folder(old.clone()),
        (None, true) => Since::NothingClosed,
        (None, false) => Since::Unknown,
    };
    let options = RestoreOptions {
        backup: args.backup.clone(),
        data: args.data.clone(),
        database: args.database.as_ref().map(|url| url.secret().to_owned()),
        since,
    };
    let made = wait(store::restore(&options))?;
    console::note(
        "tokens that were rotated or revoked since the backup, and what was deleted since, are \
         back: look at `shield operator tokens list`, and revoke and delete again",
    );
    if options.since == Since::Unknown {
        console::note(
            "audits that may have been answered since the backup are booked as if they had been: \
             `--old FOLDER` or `--nothing-closed-since` would say more",
        );
        console::note(
            "elections that were created since the backup are unknown to the ledger: if any was \
             released, lower its group's budget by what it cost (`shield operator budget`)",
        );
    }
    say(&made, "restored", output)
}
