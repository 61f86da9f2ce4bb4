//! `erase`: what is deleted of an election that is over.

use clap::{Args, ValueEnum};
use shield_client as client;

use super::Output;
use crate::console;
use crate::failure::Failure;
use crate::inputs::InvitationArgs;

/// Operator: delete the ballots of an election that is over, or everything but its ledger line
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shield erase ballots --invitation operator.toml --election \
        ward-7\n\n\
    Without its ballots nobody can verify an election's draws, and no audit can be asked for. The \
    ledger keeps its line in any case. `serve --keep-ballots DAYS` deletes ballots by their age.")]
pub(super) struct EraseArgs {
    /// What to delete
    #[arg(value_enum)]
    what: What,

    #[command(flatten)]
    invitation: InvitationArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// The files of its ballots
    Ballots,
    /// All its files, keys, tokens and seeds
    Everything,
}

pub(super) fn run(args: &EraseArgs, output: Output) -> Result<(), Failure> {
    let (client, invitation) = args.invitation.client()?;
    let election = args.invitation.election(&invitation)?;
    let what = match args.what {
        What::Ballots => "ballots",
        What::Everything => "everything",
    };
    let deleted = client::erase(&client, &election, what)?;
    match output {
        Output::Json => console::print_json(&deleted),
        Output::Tables => console::print(&format!("{election}: {what} deleted\n")),
    }
}
