//! The commands, one file each: its arguments, and what it does.

mod backup;
mod serve;
mod serve_config;

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use shield_terminal::arguments::{self, GenerateArgs};
use shield_terminal::{Failure, Output};

/// The program's arguments.
#[derive(Debug, Parser)]
#[command(
    name = "shield-server",
    version,
    about = "Run a SHIELD server",
    long_about = "Run a SHIELD server: it collects encrypted ballots and aggregates them without \
        being able to read them.\n\nOperators, teachers and students talk to it with `shield` or \
        in a browser.\n\nStart with: shield-server serve --data server-data --dev"
)]
struct Cli {
    /// Print one JSON document on stdout instead of tables
    #[arg(long, global = true)]
    json: bool,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(Box<serve::ServeArgs>),
    Backup(backup::BackupArgs),
    Restore(backup::RestoreArgs),
    Generate(GenerateArgs),
}

/// Runs the command that the arguments name.
pub(crate) fn run(arguments: impl IntoIterator<Item = OsString>) -> Result<(), Failure> {
    let expanded = serve_config::expand(arguments.into_iter().collect());
    let expanded = expanded
        .unwrap_or_else(|problem| Cli::command().error(ErrorKind::InvalidValue, problem).exit());
    let cli: Cli = arguments::parse(expanded);
    let output = if cli.json { Output::Json } else { Output::Tables };
    match cli.command {
        Command::Serve(args) => serve::run(&args),
        Command::Backup(args) => backup::run(&args, output),
        Command::Restore(args) => backup::restore(&args, output),
        Command::Generate(args) => arguments::generate(&args, Cli::command()),
    }
}
