//! `analyze`: how accurate a mechanism is on given votes, and what it costs in privacy.

use std::fmt::Display;

use clap::{Args, ValueEnum};
use shield_core::parameters::Noise;
use shield_core::shared_noise::NoiseFamily;
use shield_privacy::mechanism::{
    Analysis, ConfidentGnmax, ExponentialOperator, Observed, Prices, Rate, Shape,
};
use shield_privacy::{Mechanism, Usage};

use super::Output;
use crate::console::{self, DO_NOT_PUBLISH, percent};
use crate::failure::Failure;
use crate::inputs::{FileUsageArgs, MechanismArgs, NoiseArgs, VotesArgs};

/// Measure accuracy and privacy of a mechanism on given votes
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shield analyze --votes examples/mnist/paper-votes.npy.gz \
    --labels examples/mnist/digits.npy.gz --classes 10 --queries 100\n\n\
    A confident SHIELD has no term of degree 1: --polynomial 8X^4+6X^3 answers where the votes are \
    clear.\n\n\
    Only the data-independent figures may be published: the others depend on the votes, and so say \
    something about them.")]
pub(super) struct AnalyzeArgs {
    #[command(flatten)]
    votes: VotesArgs,

    #[command(flatten)]
    mechanism: MechanismArgs,

    #[command(flatten)]
    usage: FileUsageArgs,

    /// The mechanism; each has its own options
    #[arg(long = "mechanism", value_name = "NAME", default_value = "shield")]
    name: Name,

    #[command(flatten)]
    noise: NoiseArgs,

    /// What a vote weighs in the exponent of exponential and permute-and-flip
    #[arg(long, value_name = "ETA", default_value_t = 0.05)]
    rate: f64,

    /// Rounds x rates of exponential-operator, in the order in which they run
    #[arg(long, value_name = "AxR,...", default_value = "16x0.05,16x0.03,32x0.02")]
    schedule: String,

    /// Deviation of the noise of that question [default: that of --noise]
    #[arg(long, value_name = "S")]
    check_noise: Option<f64>,
}

/// Which mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Name {
    /// SHIELD
    Shield,
    /// The exact argmax
    Exact,
    /// PATE's argmax with Laplace noise
    Lnmax,
    /// PATE's argmax with Gaussian noise
    Gnmax,
    /// SPEED's argmax, with noise that the teachers add in shares (--noise-law)
    NoisyArgmax,
    /// GNMax that answers only where the leader seems to have enough votes (--threshold)
    ConfidentGnmax,
    /// The exponential mechanism (--rate)
    Exponential,
    /// Permute-and-flip (--rate)
    PermuteAndFlip,
    /// SHIELD with every vote sampled alone (--schedule, --offset)
    ExponentialOperator,
}

impl AnalyzeArgs {
    /// The mechanism that was asked for, for that many teachers.
    fn mechanism(&self, teachers: usize) -> Result<Mechanism, Failure> {
        let noise = || Noise::new(self.noise.noise);
        Ok(match self.name {
            Name::Shield => Mechanism::Shield(self.mechanism.mechanism()),
            Name::Exact => Mechanism::Exact,
            Name::Lnmax => Mechanism::Lnmax(noise()?),
            Name::Gnmax => Mechanism::Gnmax(noise()?),
            Name::NoisyArgmax => {
                let teachers = u32::try_from(teachers).map_err(Failure::bad_input)?;
                Mechanism::NoisyArgmax(self.noise.argmax(teachers, NoiseFamily::Laplace)?)
            }
            Name::ConfidentGnmax => Mechanism::ConfidentGnmax(ConfidentGnmax {
                threshold: self.noise.threshold.unwrap_or(teachers as f64 / 2.0),
                check: Noise::new(self.check_noise.unwrap_or(self.noise.noise))?,
                answer: noise()?,
            }),
            Name::Exponential => Mechanism::Exponential(Rate::new(self.rate)?),
            Name::PermuteAndFlip => Mechanism::PermuteAndFlip(Rate::new(self.rate)?),
            Name::ExponentialOperator => Mechanism::ExponentialOperator(
                ExponentialOperator::parse(&self.schedule, self.mechanism.offset)?,
            ),
        })
    }
}

pub(super) fn run(args: &AnalyzeArgs, output: Output) -> Result<(), Failure> {
    let (votes, histograms, labels) = args.votes.load_either()?;
    let samples = histograms.as_slice().len();
    let mechanism = args.mechanism(histograms.teachers())?;
    let observed = Observed { histograms: histograms.as_slice(), votes: votes.as_ref() };
    let usage = args.usage.usage(samples)?;
    let analysis = console::watched("accounting", |watch| {
        Analysis::new(&mechanism, observed, labels.as_ref(), usage, watch)
    });
    if let Some(thin) = &analysis.price.thin {
        console::warn(&thin.sentence());
    }
    match output {
        Output::Json => {
            console::warn(&format!("published, renyi and teacher_wise: {DO_NOT_PUBLISH}"));
            console::print_json(&analysis)
        }
        Output::Tables => console::print(&describe(&mechanism, &analysis, usage)),
    }
}

fn describe(mechanism: &Mechanism, analysis: &Analysis, usage: Usage) -> String {
    let Shape { samples, teachers, classes } = analysis.votes;
    let accuracy = analysis.accuracy;
    let mut rows = vec![
        ("votes", format!("{samples} samples x {teachers} teachers, {classes} classes")),
        ("mechanism", mechanism.setting()),
        ("labels as the majority's", percent(accuracy.argmax)),
        (
            "ground-truth accuracy (GTA)",
            format!(
                "{}: how likely a random voter agrees with the label",
                percent(accuracy.ground_truth)
            ),
        ),
    ];
    if let Some(correct) = accuracy.correct_labels {
        let share = percent(correct / samples as f64);
        rows.insert(2, ("right labels", format!("{correct:.1} of {samples} ({share}), expected")));
    }
    if accuracy.failure > 0.0 {
        rows.push(("no label", percent(accuracy.failure)));
        let (what, precision) = match accuracy.precision(samples) {
            Some(precision) => ("right among the answered", precision),
            None => ("majority's among the answered", accuracy.argmax / (1.0 - accuracy.failure)),
        };
        rows.push((what, percent(precision)));
    }
    let costs = &analysis.epsilon;
    let row = |name: &str, epsilon: &dyn Display, from: &str, publish: &str| {
        vec![name.into(), format!("{epsilon:.3}"), from.into(), publish.into()]
    };
    // Where two accountings say the same of the same, the smaller figure counts.
    let Prices { teacher_wise, data_independent } = &costs.moments;
    let tight = costs.exact.as_ref();
    let teacher = tight.map(|tight| tight.teacher_wise).filter(|tight| tight < teacher_wise);
    let all = tight.map(|tight| tight.data_independent).filter(|tight| tight < data_independent);
    let by = |is_tight: bool| if is_tight { "tight composition" } else { "moments" };
    let table = console::table(
        &["epsilon of", "figure", "proven by", "may it be published?"],
        [
            row("the paper's accountant", &costs.published, "moments", "no"),
            row("the same moments, converted better", &costs.renyi, "moments", "no"),
            row(
                "the worst teacher on these votes",
                &teacher.unwrap_or(*teacher_wise),
                by(teacher.is_some()),
                "no",
            ),
            row(
                "any teacher, whatever the votes",
                &all.unwrap_or(*data_independent),
                by(all.is_some()),
                "yes",
            ),
        ],
    );
    let publish = if analysis.price.epsilon.get().is_finite() {
        "It may be published."
    } else {
        "Add noise or dummies before anyone sees these labels."
    };
    format!(
        "{} {publish}\n{}\n{}\n{table}\
         The first three figures are computed from the votes, so they say something about them: \
         keep them to yourself.\nThe last holds for all votes there could be, and is safe to \
         publish. Costs are those of {} queries at delta {:e}.\n{}",
        analysis.price.sentence(usage),
        mechanism.holds_against(),
        console::properties(&rows),
        analysis.queries,
        analysis.delta,
        shield_privacy::server_view::sentence(analysis.server_view),
    )
}
