//! `recommend`: what to take for a planned election, before there are any votes.

use std::fmt::Write as _;

use clap::Args;
use serde::Serialize;
use shield_bfv::advice::outlook::{Size, Table};
use shield_bfv::advice::{
    self, Decision, Help, Outlook, Planned, Recommendation, RecommendationError,
};
use shield_core::{Classes, Delta, Epsilon, Queries, Voters};
use shield_privacy::Usage;

use super::Output;
use crate::console::{self, duration, percent};
use crate::failure::Failure;
use crate::inputs::WishArgs;

/// Say what to take before there are votes, and what would help
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    shield recommend --teachers 250 --classes 10 --queries 100 --epsilon 2\n  \
    shield recommend --teachers 12 --classes 2 --accuracy 0.85 --epsilon 4\n\n\
    Accuracy is estimated on made-up votes with the profile of the paper's; `tune` and `compare` \
    use your own.")]
pub(super) struct RecommendArgs {
    /// Number of teachers that vote on a sample
    #[arg(long, value_name = "N")]
    teachers: Voters,

    /// Number of classes
    #[arg(long, value_name = "K")]
    classes: Classes,

    /// How many samples will be labelled; without it as many as --accuracy allows
    #[arg(long, value_name = "Q", required_unless_present = "accuracy")]
    queries: Option<Queries>,

    /// The most that all labels together may cost
    #[arg(long, value_name = "E")]
    epsilon: f64,

    /// The share of labels that should be right, 0 to 1
    #[arg(long, value_name = "SHARE")]
    accuracy: Option<f64>,

    #[command(flatten)]
    wishes: WishArgs,

    /// The failure probability of (epsilon, delta)-differential privacy
    #[arg(long, value_name = "D", default_value_t = Delta::default())]
    delta: Delta,
}

/// The most samples that `--accuracy` looks at.
const MOST_QUERIES: u64 = 1_000_000;

/// The share of right labels that is aimed at where none is asked for.
const USUAL_AIM: f64 = 0.9;

/// What is printed.
#[derive(Debug, Serialize)]
struct Document {
    /// How many samples.
    queries: Queries,
    #[serde(flatten)]
    recommendation: Recommendation,
    /// Whether the labels are hardly better than chance.
    near_chance: bool,
    /// What would help, where labels are often wrong.
    help: Option<Help>,
    /// Right labels by numbers of teachers and samples, about.
    table: Table,
}

pub(super) fn run(args: &RecommendArgs, output: Output) -> Result<(), Failure> {
    let wishes = args.wishes.wishes()?;
    if let Some(aim) = args.accuracy.filter(|aim| !(0.0..=1.0).contains(aim)) {
        return Err(Failure::bad_input(format!("--accuracy is {aim}; it must be from 0 to 1")));
    }
    let (budget, classes, teachers) = (Epsilon::new(args.epsilon)?, args.classes, args.teachers);
    let outlook = Outlook { classes, delta: args.delta };
    let size = |queries| Size { teachers, queries, budget };
    let planned = |queries| Planned {
        teachers,
        classes,
        usage: Usage { queries, delta: args.delta },
        budget,
        attendance: None,
    };
    let recommend = |queries| advice::recommend(&planned(queries), wishes);
    let found =
        console::watched("looking for a setting", |_| match (args.queries, args.accuracy) {
            (None, Some(aim)) => most_samples(aim, &outlook, &size, &recommend),
            (queries, _) => {
                let queries = queries.unwrap_or_default();
                recommend(queries).map(|found| (queries, found)).map_err(Failure::bad_input)
            }
        });
    let (queries, recommendation) = found?;
    let size = size(queries);
    let precision = recommendation.decision.precision;
    let aim = args.accuracy.unwrap_or(USUAL_AIM);
    let help = (precision < aim).then(|| outlook.help(&size, aim)).flatten();
    let chance = 1.0 / classes.count() as f64;
    let ceiling = help.as_ref().map_or(1.0, |help| help.ceiling);
    let near_chance = precision < chance + 0.25 * (ceiling - chance);
    let table = outlook.table(&size);
    let document = Document { queries, recommendation, near_chance, help, table };
    console::show(output, &document, &describe(&document, args, &size))
}

/// The most samples of which a share is labelled rightly, with what to take for them.
fn most_samples(
    aim: f64,
    outlook: &Outlook,
    size: &impl Fn(Queries) -> Size,
    recommend: &impl Fn(Queries) -> Result<Recommendation, RecommendationError>,
) -> Result<(Queries, Recommendation), Failure> {
    let help = outlook.help(&size(Queries::new(MOST_QUERIES)?), aim);
    let mut queries = help.as_ref().and_then(|help| help.queries);
    // The estimate is off by some percent: what is named is proven and measured itself.
    for _ in 0..6 {
        let Some(count) = queries else { break };
        let samples = Queries::new(count)?;
        let found = recommend(samples).map_err(Failure::bad_input)?;
        if found.decision.precision >= aim {
            return Ok((samples, found));
        }
        queries = Some(count * 9 / 10).filter(|&fewer| fewer > 0 && fewer < count);
    }
    let one = size(Queries::new(1)?);
    let why = outlook.help(&one, aim).map_or_else(String::new, |help| {
        if help.ceiling < aim {
            format!(
                ": without any privacy {} teachers have {} right; find more teachers, or aim lower",
                one.teachers,
                percent(help.ceiling)
            )
        } else {
            format!(": a single sample is right less often; {}", help.sentence(&one))
        }
    });
    Err(Failure::failed(format!(
        "no number of samples has {} right at epsilon {}{why}",
        percent(aim),
        one.budget
    )))
}

fn describe(document: &Document, args: &RecommendArgs, size: &Size) -> String {
    let Decision { name, setting, epsilon, why, options, .. } = &document.recommendation.decision;
    let decision = &document.recommendation.decision;
    let queries = document.queries;
    let mut text = format!("Take {name} with {setting}: {why}.\n");
    let right = match args.wishes.answered {
        None => format!("{} of {queries} labels, on made-up votes", percent(decision.right)),
        Some(_) => format!(
            "{} of the labels for {} of {queries} samples, on made-up votes",
            percent(decision.precision),
            percent(decision.answered)
        ),
    };
    let server = if decision.holds_against_server {
        "against everyone who sees the labels, the server included"
    } else {
        "against everyone who sees the labels but the server"
    };
    let mut rows = vec![
        ("right labels", right),
        ("epsilon", format!("{epsilon:.3} of {}, proven for all votes", size.budget)),
        ("private", server.to_owned()),
        ("options", options.clone()),
    ];
    match (&document.recommendation.shield, name) {
        (Some(shield), &"shield") => {
            rows.push(("engine", shield.profile.clone()));
            rows.push(("ballot", format!("{} bytes per teacher and batch", shield.ballot_bytes)));
            rows.push(("aggregation", format!("about {} of one core", duration(shield.seconds))));
        }
        (Some(shield), _) => {
            let share = percent(shield.expected_right);
            let what = format!("{}, offset {}", shield.polynomial, shield.offset);
            rows.push(("SHIELD would have", format!("{share} right, with {what}")));
        }
        (None, _) => {}
    }
    text += &console::properties(&rows);
    if document.near_chance {
        let chance = percent(1.0 / args.classes.count() as f64);
        let _ = writeln!(text, "These labels are hardly better than chance, which has {chance}.");
    }
    if let Some(help) = &document.help {
        let _ = writeln!(text, "What would help: {}.", help.sentence(size));
    }
    let Table { queries, rows } = &document.table;
    let header: Vec<String> = queries.iter().map(|queries| format!("{queries} samples")).collect();
    let mut header: Vec<&str> = header.iter().map(String::as_str).collect();
    header.insert(0, "right labels, about");
    let row = |(teachers, shares): &(u32, Vec<f64>)| {
        let shares = shares.iter().map(|share| format!("{:.0}%", 100.0 * share));
        std::iter::once(format!("{teachers} teachers")).chain(shares).collect()
    };
    text + &console::table(&header, rows.iter().map(row))
}
