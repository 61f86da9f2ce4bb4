//! `preflight`: everything that could go wrong later, looked at now.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use shield_client::Invitation;
use shield_client::preflight::{Check, Own, Verdict, preflight};

use super::Output;
use crate::console;
use crate::failure::Failure;

/// Check that everything is ready: server, certificate, token, clock, versions, keys, disk
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shield election preflight --invitation teacher-amber.toml --key \
        public.key"
)]
pub(super) struct PreflightArgs {
    /// Your invitation
    #[arg(long, value_name = "FILE", env = "SHIELD_INVITATION")]
    invitation: PathBuf,

    /// Your copy of the election file, to compare with the server's
    #[arg(long, value_name = "FILE")]
    election_file: Option<PathBuf>,

    /// Your copy of a key (public, evaluation or secret), to compare with the server's
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,

    /// The folder that files will be written to
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

pub(super) fn run(args: &PreflightArgs, output: Output) -> Result<(), Failure> {
    let invitation = Invitation::read(&args.invitation)?;
    let own = Own {
        election: args.election_file.as_deref(),
        key: args.key.as_deref(),
        folder: args.folder.as_deref(),
    };
    let checks = preflight(&args.invitation, &invitation, own);
    let wrong = checks.iter().filter(|check| check.verdict == Verdict::Wrong).count();
    let mut lines = String::new();
    for Check { subject, verdict, finding } in &checks {
        let mark = match verdict {
            Verdict::Fine => "ok",
            Verdict::Warning => "look",
            Verdict::Wrong => "WRONG",
        };
        let _ = writeln!(lines, "{mark:>5}  {subject:<14}{finding}");
    }
    console::show(output, &json!({ "ready": wrong == 0, "checks": checks }), &lines)?;
    match wrong {
        0 => Ok(()),
        1 => Err(Failure::failed("one thing must be fixed first")),
        several => Err(Failure::failed(format!("{several} things must be fixed first"))),
    }
}
