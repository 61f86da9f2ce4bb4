//! `demo`: the whole story on votes that come with the program.

use clap::Args;
use rand::TryRngCore;
use rand::rngs::OsRng;
use serde::Serialize;
use serde_json::json;
use shield_bfv::trustees::Trustees;
use shield_core::labelling::BallotRandomness;
use shield_core::{
    Accuracy, Election, Histogram, Labels, Offset, Queries, Seed, Setting, Voters, Votes,
};
use shield_privacy::data_independent::DataIndependent;
use shield_privacy::{Proven, Usage};
use shield_protocol::engine::{EngineName, EngineSpec, Labelling};

use super::Output;
use super::roles::{self, Outcome};
use crate::console::{self, percent};
use crate::failure::Failure;

/// Run the whole protocol on bundled votes
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shield demo")]
pub(super) struct DemoArgs {}

/// Real votes: see examples/mnist/README.md. The folder links to them, so that they are in the
/// packages that are made of this crate, too.
const VOTES: &[u8] = include_bytes!("../../data/paper-votes.npy.gz");
const DIGITS: &[u8] = include_bytes!("../../data/digits.npy.gz");

/// How many samples are labelled: as many as the paper's students ask for.
const QUERIES: usize = 100;

/// Dummies for each class. The paper has 1; 5 cost two points of accuracy and more than halve
/// epsilon.
const OFFSET: u32 = 5;

/// Who hold the key in the second run.
const TRUSTEES: u32 = 3;

pub(super) fn run(_: &DemoArgs, output: Output) -> Result<(), Failure> {
    let votes = shield_data::votes_from_packed_npy(VOTES, None).map_err(Failure::failed)?;
    let digits = shield_data::labels_from_packed_npy(DIGITS).map_err(Failure::failed)?;
    let mechanism = Setting { offset: Offset::new(OFFSET)?, ..Setting::default() };
    if output == Output::Tables {
        console::print(&format!(
            "{} teachers, each with a model of its own 240 images of handwritten digits, vote on \
             other images\n\
             (real votes). They encrypt their votes on {QUERIES} images under the student's key. \
             For each image the\n\
             server, which cannot read them, draws a label with {}, offset {}. Only the\n\
             student can read the labels, and their randomness protects every teacher.\n\n",
            votes.teachers(),
            mechanism.polynomial,
            mechanism.offset,
        ))?;
    }
    let seed = Seed::random(&mut OsRng.unwrap_err());
    let single = EngineSpec::default();
    let trustees = Trustees::default_of(TRUSTEES).map_err(Failure::failed)?;
    let jointly = EngineSpec::new(EngineName::Bfv, None)?.held_by(Some(trustees))?;
    let outcome = label_some(&votes, &digits, &mechanism, single, &seed)?;
    let joint = label_some(&votes, &digits, &mechanism, jointly, &seed)?;
    let bought = Bought::new(&votes, &digits, &mechanism)?;
    if output == Output::Json {
        let document = json!({ "label": outcome, "trustees": joint, "bought": bought });
        return console::print_json(&document);
    }
    console::print(&roles::describe(&outcome))?;
    console::print(&beside(&outcome, &joint))?;
    console::print(&bought.describe())
}

/// Every role of SPEED, on the first images.
fn label_some(
    votes: &Votes,
    digits: &Labels,
    mechanism: &Setting,
    spec: EngineSpec,
    seed: &Seed,
) -> Result<Outcome, Failure> {
    let (votes, truth) = (votes.clone().first(QUERIES), digits.clone().first(QUERIES));
    let (teachers, classes, samples) = (votes.teachers(), votes.classes(), votes.samples());
    let election = Election::new(teachers, classes, samples, mechanism.clone())?;
    console::watched("labelling", |watch| {
        let ballots = BallotRandomness::Fresh;
        let votes = Labelling { votes: &votes, seed, ballots, watch };
        roles::label(spec, &election, votes, Some(&truth))
    })
}

/// The same samples with a key that trustees hold, beside the student's own.
fn beside(single: &Outcome, joint: &Outcome) -> String {
    let row = |who: &str, outcome: &Outcome| {
        let seconds = outcome.seconds;
        let cells = [seconds.keygen, seconds.encrypt, seconds.aggregate, seconds.decrypt];
        let cells = cells.map(console::duration);
        std::iter::once(who.to_owned()).chain(cells).collect::<Vec<_>>()
    };
    let header = ["who can read a vote", "keys", "encryption", "aggregation", "decryption"];
    let rows = [
        row("student and server together", single),
        row(&format!("only all {TRUSTEES} trustees together"), joint),
    ];
    let same = if single.labels == joint.labels { "same labels" } else { "OTHER LABELS" };
    format!("\n{}\nThe same votes and draws, and the {same}.\n", console::table(&header, rows))
}

/// What the mechanism gives and costs, over all the shipped votes.
#[derive(Serialize)]
struct Bought {
    queries: usize,
    delta: f64,
    /// The worst case over all possible votes.
    epsilon: Proven,
    accuracy: Accuracy,
    /// The share of right labels.
    right: f64,
    /// The same for the exact argmax, which has no privacy.
    right_without_privacy: f64,
}

impl Bought {
    fn new(votes: &Votes, digits: &Labels, mechanism: &Setting) -> Result<Self, Failure> {
        let histograms: Vec<Histogram> = votes.histograms().collect();
        let samples = votes.samples() as f64;
        let accuracy = Accuracy::of(mechanism, &histograms, Some(digits));
        let leaders = histograms.iter().map(|votes| votes.leaders().next()).collect();
        let teachers = u32::try_from(votes.teachers()).map_err(Failure::failed)?;
        let usage = Usage { queries: Queries::new(QUERIES as u64)?, ..Usage::default() };
        let mut figure = DataIndependent::new(mechanism, votes.classes(), Voters::new(teachers)?);
        let epsilon = console::watched("proving the privacy", |_| figure.epsilon(usage));
        Ok(Self {
            queries: QUERIES,
            delta: usage.delta.get(),
            epsilon,
            accuracy,
            right: accuracy.correct_labels.unwrap_or(0.0) / samples,
            right_without_privacy: Labels::new(leaders)?.agreement(digits) as f64 / samples,
        })
    }

    fn describe(&self) -> String {
        let row = |name: &str, right: f64, epsilon: String| {
            vec![name.to_owned(), percent(right), epsilon]
        };
        let table = console::table(
            &["what it bought", "right labels", "epsilon"],
            [
                row("exact argmax", self.right_without_privacy, "inf".to_owned()),
                row("SHIELD", self.right, format!("{:.2}", self.epsilon)),
            ],
        );
        format!(
            "\n{table}\nRight labels are expected ones, over all 10,000 shipped images. Epsilon \
             is for {} labels and delta {}, proven\nfor any votes whatever by its moments, so \
             it may be published. `shield bound` takes longer and proves a smaller one.\n",
            self.queries, self.delta
        )
    }
}
