//! `board`: the signed record of an election, as a folder.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;
use shield_board::{Folder, Line, compare};
use shield_core::Delta;
use shield_protocol::ledger::{Accountant, Cost};
use shield_protocol::{ProtocolError, SignedElection, signed};

use super::{Output, verify};
use crate::console::{self, Report};
use crate::failure::Failure;
use crate::inputs::{IdentityArgs, system_rng};

/// The signed record of an election: new, add, verify, compare, ...
#[derive(Args, Debug)]
#[command(after_help = "Example of the operator:\n  \
    shield board new ward-7.board --election ward-7.toml --identity office.identity\n  \
    shield board add ward-7.board keys/public.key.signed keys/evaluation.key.signed\n  \
    shield board add ward-7.board amber.ballot.signed\n  \
    shield board aggregate ward-7.board\n\n\
    Everybody may have a copy of ward-7.board; the operator and the auditors have \
    ward-7.board.ballots too, and only the operator has ward-7.board.private. \
    SHIELD_IDENTITY can name the identity.")]
pub(super) struct BoardArgs {
    #[command(subcommand)]
    step: Step,
}

#[derive(Debug, Subcommand)]
enum Step {
    New(NewArgs),
    Add(AddArgs),
    Aggregate(AggregateArgs),
    Verify(verify::BoardCheckArgs),
    Compare(CompareArgs),
}

pub(super) fn run(args: &BoardArgs, output: Output) -> Result<(), Failure> {
    match &args.step {
        Step::New(args) => new(args, output),
        Step::Add(args) => add(args, output),
        Step::Aggregate(args) => aggregate(args, output),
        Step::Verify(args) => verify::board(args, output),
        Step::Compare(args) => compare_boards(args, output),
    }
}

/// Operator: start the board of an election
#[derive(Args, Debug)]
struct NewArgs {
    /// Folder for the board; its ballots and your secrets go to folders beside it
    board: PathBuf,

    /// The election file, with everybody's public line
    #[arg(long, value_name = "FILE")]
    election: PathBuf,

    #[command(flatten)]
    identity: IdentityArgs,
}

fn new(args: &NewArgs, output: Output) -> Result<(), Failure> {
    let identity = args.identity.load()?;
    let file = shield_protocol::read_election(&args.election)?;
    signed::found(&file, &identity, &args.board, &mut system_rng())?;
    let fingerprint = file.parties().map(|parties| parties.fingerprint().to_string());
    let fingerprint = fingerprint.unwrap_or_default();
    console::note(&format!(
        "Give every party a copy of {}, and read the fingerprint out to them by telephone.",
        args.board.display()
    ));
    console::next(output, "the student makes the keys: shield keygen --board ...");
    Report::default()
        .fact("election", "election", file.name())
        .fact("fingerprint", "fingerprint", fingerprint)
        .file("board", "give to everybody", &args.board)
        .print(output)
}

/// Operator: add what other parties signed
#[derive(Args, Debug)]
struct AddArgs {
    /// The board
    board: PathBuf,

    /// Signed statements, as the other parties' programs wrote them: files that end with .signed,
    /// beside the key or the ballot that they are about
    #[arg(required = true)]
    statements: Vec<PathBuf>,

    #[command(flatten)]
    identity: IdentityArgs,
}

fn add(args: &AddArgs, output: Output) -> Result<(), Failure> {
    let identity = args.identity.load()?;
    let mut election = SignedElection::open_to_add(&args.board)?;
    let mut added = Vec::new();
    for statement in &args.statements {
        let line =
            console::watched("checking it", |watch| election.take_in(statement, &identity, watch))?;
        added.push(line);
    }
    let told: Vec<_> = added.iter().map(told).collect();
    let lines = added.iter().map(|line| {
        let (kind, by) = (line.statement().kind, &line.statement().by);
        format!("line {}: {kind} by {by}, {}", line.n, line.hash())
    });
    let text = lines.collect::<Vec<_>>().join("\n") + "\n";
    console::show(output, &json!({ "added": told }), &text)
}

/// A line for machines.
fn told(line: &Line) -> serde_json::Value {
    let statement = line.statement();
    json!({"n": line.n, "kind": statement.kind, "by": statement.by, "hash": line.hash()})
}

/// Operator: freeze the ballots and aggregate them, once
#[derive(Args, Debug)]
struct AggregateArgs {
    /// The board
    board: PathBuf,

    #[command(flatten)]
    identity: IdentityArgs,
}

fn aggregate(args: &AggregateArgs, output: Output) -> Result<(), Failure> {
    let identity = args.identity.load()?;
    let tallied = console::watched("aggregating", |watch| {
        signed::tally(&args.board, &identity, &mut system_rng(), watch)
    })?;
    let election = SignedElection::open(&args.board)?;
    let cost = Cost::new(election.file(), tallied.aggregated.voters.clone());
    let epsilon = console::watched("proving the privacy figure", |_| {
        Accountant::default().total(&[cost], Delta::default())
    });
    let auditors = tallied.sealed_to;
    let next = match election.file().audits() {
        0 => "give the board to the student: shield reveal --board ...".to_owned(),
        needed => format!(
            "give board and ballots to the auditors (shield verify BOARD --identity ...): \
             {needed} must sign before the student opens the results"
        ),
    };
    console::next(output, &next);
    let voted = tallied.aggregated.voted.len();
    let of = election.file().teachers().len();
    Report::default()
        .fact("election", "election", election.file().name())
        .said("voted", voted, "ballots", format!("{voted} of {of}"))
        .said("auditors", auditors, "seed sealed to", format!("{auditors} auditors"))
        .fact("epsilon", "epsilon", epsilon.epsilon())
        .fact("lines", "lines", election.board().lines().len())
        .print(output)
}

/// Compare two copies of a board, and prove it if the operator showed two
#[derive(Args, Debug)]
#[command(after_help = "Exit code 1 if the two are not copies of one board. If the operator \
    signed both, the two lines with one number are printed: that is the proof.")]
struct CompareArgs {
    /// A copy of a board
    first: PathBuf,

    /// Another copy
    second: PathBuf,
}

fn compare_boards(args: &CompareArgs, output: Output) -> Result<(), Failure> {
    let open = |path: &Path| Folder::open(path).map_err(ProtocolError::from);
    let parties = signed::parties(&args.first)?;
    let (first, second) = (open(&args.first)?, open(&args.second)?);
    let found = compare(&first, &second, &parties);
    let both = [found.first, found.second].map(|lines| lines.to_string()).join(" and ");
    let report = Report::default()
        .keys(&found)
        .row("lines", both)
        .row("in common", found.common.to_string());
    report.print(output)?;
    if let Some([one, other]) = &found.fork {
        if output == Output::Tables {
            console::print(&(one.encode() + &other.encode()))?;
        }
        return Err(Failure::failed(format!(
            "the operator signed two lines with number {}: it showed two boards, and the two lines \
             printed above prove it",
            one.n
        )));
    }
    found.unproven.map_or(Ok(()), |reason| {
        Err(Failure::failed(format!(
            "these are not copies of one board, and nobody is proven to have forked it: {reason}"
        )))
    })
}
