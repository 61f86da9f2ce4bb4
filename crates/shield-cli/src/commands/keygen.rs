//! `keygen`: the student's keys, as three files.

use std::path::PathBuf;

use clap::Args;
use shield_protocol::make_keys;

use super::{Output, rehearse};
use crate::console::{self, Report};
use crate::failure::Failure;
use crate::inputs::{ElectionArgs, system_rng};

/// Student: make the keys of an election
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shield keygen --election ward-7.toml --out keys\n\n\
    Writes secret.key (for the student alone), public.key (for every teacher) and evaluation.key \
    (for the server), and sees that they work on made-up votes. Existing keys are never \
    overwritten.")]
pub(super) struct KeygenArgs {
    #[command(flatten)]
    election: ElectionArgs,

    /// Folder for the three keys; made if it is not there
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
}

pub(super) fn run(args: &KeygenArgs, output: Output) -> Result<(), Failure> {
    let file = args.election.load()?;
    let made = console::watched("making keys", |_| make_keys(&file, &args.out, &mut system_rng()))?;
    let files = &made.files;
    console::watched("testing them", |_| rehearse::locally(&file, files))?;
    console::note(
        "Student and server must not work together: the secret key reads every ballot, and the \
         server has the ballots. Never give secret.key to anyone, and keep a copy: without it \
         nobody can read the labels.",
    );
    console::next(
        output,
        &format!(
            "over a server: shield election submit --invitation student.toml {} {}; over files: \
             send the first to every teacher and the second to the server",
            files.public.display(),
            files.evaluation.display()
        ),
    );
    Report::default()
        .fact("election", "election", file.name())
        .fact("key", "keys", made.id)
        .file("secret_key", "keep, the student alone", &files.secret)
        .file("public_key", "give to every teacher", &files.public)
        .file("evaluation_key", "give to the server", &files.evaluation)
        .print(output)
}
