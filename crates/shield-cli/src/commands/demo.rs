//! `demo`: the whole story on votes that come with the program.

use clap::Args;
use rand::TryRngCore;
use rand::rngs::OsRng;
use serde_json::json;
use shield::{Accuracy, Election, Histogram, Labels, Mechanism, Seed, Votes, files};

use shield_bfv::ReleaseMode;

use super::Output;
use super::label::{self, Engine};
use crate::console::{self, percent};
use crate::failure::Failure;
use crate::inputs::on_threads;

/// The whole story on votes that come with the program
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shield demo")]
pub(super) struct DemoArgs {
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "T")]
    threads: Option<usize>,
}

/// Real votes: see examples/mnist/README.md.
const VOTES: &[u8] = include_bytes!("../../../../examples/mnist/paper-votes.npy.gz");
const DIGITS: &[u8] = include_bytes!("../../../../examples/mnist/digits.npy.gz");

/// So many of the shipped samples are labelled: enough to see how good the labels are.
const SAMPLES: usize = 1000;

/// The first of the shipped votes, and the true digits.
fn shipped() -> Result<(Votes, Labels), Failure> {
    let votes = files::votes_from_packed_npy(VOTES, None).map_err(Failure::failed)?;
    let digits = files::labels_from_packed_npy(DIGITS).map_err(Failure::failed)?;
    Ok((votes.first(SAMPLES), digits.first(SAMPLES)))
}

pub(super) fn run(args: &DemoArgs, output: Output) -> Result<(), Failure> {
    let (votes, truth) = shipped()?;
    let mechanism = Mechanism::default();
    let histograms: Vec<Histogram> = votes.histograms().collect();
    let accuracy = Accuracy::of(&mechanism, &histograms, Some(&truth));
    let plurality: Vec<_> = histograms.iter().map(|votes| votes.leaders().next()).collect();
    let plurality = Labels::new(plurality)?.agreement(&truth);
    let (samples, teachers) = (votes.samples(), votes.teachers());

    if output == Output::Tables {
        console::print(&format!(
            "{teachers} teachers, each trained on its own 240 images of handwritten digits, vote on\n\
             {samples} other images: {} classes, real votes.\n\
             For each sample the server draws a label with {}, offset {}:\n\
             a randomised argmax, whose randomness is the privacy.\n\n",
            votes.classes(),
            mechanism.polynomial,
            mechanism.offset,
        ))?;
    }
    let election = Election::new(teachers, votes.classes(), samples, mechanism)?;
    let seed = Seed::random(&mut OsRng.unwrap_err());
    let labelling = on_threads(args.threads, |threads| {
        label::label(
            Engine::Bfv(ReleaseMode::Reveal),
            election,
            &votes,
            Some(&truth),
            &seed,
            threads,
        )
    })??;

    if output == Output::Json {
        return console::print_json(&json!({
            "label": labelling,
            "accuracy": accuracy,
            "plurality_correct": plurality,
        }));
    }
    console::print(&label::describe(&labelling))?;
    let of_all = |count: f64| percent(count / samples as f64);
    console::print(&format!(
        "\n{}\n",
        console::table(
            &["right labels", "of all"],
            [
                vec!["exact argmax, no privacy".to_owned(), of_all(plurality as f64)],
                vec!["SHIELD, expected".to_owned(), of_all(accuracy.correct_labels.unwrap_or(0.0))],
                vec!["SHIELD, this run".to_owned(), of_all(labelling.correct.unwrap_or(0) as f64)],
            ],
        )
    ))
}
