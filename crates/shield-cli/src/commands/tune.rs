//! `tune`: the best polynomials and offsets for given votes.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::json;
use shield_bfv::advice::ANSWERED;
use shield_core::shared_noise::NoiseFamily;
use shield_core::{Epsilon, Histogram, Labels, Offset, Sampling, Setting};
use shield_privacy::mechanism::best;
use shield_privacy::tune::climb::{self, Ascent};
use shield_privacy::tune::front::Point;
use shield_privacy::tune::{self, MAX_DEGREE, MAX_TERMS, Objective, Outcome, Search, Space};
use shield_privacy::{Mechanism, Usage};

use super::Output;
use crate::console::{self, DO_NOT_PUBLISH, percent};
use crate::failure::Failure;
use crate::inputs::{FileUsageArgs, VotesArgs};
use crate::plot::{self, Figure};

/// Search for the best trade-offs of privacy and accuracy
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    shield tune --votes examples/mnist/paper-votes.npy.gz --classes 10 --queries 100 \
    --max-degree 4 --max-terms 20 --offsets 1,2,5 --plot front.html\n  \
    shield tune --votes examples/mnist/paper-votes.npy.gz --classes 10 --queries 100 \
    --target-epsilon 2 --time-limit 60\n  \
    shield tune --votes examples/mnist/paper-votes.npy.gz --labels examples/mnist/digits.npy.gz \
    --classes 10 --queries 100 --max-degree 8 --max-terms 512 --offsets 3 --target-epsilon 2")]
pub(super) struct TuneArgs {
    #[command(flatten)]
    votes: VotesArgs,

    /// Largest degree of the polynomials, 1 to 16
    #[arg(long, value_name = "D", default_value_t = 4)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_DEGREE)))]
    max_degree: u32,

    /// Largest number of rounds, the one of degree 1 included, 1 to 1000; a climb takes up to 512
    #[arg(long, value_name = "A", default_value_t = 20)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_TERMS)))]
    max_terms: u32,

    /// Offsets to try [default: those that fit the teachers, the samples and the target]
    #[arg(long, value_name = "W,...", value_delimiter = ',')]
    offsets: Vec<Offset>,

    /// How a round draws: with-replacement or without-replacement
    #[arg(long, value_name = "RULE", default_value_t = Sampling::default())]
    sampling: Sampling,

    /// The cost to weigh against accuracy
    #[arg(long, value_name = "FIGURE", default_value = "data-independent")]
    objective: Figures,

    #[command(flatten)]
    usage: FileUsageArgs,

    /// How to search [default: climb where --target-epsilon is given and there are too many
    /// polynomials to look at all, else front]
    #[arg(long, value_name = "HOW")]
    search: Option<How>,

    /// Pick the most accurate setting that costs at most this epsilon
    #[arg(long, value_name = "EPSILON", conflicts_with = "target_accuracy")]
    target_epsilon: Option<f64>,

    /// Pick the cheapest setting with at least this accuracy, 0 to 1: the share of right labels
    /// with --labels, else ground-truth accuracy
    #[arg(long, value_name = "SHARE")]
    target_accuracy: Option<f64>,

    /// Stop after so many seconds, with what was found by then
    #[arg(long, value_name = "SECONDS", default_value_t = TIME_LIMIT)]
    time_limit: f64,

    /// Draw the front: a page (.html) to point at, or a picture (.svg)
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// Seconds that a search takes at most; the proofs that it ends with take some more.
const TIME_LIMIT: f64 = 20.0;

/// The ways to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum How {
    /// The whole front, priced by moments
    Front,
    /// Uphill to the most accurate polynomial within --target-epsilon, composed tightly: up to 512
    /// rounds and degree 16
    Climb,
}

/// The objectives by their names on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Figures {
    /// Proven for all votes there could be; may be published
    DataIndependent,
    /// The paper's figure; depends on the votes
    Published,
}

impl Figures {
    fn objective(self) -> Objective {
        match self {
            Self::DataIndependent => Objective::DataIndependent,
            Self::Published => Objective::Published,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::DataIndependent => "data-independent",
            Self::Published => "published",
        }
    }
}

impl TuneArgs {
    /// What a climb may spend; nothing where the front is searched.
    fn how(&self, search: &Search, target: Option<Epsilon>) -> Result<Option<Epsilon>, Failure> {
        let possible = self.objective == Figures::DataIndependent
            && (2..=climb::MAX_DEGREE).contains(&self.max_degree)
            && self.max_terms <= climb::MAX_TERMS;
        match (self.search, target) {
            (None, Some(target)) if possible && !search.is_whole() => Ok(Some(target)),
            (None | Some(How::Front), _) => Ok(None),
            (Some(How::Climb), Some(target)) if possible => Ok(Some(target)),
            (Some(How::Climb), _) => Err(Failure::bad_input(format!(
                "a climb needs --target-epsilon, the data-independent figure, a --max-degree of 2 \
                 to {} and --max-terms of at most {}",
                climb::MAX_DEGREE,
                climb::MAX_TERMS
            ))),
        }
    }
}

pub(super) fn run(args: &TuneArgs, output: Output) -> Result<(), Failure> {
    let target_epsilon = args.target_epsilon.map(Epsilon::new).transpose()?;
    if let Some(target) = args.target_accuracy.filter(|target| !(0.0..=1.0).contains(target)) {
        return Err(Failure::bad_input(format!(
            "--target-accuracy is {target}; it must be from 0 to 1"
        )));
    }
    if let Some(path) = &args.plot {
        plot::check(path)?;
    }
    let (histograms, labels) = args.votes.load_histograms()?;
    let histograms = histograms.as_slice();
    let usage = args.usage.usage(histograms.len())?;
    let mut offsets = args.offsets.clone();
    if offsets.is_empty() {
        offsets = tune::offsets(histograms, usage, target_epsilon);
    }
    offsets.sort_unstable();
    offsets.dedup();
    let search = Search {
        space: Space { max_degree: args.max_degree, max_terms: args.max_terms },
        offsets,
        sampling: args.sampling,
        objective: args.objective.objective(),
        usage,
    };
    let interrupted = console::interruption()?;
    let (start, limit) = (Instant::now(), args.time_limit);
    let asked_to_end = Arc::clone(&interrupted);
    let stop =
        move || start.elapsed().as_secs_f64() > limit || asked_to_end.load(Ordering::Relaxed);
    let budget = args.how(&search, target_epsilon)?;
    let outcome = console::watched_until("searching", stop, |watch| match budget {
        Some(budget) => Ascent { search: &search, budget }.run(histograms, labels.as_ref(), watch),
        None => search.run(histograms, labels.as_ref(), watch),
    })?;
    if outcome.stopped {
        console::warn(&format!(
            "the search was ended early: better settings may be missing; --time-limit {} looks \
             longer",
            10.0 * args.time_limit
        ));
    }

    let points = outcome.front.points();
    let chosen = match (target_epsilon, args.target_accuracy) {
        // The front rises in both, so the last affordable point is the most accurate one.
        (Some(target), _) => points.iter().rev().find(|point| point.epsilon.get() <= target.get()),
        (_, Some(target)) => points.iter().find(|point| point.accuracy() >= target),
        _ => None,
    };
    let others = match target_epsilon {
        Some(target)
            if args.objective == Figures::DataIndependent
                && !interrupted.load(Ordering::Relaxed) =>
        {
            others(target, histograms, labels.as_ref(), search.usage)
        }
        _ => vec![],
    };
    if args.objective == Figures::Published {
        console::warn(&format!("the published figure {DO_NOT_PUBLISH}"));
    }
    let printed = match output {
        Output::Json => console::print_json(&json!({
            "evaluated": outcome.evaluated,
            "pruned": outcome.pruned,
            "exhaustive": outcome.exhaustive,
            "stopped": outcome.stopped,
            "objective": args.objective.name(),
            "queries": search.usage.queries,
            "delta": search.usage.delta,
            "sampling": search.sampling,
            "front": points,
            "chosen": chosen,
            "others": others,
            "holds_against_server": false,
        })),
        Output::Tables => {
            console::print(&(describe(&outcome, chosen) + &compare(&others, labels.is_some())))
        }
    };
    // After the answer, so that minutes of search are not lost to a full disk; and before its
    // failure, since a reader that goes away wants the plot all the same.
    if let Some(path) = &args.plot {
        plot::draw(path, &figure(args, &search, &outcome, chosen))?;
    }
    printed?;
    let aimed = target_epsilon.is_some() || args.target_accuracy.is_some();
    if aimed && chosen.is_none() {
        let nearest = if target_epsilon.is_some() { points.first() } else { points.last() };
        return Err(missed(nearest));
    }
    Ok(())
}

/// That no setting reaches the target. The front rises in both, so the nearest miss is at one of
/// its ends.
fn missed(nearest: Option<&Point>) -> Failure {
    let nearest = nearest.map_or_else(String::new, |point| {
        format!(
            " (the nearest is {} with offset {}: epsilon {:.3}, accuracy {})",
            point.polynomial,
            point.offset,
            point.epsilon,
            percent(point.accuracy())
        )
    });
    Failure::failed(format!(
        "no setting of this search reaches the target{nearest}; allow more rounds, a higher \
         degree or other offsets"
    ))
}

/// Another mechanism at the target.
#[derive(Serialize)]
struct Other {
    mechanism: &'static str,
    setting: String,
    /// Both in a few words.
    #[serde(skip)]
    brief: String,
    /// The share of right labels, or of those that equal the majority's.
    right: f64,
    /// The share of samples with a label.
    answered: f64,
    holds_against_server: bool,
}

/// Every other mechanism with the least noise that fits the target, on the same votes; and the
/// noisy argmax of that noise once more, silent where it is not sure.
fn others(
    target: Epsilon,
    histograms: &[Histogram],
    labels: Option<&Labels>,
    usage: Usage,
) -> Vec<Other> {
    let teachers = histograms.iter().map(Histogram::voters).max().unwrap_or(0);
    let teachers = u32::try_from(teachers).unwrap_or(u32::MAX);
    let other = |mechanism: Mechanism| {
        let (right, answered) = best::right_and_answered(&mechanism, histograms, labels);
        Other {
            mechanism: mechanism.name(),
            setting: mechanism.setting(),
            brief: format!("{} with {}", mechanism.name(), mechanism.brief()),
            right,
            answered,
            holds_against_server: mechanism.against_server().holds(),
        }
    };
    let found = best::others_within(target, histograms, teachers, usage);
    let silent = found.iter().find_map(|(mechanism, _)| match mechanism {
        Mechanism::NoisyArgmax(argmax) if argmax.noise.family() == NoiseFamily::Skellam => {
            best::silent_argmax_for(ANSWERED, &argmax.noise, histograms)
        }
        _ => None,
    });
    found.into_iter().map(|(mechanism, _)| mechanism).chain(silent).map(other).collect()
}

fn compare(others: &[Other], truth_is_known: bool) -> String {
    if others.is_empty() {
        return String::new();
    }
    let row = |other: &Other| {
        let holds = if other.holds_against_server { "yes" } else { "no" };
        let shares = [percent(other.right), percent(other.answered)];
        [vec![other.brief.clone()], shares.to_vec(), vec![holds.to_owned()]].concat()
    };
    let right = if truth_is_known { "right labels" } else { "as the majority" };
    let header = ["other mechanisms at the target", right, "answered", "against the server?"];
    format!(
        "\n{}The threshold is chosen on these votes, to show what is possible; an election's must \
         be known before anyone votes.\n",
        console::table(&header, others.iter().map(row))
    )
}

fn figure<'a>(
    args: &TuneArgs,
    search: &Search,
    outcome: &'a Outcome,
    chosen: Option<&'a Point>,
) -> Figure<'a> {
    let front = outcome.front.points();
    let usage = search.usage;
    let has_truth = front.iter().any(|point| point.right.is_some());
    let accuracy = if has_truth { "right labels (%)" } else { "ground-truth accuracy (%)" };
    Figure {
        title: format!(
            "{} settings, {} queries, delta {:e}",
            outcome.evaluated,
            usage.queries,
            usage.delta.get()
        ),
        cost: format!("epsilon ({})", args.objective.name()),
        accuracy: accuracy.to_owned(),
        cloud: &outcome.cloud,
        front,
        chosen,
    }
}

/// How many points of the front are shown on either side of the chosen one.
const NEIGHBOURS: usize = 3;

fn describe(outcome: &Outcome, chosen: Option<&Point>) -> String {
    let row = |point: &Point| {
        let mark = if Some(point) == chosen { " <- chosen" } else { "" };
        vec![
            format!("{}{mark}", point.polynomial),
            point.offset.to_string(),
            format!("{:.3}", point.epsilon),
            percent(point.accuracy()),
            point.terms.to_string(),
        ]
    };
    let right = outcome.front.points().iter().any(|point| point.right.is_some());
    let accuracy = if right { "right labels" } else { "GTA" };
    // Where something was looked for: it and its neighbours on the front.
    let points = outcome.front.points();
    let place = points.iter().position(|point| Some(point) == chosen);
    let (from, to) = place.map_or((0, points.len()), |place| {
        (place.saturating_sub(NEIGHBOURS), (place + NEIGHBOURS + 1).min(points.len()))
    });
    let table = console::table(
        &["polynomial", "offset", "epsilon", accuracy, "rounds"],
        points[from..to].iter().map(row),
    );
    let how = if outcome.exhaustive {
        "All of them were looked at"
    } else {
        "There are too many to look at all: this is what a search found"
    };
    let against = Mechanism::Shield(Setting::default());
    let against = against.holds_against();
    format!(
        "{table}{} settings; {} of them left unfinished because something at least as accurate \
         costs no more than they must.\n{how}.\n{against}\n",
        outcome.evaluated, outcome.pruned
    )
}
