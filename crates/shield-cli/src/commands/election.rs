//! `election`: what operator, student and teachers do with a server.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;
use shield_client as client;
use shield_protocol::hex::hex;
use shield_protocol::job::freeze;

use super::{Output, fetch, preflight, rehearse, status, submit};
use crate::console::{self, Report};
use crate::failure::Failure;
use crate::inputs::{self, InvitationArgs, system_rng};

/// Elections over a server: submit, status, close, fetch, ...
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shield election status --invitation operator.toml")]
pub(super) struct ElectionArgs {
    #[command(subcommand)]
    step: Step,
}

#[derive(Debug, Subcommand)]
enum Step {
    Submit(submit::SubmitArgs),
    Status(status::StatusArgs),
    Close(CloseArgs),
    Fetch(fetch::FetchArgs),
    Preflight(preflight::PreflightArgs),
    Rehearse(rehearse::RehearseArgs),
    Commit(CommitArgs),
}

pub(super) fn run(args: &ElectionArgs, output: Output) -> Result<(), Failure> {
    match &args.step {
        Step::Submit(args) => submit::run(args, output),
        Step::Status(args) => status::run(args, output),
        Step::Close(args) => close(args, output),
        Step::Fetch(args) => fetch::run(args, output),
        Step::Preflight(args) => preflight::run(args, output),
        Step::Rehearse(args) => rehearse::run(args, output),
        Step::Commit(args) => commit(args, output),
    }
}

/// Close an election: its ballots are frozen, and the aggregation starts
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shield election close --invitation invitations/student.toml\n\n\
    Closing again is harmless: nothing is ever drawn twice. If the aggregation failed, it is \
    tried again."
)]
struct CloseArgs {
    #[command(flatten)]
    invitation: InvitationArgs,

    /// Call the election off instead, and give its budget back (operator)
    #[arg(long)]
    withdraw: bool,
}

fn close(args: &CloseArgs, output: Output) -> Result<(), Failure> {
    let (client, invitation) = args.invitation.client()?;
    let election = args.invitation.election(&invitation)?;
    if args.withdraw {
        client::withdraw(&client, &election)?;
        let text = format!("{election} is called off\n");
        return console::show(output, &json!({ "withdrawn": election }), &text);
    }
    let closed = client::close(&client, &election)?;
    console::next(output, &status::next(&closed, &invitation, &args.invitation.invitation));
    console::show(output, &closed, &status::describe(&closed))
}

/// Server: commit to its part of the seed, before anyone votes
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shield election commit --election ward-7.toml --out ward-7.part\n  \
    shield aggregate ... --committed ward-7.part\n\n\
    Publish the commitment: with it, an auditor sees later that the draws were not chosen after \
    the ballots were seen. The file itself stays with the server."
)]
struct CommitArgs {
    #[command(flatten)]
    election: inputs::ElectionArgs,

    /// Where to write the server's part; never over another
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

fn commit(args: &CommitArgs, output: Output) -> Result<(), Failure> {
    let file = args.election.load()?;
    let commitment = hex(&freeze::commit(&file.digest(), &args.out, &mut system_rng())?);
    console::note(&format!(
        "Tell all parties the commitment before the first vote. Keep {} on the server.",
        args.out.display()
    ));
    Report::default()
        .fact("election", "election", file.name())
        .fact("commitment", "commitment", commitment)
        .file("part", "keep, the server alone", &args.out)
        .print(output)
}
