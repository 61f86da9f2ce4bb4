//! `predict`: what a student's model says of images.

use std::path::PathBuf;

use clap::Args;
use shield_core::{Class, Labels};
use shield_learn::Student;
use shield_learn::data::Mnist;

use super::Output;
use crate::console::{Report, percent};
use crate::failure::Failure;
use crate::inputs::learn_failed;

/// Classify the test images of MNIST with a student's model
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shield learn predict --model student.model --data mnist/package/data \
    --out predicted.csv"
)]
pub(super) struct PredictArgs {
    /// The model that `learn` wrote
    #[arg(long, value_name = "FILE")]
    model: PathBuf,

    /// Folder with the four files of MNIST
    #[arg(long, value_name = "FOLDER")]
    data: PathBuf,

    /// Where to write the classes, .npy or .csv
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

pub(super) fn run(args: &PredictArgs, output: Output) -> Result<(), Failure> {
    shield_data::check_target(&args.out)?;
    let student = Student::load(&args.model).map_err(learn_failed)?;
    let public = Mnist::load(&args.data).map_err(learn_failed)?.test;
    if student.side() != public.images.side() {
        return Err(Failure::bad_input(format!(
            "{}: the model is for images of another size; make it again with `shield learn \
             student`",
            args.model.display()
        )));
    }
    let found = student.predict(&public.images);
    let right = found.iter().zip(&public.classes).filter(|(a, b)| a == b).count();
    let accuracy = right as f64 / found.len() as f64;
    let labels = found.iter().map(|&class| Some(Class(u16::from(class)))).collect();
    shield_data::write_labels(&args.out, &Labels::new(labels)?).map_err(Failure::failed)?;
    Report::default()
        .key("images", found.len())
        .row("predicted", format!("{} ({} images)", args.out.display(), found.len()))
        .said("accuracy", accuracy, "right", percent(accuracy))
        .print(output)
}
