//! `schedule`: who goes first among the elections that are aggregated.

use clap::Args;
use shield_client as client;

use super::Output;
use crate::console;
use crate::failure::Failure;
use crate::inputs::InvitationArgs;

/// Operator: give an election more turns than others while it is aggregated, or let it wait
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  shield schedule --invitation operator.toml --election ward-7 \
        --priority 10\n  shield schedule --invitation operator.toml --election ward-7 --pause\n\n\
    Elections take turns, a batch each. One with priority 10 gets ten batches where others get one."
)]
pub(super) struct ScheduleArgs {
    #[command(flatten)]
    invitation: InvitationArgs,

    /// How many batches it gets where others get one: 1 to 100
    #[arg(long, value_name = "N", default_value_t = 1)]
    priority: u32,

    /// Let it wait until it is scheduled again without this
    #[arg(long)]
    pause: bool,
}

pub(super) fn run(args: &ScheduleArgs, output: Output) -> Result<(), Failure> {
    let (client, invitation) = args.invitation.client()?;
    let election = args.invitation.election(&invitation)?;
    let turn = client::schedule(&client, &election, args.priority, args.pause)?;
    match output {
        Output::Json => console::print_json(&turn),
        Output::Tables if args.pause => console::print(&format!("{election} waits\n")),
        Output::Tables => {
            console::print(&format!("{election} gets {} batches per round\n", args.priority))
        }
    }
}
