//! `analyze`: how accurate a mechanism is on given votes, and what it costs in privacy.

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use shield::privacy::conversion::Conversion;
use shield::privacy::data_independent::{self, DataIndependent};
use shield::privacy::distributed_argmax::DistributedArgmax;
use shield::privacy::noisy_argmax::{Noise, NoisyArgmax};
use shield::privacy::queries::Queries as QueryLosses;
use shield::privacy::{Usage, argmax, data_dependent};
use shield::{Accuracy, Epsilon, Histogram, Labels, Offset, Polynomial, Sampling, Setting, Votes};

use super::Output;
use crate::console::{self, DO_NOT_PUBLISH, percent};
use crate::failure::Failure;
use crate::inputs::{MechanismArgs, NoiseArgs, UsageArgs, VotesArgs};

/// Accuracy and privacy of a mechanism on given votes
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shield analyze --votes examples/mnist/paper-votes.npy.gz \
    --labels examples/mnist/digits.npy.gz --classes 10 --polynomial 2X^3+3X^2+X --offset 5\n\n\
    Only the data-independent figures may be published: the others depend on the votes, and so say \
    something about them.")]
pub(super) struct AnalyzeArgs {
    #[command(flatten)]
    votes: VotesArgs,

    #[command(flatten)]
    mechanism: MechanismArgs,

    #[command(flatten)]
    usage: UsageArgs,

    /// SHIELD, the exact argmax, PATE's noisy argmax with Laplace or Gaussian noise, or SPEED's
    /// with noise in shares
    #[arg(long = "mechanism", value_name = "NAME", default_value = "shield")]
    name: Name,

    #[command(flatten)]
    noise: NoiseArgs,
}

/// Which mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
enum Name {
    /// SHIELD
    Shield,
    /// The exact argmax
    Exact,
    /// PATE's argmax with Laplace noise
    Lnmax,
    /// PATE's argmax with Gaussian noise
    Gnmax,
    /// SPEED's argmax, with discrete Laplace noise that the teachers add in shares
    #[serde(rename = "noisy-argmax")]
    NoisyArgmax,
}

#[derive(Serialize)]
struct Shape {
    samples: usize,
    teachers: usize,
    classes: usize,
}

/// The mechanism as JSON shows it. What another mechanism does not have is null.
#[derive(Serialize)]
struct Described<'a> {
    name: Name,
    polynomial: Option<&'a Polynomial>,
    offset: Option<Offset>,
    sampling: Option<Sampling>,
    #[serde(skip_serializing_if = "Option::is_none")]
    noise: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dropouts: Option<u32>,
}

/// The cost by every accounting.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Costs {
    pub(super) published: Epsilon,
    pub(super) renyi: Epsilon,
    pub(super) teacher_wise: Epsilon,
    pub(super) data_independent: Epsilon,
    /// By tight composition, where that is available.
    pub(super) exact: Option<ExactCosts>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ExactCosts {
    pub(super) teacher_wise: Epsilon,
    pub(super) data_independent: Epsilon,
}

#[derive(Serialize)]
struct Analysis<'a> {
    votes: Shape,
    mechanism: Described<'a>,
    queries: u64,
    delta: f64,
    accuracy: Accuracy,
    epsilon: Costs,
    may_be_published: &'static [&'static str],
}

pub(super) fn run(args: &AnalyzeArgs, output: Output) -> Result<(), Failure> {
    let (votes, labels) = args.votes.load()?;
    let usage = args.usage.usage();
    let mechanism = args.mechanism.mechanism();
    let histograms: Vec<Histogram> = votes.histograms().collect();
    let noise = Noise::new(args.noise.noise)?;
    let spinner = console::spinner("accounting for privacy");
    let (accuracy, epsilon) = match args.name {
        Name::Shield => shield(&mechanism, &votes, &histograms, labels.as_ref(), usage),
        Name::Exact => exact(&histograms, labels.as_ref()),
        Name::Lnmax => noisy(NoisyArgmax::Laplace(noise), &histograms, labels.as_ref(), usage),
        Name::Gnmax => noisy(NoisyArgmax::Gaussian(noise), &histograms, labels.as_ref(), usage),
        Name::NoisyArgmax => {
            let teachers = u32::try_from(votes.teachers()).map_err(Failure::bad_input)?;
            let noise = args.noise.shared(teachers)?;
            let argmax = DistributedArgmax::new(&noise, votes.classes().count());
            shared(&argmax, &histograms, labels.as_ref(), usage)
        }
    };
    spinner.finish_and_clear();
    let ours = args.name == Name::Shield;
    let noisy = matches!(args.name, Name::Lnmax | Name::Gnmax | Name::NoisyArgmax);
    let analysis = Analysis {
        votes: Shape {
            samples: votes.samples(),
            teachers: votes.teachers(),
            classes: votes.classes().count(),
        },
        mechanism: Described {
            name: args.name,
            polynomial: ours.then_some(&mechanism.polynomial),
            offset: ours.then_some(mechanism.offset),
            sampling: ours.then_some(mechanism.sampling),
            noise: noisy.then_some(args.noise.noise),
            dropouts: (args.name == Name::NoisyArgmax).then_some(args.noise.dropouts),
        },
        queries: usage.queries.count(),
        delta: usage.delta.get(),
        accuracy,
        epsilon,
        may_be_published: &["data_independent", "exact.data_independent"],
    };
    match output {
        Output::Json => {
            console::warn(&format!("published, renyi and teacher_wise: {DO_NOT_PUBLISH}"));
            console::print_json(&analysis)
        }
        Output::Tables => console::print(&describe(&analysis)),
    }
}

pub(super) fn shield(
    mechanism: &Setting,
    votes: &Votes,
    histograms: &[Histogram],
    labels: Option<&Labels>,
    usage: Usage,
) -> (Accuracy, Costs) {
    let mut losses = QueryLosses::new(mechanism, histograms);
    let mut data_independent = Epsilon::ZERO;
    let mut exact = Epsilon::ZERO;
    for voters in data_independent::voters(histograms) {
        let mut figure = DataIndependent::new(mechanism, votes.classes(), voters);
        data_independent = larger(data_independent, figure.epsilon(usage));
        exact = larger(exact, figure.exact(usage));
    }
    let costs = Costs {
        published: data_dependent::published(&mut losses, usage),
        renyi: data_dependent::renyi(&mut losses, usage),
        teacher_wise: data_dependent::teacher_wise(&mut losses, votes, usage),
        data_independent,
        exact: Some(ExactCosts {
            teacher_wise: data_dependent::teacher_wise_exact(&losses, votes, usage),
            data_independent: exact,
        }),
    };
    (Accuracy::of(mechanism, histograms, labels), costs)
}

fn larger(a: Epsilon, b: Epsilon) -> Epsilon {
    if a >= b { a } else { b }
}

/// All or nothing: one figure serves for every data-dependent accounting.
pub(super) fn exact(histograms: &[Histogram], labels: Option<&Labels>) -> (Accuracy, Costs) {
    let cost = argmax::data_dependent(histograms);
    let costs = Costs {
        published: cost,
        renyi: cost,
        teacher_wise: cost,
        data_independent: Epsilon::INFINITE,
        exact: None,
    };
    (Accuracy::over(histograms, labels, argmax::law), costs)
}

/// PATE's own accounting. It has no analysis by teacher; the figure over all teachers holds for
/// each.
pub(super) fn noisy(
    mechanism: NoisyArgmax,
    histograms: &[Histogram],
    labels: Option<&Labels>,
    usage: Usage,
) -> (Accuracy, Costs) {
    let renyi = mechanism.data_dependent(histograms, usage, Conversion::Renyi);
    let costs = Costs {
        published: mechanism.data_dependent(histograms, usage, Conversion::TailBound),
        renyi,
        teacher_wise: renyi,
        data_independent: mechanism.data_independent(usage, Conversion::Renyi),
        exact: None,
    };
    let law = |histogram: &Histogram| mechanism.law(histogram);
    (Accuracy::over(histograms, labels, law), costs)
}

/// The same for noise in shares. All teachers take part; that some may be missing is part of the
/// noise.
fn shared(
    argmax: &DistributedArgmax,
    histograms: &[Histogram],
    labels: Option<&Labels>,
    usage: Usage,
) -> (Accuracy, Costs) {
    let renyi = argmax.data_dependent(histograms, usage, Conversion::Renyi);
    let costs = Costs {
        published: argmax.data_dependent(histograms, usage, Conversion::TailBound),
        renyi,
        teacher_wise: renyi,
        data_independent: argmax.data_independent(usage, Conversion::Renyi),
        exact: None,
    };
    (Accuracy::over(histograms, labels, |histogram| argmax.law(histogram)), costs)
}

fn describe(analysis: &Analysis) -> String {
    let Shape { samples, teachers, classes } = analysis.votes;
    let accuracy = analysis.accuracy;
    let mechanism = &analysis.mechanism;
    let setting = match (mechanism.polynomial, mechanism.offset, mechanism.sampling) {
        (Some(polynomial), Some(offset), Some(sampling)) => {
            format!("{polynomial}, offset {offset}, {sampling}")
        }
        _ => match (mechanism.name, mechanism.noise) {
            (Name::Lnmax, Some(noise)) => format!("argmax with Laplace noise of scale {noise}"),
            (Name::Gnmax, Some(noise)) => {
                format!("argmax with Gaussian noise of deviation {noise}")
            }
            (Name::NoisyArgmax, Some(noise)) => format!(
                "argmax with discrete Laplace noise of scale {noise} in shares, at most {} missing",
                mechanism.dropouts.unwrap_or(0)
            ),
            _ => "exact argmax".to_owned(),
        },
    };
    let mut rows = vec![
        ("votes", format!("{samples} samples x {teachers} teachers, {classes} classes")),
        ("mechanism", setting),
        ("ground-truth accuracy (GTA)", percent(accuracy.ground_truth)),
        ("probability of the argmax", percent(accuracy.argmax)),
    ];
    if let Some(correct) = accuracy.correct_labels {
        let share = percent(correct / samples as f64);
        rows.push(("expected correct labels", format!("{correct:.1} of {samples} ({share})")));
    }
    if accuracy.failure > 0.0 {
        rows.push(("probability of no label", percent(accuracy.failure)));
    }
    let costs = &analysis.epsilon;
    let exact = costs.exact.as_ref();
    let row = |name: &str, moments: Epsilon, exact: Option<Epsilon>, publish: &str| {
        let exact = exact.map_or_else(String::new, |exact| format!("{exact:.3}"));
        vec![name.to_owned(), format!("{moments:.3}"), exact, publish.to_owned()]
    };
    let table = console::table(
        &["epsilon", "by moments", "exact", "may it be published?"],
        [
            row("published", costs.published, None, "no"),
            row("renyi", costs.renyi, None, "no"),
            row("teacher-wise", costs.teacher_wise, exact.map(|exact| exact.teacher_wise), "no"),
            row(
                "data-independent",
                costs.data_independent,
                exact.map(|exact| exact.data_independent),
                "yes",
            ),
        ],
    );
    format!(
        "{}\nCost of {} queries at delta {:e}:\n{table}\
         The first three figures are computed from the votes, so they say something about them: keep \
         them to yourself.\nThe data-independent ones hold for all votes there could be, and are safe to publish.\n",
        console::properties(&rows),
        analysis.queries,
        analysis.delta,
    )
}
