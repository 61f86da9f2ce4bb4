//! The commands, one file each: its arguments, and what it does.

mod analyze;
mod bench;
mod completions;
mod demo;
mod label;
mod man;
mod plan;
mod synthesize;

use clap::{Parser, Subcommand};

use crate::failure::Failure;

/// The program's arguments.
#[derive(Debug, Parser)]
#[command(
    name = "shield",
    version,
    about = "Label data together without showing anyone your votes",
    long_about = "Label data together without showing anyone your votes.\n\n\
        Teachers vote on samples, a server that cannot read the votes draws a label for each \
        sample, and only the student can read the labels. The randomness of the draw is the \
        differential privacy.\n\nStart with: shield demo"
)]
pub(crate) struct Cli {
    /// Print one JSON document on stdout instead of tables
    #[arg(long, global = true)]
    json: bool,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::DemoArgs),
    Label(label::LabelArgs),
    Analyze(analyze::AnalyzeArgs),
    Plan(plan::PlanArgs),
    Bench(bench::BenchArgs),
    Synthesize(synthesize::SynthesizeArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

/// How a command shows its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// Tables for people.
    Tables,
    /// One JSON document for machines.
    Json,
}

/// Runs the command that the arguments name.
pub(crate) fn run(cli: Cli) -> Result<(), Failure> {
    let output = if cli.json {
        Output::Json
    } else {
        Output::Tables
    };
    match cli.command {
        Command::Demo(args) => demo::run(&args, output),
        Command::Label(args) => label::run(&args, output),
        Command::Analyze(args) => analyze::run(&args, output),
        Command::Plan(args) => plan::run(&args, output),
        Command::Bench(args) => bench::run(&args, output),
        Command::Synthesize(args) => synthesize::run(&args, output),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    }
}
