//! `predict`: what a student's model says of images.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use shield::{Class, Labels, files};
use shield_learn::data::Mnist;
use shield_learn::model_file::Student;

use super::Output;
use crate::console::{self, percent};
use crate::failure::Failure;

/// Classify the test images of MNIST with a student's model
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  shield predict --model student.model --data mnist/package/data \
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
    files::check_target(&args.out)?;
    let student = Student::load(&args.model)
        .map_err(|error| Failure::bad_input(format!("{}: {error}", args.model.display())))?;
    let public = Mnist::load(&args.data).map_err(Failure::bad_input)?.test;
    if student.model.shape().side != public.images.side() {
        return Err(Failure::bad_input(format!(
            "{}: the model is for images of another size; make it again with `shield learn`",
            args.model.display()
        )));
    }
    let found = student.predict(&public.images);
    let right = found.iter().zip(&public.classes).filter(|(a, b)| a == b).count();
    let accuracy = right as f64 / found.len() as f64;
    let labels = found.iter().map(|&class| Some(Class(u16::from(class)))).collect();
    files::write_labels(&args.out, &Labels::new(labels)?).map_err(Failure::failed)?;
    match output {
        Output::Json => {
            console::print_json(&json!({ "images": found.len(), "accuracy": accuracy }))
        }
        Output::Tables => console::print(&console::properties(&[
            ("predicted", format!("{} ({} images)", args.out.display(), found.len())),
            ("right", percent(accuracy)),
        ])),
    }
}
