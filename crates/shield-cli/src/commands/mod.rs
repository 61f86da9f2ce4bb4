//! The commands, one file each: its arguments, and what it does.

mod aggregate;
mod analyze;
mod argmax;
mod audit;
mod audit_log;
mod backup;
mod bench;
mod bench_argmax;
mod bench_args;
mod bound;
mod budget;
mod close;
mod commit;
mod compare;
mod completions;
mod demo;
mod erase;
#[cfg(feature = "learn")]
mod experiment;
mod explore;
mod fetch;
mod job;
mod keygen;
mod label;
#[cfg(feature = "learn")]
mod learn;
mod ledger;
mod man;
mod measuring;
mod plan;
#[cfg(feature = "learn")]
mod predict;
mod preflight;
mod recommend;
mod rehearse;
mod reveal;
mod roles;
mod schedule;
mod serve;
mod serve_config;
mod status;
mod submit;
mod synthesize;
#[cfg(feature = "learn")]
mod teach;
#[cfg_attr(not(feature = "tfhe"), path = "without_tfhe.rs")]
mod tfhe;
mod tokens;
mod tune;
mod upload;
mod verify;
mod vote;
#[cfg(not(feature = "learn"))]
mod without_learn;

use crate::console::Output;
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

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
    Compare(compare::CompareArgs),
    Recommend(recommend::RecommendArgs),
    Bound(bound::BoundArgs),
    Tune(tune::TuneArgs),
    Explore(explore::ExploreArgs),
    Plan(plan::PlanArgs),
    Bench(bench_args::BenchArgs),
    Synthesize(synthesize::SynthesizeArgs),
    Keygen(keygen::KeygenArgs),
    Rehearse(rehearse::RehearseArgs),
    Commit(commit::CommitArgs),
    Vote(vote::VoteArgs),
    Aggregate(aggregate::AggregateArgs),
    Job(job::JobArgs),
    Reveal(reveal::RevealArgs),
    Audit(audit::AuditArgs),
    Verify(verify::VerifyArgs),
    #[cfg(feature = "learn")]
    Teach(teach::TeachArgs),
    #[cfg(feature = "learn")]
    Learn(learn::LearnArgs),
    #[cfg(feature = "learn")]
    Predict(predict::PredictArgs),
    #[cfg(feature = "learn")]
    Experiment(experiment::ExperimentArgs),
    #[cfg(not(feature = "learn"))]
    #[command(flatten)]
    Learning(without_learn::Learning),
    Serve(serve::ServeArgs),
    Submit(submit::SubmitArgs),
    Status(status::StatusArgs),
    Close(close::CloseArgs),
    Fetch(fetch::FetchArgs),
    Budget(budget::BudgetArgs),
    Ledger(ledger::LedgerArgs),
    Tokens(tokens::TokensArgs),
    AuditLog(audit_log::AuditLogArgs),
    Schedule(schedule::ScheduleArgs),
    Erase(erase::EraseArgs),
    Backup(backup::BackupArgs),
    Restore(backup::RestoreArgs),
    Preflight(preflight::PreflightArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

impl Cli {
    /// The program's arguments; ends it if they cannot be used.
    pub(crate) fn read(arguments: impl IntoIterator<Item = std::ffi::OsString>) -> Self {
        let arguments =
            serve_config::expand(arguments.into_iter().collect()).unwrap_or_else(|problem| {
                Self::command().error(ErrorKind::InvalidValue, problem).exit()
            });
        let matches = with_negative_numbers(Self::command()).get_matches_from(arguments);
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }
}

/// Lets the option that a negative number is meant for refuse it, by name; otherwise `-1` is an
/// unknown option.
fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let takes = |arg: clap::Arg| {
        let takes = arg.get_action().takes_values();
        if takes { arg.allow_negative_numbers(true) } else { arg }
    };
    command.mut_args(takes).mut_subcommands(with_negative_numbers)
}

/// Runs the command that the arguments name.
pub(crate) fn run(cli: Cli) -> Result<(), Failure> {
    let output = if cli.json { Output::Json } else { Output::Tables };
    match cli.command {
        Command::Demo(args) => demo::run(&args, output),
        Command::Label(args) => label::run(&args, output),
        Command::Analyze(args) => analyze::run(&args, output),
        Command::Compare(args) => compare::run(&args, output),
        Command::Recommend(args) => recommend::run(&args, output),
        Command::Bound(args) => bound::run(&args, output),
        Command::Tune(args) => tune::run(&args, output),
        Command::Explore(args) => explore::run(&args, output),
        Command::Plan(args) => plan::run(&args, output),
        Command::Bench(args) => bench::run(&args, output),
        Command::Synthesize(args) => synthesize::run(&args, output),
        Command::Keygen(args) => keygen::run(&args, output),
        Command::Rehearse(args) => rehearse::run(&args, output),
        Command::Commit(args) => commit::run(&args, output),
        Command::Vote(args) => vote::run(&args, output),
        Command::Aggregate(args) => aggregate::run(&args, output),
        Command::Job(args) => job::run(&args, output),
        Command::Reveal(args) => reveal::run(&args, output),
        Command::Audit(args) => audit::run(&args, output),
        Command::Verify(args) => verify::run(&args, output),
        #[cfg(feature = "learn")]
        Command::Teach(args) => teach::run(&args, output),
        #[cfg(feature = "learn")]
        Command::Learn(args) => learn::run(&args, output),
        #[cfg(feature = "learn")]
        Command::Predict(args) => predict::run(&args, output),
        #[cfg(feature = "learn")]
        Command::Experiment(args) => experiment::run(&args, output),
        #[cfg(not(feature = "learn"))]
        Command::Learning(command) => without_learn::run(&command),
        Command::Serve(args) => serve::run(&args),
        Command::Submit(args) => submit::run(&args, output),
        Command::Status(args) => status::run(&args, output),
        Command::Close(args) => close::run(&args, output),
        Command::Fetch(args) => fetch::run(&args, output),
        Command::Budget(args) => budget::run(&args, output),
        Command::Ledger(args) => ledger::run(&args, output),
        Command::Tokens(args) => tokens::run(&args, output),
        Command::AuditLog(args) => audit_log::run(&args, output),
        Command::Schedule(args) => schedule::run(&args, output),
        Command::Erase(args) => erase::run(&args, output),
        Command::Backup(args) => backup::run(&args, output),
        Command::Restore(args) => backup::restore(&args, output),
        Command::Preflight(args) => preflight::run(&args, output),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    }
}
