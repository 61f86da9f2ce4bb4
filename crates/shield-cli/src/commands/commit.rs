//! `commit`: the server's part of the seed, fixed before anyone votes.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use shield_protocol::hex::hex;
use shield_protocol::job::freeze;

use super::Output;
use crate::console;
use crate::failure::Failure;
use crate::inputs::{ElectionArgs, system_rng};

/// Server: commit to its part of the seed, before anyone votes
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shield commit --election ward-7.toml --out ward-7.part\n  \
    shield aggregate ... --committed ward-7.part\n\n\
    Publish the commitment: with it, an auditor sees later that the draws were not chosen after \
    the ballots were seen. The file itself stays with the server.")]
pub(super) struct CommitArgs {
    #[command(flatten)]
    election: ElectionArgs,

    /// Where to write the server's part; never over another
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

pub(super) fn run(args: &CommitArgs, output: Output) -> Result<(), Failure> {
    let file = args.election.load()?;
    let commitment = hex(&freeze::commit(&file.digest(), &args.out, &mut system_rng())?);
    console::note(&format!(
        "Tell all parties the commitment before the first vote. Keep {} on the server.",
        args.out.display()
    ));
    match output {
        Output::Json => console::print_json(&json!({
            "election": file.name(),
            "commitment": commitment,
            "part": args.out.display().to_string(),
        })),
        Output::Tables => console::print(&console::properties(&[
            ("election", file.name().to_string()),
            ("commitment", commitment),
            ("keep, the server alone", args.out.display().to_string()),
        ])),
    }
}
