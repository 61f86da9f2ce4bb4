//! `vote`: one teacher's votes, as a ballot that nobody but the student could read.

use std::path::PathBuf;

use clap::Args;
use jiff::Timestamp;
use serde_json::json;
use shield_protocol::{cast, read_votes};

use super::Output;
use crate::console;
use crate::failure::Failure;
use crate::inputs::{ElectionArgs, system_rng};

/// Teacher: encrypt your votes into a ballot
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    shield vote --election ward-7.toml --public-key public.key --teacher amber --votes \
    amber.csv\n  shield vote --election ward-7.toml --public-key public.key --teacher birch \
    --votes all.npy --column 2\n\n\
    Give the ballot to the server, never to the student: the student's key reads it.")]
pub(super) struct VoteArgs {
    #[command(flatten)]
    election: ElectionArgs,

    /// The student's public key
    #[arg(long, value_name = "FILE")]
    public_key: PathBuf,

    /// Your name, as it stands in the election file
    #[arg(long, value_name = "NAME")]
    teacher: String,

    /// Your votes, one a sample: a column or a row of integers, .npy or .csv (-1 or an empty cell
    /// abstains)
    #[arg(long, value_name = "FILE")]
    votes: PathBuf,

    /// Your column, counted from 1, if the file has one for each teacher
    #[arg(long, value_name = "N")]
    column: Option<usize>,

    /// Where to write the ballot [default: <NAME>.ballot]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &VoteArgs, output: Output) -> Result<(), Failure> {
    let file = args.election.load()?;
    if let Some(deadline) = file.deadline().filter(|&deadline| deadline < Timestamp::now()) {
        console::warn(&format!(
            "the deadline was {deadline}: ask whoever runs the server whether it still takes \
             ballots"
        ));
    }
    let votes = read_votes(&file, &args.votes, args.column)?;
    let out = args.out.clone().unwrap_or_else(|| format!("{}.ballot", args.teacher).into());
    let spinner = console::spinner("encrypting");
    let made = cast(&file, &args.public_key, &args.teacher, &votes, &out, &mut system_rng());
    spinner.finish_and_clear();
    let made = made?;
    match output {
        Output::Json => console::print_json(&json!({
            "election": file.name(),
            "teacher": args.teacher,
            "key": made.key.to_string(),
            "samples": votes.len(),
            "abstentions": made.abstentions,
            "ballot": out.display().to_string(),
        })),
        Output::Tables => console::print(&console::properties(&[
            ("election", file.name().to_string()),
            ("teacher", args.teacher.clone()),
            ("votes", format!("{} samples, {} abstentions", votes.len(), made.abstentions)),
            ("give to the server", out.display().to_string()),
        ])),
    }
}
