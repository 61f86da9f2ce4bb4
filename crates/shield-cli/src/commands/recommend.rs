//! `recommend`: a setting for a planned election, before there are any votes.

use clap::Args;
use shield::privacy::Usage;
use shield::{Classes, Delta, Epsilon, Queries, Voters};
use shield_bfv::advice::{self, Planned, Recommendation};

use super::Output;
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

pub(super) fn run(args: &RecommendArgs, output: Output) -> Result<(), Failure> {
    let planned = Planned {
        teachers: args.teachers,
        classes: args.classes,
        usage: Usage { queries: args.queries, delta: args.delta },
        budget: Epsilon::new(args.epsilon)?,
    };
    let spinner = console::spinner("looking for a setting");
    let recommendation = advice::recommend(&planned);
    spinner.finish_and_clear();
    let recommendation = recommendation.map_err(Failure::bad_input)?;
    match output {
        Output::Json => console::print_json(&recommendation),
        Output::Tables => console::print(&describe(&recommendation)),
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
