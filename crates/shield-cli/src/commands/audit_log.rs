//! `audit-log`: who did what on the server, when and from where.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use shield_client as client;
use shield_protocol::audit_log::broken_chain;

use super::Output;
use crate::console;
use crate::failure::Failure;
use crate::inputs::InvitationArgs;

/// Operator: who did what, when and from where; checks that no line was changed
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shield audit-log --invitation operator.toml --out log.json\n\n\
    Every line carries a hash of all before it. Keep exports elsewhere: whoever changes a line in \
    the database changes the hashes of all lines after it."
)]
pub(super) struct AuditLogArgs {
    #[command(flatten)]
    invitation: InvitationArgs,

    /// Only what comes after this line
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    after: u32,

    /// Write the lines to a file, as JSON
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &AuditLogArgs, output: Output) -> Result<(), Failure> {
    let (client, _) = args.invitation.client()?;
    let lines = client::audit_log(&client, args.after)?;
    if let Some(number) = broken_chain(&lines) {
        return Err(Failure::failed(format!(
            "line {number} does not follow from the one before: the log was changed in the database"
        )));
    }
    if let Some(out) = &args.out {
        let text = serde_json::to_vec_pretty(&lines).map_err(Failure::failed)?;
        shield::files::write_atomically(out, |file| std::io::Write::write_all(file, &text))
            .map_err(|error| Failure::failed(format!("{}: {error}", out.display())))?;
        console::note(&format!("{} lines, unbroken", lines.len()));
        return Ok(());
    }
    if output == Output::Json {
        return console::print_json(&lines);
    }
    let mut text = String::new();
    for line in &lines {
        let election = line.election.as_deref().unwrap_or("-");
        let _ = writeln!(
            text,
            "{:>5}  {:.0}  {:<8}  {:<12}  {:<15}  {}  {election}  {}",
            line.number, line.moment, line.role, line.who, line.address, line.action, line.detail
        );
    }
    console::print(&text)
}
