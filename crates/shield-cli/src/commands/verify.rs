//! `verify`: an auditor computes everything again; a teacher finds its ballot.

use std::path::{Path, PathBuf};

use clap::Args;
use shield_board::folder::beside;
use shield_board::{Kind, Role, Signed};
use shield_protocol::hex::unhex;
use shield_protocol::job::verify::{Released, verify};
use shield_protocol::{
    Inputs, PlannedElection, ProtocolError, Receipt, SignedElection, Transcript, signed,
};

use super::Output;
use crate::console::{self, Report};
use crate::failure::Failure;
use crate::inputs::{TrustArgs, read_election, read_identity};

/// Check the results of an election, or that your ballot is in them
#[derive(Args, Debug)]
#[command(after_help = "Example for an auditor, who must not see the labels:\n  \
        shield election fetch evidence --invitation operator.toml --election ward-7 --out \
    evidence\n shield verify --election evidence/election.toml --evaluation-key \
        evidence/evaluation.key --ballots evidence/ballots --seed evidence/seed --results \
            evidence/results.bin\n\n\
    Teacher:\n  shield verify --election ward-7.toml --receipt amber.ballot.receipt --transcript \
        results.bin.transcript.toml\n\n\
    Anybody, of a signed election:\n  shield verify ward-7.board\n\n\
    This needs no network and no secret, and prints numbered checks. An auditor adds --identity: \
    then the results are computed again, and ward-7.board.audited.signed is written for the \
    operator.\n\n\
    Exit code 1 if something does not agree.")]
pub(super) struct VerifyArgs {
    /// The board of a signed election
    #[arg(conflicts_with = "election")]
    board: Option<PathBuf>,

    #[command(flatten)]
    of_board: CheckArgs,

    /// The election file (TOML) of an unsigned election
    #[arg(long, value_name = "FILE", required_unless_present = "board")]
    election: Option<PathBuf>,

    /// The student's evaluation key
    #[arg(long, value_name = "FILE", requires_all = ["ballots", "seed", "results"])]
    evaluation_key: Option<PathBuf>,

    /// Folder of all ballots
    #[arg(long, value_name = "FOLDER", requires = "evaluation_key")]
    ballots: Option<PathBuf>,

    /// The server's part of the seed
    #[arg(long, value_name = "FILE", requires = "evaluation_key")]
    seed: Option<PathBuf>,

    /// What the student got
    #[arg(long, value_name = "FILE", requires = "evaluation_key")]
    results: Option<PathBuf>,

    /// The commitment that was known before the first ballot, as hexadecimal digits
    #[arg(long, value_name = "HEX")]
    commitment: Option<String>,

    /// A teacher's receipt
    #[arg(long, value_name = "FILE", requires = "transcript")]
    receipt: Option<PathBuf>,

    /// A teacher's ballot, where there is no receipt
    #[arg(long, value_name = "FILE", requires = "transcript", conflicts_with = "receipt")]
    ballot: Option<PathBuf>,

    /// What the server published with the results
    #[arg(long, value_name = "FILE")]
    transcript: Option<PathBuf>,
}

/// What is checked of a board besides what anybody can check.
#[derive(Args, Debug)]
struct CheckArgs {
    /// Auditor: your identity; the results are computed again with the seed sealed to you
    #[arg(long, value_name = "FILE", requires = "board")]
    identity: Option<PathBuf>,

    #[command(flatten)]
    trust: TrustArgs,

    /// A statement that you signed and kept: whether it is on the board
    #[arg(long, value_name = "FILE", requires = "board", conflicts_with = "identity")]
    statement: Option<PathBuf>,
}

/// Check the board of a signed election, as `shield verify` does
#[derive(Args, Debug)]
pub(super) struct BoardCheckArgs {
    /// The board
    board: PathBuf,

    #[command(flatten)]
    check: CheckArgs,
}

pub(super) fn board(args: &BoardCheckArgs, output: Output) -> Result<(), Failure> {
    check_board(&args.board, &args.check, output)
}

fn check_board(board: &Path, args: &CheckArgs, output: Output) -> Result<(), Failure> {
    let own = args.statement.as_deref().map(Signed::read).transpose();
    let own = own.map_err(ProtocolError::from)?;
    let auditor = args.identity.as_deref().map(read_identity).transpose()?;
    let checks = console::watched("checking the board", |watch| match &auditor {
        Some(auditor) => signed::recompute(board, auditor, watch),
        None => signed::check(board, own.as_ref(), watch),
    })?;
    let rows = checks.list().iter().map(|check| {
        let reason = check.reason.as_deref().unwrap_or(check.what).to_owned();
        vec![check.id.to_string(), check.name.to_owned(), check.result.to_owned(), reason]
    });
    let table = console::table(&["check", "name", "result", "what holds, or why not"], rows);
    console::show(output, &checks, &table)?;
    checks.demand(board).map_err(ProtocolError::from)?;
    let Some(auditor) = &auditor else { return Ok(()) };
    if checks.list().iter().any(|check| check.name == "recomputed" && check.result == "passed") {
        let election = SignedElection::open(board)?;
        args.trust.check(&election)?;
        election.must_be(auditor, Role::Auditor)?;
        let about = beside(board, "audited");
        let statement = signed::state(&election, auditor, Kind::Audited, &about)?;
        let next = format!("give {} to the operator", statement.display());
        console::next(output, &next);
    }
    Ok(())
}

pub(super) fn run(args: &VerifyArgs, output: Output) -> Result<(), Failure> {
    let election = match (&args.board, &args.election) {
        (Some(board), _) => return check_board(board, &args.of_board, output),
        (None, Some(election)) => election,
        (None, None) => return Err(Failure::bad_input("give a board, or --election")),
    };
    let file = read_election(election)?;
    let commitment = match args.commitment.as_deref().map(unhex::<32>) {
        Some(None) => {
            return Err(Failure::bad_input("--commitment needs 64 hexadecimal digits"));
        }
        given => given.flatten(),
    };
    if let (Some(evaluation_key), Some(ballots), Some(seed), Some(results)) =
        (&args.evaluation_key, &args.ballots, &args.seed, &args.results)
    {
        let inputs = Inputs::new(&file, evaluation_key, ballots);
        let released = Released::new(results, Some(seed));
        return recompute(&inputs, &released, commitment, output);
    }
    let (Some(transcript), true) =
        (&args.transcript, args.receipt.is_some() || args.ballot.is_some())
    else {
        return Err(Failure::bad_input(
            "give --evaluation-key, --ballots, --seed and --results to check everything, or \
             --transcript with --receipt or --ballot to find one ballot",
        ));
    };
    find(args, &file, transcript, commitment, output)
}

fn recompute(
    inputs: &Inputs<'_>,
    released: &Released,
    commitment: Option<[u8; 32]>,
    output: Output,
) -> Result<(), Failure> {
    let verified =
        console::watched("checking ballots", |watch| verify(inputs, released, commitment, watch))?;
    let transcript = &verified.transcript;
    if commitment.is_none() {
        console::note(
            "Without --commitment nobody knows whether the server's part of the seed was fixed \
             before the first ballot: compare the one below with what the parties were told.",
        );
    }
    let ballots = transcript.ballots.len();
    let of = inputs.file.teachers().len();
    let releases = format!("{} computed again, the same bytes", verified.releases);
    Report::default()
        .key("agrees", true)
        .fact("election", "election", inputs.file.name())
        .said("ballots", ballots, "ballots", format!("{ballots} of {of}"))
        .said("releases", verified.releases, "releases", releases)
        .said("audits", transcript.rounds.len(), "audits", transcript.rounds.len().to_string())
        .fact("commitment", "commitment", &transcript.commitment)
        .print(output)
}

fn find(
    args: &VerifyArgs,
    file: &PlannedElection,
    transcript: &Path,
    commitment: Option<[u8; 32]>,
    output: Output,
) -> Result<(), Failure> {
    let published = Transcript::read(transcript, file)?;
    let mut receipt = match (&args.receipt, &args.ballot) {
        (Some(receipt), _) => Receipt::read(receipt)?,
        (None, Some(ballot)) => Receipt::of_ballot(file, ballot)?,
        (None, None) => return Err(Failure::bad_input("give --receipt or --ballot")),
    };
    if let Some(commitment) = commitment {
        receipt.commitment = Some(shield_protocol::hex::hex(&commitment));
    }
    receipt.check(&published).map_err(|reason| {
        Failure::failed(format!("{reason}; tell the other parties, and ask the server why"))
    })?;
    let excluded = published.excluded(published.rounds.len());
    let accused = excluded.contains(&&receipt.teacher);
    let counted = if accused {
        "yes, but an audit says that it is no vote, and left it out of the spoiled samples"
    } else {
        "yes"
    };
    let voted = published.ballots.len();
    Report::default()
        .fact("teacher", "teacher", &receipt.teacher)
        .said("counted", true, "counted", counted)
        .fact("ballot", "ballot", &receipt.ballot)
        .key("accused", accused)
        .said("voted", voted, "ballots in all", voted.to_string())
        .print(output)
}
