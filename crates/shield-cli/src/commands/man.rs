//! `man`: manual pages, one for the program and one for each command.

use std::path::PathBuf;

use clap::{Args, CommandFactory};

use super::Cli;
use crate::console;
use crate::failure::Failure;

/// Write the manual pages
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  shield man | man -l -\n  shield man --out /usr/local/share/man/man1"
)]
pub(super) struct ManArgs {
    /// Folder for the pages, one a command [default: the program's page on stdout]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &ManArgs) -> Result<(), Failure> {
    let program = Cli::command();
    if let Some(folder) = &args.out {
        let cannot = |error| Failure::failed(format!("{}: {error}", folder.display()));
        std::fs::create_dir_all(folder).map_err(cannot)?;
        return clap_mangen::generate_to(program, folder).map_err(cannot);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(program).render(&mut page).map_err(Failure::failed)?;
    console::print(&String::from_utf8_lossy(&page))
}
