//! `close`: no more ballots; the aggregation starts.

use clap::Args;
use serde_json::json;
use shield_client as client;

use super::{Output, status};
use crate::console;
use crate::failure::Failure;
use crate::inputs::InvitationArgs;

/// Close an election: its ballots are frozen, and the aggregation starts
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shield close --invitation invitations/student.toml\n\n\
    Closing again is harmless: nothing is ever drawn twice. If the aggregation failed, it is \
    tried again.")]
pub(super) struct CloseArgs {
    #[command(flatten)]
    invitation: InvitationArgs,

    /// Call the election off instead, and give its budget back (operator)
    #[arg(long)]
    withdraw: bool,
}

pub(super) fn run(args: &CloseArgs, output: Output) -> Result<(), Failure> {
    let (client, invitation) = args.invitation.client()?;
    let election = args.invitation.election(&invitation)?;
    if args.withdraw {
        client::withdraw(&client, &election)?;
        return match output {
            Output::Json => console::print_json(&json!({ "withdrawn": election })),
            Output::Tables => console::print(&format!("{election} is called off\n")),
        };
    }
    let closed = client::close(&client, &election)?;
    console::next(output, &status::next(&closed, &invitation, &args.invitation.invitation));
    match output {
        Output::Json => console::print_json(&closed),
        Output::Tables => console::print(&status::describe(&closed)),
    }
}
