//! `recommend`: a setting for a planned election, before there are any votes.

use clap::Args;
use serde::Serialize;
use shield::mechanism::best;
use shield::privacy::Usage;
use shield::{
    Classes, Delta, Election, Epsilon, Histogram, Offset, Polynomial, Queries, Voters, synthetic,
};
use shield_bfv::{Plan, ReleaseMode};

use super::{Output, compare};
use crate::console::{self, duration, percent};
use crate::failure::Failure;

/// A setting for a planned election: needs no votes
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  \
    shield recommend --teachers 250 --classes 10 --queries 100 --epsilon 2\n\n\
    Accuracy is estimated on made-up votes with the profile of the paper's; `tune` and `compare` \
    use your own.")]
pub(super) struct RecommendArgs {
    /// Number of teachers that vote on a sample
    #[arg(long, value_name = "N")]
    teachers: Voters,

    /// Number of classes
    #[arg(long, value_name = "K")]
    classes: Classes,

    /// How many samples will be labelled
    #[arg(long, value_name = "Q")]
    queries: Queries,

    /// The most that all labels together may cost
    #[arg(long, value_name = "E")]
    epsilon: f64,

    /// The failure probability of (epsilon, delta)-differential privacy
    #[arg(long, value_name = "D", default_value_t = Delta::default())]
    delta: Delta,
}

#[derive(Serialize)]
struct Recommendation {
    polynomial: Polynomial,
    offset: Offset,
    epsilon: Epsilon,
    /// The share of right labels on made-up votes.
    expected_right: f64,
    /// The ring that the engine will use.
    profile: String,
    ballot_bytes: usize,
    /// Of one core, for the aggregation of all samples, estimated.
    seconds: f64,
}

/// Made-up samples that accuracy is estimated on.
const SAMPLES: usize = 200;

pub(super) fn run(args: &RecommendArgs, output: Output) -> Result<(), Failure> {
    let budget = Epsilon::new(args.epsilon)?;
    let usage = Usage { queries: args.queries, delta: args.delta };
    let teachers = usize::try_from(args.teachers.count()).map_err(Failure::bad_input)?;
    let samples = usize::try_from(args.queries.count()).map_err(Failure::bad_input)?;
    let (votes, truth) = synthetic::votes(teachers, args.classes, SAMPLES, 1)?;
    let histograms: Vec<Histogram> = votes.histograms().collect();
    let spinner = console::spinner("looking for a setting");
    let found = best::shield_within(budget, &histograms, Some(&truth), usage);
    let recommendation = found.into_iter().find_map(|candidate| {
        let setting = candidate.setting.clone();
        let election = Election::new(teachers, args.classes, samples, setting).ok()?;
        let plan = Plan::new(&election, ReleaseMode::Reveal).ok()?;
        Some(Recommendation {
            polynomial: candidate.setting.polynomial,
            offset: candidate.setting.offset,
            epsilon: candidate.epsilon,
            expected_right: candidate.right,
            profile: format!("bfv-{}", plan.ring_degree()),
            ballot_bytes: plan.ballot_bytes(),
            seconds: compare::seconds(&plan),
        })
    });
    spinner.finish_and_clear();
    let Some(recommendation) = recommendation else {
        return Err(Failure::bad_input(impossible(args, &histograms, usage)));
    };
    match output {
        Output::Json => console::print_json(&recommendation),
        Output::Tables => console::print(&describe(&recommendation)),
    }
}

/// What is possible instead.
fn impossible(args: &RecommendArgs, histograms: &[Histogram], usage: Usage) -> String {
    let asked = format!(
        "no setting known here labels {} samples of {} teachers and {} classes within epsilon {}",
        args.queries, args.teachers, args.classes, args.epsilon
    );
    let larger = [1.5, 2.0, 3.0, 5.0, 10.0, 100.0].into_iter().find_map(|factor| {
        let budget = Epsilon::new(args.epsilon.max(0.01) * factor).ok()?;
        best::shield_within(budget, histograms, None, usage).into_iter().next()
    });
    match larger {
        Some(candidate) => format!(
            "{asked}; {} with offset {} costs {:.2}: raise --epsilon, ask about fewer samples, or \
             find more teachers",
            candidate.setting.polynomial, candidate.setting.offset, candidate.epsilon
        ),
        None => format!("{asked}; ask about fewer samples, or find more teachers"),
    }
}

fn describe(found: &Recommendation) -> String {
    let setting = shield::Mechanism::Shield(shield::Setting {
        polynomial: found.polynomial.clone(),
        offset: found.offset,
        ..shield::Setting::default()
    });
    format!(
        "{}{}\n",
        console::properties(&[
            ("polynomial", found.polynomial.to_string()),
            ("offset", found.offset.to_string()),
            ("epsilon", format!("{:.3}, proven for all votes there could be", found.epsilon)),
            ("right labels", format!("{}, on made-up votes", percent(found.expected_right))),
            ("engine", found.profile.clone()),
            ("ballot", format!("{} bytes per teacher and batch", found.ballot_bytes)),
            ("aggregation", format!("about {} of one core", duration(found.seconds))),
        ]),
        setting.holds_against()
    )
}
