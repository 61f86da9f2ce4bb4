//! `recommend`: a setting for a planned election, before there are any votes.

use clap::Args;
use shield_bfv::advice::{self, ANSWERED, Planned, Recommendation};
use shield_core::{Classes, Delta, Epsilon, Queries, Voters};
use shield_privacy::Usage;

use super::Output;
use crate::console::{self, duration, percent};
use crate::failure::Failure;

/// Suggest a setting before there are votes
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
    let recommendation = console::watched("looking for a setting", |_| advice::recommend(&planned));
    let recommendation = recommendation.map_err(Failure::bad_input)?;
    console::show(output, &recommendation, &describe(&recommendation))
}

fn describe(found: &Recommendation) -> String {
    let setting = shield_privacy::Mechanism::Shield(shield_core::Setting {
        polynomial: found.polynomial.clone(),
        offset: found.offset,
        ..shield_core::Setting::default()
    });
    let noisy = found.noisy_argmax.as_ref().map_or_else(String::new, |noisy| {
        let right = format!("{}, on made-up votes", percent(noisy.expected_right));
        let silent = format!(
            "{}: labels {} of the made-up samples, {} of them rightly, at the same epsilon",
            noisy.threshold,
            percent(ANSWERED),
            percent(noisy.expected_precision)
        );
        let rows = [
            ("noise", format!("{:.2}, --mechanism noisy-argmax", noisy.noise)),
            ("epsilon", format!("{:.3}, proven, against the server, too", noisy.epsilon)),
            ("right labels", right),
            ("or with --threshold", silent),
        ];
        format!("\nOr a noisy argmax:\n{}", console::properties(&rows))
    });
    format!(
        "{}{}\n{noisy}",
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
