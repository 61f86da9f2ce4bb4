//! What the arguments of both programs have in common.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Command, Parser, Subcommand};
use clap_complete::Shell;

use crate::Failure;
use crate::console;

/// Reads a program's arguments; ends the process if they cannot be used.
pub fn parse<P: Parser>(arguments: impl IntoIterator<Item = OsString>) -> P {
    let matches = with_negative_numbers(P::command()).get_matches_from(arguments);
    P::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

/// Lets the option that a negative number is meant for refuse it, by name; otherwise `-1` is an
/// unknown option.
fn with_negative_numbers(command: Command) -> Command {
    let takes = |arg: clap::Arg| {
        let takes = arg.get_action().takes_values();
        if takes { arg.allow_negative_numbers(true) } else { arg }
    };
    command.mut_args(takes).mut_subcommands(with_negative_numbers)
}

/// Shell completions, manual pages
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  shield generate completions bash > \
        ~/.local/share/bash-completion/completions/shield\n  shield generate man --out \
        /usr/local/share/man/man1")]
pub struct GenerateArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the program's manual page, or write the pages of all commands
    Man {
        /// Folder for the pages, one a command [default: the program's page on stdout]
        #[arg(long, value_name = "FOLDER")]
        out: Option<PathBuf>,
    },
}

/// Makes what is asked for, of this program.
pub fn generate(args: &GenerateArgs, mut program: Command) -> Result<(), Failure> {
    let mut text = Vec::new();
    match &args.what {
        What::Completions { shell } => {
            let name = program.get_name().to_owned();
            clap_complete::generate(*shell, &mut program, name, &mut text);
        }
        What::Man { out: Some(folder) } => {
            let cannot = |error| Failure::failed(format!("{}: {error}", folder.display()));
            std::fs::create_dir_all(folder).map_err(cannot)?;
            return clap_mangen::generate_to(program, folder).map_err(cannot);
        }
        What::Man { out: None } => {
            clap_mangen::Man::new(program).render(&mut text).map_err(Failure::failed)?;
        }
    }
    console::print(&String::from_utf8_lossy(&text))
}
