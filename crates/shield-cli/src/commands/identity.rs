//! `identity`: a party's own keys.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use shield_board::{Identity, Name};
use shield_protocol::ProtocolError;

use super::Output;
use crate::console::{self, Report};
use crate::failure::Failure;
use crate::inputs::{IdentityArgs, system_rng};

/// Your keys for signed elections: new, show
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shield identity new amber\n\n\
    Every party makes its own identity, once, and gives the public line to whoever writes the \
    election file.")]
pub(super) struct IdentityCommandArgs {
    #[command(subcommand)]
    step: Step,
}

#[derive(Debug, Subcommand)]
enum Step {
    New(NewArgs),
    Show(ShowArgs),
}

/// Make an identity: a file for you alone
#[derive(Args, Debug)]
struct NewArgs {
    /// Your name, as it will be in election files
    name: Name,

    /// Where to write it; never over another [default: <NAME>.identity]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Print the public line and the fingerprint of an identity
#[derive(Args, Debug)]
struct ShowArgs {
    #[command(flatten)]
    identity: IdentityArgs,
}

pub(super) fn run(args: &IdentityCommandArgs, output: Output) -> Result<(), Failure> {
    match &args.step {
        Step::New(args) => new(args, output),
        Step::Show(args) => show(&args.identity.load()?).print(output),
    }
}

fn new(args: &NewArgs, output: Output) -> Result<(), Failure> {
    let path = args.out.clone().unwrap_or_else(|| format!("{}.identity", args.name).into());
    let identity = Identity::generate(args.name.clone(), &mut system_rng());
    identity.write(&path).map_err(ProtocolError::from)?;
    console::note(&format!(
        "Keep a copy of {}, and give it to nobody: whoever has it signs in your name.",
        path.display()
    ));
    console::next(output, "give the public line to whoever writes the election file");
    show(&identity).file("identity", "keep, you alone", &path).print(output)
}

fn show(identity: &Identity) -> Report {
    Report::default()
        .fact("name", "name", identity.name())
        .fact("public_line", "public line", identity.public_line())
        .fact("fingerprint", "fingerprint", identity.public().fingerprint())
}
