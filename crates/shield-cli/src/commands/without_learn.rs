//! The commands of teachers and students in a program that was built without them: how to get one
//! with them.

use std::ffi::OsString;

use clap::{Args, Subcommand};

use crate::failure::Failure;

/// The commands by name.
#[derive(Debug, Subcommand)]
pub(super) enum Learning {
    /// Train teachers on MNIST and write their votes (built with --features learn)
    #[command(
        after_help = "Example:\n  shield teach --data mnist/package/data --votes votes.npy.gz\n\n\
        This program was built without it. One that has it:\n  cargo run --release --features \
        learn -- teach --help"
    )]
    Teach(Given),
    /// Train a student on private labels (built with --features learn)
    #[command(
        after_help = "Example:\n  shield learn --data mnist/package/data --labels labels.csv \
            --out student.model\n\n\
        This program was built without it. One that has it:\n  cargo run --release --features \
        learn -- learn --help"
    )]
    Learn(Given),
    /// Classify images with a student's model (built with --features learn)
    #[command(
        after_help = "Example:\n  shield predict --model student.model --data mnist/package/data \
            --out predicted.csv\n\n\
        This program was built without it. One that has it:\n  cargo run --release --features \
        learn -- predict --help"
    )]
    Predict(Given),
    /// The paper's experiment, with every mechanism (built with --features learn)
    #[command(after_help = "Example:\n  shield experiment digits --out try-it\n\n\
        This program was built without it. One that has it:\n  cargo run --release --features \
        learn -- experiment --help")]
    Experiment(Given),
}

/// Whatever was given: a command that is not there knows no options.
#[derive(Args, Debug)]
pub(super) struct Given {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

pub(super) fn run(command: &Learning) -> Result<(), Failure> {
    let (name, given) = match command {
        Learning::Teach(given) => ("teach", given),
        Learning::Learn(given) => ("learn", given),
        Learning::Predict(given) => ("predict", given),
        Learning::Experiment(given) => ("experiment", given),
    };
    let mut command = format!("cargo run --release --features learn -- {name}");
    for argument in &given.arguments {
        command.push(' ');
        command.push_str(&argument.to_string_lossy());
    }
    Err(Failure::bad_input(format!(
        "this program was built without teachers and students; one that has them (it takes some \
         minutes to build): {command}"
    )))
}
