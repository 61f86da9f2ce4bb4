//! `keygen`: the student's keys, as three files.

use std::path::{Path, PathBuf};

use clap::Args;
use shield_board::{Kind, Role};
use shield_protocol::{MadeKeys, PlannedElection, SignedElection, make_keys, signed};

use super::{Output, rehearse};
use crate::console::{self, Report};
use crate::failure::Failure;
use crate::inputs::{TrustArgs, read_election, read_identity, system_rng};

/// Student: make the keys of an election
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shield keygen --election ward-7.toml --out keys\n\n\
    Writes secret.key (for the student alone), public.key (for every teacher) and evaluation.key \
    (for the server), and sees that they work on made-up votes. Existing keys are never \
    overwritten.\n\n\
    Signed election:\n  shield keygen --board ward-7.board --identity lab.identity --out keys\n\n\
    This writes public.key.signed and evaluation.key.signed too, for the operator's board.")]
pub(super) struct KeygenArgs {
    /// The election file (TOML) that all parties have
    #[arg(long, value_name = "FILE", required_unless_present = "board")]
    #[arg(conflicts_with = "board")]
    election: Option<PathBuf>,

    /// A copy of the board of a signed election, in place of the election file
    #[arg(long, value_name = "FOLDER", requires = "identity")]
    board: Option<PathBuf>,

    /// Your identity, for a signed election
    #[arg(long, value_name = "FILE", env = "SHIELD_IDENTITY")]
    identity: Option<PathBuf>,

    #[command(flatten)]
    trust: TrustArgs,

    /// Folder for the three keys; made if it is not there
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
}

pub(super) fn run(args: &KeygenArgs, output: Output) -> Result<(), Failure> {
    match (&args.board, &args.identity, &args.election) {
        (Some(board), Some(identity), _) => for_a_board(args, board, identity, output),
        (None, _, Some(election)) => {
            let file = read_election(election)?;
            let made = make(args, &file)?;
            let (public, evaluation) = (&made.files.public, &made.files.evaluation);
            console::next(
                output,
                &format!(
                    "over a server: shield election submit --invitation student.toml {} {}; over \
                     files: send the first to every teacher and the second to the server",
                    public.display(),
                    evaluation.display()
                ),
            );
            report(&file, &made).print(output)
        }
        _ => Err(Failure::bad_input("give --election, or --board and --identity")),
    }
}

/// Makes the keys of a signed election, and signs them.
fn for_a_board(
    args: &KeygenArgs,
    board: &Path,
    identity: &Path,
    output: Output,
) -> Result<(), Failure> {
    let identity = read_identity(identity)?;
    let election = SignedElection::open(board)?;
    args.trust.check(&election)?;
    election.must_be(&identity, Role::Student)?;
    let made = make(args, election.file())?;
    let sign = |kind, key: &Path| signed::state(&election, &identity, kind, key);
    let public = sign(Kind::PublicKey, &made.files.public)?;
    let evaluation = sign(Kind::EvaluationKey, &made.files.evaluation)?;
    console::next(
        output,
        "give both keys and both .signed files to the operator, who adds them to the board",
    );
    report(election.file(), &made)
        .file("signed_public_key", "give to the operator", &public)
        .file("signed_evaluation_key", "give to the operator", &evaluation)
        .print(output)
}

fn make(args: &KeygenArgs, file: &PlannedElection) -> Result<MadeKeys, Failure> {
    let made = console::watched("making keys", |_| make_keys(file, &args.out, &mut system_rng()))?;
    let files = &made.files;
    console::watched("testing them", |_| rehearse::locally(file, files))?;
    console::note(
        "Student and server must not work together: the secret key reads every ballot, and the \
         server has the ballots. Never give secret.key to anyone, and keep a copy: without it \
         nobody can read the labels.",
    );
    Ok(made)
}

fn report(file: &PlannedElection, made: &MadeKeys) -> Report {
    let files = &made.files;
    Report::default()
        .fact("election", "election", file.name())
        .fact("key", "keys", made.id)
        .file("secret_key", "keep, the student alone", &files.secret)
        .file("public_key", "give to every teacher", &files.public)
        .file("evaluation_key", "give to the server", &files.evaluation)
}
