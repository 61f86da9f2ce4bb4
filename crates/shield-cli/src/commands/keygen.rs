//! `keygen`: the student's keys, as three files.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use shield_protocol::make_keys;

use super::{Output, rehearse};
use crate::console;
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
    let spinner = console::spinner("making keys");
    let made = make_keys(&file, &args.out, &mut system_rng());
    spinner.finish_and_clear();
    let made = made?;
    let spinner = console::spinner("seeing that they work");
    let files = &made.files;
    let rehearsed = rehearse::locally(&file, &files.public, &files.evaluation, &files.secret);
    spinner.finish_and_clear();
    rehearsed?;
    console::note(
        "Student and server must not work together: the secret key reads every ballot, and the \
         server has the ballots. Never give secret.key to anyone, and keep a copy: without it \
         nobody can read the labels.",
    );
    let files = &made.files;
    console::next(
        output,
        &format!(
            "over a server: shield submit --invitation student.toml {} {}; over files: send the \
             first to every teacher and the second to the server",
            files.public.display(),
            files.evaluation.display()
        ),
    );
    match output {
        Output::Json => console::print_json(&json!({
            "election": file.name(),
            "key": made.id.to_string(),
            "secret_key": made.files.secret.display().to_string(),
            "public_key": made.files.public.display().to_string(),
            "evaluation_key": made.files.evaluation.display().to_string(),
        })),
        Output::Tables => console::print(&console::properties(&[
            ("election", file.name().to_string()),
            ("keys", made.id.to_string()),
            ("keep, the student alone", made.files.secret.display().to_string()),
            ("give to every teacher", made.files.public.display().to_string()),
            ("give to the server", made.files.evaluation.display().to_string()),
        ])),
    }
}
