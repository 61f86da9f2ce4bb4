//! The commands, one file each: its arguments, and what it does.

mod aggregate;
mod analyze;
mod audit;
mod bench;
mod board;
mod bound;
mod compare;
mod demo;
mod election;
#[cfg(feature = "learn")]
mod experiment;
mod explore;
mod fetch;
mod identity;
mod job;
mod keygen;
mod label;
#[cfg_attr(not(feature = "learn"), path = "without_learn.rs")]
mod learn;
mod operator;
mod overview;
mod plan;
#[cfg(feature = "learn")]
mod predict;
mod preflight;
mod recommend;
mod rehearse;
mod reveal;
mod roles;
mod status;
#[cfg(feature = "learn")]
mod student;
mod submit;
mod synthesize;
#[cfg(feature = "learn")]
mod teach;
mod tokens;
mod tune;
mod verify;
mod vote;

use clap::{CommandFactory, Parser, Subcommand};
use shield_terminal::arguments::{self, GenerateArgs};

use crate::console::Output;
use crate::failure::Failure;
use crate::inputs::on_threads;

/// The program's arguments.
#[derive(Debug, Parser)]
#[command(
    name = "shield",
    version,
    about = "Label data together without showing anyone your votes",
    after_help = "Start with: shield demo. Each command has --help with an example.",
    help_template = overview::template()
)]
pub(crate) struct Cli {
    /// Print one JSON document on stdout instead of tables
    #[arg(long, global = true)]
    json: bool,

    /// Number of threads [default: all cores; one for bench]
    #[arg(long, global = true, value_name = "T")]
    threads: Option<usize>,

    #[command(subcommand)]
    command: Command,
}

/// In the order and groups of [`overview`].
#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::DemoArgs),
    Explore(explore::ExploreArgs),
    Synthesize(synthesize::SynthesizeArgs),
    Label(label::LabelArgs),
    Analyze(analyze::AnalyzeArgs),
    Compare(compare::CompareArgs),
    Recommend(recommend::RecommendArgs),
    Bound(bound::BoundArgs),
    Tune(tune::TuneArgs),
    Plan(plan::PlanArgs),
    Identity(identity::IdentityCommandArgs),
    Board(board::BoardArgs),
    Keygen(keygen::KeygenArgs),
    Vote(vote::VoteArgs),
    Aggregate(aggregate::AggregateArgs),
    Job(job::JobArgs),
    Reveal(reveal::RevealArgs),
    Verify(verify::VerifyArgs),
    Audit(audit::AuditArgs),
    Election(election::ElectionArgs),
    Operator(operator::OperatorArgs),
    Bench(bench::BenchArgs),
    Learn(learn::LearnArgs),
    Generate(GenerateArgs),
}

impl Cli {
    /// The program's arguments; ends it if they cannot be used.
    pub(crate) fn read(arguments: impl IntoIterator<Item = std::ffi::OsString>) -> Self {
        arguments::parse(arguments)
    }
}

/// Runs the command that the arguments name.
pub(crate) fn run(cli: Cli) -> Result<(), Failure> {
    let output = if cli.json { Output::Json } else { Output::Tables };
    let threads = cli.threads.or(matches!(cli.command, Command::Bench(_)).then_some(1));
    on_threads(threads, || run_command(cli.command, output))?
}

fn run_command(command: Command, output: Output) -> Result<(), Failure> {
    match command {
        Command::Demo(args) => demo::run(&args, output),
        Command::Explore(args) => explore::run(&args, output),
        Command::Synthesize(args) => synthesize::run(&args, output),
        Command::Label(args) => label::run(&args, output),
        Command::Analyze(args) => analyze::run(&args, output),
        Command::Compare(args) => compare::run(&args, output),
        Command::Recommend(args) => recommend::run(&args, output),
        Command::Bound(args) => bound::run(&args, output),
        Command::Tune(args) => tune::run(&args, output),
        Command::Plan(args) => plan::run(&args, output),
        Command::Identity(args) => identity::run(&args, output),
        Command::Board(args) => board::run(&args, output),
        Command::Keygen(args) => keygen::run(&args, output),
        Command::Vote(args) => vote::run(&args, output),
        Command::Aggregate(args) => aggregate::run(&args, output),
        Command::Job(args) => job::run(&args, output),
        Command::Reveal(args) => reveal::run(&args, output),
        Command::Verify(args) => verify::run(&args, output),
        Command::Audit(args) => audit::run(&args, output),
        Command::Election(args) => election::run(&args, output),
        Command::Operator(args) => operator::run(&args, output),
        Command::Bench(args) => bench::run(&args, output),
        Command::Learn(args) => learn::run(&args, output),
        Command::Generate(args) => arguments::generate(&args, Cli::command()),
    }
}
