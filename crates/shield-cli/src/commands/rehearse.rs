//! `rehearse`: do the keys work, before anyone votes?

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use shield_client as client;
use shield_protocol::rehearsal::{self, Rehearsal};
use shield_protocol::{ElectionFile, ProtocolError};

use super::Output;
use crate::console;
use crate::failure::Failure;
use crate::inputs::{read_election, system_rng};

/// Student: see that the keys work, before anyone votes
#[derive(Args, Debug)]
#[command(
    after_help = "Example with a server, which makes the ballots; until then it takes none:\n  \
        shield rehearse --invitation student.toml --secret-key keys/secret.key\n\n\
    With files alone:\n  shield rehearse --election-file ward-7.toml --public-key \
        keys/public.key --evaluation-key keys/evaluation.key --secret-key keys/secret.key\n\n\
    `shield submit` of both keys rehearses by itself if secret.key is beside them."
)]
pub(super) struct RehearseArgs {
    /// Your invitation
    #[arg(long, value_name = "FILE", env = "SHIELD_INVITATION")]
    invitation: Option<PathBuf>,

    /// The student's secret key
    #[arg(long, value_name = "FILE")]
    secret_key: PathBuf,

    /// The election file, without a server
    #[arg(long, value_name = "FILE", requires_all = ["public_key", "evaluation_key"],
        conflicts_with = "invitation")]
    election_file: Option<PathBuf>,

    /// The teachers' key, without a server
    #[arg(long, value_name = "FILE", requires = "election_file")]
    public_key: Option<PathBuf>,

    /// The server's key, without a server
    #[arg(long, value_name = "FILE", requires = "election_file")]
    evaluation_key: Option<PathBuf>,
}

pub(super) fn run(args: &RehearseArgs, output: Output) -> Result<(), Failure> {
    let spinner = console::spinner("rehearsing");
    let labels = match (&args.election_file, &args.public_key, &args.evaluation_key) {
        (Some(file), Some(public), Some(evaluation)) => {
            let file = read_election(file)?;
            locally(&file, public, evaluation, &args.secret_key)
        }
        _ => online(args),
    };
    spinner.finish_and_clear();
    let labels = labels?;
    match output {
        Output::Json => console::print_json(&json!({ "works": true, "labels": labels })),
        Output::Tables => {
            console::print(&format!("the keys work: {labels} labels of made-up votes are right\n"))
        }
    }
}

fn online(args: &RehearseArgs) -> Result<usize, Failure> {
    let path = args.invitation.as_deref().ok_or_else(|| {
        Failure::bad_input(
            "give --invitation, or --election-file with --public-key and --evaluation-key",
        )
    })?;
    let invitation = client::Invitation::read(path)?;
    let server = client::Client::new(&invitation)?;
    let election = client::election_of(&invitation, None)?;
    Ok(client::rehearse(&server, &election, &args.secret_key)?)
}

/// A rehearsal in which this program plays the server, too.
pub(super) fn locally(
    file: &ElectionFile,
    public_key: &Path,
    evaluation_key: &Path,
    secret_key: &Path,
) -> Result<usize, Failure> {
    let read = |path: &Path| {
        fs::read(path).map_err(|error| Failure::bad_input(format!("{}: {error}", path.display())))
    };
    let (public, evaluation) = (read(public_key)?, read(evaluation_key)?);
    let rehearsal = Rehearsal::new(file, &public, &evaluation, &mut system_rng())
        .map_err(Failure::bad_input)?;
    let labels = rehearsal::labels(file, secret_key, &rehearsal.release)?;
    Ok(rehearsal.check(&labels).map_err(ProtocolError::Rehearsal)?)
}
