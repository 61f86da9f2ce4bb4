//! `synthesize`: made-up votes of any size, to try things out.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use shield::{Classes, Histogram, files, synthetic};

use super::Output;
use crate::console;
use crate::failure::Failure;

/// Make up votes with the profile of the paper's, to try things out
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
    files::check_target(&args.votes)?;
    files::check_target(&args.labels)?;
    if args.votes == args.labels {
        return Err(Failure::bad_input(
            "--votes and --labels name the same file; give each a file of its own",
        ));
    }
    let (votes, labels) = synthetic::votes(args.teachers, args.classes, args.samples, args.number)?;
    files::write_votes(&args.votes, &votes).map_err(Failure::failed)?;
    files::write_labels(&args.labels, &labels).map_err(Failure::failed)?;
    let samples = votes.samples() as f64;
    let top_share =
        votes.histograms().map(|histogram| histogram.top_share()).sum::<f64>() / samples;
    let leads =
        |(histogram, truth): &(Histogram, &shield::Label)| histogram.leaders().next() == **truth;
    let right = votes.histograms().zip(labels.as_slice()).filter(leads).count();
    match output {
        Output::Json => console::print_json(&json!({
            "samples": votes.samples(),
            "teachers": votes.teachers(),
            "classes": votes.classes(),
            "top_share": top_share,
            "leader_right": right,
        })),
        Output::Tables => console::print(&console::properties(&[
            (
                "synthetic votes",
                format!(
                    "{} ({} samples x {} teachers, {} classes)",
                    args.votes.display(),
                    votes.samples(),
                    votes.teachers(),
                    votes.classes()
                ),
            ),
            ("true labels", args.labels.display().to_string()),
            ("mean share of the leading class", console::percent(top_share)),
            ("leading class is the true one", console::percent(right as f64 / samples)),
        ])),
    }
}
