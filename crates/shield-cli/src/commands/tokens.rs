//! `tokens`: who has one, another for somebody, a new one for an old one, none any more.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use rand::TryRngCore;
use rand::rngs::OsRng;
use serde_json::json;
use shield_client::{self as client, Invitation, TokenEntry};
use shield_protocol::credentials::{Role, Token};

use super::Output;
use crate::console;
use crate::failure::Failure;
use crate::inputs::InvitationArgs;

/// Operator: list, add, rotate and revoke tokens, one by one
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  shield operator tokens list --invitation operator.toml\n  shield \
        operator tokens rotate 1f0c8a77d2e4 --invitation operator.toml --out teacher-amber.toml\n  \
        shield operator tokens revoke 1f0c8a77d2e4 --invitation operator.toml\n\n\
    A token's name is the first digits of its hash: it tells it apart and opens nothing. A token \
    that is rotated or revoked stops working at once; the log (`shield operator audit-log`) says \
        who did it."
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
            check_free(out)?;
            let (client, operator) = invitation.client()?;
            let role = match role {
                Seat::Operator => Role::Operator,
                Seat::Monitor => Role::Monitor,
            };
            let made = client::add_token(&client, &operator, &role, note.as_deref(), fresh())?;
            write(&made, out)?;
            let text = format!("the {}'s invitation: {}\n", role.name(), out.display());
            console::show(output, &json!({ "role": role.name(), "invitation": out }), &text)
        }
        What::Rotate { token, invitation, out } => {
            check_free(out)?;
            let (client, operator) = invitation.client()?;
            let all = client::tokens(&client)?;
            let entry = all.iter().find(|entry| entry.name == *token);
            let entry = entry.ok_or_else(|| {
                Failure::bad_input(format!(
                    "no token is called {token}; `shield operator tokens list`"
                ))
            })?;
            let made = client::rotate_token(&client, &operator, entry, fresh())?;
            write(&made, out)?;
            let (who, out) = (whose(entry), out.display().to_string());
            let text = format!("{who}: the old token is dead, the new one is in {out}\n");
            console::show(output, &json!({ "rotated": entry.name, "invitation": out }), &text)
        }
        What::Revoke { token, invitation } => {
            client::revoke_token(&invitation.client()?.0, token)?;
            let text = format!("{token} is revoked\n");
            console::show(output, &json!({ "revoked": token }), &text)
        }
    }
}

/// A token that was made and could not be written would be lost.
fn check_free(out: &Path) -> Result<(), Failure> {
    shield_data::check_folder(out)?;
    if out.exists() {
        let remedy = "there is something already; give another file";
        return Err(Failure::bad_input(format!("{}: {remedy}", out.display())));
    }
    Ok(())
}

fn write(made: &Invitation, out: &Path) -> Result<(), Failure> {
    made.write(out).map_err(|error| Failure::failed(format!("{}: {error}", out.display())))
}

fn whose(entry: &TokenEntry) -> String {
    match (&entry.teacher, &entry.election) {
        (Some(teacher), Some(election)) => format!("the teacher {teacher} of {election}"),
        (None, Some(election)) => format!("the {} of {election}", entry.role),
        _ => format!("the {}", entry.role),
    }
}

fn list(tokens: &[TokenEntry], output: Output) -> Result<(), Failure> {
    let mut text = String::new();
    for entry in tokens {
        let note = entry.note.as_deref().unwrap_or_default();
        let yours = if entry.yours { " (yours)" } else { "" };
        let (name, whose, made) = (&entry.name, whose(entry), entry.created);
        let _ = writeln!(text, "{name}  {whose}{yours}, made {made:.0}  {note}");
    }
    console::show(output, &tokens, &text)
}
