//! `rehearse`: do the keys work, before anyone votes?

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use shield_client as client;
use shield_protocol::{KeyFiles, PlannedElection, rehearsal};

use super::Output;
use crate::console;
use crate::failure::Failure;
use crate::inputs::read_election;

/// Student: see that the keys work, before anyone votes
#[derive(Args, Debug)]
#[command(after_help = "Example with a server, which takes no ballot until then:\n  \
        shield election rehearse --invitation student.toml --secret-key keys/secret.key\n\n\
    With files alone:\n  shield election rehearse --election-file ward-7.toml --public-key \
        keys/public.key --evaluation-key keys/evaluation.key --secret-key keys/secret.key\n\n\
    The program makes up votes, aggregates them and decrypts what it computed itself. The server \
        computes the same from the keys that it has, and compares a digest; it sees no label.\n\n\
    `shield election submit` of both keys rehearses by itself if secret.key is beside them.")]
pub(super) struct RehearseArgs {
    /// Your invitation
    #[arg(long, value_name = "FILE", env = "SHIELD_INVITATION")]
    invitation: Option<PathBuf>,

    /// The student's secret key
    #[arg(long, value_name = "FILE")]
    secret_key: PathBuf,

    /// The election file, without a server
    #[arg(long, value_name = "FILE", conflicts_with = "invitation")]
    election_file: Option<PathBuf>,

    /// The teachers' key [default: public.key beside the secret key]
    #[arg(long, value_name = "FILE")]
    public_key: Option<PathBuf>,

    /// The server's key [default: evaluation.key beside the secret key]
    #[arg(long, value_name = "FILE")]
    evaluation_key: Option<PathBuf>,
}

pub(super) fn run(args: &RehearseArgs, output: Output) -> Result<(), Failure> {
    let beside = KeyFiles::beside(&args.secret_key);
    let keys = KeyFiles {
        public: args.public_key.clone().unwrap_or(beside.public),
        evaluation: args.evaluation_key.clone().unwrap_or(beside.evaluation),
        secret: beside.secret,
    };
    let labels = console::watched("rehearsing", |_| match &args.election_file {
        Some(file) => locally(&read_election(file)?, &keys),
        None => online(args, &keys),
    })?;
    let text = format!("the keys work: {labels} labels of made-up votes are right\n");
    console::show(output, &json!({ "works": true, "labels": labels }), &text)
}

fn online(args: &RehearseArgs, keys: &KeyFiles) -> Result<usize, Failure> {
    let path = args
        .invitation
        .as_deref()
        .ok_or_else(|| Failure::bad_input("give --invitation, or --election-file"))?;
    let invitation = client::Invitation::read(path)?;
    let server = client::Client::new(&invitation)?;
    let election = client::election_of(&invitation, None)?;
    Ok(client::rehearse(&server, &election, keys)?)
}

/// A rehearsal without a server.
pub(super) fn locally(file: &PlannedElection, keys: &KeyFiles) -> Result<usize, Failure> {
    Ok(rehearsal::rehearse(file, keys)?.0)
}
