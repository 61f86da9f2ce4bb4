//! `learn` in a program that was built without it: how to get one with it.

use std::ffi::OsString;

use clap::Args;

use super::Output;
use crate::failure::Failure;

/// Train teachers and students (built with --features learn)
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shield learn experiment digits --out try-it\n\n\
    This program was built without it. One that has it:\n  cargo run --release --features learn -- \
    learn --help")]
pub(super) struct LearnArgs {
    /// Arguments of a command this build lacks; passed through unparsed
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

pub(super) fn run(args: &LearnArgs, _: Output) -> Result<(), Failure> {
    let mut command = "cargo run --release --features learn -- learn".to_owned();
    for argument in &args.arguments {
        command.push(' ');
        command.push_str(&argument.to_string_lossy());
    }
    Err(Failure::bad_input(format!(
        "this program was built without teachers and students; one that has them (it takes some \
         minutes to build): {command}"
    )))
}
