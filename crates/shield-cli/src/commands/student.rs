//! `learn student`: a student from few private labels and many images without one.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use shield_core::{Classes, Label};
use shield_data as files;
use shield_learn::Student;
use shield_learn::data::Mnist;
use shield_learn::student::Variant;

use super::Output;
use crate::console::{self, Report, duration, percent};
use crate::failure::Failure;
use crate::inputs::learn_failed;

/// Train a student on privately labelled test images of MNIST
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shield learn student --data mnist/package/data --labels labels.csv \
    --queries 100 --out student.model\n\n\
    The labels are those of the first test images; the images after them are for testing."
)]
pub(super) struct StudentArgs {
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
    #[arg(long, value_enum, default_value_t = Variant::Strong)]
    variant: Variant,

    /// Which first weights and order
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,

    /// Where to write the model
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

pub(super) fn run(args: &StudentArgs, output: Output) -> Result<(), Failure> {
    files::check_folder(&args.out)?;
    let labels = files::read_labels(&args.labels)?;
    let public = Mnist::load(&args.data).map_err(learn_failed)?.test;
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
    let start = Instant::now();
    let seen = public.images.select(0..args.images);
    let student = Student::learn(args.variant, &seen, &labels, classes, args.seed);
    let student = student
        .map_err(|error| Failure::bad_input(format!("{}: {error}", args.labels.display())))?;
    let seconds = start.elapsed().as_secs_f64();
    student.save(&args.out).map_err(learn_failed)?;
    let found = student.predict(&public.images.select(args.images..total));
    let right = found.iter().zip(&public.classes[args.images..]).filter(|(a, b)| a == b).count();
    let accuracy = right as f64 / found.len() as f64;
    let used = labels.iter().flatten().count();
    Report::default()
        .row("student", args.out.display().to_string())
        .key("images", args.images)
        .said("labels", used, "learnt from", format!("{used} labels, {} images", args.images))
        .key("tested", found.len())
        .said(
            "accuracy",
            accuracy,
            "right on other images",
            format!("{} of {}", percent(accuracy), found.len()),
        )
        .said("seconds", seconds, "time", duration(seconds))
        .print(output)
}

/// The labels of the student's images, all but the first `--queries` of them taken away.
fn chosen(labels: &[Label], args: &StudentArgs) -> Result<Vec<Label>, Failure> {
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
