//! `completions`: for the shells.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::Cli;
use crate::console;
use crate::failure::Failure;

/// Print completions for a shell
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shield completions bash > \
        ~/.local/share/bash-completion/completions/shield")]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(super) fn run(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "shield", &mut script);
    console::print(&String::from_utf8_lossy(&script))
}
