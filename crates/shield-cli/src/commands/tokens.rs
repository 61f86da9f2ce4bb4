//! `tokens`: who has one, another for somebody, a new one for an old one, none any more.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use rand::TryRngCore;
use rand::rngs::OsRng;
use serde_json::json;
use shield_client::{self as client, TokenEntry};
use shield_protocol::credentials::{Role, Token};

use super::Output;
use crate::console;
use crate::failure::Failure;
use crate::inputs::InvitationArgs;

/// Operator: list, add, rotate and revoke tokens, one by one
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  shield tokens list --invitation operator.toml\n  shield tokens \
        rotate 1f0c8a77d2e4 --invitation operator.toml --out teacher-amber.toml\n  shield tokens \
        revoke 1f0c8a77d2e4 --invitation operator.toml\n\n\
    A token's name is the first digits of its hash: it tells it apart and opens nothing. A token \
    that is rotated or revoked stops working at once; the log (`shield audit-log`) says who did it."
)]
pub(super) struct TokensArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// All tokens, with their roles
    List {
        #[command(flatten)]
        invitation: InvitationArgs,
    },
    /// Another operator or monitor
    Add {
        #[command(flatten)]
        invitation: InvitationArgs,

        /// The role
        #[arg(long, value_enum)]
        role: Seat,

        /// Where to write its invitation
        #[arg(long, value_name = "FILE")]
        out: PathBuf,

        /// Who it is for
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
    /// A new token in the place of an old one
    Rotate {
        /// The old token's name, as `list` shows it
        token: String,

        #[command(flatten)]
        invitation: InvitationArgs,

        /// Where to write the new invitation
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
    /// Take a token back
    Revoke {
        /// Its name, as `list` shows it
        token: String,

        #[command(flatten)]
        invitation: InvitationArgs,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Seat {
    /// Runs the server
    Operator,
    /// Reads the metrics
    Monitor,
}

fn fresh() -> Token {
    Token::random(&mut OsRng.unwrap_err())
}

pub(super) fn run(args: &TokensArgs, output: Output) -> Result<(), Failure> {
    match &args.what {
        What::List { invitation } => list(&client::tokens(&invitation.client()?.0)?, output),
        What::Add { invitation, role, out, note } => {
            shield::files::check_folder(out)?;
            let (client, operator) = invitation.client()?;
            let role = match role {
                Seat::Operator => Role::Operator,
                Seat::Monitor => Role::Monitor,
            };
            refuse_existing(out)?;
            let made = client::add_token(&client, &operator, &role, note.as_deref(), fresh())?;
            made.write(out)
                .map_err(|error| Failure::failed(format!("{}: {error}", out.display())))?;
            say(output, &json!({ "role": role.name(), "invitation": out }), || {
                format!("the {}'s invitation: {}\n", role.name(), out.display())
            })
        }
        What::Rotate { token, invitation, out } => {
            shield::files::check_folder(out)?;
            refuse_existing(out)?;
            let (client, operator) = invitation.client()?;
            let all = client::tokens(&client)?;
            let entry = all.iter().find(|entry| entry.name == *token);
            let entry = entry.ok_or_else(|| {
                Failure::bad_input(format!("no token is called {token}; `shield tokens list`"))
            })?;
            let made = client::rotate_token(&client, &operator, entry, fresh())?;
            made.write(out)
                .map_err(|error| Failure::failed(format!("{}: {error}", out.display())))?;
            say(output, &json!({ "rotated": entry.name, "invitation": out }), || {
                let who = whose(entry);
                format!("{who}: the old token is dead, the new one is in {}\n", out.display())
            })
        }
        What::Revoke { token, invitation } => {
            client::revoke_token(&invitation.client()?.0, token)?;
            say(output, &json!({ "revoked": token }), || format!("{token} is revoked\n"))
        }
    }
}

/// A token that was made and could not be written would be lost.
fn refuse_existing(out: &std::path::Path) -> Result<(), Failure> {
    if out.exists() {
        let remedy = "there is something already; give another file";
        return Err(Failure::bad_input(format!("{}: {remedy}", out.display())));
    }
    Ok(())
}

fn say(
    output: Output,
    document: &serde_json::Value,
    text: impl FnOnce() -> String,
) -> Result<(), Failure> {
    match output {
        Output::Json => console::print_json(document),
        Output::Tables => console::print(&text()),
    }
}

fn whose(entry: &TokenEntry) -> String {
    match (&entry.teacher, &entry.election) {
        (Some(teacher), Some(election)) => format!("the teacher {teacher} of {election}"),
        (None, Some(election)) => format!("the {} of {election}", entry.role),
        _ => format!("the {}", entry.role),
    }
}

fn list(tokens: &[TokenEntry], output: Output) -> Result<(), Failure> {
    if output == Output::Json {
        return console::print_json(&tokens);
    }
    let mut text = String::new();
    for entry in tokens {
        let note = entry.note.as_deref().unwrap_or_default();
        let yours = if entry.yours { " (yours)" } else { "" };
        let made = entry.created.map_or_else(String::new, |at| format!(", made {at:.0}"));
        let _ = writeln!(text, "{}  {}{yours}{made}  {note}", entry.name, whose(entry));
    }
    console::print(&text)
}
