//! `learn`: a student from few private labels and many images without one.

use std::path::PathBuf;
use std::time::Instant;

use clap::{Args, ValueEnum};
use serde_json::json;
use shield::{Classes, Label, files};
use shield_learn::data::Mnist;
use shield_learn::model_file::Student;
use shield_learn::student::Variant;

use super::Output;
use crate::console::{self, duration, percent};
use crate::failure::Failure;
use crate::inputs::on_threads;

/// Train a student on privately labelled test images of MNIST
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shield learn --data mnist/package/data --labels labels.csv \
    --queries 100 --out student.model\n\n\
    The labels are those of the first test images; the images after them are for testing.")]
pub(super) struct LearnArgs {
    /// Folder with the four files of MNIST
    #[arg(long, value_name = "FOLDER")]
    data: PathBuf,

    /// Labels from `label`, one an image, absent where there is none
    #[arg(long, value_name = "FILE")]
    labels: PathBuf,

    /// Use only so many labels: those of the first images that have one
    #[arg(long, value_name = "Q")]
    queries: Option<usize>,

    /// Images the student may see; the rest are for testing
    #[arg(long, value_name = "S", default_value_t = 8000)]
    images: usize,

    /// How the student learns
    #[arg(long, value_enum, default_value_t = VariantName::Strong)]
    variant: VariantName,

    /// Which first weights and order
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,

    /// Number of threads [default: all cores]
    #[arg(long, value_name = "T")]
    threads: Option<usize>,

    /// Where to write the model
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// The variants by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum VariantName {
    /// Semi-supervised, on upright images
    Strong,
    /// Semi-supervised, on images as they are
    Plain,
    /// On the labelled images alone
    Supervised,
    /// Semi-supervised, on images as they are, compared by their strokes
    Shapes,
}

impl From<VariantName> for Variant {
    fn from(name: VariantName) -> Self {
        match name {
            VariantName::Strong => Self::Strong,
            VariantName::Plain => Self::Plain,
            VariantName::Supervised => Self::Supervised,
            VariantName::Shapes => Self::Shapes,
        }
    }
}

pub(super) fn run(args: &LearnArgs, output: Output) -> Result<(), Failure> {
    files::check_folder(&args.out)?;
    let labels = files::read_labels(&args.labels)?;
    let public = Mnist::load(&args.data).map_err(Failure::bad_input)?.test;
    let total = public.images.len();
    if args.images == 0 || args.images >= total {
        return Err(Failure::bad_input(format!(
            "--images is {}; give from 1 to {}, so that some of the {total} are left for testing",
            args.images,
            total - 1
        )));
    }
    let classes = Classes::new(10)?;
    let labels = chosen(labels.as_slice(), args)?;
    let variant = Variant::from(args.variant);
    let start = Instant::now();
    let prepared = variant.prepare(&public.images.select(0..args.images));
    let model = on_threads(args.threads, |_| {
        let neighbours = variant.neighbours(&prepared);
        variant.learn(&prepared, neighbours.as_ref(), &labels, classes, args.seed)
    })?
    .map_err(|error| Failure::bad_input(format!("{}: {error}", args.labels.display())))?;
    let student = Student { variant, model };
    let seconds = start.elapsed().as_secs_f64();
    student
        .save(&args.out)
        .map_err(|error| Failure::failed(format!("{}: {error}", args.out.display())))?;
    let found = student.predict(&public.images.select(args.images..total));
    let right = found.iter().zip(&public.classes[args.images..]).filter(|(a, b)| a == b).count();
    let accuracy = right as f64 / found.len() as f64;
    let used = labels.iter().flatten().count();
    match output {
        Output::Json => console::print_json(&json!({
            "images": args.images,
            "labels": used,
            "tested": found.len(),
            "accuracy": accuracy,
            "seconds": seconds,
        })),
        Output::Tables => console::print(&console::properties(&[
            ("student", args.out.display().to_string()),
            ("learnt from", format!("{used} labels, {} images", args.images)),
            ("right on other images", format!("{} of {}", percent(accuracy), found.len())),
            ("time", duration(seconds)),
        ])),
    }
}

/// The labels of the student's images, all but the first `--queries` of them taken away.
fn chosen(labels: &[Label], args: &LearnArgs) -> Result<Vec<Label>, Failure> {
    if labels.len() > args.images {
        console::warn(&format!(
            "{} labels for {} images: the labels after the first {} are left out",
            labels.len(),
            args.images,
            args.images
        ));
    }
    let mut left = args.queries.unwrap_or(usize::MAX);
    if left == 0 {
        return Err(Failure::bad_input("--queries is 0; a student needs labels to learn from"));
    }
    let mut chosen: Vec<Label> = labels.iter().copied().take(args.images).collect();
    chosen.resize(args.images, None);
    for label in &mut chosen {
        if left == 0 {
            *label = None;
        }
        left -= usize::from(label.is_some());
    }
    Ok(chosen)
}
