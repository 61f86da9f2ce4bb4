//! `ledger`: what every group has spent and set aside, as a file.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use shield_client as client;

use super::Output;
use crate::console;
use crate::failure::Failure;
use crate::inputs::InvitationArgs;

/// Operator: export the privacy ledger of all groups
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shield ledger --invitation operator.toml --format csv --out \
        ledger.csv")]
pub(super) struct LedgerArgs {
    #[command(flatten)]
    invitation: InvitationArgs,

    /// How to write it
    #[arg(long, value_enum, default_value_t = Format::Csv)]
    format: Format,

    /// Where to write it [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For spreadsheets
    Csv,
    /// For programs
    Json,
}

pub(super) fn run(args: &LedgerArgs, output: Output) -> Result<(), Failure> {
    let (client, _) = args.invitation.client()?;
    let json = args.format == Format::Json || output == Output::Json;
    let bytes = client::export_ledger(&client, if json { "json" } else { "csv" })?;
    match &args.out {
        Some(out) => {
            shield::files::write_atomically(out, |file| std::io::Write::write_all(file, &bytes))
                .map_err(|error| Failure::failed(format!("{}: {error}", out.display())))
        }
        None => console::print(&String::from_utf8_lossy(&bytes)),
    }
}
