//! `learn`: teachers, students and the paper's experiments.

use clap::{Args, Subcommand};

use super::{Output, experiment, predict, student, teach};
use crate::failure::Failure;

/// Train teachers and students; repeat the paper's experiments
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shield learn experiment digits --out try-it")]
pub(super) struct LearnArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Teach(teach::TeachArgs),
    Student(student::StudentArgs),
    Predict(predict::PredictArgs),
    Experiment(experiment::ExperimentArgs),
}

pub(super) fn run(args: &LearnArgs, output: Output) -> Result<(), Failure> {
    match &args.what {
        What::Teach(args) => teach::run(args, output),
        What::Student(args) => student::run(args, output),
        What::Predict(args) => predict::run(args, output),
        What::Experiment(args) => experiment::run(args, output),
    }
}
