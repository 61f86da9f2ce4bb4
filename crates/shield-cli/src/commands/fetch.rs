//! `fetch`: what the server has for a party.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::json;
use shield::files;
use shield_client as client;

use super::Output;
use crate::console;
use crate::failure::Failure;
use crate::inputs::InvitationArgs;

/// Get the election file, the public key, the results or what checks them from the server
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  shield fetch public-key --invitation teacher-amber.toml --out \
        public.key\n  shield fetch results --invitation student.toml --out results.bin"
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
    files::check_folder(&args.out)?;
    match args.what {
        What::Election => client::fetch_election(&client, &election, &args.out)?,
        What::PublicKey => client::fetch_public_key(&client, &election, &args.out)?,
        What::Transcript => client::fetch_transcript(&client, &election, &args.out)?,
        What::Evidence => {
            console::note(
                "Whoever has the seed in there knows whom the server drew, and must not see the \
                 labels.",
            );
            client::fetch_evidence(&client, &election, &args.out)?;
        }
        What::Results => {
            let bar = console::progress(1, "fetching");
            client::fetch_results(&client, &election, &args.out, |done, all| {
                bar.set_length(u64::from(all));
                bar.set_position(u64::from(done));
            })?;
            bar.finish_and_clear();
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
    match output {
        Output::Json => console::print_json(&json!({ "written": args.out.display().to_string() })),
        Output::Tables => console::print(&format!("written to {}\n", args.out.display())),
    }
}
