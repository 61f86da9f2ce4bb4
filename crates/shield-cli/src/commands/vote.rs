//! `vote`: one teacher's votes, as a ballot that nobody but the student could read. With an
//! invitation it also gets what it needs from the server, and submits the ballot.

use std::path::{Path, PathBuf};

use clap::Args;
use jiff::Timestamp;
use shield_board::{Kind, Role};
use shield_client::preflight::{Own, Verdict, preflight};
use shield_client::{self as client, Client, Invitation};
use shield_protocol::hex::hex;
use shield_protocol::messages::Status;
use shield_protocol::{
    Cast, Name, PlannedElection, SignedElection, cast, cast_counts, signed, understand_counts,
    understand_votes,
};

use super::{Output, status};
use crate::console::{self, Report};
use crate::failure::Failure;
use crate::inputs::{TrustArgs, read_election, read_identity, system_rng, tell};

/// Teacher: encrypt your votes into a ballot, and submit it
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    shield vote --invitation teacher-amber.toml --votes amber.csv\n  \
    shield vote --election ward-7.toml --public-key public.key --teacher amber --votes \
    amber.csv\n  shield vote --election ward-7.toml --public-key public.key --teacher birch \
    --votes all.npy --column 2\n  \
    shield vote --invitation teacher-north.toml --votes north.csv --counts\n\n\
    With an invitation this fetches the election and the key, checks everything, encrypts and \
    submits. Without a server, give the ballot to whoever aggregates, never to the student: the \
    student's key reads it.\n\n\
    Signed election: shield vote --board ward-7.board --identity amber.identity --votes amber.csv\n\
    checks the board, encrypts to the keys that the student signed, and writes amber.ballot and \
    amber.ballot.signed, for the operator.")]
pub(super) struct VoteArgs {
    /// Your invitation: fetches what is needed from the server, and submits the ballot. The token
    /// in SHIELD_TOKEN counts instead of the file's, if it is set
    #[arg(long, value_name = "FILE", conflicts_with_all = ["public_key", "teacher"])]
    #[arg(required_unless_present_all = ["election", "public_key", "teacher"])]
    #[arg(required_unless_present = "board")]
    invitation: Option<PathBuf>,

    /// A copy of the board of a signed election
    #[arg(long, value_name = "FOLDER", requires = "identity")]
    #[arg(conflicts_with_all = ["invitation", "election", "public_key", "teacher"])]
    board: Option<PathBuf>,

    /// Your identity, for a signed election
    #[arg(long, value_name = "FILE", env = "SHIELD_IDENTITY")]
    identity: Option<PathBuf>,

    #[command(flatten)]
    trust: TrustArgs,

    /// The election file (TOML) that all parties have; with an invitation, your copy, to compare
    /// with the server's
    #[arg(long, value_name = "FILE")]
    election: Option<PathBuf>,

    /// The student's public key
    #[arg(long, value_name = "FILE")]
    public_key: Option<PathBuf>,

    /// Your name, as it is in the election file
    #[arg(long, value_name = "NAME")]
    teacher: Option<String>,

    /// Your votes, one per sample: a column or a row of classes, beside sample ids or not (-1 or
    /// an empty cell abstains); the kinds of files that docs/data.md lists
    #[arg(long, value_name = "FILE")]
    votes: PathBuf,

    /// The votes are counts, for elections with voters_per_teacher: one row per sample, one column
    /// per class, and in each cell how many voters behind you chose the class
    #[arg(long, conflicts_with = "column")]
    counts: bool,

    /// The list of samples that you labelled, if the election binds one and your votes have no
    /// sample ids
    #[arg(long, value_name = "FILE")]
    samples: Option<PathBuf>,

    /// Your column, counted from 1 without ids, if the file has one for each teacher
    #[arg(long, value_name = "N")]
    column: Option<usize>,

    /// Where to write the ballot [default: <NAME>.ballot]; with an invitation it is removed once
    /// it is with the server, unless this is given
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &VoteArgs, output: Output) -> Result<(), Failure> {
    if let (Some(board), Some(identity)) = (&args.board, &args.identity) {
        return for_a_board(args, board, identity, output);
    }
    match (&args.invitation, &args.election, &args.public_key, &args.teacher) {
        (Some(invitation), ..) => over_the_network(args, invitation, output),
        (None, Some(election), Some(key), Some(teacher)) => {
            over_files(args, election, key, teacher, output)
        }
        _ => Err(Failure::bad_input(
            "give --invitation, or --election, --public-key and --teacher for a ballot in a file",
        )),
    }
}

fn over_files(
    args: &VoteArgs,
    election: &Path,
    public_key: &Path,
    teacher: &str,
    output: Output,
) -> Result<(), Failure> {
    let file = read_election(election)?;
    if let Some(deadline) = file.deadline().filter(|&deadline| deadline < Timestamp::now()) {
        console::warn(&format!(
            "the deadline was {deadline}: ask whoever runs the server whether it still takes \
             ballots"
        ));
    }
    let out = args.out.clone().unwrap_or_else(|| format!("{teacher}.ballot").into());
    let (made, samples) = encrypt(args, &file, public_key, teacher, &out)?;
    console::next(output, &format!("give {} to the server, never to the student", out.display()));
    let votes = format!("{samples} samples, {} abstentions", made.abstentions);
    Report::default()
        .fact("election", "election", file.name())
        .fact("teacher", "teacher", teacher)
        .key("key", made.key.to_string())
        .said("samples", samples, "votes", votes)
        .key("abstentions", made.abstentions)
        .file("ballot", "give to the server", &out)
        .print(output)
}

/// A signed ballot for the board, encrypted to the keys that the student signed.
fn for_a_board(
    args: &VoteArgs,
    board: &Path,
    identity: &Path,
    output: Output,
) -> Result<(), Failure> {
    let identity = read_identity(identity)?;
    let election = SignedElection::open(board)?;
    args.trust.check(&election)?;
    election.must_be(&identity, Role::Teacher)?;
    let key = election.public_key()?;
    let teacher = election.parties().find(&identity).map(|party| party.line.name.to_string());
    let teacher = teacher.unwrap_or_default();
    let out = args.out.clone().unwrap_or_else(|| format!("{teacher}.ballot").into());
    let (made, samples) = encrypt(args, election.file(), &key, &teacher, &out)?;
    let signed = signed::state(&election, &identity, Kind::Ballot, &out).inspect_err(|_| {
        // Not even one that nobody signed: voting again must find the place free.
        let _ = std::fs::remove_file(&out);
    })?;
    console::next(
        output,
        &format!(
            "give {} and {} to the operator, never to the student; keep the second to find your \
             ballot on the board: shield verify BOARD --statement {}",
            out.display(),
            signed.display(),
            signed.display()
        ),
    );
    let votes = format!("{samples} samples, {} abstentions", made.abstentions);
    Report::default()
        .fact("election", "election", election.file().name())
        .fact("teacher", "teacher", &teacher)
        .key("key", made.key.to_string())
        .said("samples", samples, "votes", votes)
        .key("abstentions", made.abstentions)
        .file("ballot", "give to the operator", &out)
        .file("signed", "give to the operator, too", &signed)
        .print(output)
}

/// Reads the votes and writes the ballot; gives how many samples there are.
fn encrypt(
    args: &VoteArgs,
    file: &PlannedElection,
    public_key: &Path,
    teacher: &str,
    out: &Path,
) -> Result<(Cast, usize), Failure> {
    let list = args.samples.as_deref();
    let made = if args.counts {
        let read = understand_counts(file, &args.votes, list)?;
        tell(&args.votes, &read.warnings);
        console::watched("encrypting", |_| {
            cast_counts(file, public_key, teacher, &read.value, out, &mut system_rng())
        })?
    } else {
        let read = understand_votes(file, &args.votes, args.column, list)?;
        tell(&args.votes, &read.warnings);
        console::watched("encrypting", |_| {
            cast(file, public_key, teacher, &read.value, out, &mut system_rng())
        })?
    };
    Ok((made, file.election().samples()))
}

fn over_the_network(args: &VoteArgs, path: &Path, output: Output) -> Result<(), Failure> {
    let invitation = Invitation::read(path)?;
    let Some(teacher) = invitation.teacher.clone() else {
        return Err(Failure::bad_input(format!(
            "{}: this is the invitation of a {}, and teachers vote; give a teacher's",
            path.display(),
            invitation.role
        )));
    };
    check(path, &invitation)?;
    let client = Client::new(&invitation)?;
    let election = client::election_of(&invitation, None)?;
    let file = client::election_file(&client, &election)?;
    let before = client::status(&client, &election)?;
    agree(args, &file, &before)?;
    if let Some(digest) = before.ballot_digest() {
        return Err(Failure::failed(format!(
            "your ballot is in already, digest {digest}; a teacher votes once, and the first \
             ballot stays"
        )));
    }
    if before.stage != "open" {
        return Err(Failure::failed(format!(
            "{election} is {}: {}",
            before.stage,
            status::next(&before, &invitation, path)
        )));
    }
    let default = PathBuf::from(format!("{election}-{teacher}.ballot"));
    let out = args.out.clone().unwrap_or(default);
    if out.exists() {
        console::note(&format!(
            "{} is there from a submission that broke off: it is sent as it is. To encrypt again \
             instead, remove it (only if no part of it has arrived)",
            out.display()
        ));
    } else {
        encrypt_with_fetched_key(args, &client, &file, &teacher, &out)?;
    }
    let receipt = console::watched("submitting", |watch| {
        client::submit_ballot(&client, &invitation, &file, &out, watch)
    })?;
    let after = client::status(&client, &election)?;
    let digest =
        after.ballot_digest().filter(|digest| *digest == receipt.ballot).ok_or_else(|| {
            Failure::failed(
                "the server does not show all of your ballot; run the same command again",
            )
        })?;
    let beside = client::receipt_path(&out);
    if args.out.is_none() {
        // It is with the server; nobody needs a second copy of what the student's key reads.
        let _ = std::fs::remove_file(&out);
    }
    console::next(output, &status::next(&after, &invitation, path));
    let key = after.key_id.clone().unwrap_or_default();
    let keys = format!("the keys {}", key.get(..16).unwrap_or(&key));
    Report::default()
        .fact("election", "election", file.name())
        .fact("teacher", "teacher", &teacher)
        .file("receipt", "keep the receipt", &beside)
        .said("key", &key, "encrypted for", keys)
        .key("samples", file.election().samples())
        .said("digest", &digest, "your ballot", format!("is in, digest {digest}"))
        .print(output)
}

/// Everything that `preflight` looks at: what is wrong ends it, and what is odd is said.
fn check(path: &Path, invitation: &Invitation) -> Result<(), Failure> {
    let checks = preflight(path, invitation, Own::default());
    for check in &checks {
        match check.verdict {
            Verdict::Fine => {}
            // What the election's stage means for a teacher is said below, where it is known.
            Verdict::Warning if check.subject == "election" => {}
            Verdict::Warning => console::warn(&format!("{}: {}", check.subject, check.finding)),
            Verdict::Wrong => {
                return Err(Failure::failed(format!("{}: {}", check.subject, check.finding)));
            }
        }
    }
    Ok(())
}

/// The server's election is one, and the teacher's own copy, if there is one, is the same.
fn agree(args: &VoteArgs, file: &PlannedElection, status: &Status) -> Result<(), Failure> {
    if hex(&file.digest()) != status.digest {
        return Err(Failure::failed(
            "the server's election file is not the one whose digest it tells; ask the operator",
        ));
    }
    let own = args.election.as_deref().map(read_election).transpose()?;
    match (own, &args.election) {
        (Some(own), Some(path)) if own.digest() != file.digest() => {
            Err(Failure::bad_input(format!(
                "{}: this is not the server's election file; ask the operator which one all agreed \
                 on",
                path.display()
            )))
        }
        _ => Ok(()),
    }
}

/// Fetches the public key beside the ballot, and encrypts.
fn encrypt_with_fetched_key(
    args: &VoteArgs,
    client: &Client,
    file: &PlannedElection,
    teacher: &Name,
    out: &Path,
) -> Result<(), Failure> {
    shield_data::check_folder(out)?;
    let mut key = out.as_os_str().to_owned();
    key.push(".key");
    let key = PathBuf::from(key);
    let _ = std::fs::remove_file(&key);
    client::fetch_public_key(client, file, &key)?;
    let made = encrypt(args, file, &key, teacher.as_str(), out);
    let _ = std::fs::remove_file(&key);
    let (made, samples) = made?;
    let what = if args.counts { "rows of counts" } else { "votes" };
    console::note(&format!("{samples} {what}, {} of them abstentions", made.abstentions));
    Ok(())
}
