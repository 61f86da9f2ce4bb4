//! `submit`: whatever a party has for the server: an election file, keys, a ballot.

use std::path::PathBuf;

use clap::Args;
use rand::TryRngCore;
use rand::rngs::OsRng;
use serde_json::json;
use shield_client::{self as client, Client, Submission};
use shield_protocol::{ElectionFile, KeyFiles};

use super::{Output, status};
use crate::console;
use crate::failure::Failure;
use crate::inputs::{InvitationArgs, read_election};

/// Send the server what it needs: an election file (operator), keys (student) or a ballot (teacher)
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  shield election submit --invitation operator.toml election.toml \
        --invitations invitations\n  shield election submit --invitation invitations/student.toml \
        keys/public.key keys/evaluation.key\n  shield election submit --invitation \
        invitations/teacher-amber.toml amber.ballot\n\n\
    Sending the same again is harmless, so a submission that was interrupted can be repeated. A \
    ballot gets a receipt beside it: see `shield verify`. With both keys at the server and \
    secret.key beside them, the keys are rehearsed; before that, no ballot is taken."
)]
pub(super) struct SubmitArgs {
    #[command(flatten)]
    invitation: InvitationArgs,

    /// The files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Where the invitations of a new election are written, one a party
    #[arg(long, value_name = "FOLDER", default_value = "invitations")]
    invitations: PathBuf,
}

pub(super) fn run(args: &SubmitArgs, output: Output) -> Result<(), Failure> {
    let (client, invitation) = args.invitation.client()?;
    let mut submitted = Vec::new();
    for path in &args.files {
        let kind = Submission::of_file(path)
            .map_err(|error| Failure::bad_input(format!("{}: {error}", path.display())))?;
        let mut digest = None;
        let what = match kind {
            Submission::Election => {
                let file = read_election(path)?;
                let rng = &mut OsRng.unwrap_err();
                let made =
                    client::create_election(&client, &invitation, &file, &args.invitations, rng)?;
                if output == Output::Tables {
                    console::print(&created(&client, &file, args, &made)?)?;
                    console::next(
                        output,
                        &format!(
                            "send each party its own file of {}; the student makes keys first (its \
                             invitation says how), then the teachers vote",
                            args.invitations.display()
                        ),
                    );
                }
                "election"
            }
            Submission::Key(_) => {
                let election = args.invitation.election(&invitation)?;
                let kind = client::submit_key(&client, &election, path)?;
                if output == Output::Tables {
                    console::print(&format!("the {kind} key is with the server\n"))?;
                    if path == args.files.last().unwrap_or(path) {
                        let status = client::status(&client, &election)?;
                        let file = &args.invitation.invitation;
                        console::next(output, &status::next(&status, &invitation, file));
                    }
                }
                kind.name()
            }
            Submission::Ballot => {
                let election = client::election_of(&invitation, None)?;
                let file = client::election_file(&client, &election)?;
                let receipt = console::watched("submitting", |watch| {
                    client::submit_ballot(&client, &invitation, &file, path, watch)
                })?;
                if output == Output::Tables {
                    let beside = client::receipt_path(path);
                    console::print(&format!(
                        "the ballot is with the server; the receipt is {}\n",
                        beside.display()
                    ))?;
                    let status = client::status(&client, &election)?;
                    let file = &args.invitation.invitation;
                    console::next(output, &status::next(&status, &invitation, file));
                }
                digest = Some(receipt.ballot);
                "ballot"
            }
        };
        let mut entry = json!({ "file": path.display().to_string(), "kind": what });
        if let Some(digest) = digest {
            entry["digest"] = json!(digest);
        }
        submitted.push(entry);
    }
    rehearse(args, &client, &invitation, output)?;
    console::show(output, &json!({ "submitted": submitted }), "")
}

/// What was created, what it costs, and what is left.
fn created(
    client: &Client,
    file: &ElectionFile,
    args: &SubmitArgs,
    made: &client::Created,
) -> Result<String, Failure> {
    let status = client::status(client, file.name())?;
    let invitations = made.invitations.len();
    let mut rows = vec![
        ("created", format!("{} (group {})", file.name(), file.group())),
        ("invitations", format!("{invitations} files in {}", args.invitations.display())),
        ("epsilon", status::cost(&status)),
    ];
    let account = client::ledger(client)?;
    if let Some(account) = account.iter().find(|account| account.group == file.group().as_str()) {
        let left = (account.budget - account.reserved.get()).max(0.0);
        let labels = account.labels_left.map_or_else(String::new, |labels| {
            format!(", enough for {labels} more labels like these")
        });
        rows.push(("left", format!("{left:.3} of the group's {}{labels}", account.budget)));
    }
    if let Some(memory) = made.memory {
        let memory = memory.div_ceil(1 << 20);
        rows.push(("memory", format!("up to {memory} MiB at the server while it aggregates")));
    }
    let deadline = file.deadline().map_or_else(
        || "none: the student or you close it".to_owned(),
        |deadline| format!("{deadline}: it closes by itself if every sample has its quorum"),
    );
    rows.push(("deadline", deadline));
    Ok(console::properties(&rows))
}

/// After keys: sees that they work, if the secret key is beside them, where `keygen` wrote it.
fn rehearse(
    args: &SubmitArgs,
    client: &client::Client,
    invitation: &client::Invitation,
    output: Output,
) -> Result<(), Failure> {
    let is_key = |path: &&PathBuf| matches!(Submission::of_file(path), Ok(Submission::Key(_)));
    let Some(key) = args.files.iter().find(is_key) else { return Ok(()) };
    let election = args.invitation.election(invitation)?;
    let status = client::status(client, &election)?;
    if status.rehearsed || status.stage != "open" {
        return Ok(());
    }
    let keys = KeyFiles::beside(&key.with_file_name("secret.key"));
    if !keys.secret.is_file() {
        console::note(
            "Nobody can vote before you have seen that the keys work: `shield election rehearse \
             --invitation ... --secret-key ...`.",
        );
        return Ok(());
    }
    let labels =
        console::watched("testing the keys", |_| client::rehearse(client, &election, &keys))?;
    if output == Output::Json {
        return Ok(());
    }
    console::print(&format!(
        "the keys work: {labels} labels of made-up votes are right; teachers can vote\n"
    ))
}
