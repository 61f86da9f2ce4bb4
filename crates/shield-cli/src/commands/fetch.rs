//! `fetch`: what the server has for a party.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::json;

use shield_client as client;

use super::Output;
use crate::console;
use crate::failure::Failure;
use crate::inputs::InvitationArgs;

/// Get the election file, the public key, the results or what checks them from the server
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  shield election fetch public-key --invitation teacher-amber.toml \
        --out public.key\n  shield election fetch results --invitation student.toml --out \
            results.bin"
)]
pub(super) struct FetchArgs {
    /// What to get
    #[arg(value_enum)]
    what: What,

    #[command(flatten)]
    invitation: InvitationArgs,

    /// Where to write it
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// What the server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// What all parties agreed on
    Election,
    /// The key that teachers encrypt with
    PublicKey,
    /// What the student decrypts (student and operator)
    Results,
    /// Whose ballots were counted, and how many voted on every sample
    Transcript,
    /// Everything that an auditor needs, as a folder: see `shield verify` (operator only)
    Evidence,
}

pub(super) fn run(args: &FetchArgs, output: Output) -> Result<(), Failure> {
    let (client, invitation) = args.invitation.client()?;
    let election = args.invitation.election(&invitation)?;
    // Found before anything is fetched.
    shield_data::check_folder(&args.out)?;
    let file = client::election_file(&client, &election)?;
    match args.what {
        What::Election => client::write(&args.out, file.canonical().as_bytes())?,
        What::PublicKey => client::fetch_public_key(&client, &file, &args.out)?,
        What::Transcript => {
            client::write(&args.out, &client::transcript(&client, &file)?.encode())?;
        }
        What::Evidence => {
            console::note(
                "Whoever has the seed in there knows whom the server drew, and must not see the \
                 labels.",
            );
            client::fetch_evidence(&client, &file, &args.out)?;
        }
        What::Results => {
            console::watched("fetching", |watch| {
                client::fetch_results(&client, &file, &args.out, watch)
            })?;
        }
    }
    let (out, file) = (args.out.display(), args.invitation.invitation.display());
    let next = match (args.what, invitation.role.as_str()) {
        (What::Election, "student") => format!("shield keygen --election {out} --out keys"),
        (What::Election | What::PublicKey, "teacher") => {
            format!("shield vote --invitation {file} --votes my-votes.csv")
        }
        (What::Results, _) => format!(
            "shield reveal --election election.toml --secret-key keys/secret.key --results {out} \
             --out labels.csv"
        ),
        _ => String::new(),
    };
    if !next.is_empty() {
        console::next(output, &next);
    }
    let written = args.out.display().to_string();
    console::show(output, &json!({ "written": written }), &format!("written to {written}\n"))
}
