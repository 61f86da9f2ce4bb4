//! `synthesize`: made-up votes of any size, to try things out.

use std::path::PathBuf;

use clap::Args;
use shield_core::{Classes, Histogram, synthetic};

use super::Output;
use crate::console::{Report, percent};
use crate::failure::Failure;

/// Make up votes to try things out
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shield synthesize --samples 8000 --votes votes.npy --labels \
        labels.npy\n\n\
    The votes are synthetic: no model and no data set stands behind them.")]
pub(super) struct SynthesizeArgs {
    /// Number of teachers
    #[arg(long, value_name = "N", default_value_t = 250)]
    teachers: usize,

    /// Number of classes
    #[arg(long, value_name = "K", default_value = "10")]
    classes: Classes,

    /// Number of samples
    #[arg(long, value_name = "S", default_value_t = 1000)]
    samples: usize,

    /// Which votes: the same number makes the same ones
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    number: u64,

    /// Where to write the votes, .npy or .csv
    #[arg(long, value_name = "FILE")]
    votes: PathBuf,

    /// Where to write the true labels, .npy or .csv
    #[arg(long, value_name = "FILE")]
    labels: PathBuf,
}

pub(super) fn run(args: &SynthesizeArgs, output: Output) -> Result<(), Failure> {
    shield_data::check_target(&args.votes)?;
    shield_data::check_target(&args.labels)?;
    if args.votes == args.labels {
        return Err(Failure::bad_input(
            "--votes and --labels name the same file; give each a file of its own",
        ));
    }
    let (votes, labels) = synthetic::votes(args.teachers, args.classes, args.samples, args.number)?;
    shield_data::write_votes(&args.votes, &votes).map_err(Failure::failed)?;
    shield_data::write_labels(&args.labels, &labels).map_err(Failure::failed)?;
    let samples = votes.samples() as f64;
    let top_share =
        votes.histograms().map(|histogram| histogram.top_share()).sum::<f64>() / samples;
    let leads = |(histogram, truth): &(Histogram, &shield_core::Label)| {
        histogram.leaders().next() == **truth
    };
    let right = votes.histograms().zip(labels.as_slice()).filter(leads).count();
    let shape = format!(
        "{} ({} samples x {} teachers, {} classes)",
        args.votes.display(),
        votes.samples(),
        votes.teachers(),
        votes.classes()
    );
    Report::default()
        .key("samples", votes.samples())
        .key("teachers", votes.teachers())
        .key("classes", votes.classes())
        .row("synthetic votes", shape)
        .row("true labels", args.labels.display().to_string())
        .said("top_share", top_share, "mean share of the leading class", percent(top_share))
        .said(
            "leader_right",
            right,
            "leading class is the true one",
            percent(right as f64 / samples),
        )
        .print(output)
}
