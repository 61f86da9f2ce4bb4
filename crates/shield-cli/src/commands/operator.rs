//! `operator`: what the operator of a server changes and looks at.

use std::fmt::Write as _;
use std::io::IsTerminal;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use shield_client as client;
use shield_protocol::Name;
use shield_protocol::audit_log::broken_chain;

use super::{Output, tokens};
use crate::console::{self, Report};
use crate::failure::Failure;
use crate::inputs::{InvitationArgs, write};

/// Tokens, budgets, ledger, log and deletions of a server
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shield operator tokens list --invitation operator.toml")]
pub(super) struct OperatorArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Tokens(tokens::TokensArgs),
    Budget(BudgetArgs),
    Ledger(LedgerArgs),
    Schedule(ScheduleArgs),
    AuditLog(AuditLogArgs),
    Erase(EraseArgs),
}

pub(super) fn run(args: &OperatorArgs, output: Output) -> Result<(), Failure> {
    match &args.what {
        What::Tokens(args) => tokens::run(args, output),
        What::Budget(args) => budget(args, output),
        What::Ledger(args) => ledger(args, output),
        What::Schedule(args) => schedule(args, output),
        What::AuditLog(args) => audit_log(args, output),
        What::Erase(args) => erase(args, output),
    }
}

/// Operator: change what a group of teachers may spend; the reason stays in the ledger
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shield operator budget --invitation operator.toml --group hospitals \
        --epsilon 4 --reason \"agreed by all hospitals on 3 March\"\n\n\
    A group gets its budget with its first election; `serve --budget` is for groups that are new. \
    What is spent stays spent."
)]
struct BudgetArgs {
    #[command(flatten)]
    invitation: InvitationArgs,

    /// The group
    #[arg(long, value_name = "NAME")]
    group: Name,

    /// The most that all its releases together may cost
    #[arg(long, value_name = "EPSILON")]
    epsilon: f64,

    /// The failure probability for which it is stated [default: what it is]
    #[arg(long, value_name = "DELTA")]
    delta: Option<f64>,

    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

fn budget(args: &BudgetArgs, output: Output) -> Result<(), Failure> {
    let (client, _) = args.invitation.client()?;
    let BudgetArgs { group, epsilon, delta, reason, .. } = args;
    let changed = client::change_budget(&client, group, *epsilon, *delta, reason)?;
    let number = |key: &str| changed[key].to_string();
    let budget = format!("epsilon {} (before: {})", number("epsilon"), number("before"));
    Report::default()
        .keys(&changed)
        .row("group", group.to_string())
        .row("budget", budget)
        .row("delta", number("delta"))
        .row("reason", reason.clone())
        .print(output)
}

/// Operator: export the privacy ledger of all groups
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shield operator ledger --invitation operator.toml --format csv --out \
        ledger.csv"
)]
struct LedgerArgs {
    #[command(flatten)]
    invitation: InvitationArgs,

    /// How to write it
    #[arg(long, value_enum, default_value_t = Format::Csv)]
    format: Format,

    /// Where to write it [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For spreadsheets
    Csv,
    /// For programs
    Json,
}

fn ledger(args: &LedgerArgs, output: Output) -> Result<(), Failure> {
    let (client, _) = args.invitation.client()?;
    let json = args.format == Format::Json || output == Output::Json;
    let bytes = client::export_ledger(&client, if json { "json" } else { "csv" })?;
    match &args.out {
        Some(out) => write(out, &bytes),
        None => console::print(&String::from_utf8_lossy(&bytes)),
    }
}

/// Operator: give an election more turns than others while it is aggregated, or let it wait
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  shield operator schedule --invitation operator.toml --election \
        ward-7 --priority 10\n  shield operator schedule --invitation operator.toml --election \
            ward-7 --pause\n\n\
    Elections take turns, a batch each. One with priority 10 gets ten batches where others get one."
)]
struct ScheduleArgs {
    #[command(flatten)]
    invitation: InvitationArgs,

    /// How many batches it gets where others get one: 1 to 100
    #[arg(long, value_name = "N", default_value_t = 1)]
    priority: u32,

    /// Let it wait until it is scheduled again without this
    #[arg(long)]
    pause: bool,
}

fn schedule(args: &ScheduleArgs, output: Output) -> Result<(), Failure> {
    let (client, invitation) = args.invitation.client()?;
    let election = args.invitation.election(&invitation)?;
    let turn = client::schedule(&client, &election, args.priority, args.pause)?;
    let text = if args.pause {
        format!("{election} waits\n")
    } else {
        format!("{election} gets {} batches per round\n", args.priority)
    };
    console::show(output, &turn, &text)
}

/// Operator: who did what, when and from where; checks that no line was changed
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shield operator audit-log --invitation operator.toml --out \
        log.json\n\n\
    Every line carries a hash of all before it. Keep exports elsewhere: whoever changes a line in \
    the database changes the hashes of all lines after it.")]
struct AuditLogArgs {
    #[command(flatten)]
    invitation: InvitationArgs,

    /// Only what comes after this line
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    after: u32,

    /// Write the lines to a file, as JSON
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

fn audit_log(args: &AuditLogArgs, output: Output) -> Result<(), Failure> {
    let (client, _) = args.invitation.client()?;
    let lines = client::audit_log(&client, args.after)?;
    if let Some(number) = broken_chain(&lines) {
        return Err(Failure::failed(format!(
            "line {number} does not follow from the one before: the log was changed in the database"
        )));
    }
    if let Some(out) = &args.out {
        write(out, &serde_json::to_vec_pretty(&lines).map_err(Failure::failed)?)?;
        console::note(&format!("{} lines, unbroken", lines.len()));
        return Ok(());
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
    console::show(output, &lines, &text)
}

/// Operator: delete the ballots of an election that is over, or everything but its ledger line
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shield operator erase ballots --invitation operator.toml --election \
        ward-7\n\n\
    Without its ballots nobody can verify an election's draws, and no audit can be asked for. The \
    ledger keeps its line in any case. `serve --keep-ballots DAYS` deletes ballots by their age."
)]
struct EraseArgs {
    /// What to delete
    #[arg(value_enum)]
    what: Erased,

    #[command(flatten)]
    invitation: InvitationArgs,

    /// Delete everything without asking
    #[arg(long)]
    yes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Erased {
    /// The files of its ballots
    Ballots,
    /// All its files, keys, tokens and seeds
    Everything,
}

fn erase(args: &EraseArgs, output: Output) -> Result<(), Failure> {
    let (client, invitation) = args.invitation.client()?;
    let election = args.invitation.election(&invitation)?;
    if args.what == Erased::Everything && !args.yes {
        ask(&election)?;
    }
    let what = match args.what {
        Erased::Ballots => "ballots",
        Erased::Everything => "everything",
    };
    let deleted = client::erase(&client, &election, what)?;
    console::show(output, &deleted, &format!("{election}: {what} deleted\n"))
}

/// Has somebody type the election's name before everything of it is deleted.
fn ask(election: &Name) -> Result<(), Failure> {
    let what = format!("all files, keys, tokens and seeds of {election} are deleted for good");
    if !std::io::stdin().is_terminal() {
        return Err(Failure::bad_input(format!("{what}; add --yes if that is meant")));
    }
    console::note(&format!("{what}; to go on, type its name:"));
    let mut typed = String::new();
    std::io::stdin().read_line(&mut typed).map_err(Failure::failed)?;
    if typed.trim() == election.as_str() {
        return Ok(());
    }
    Err(Failure::bad_input("that is not its name; nothing was deleted"))
}
