//! `compare`: every mechanism at its best setting for each epsilon, on the same votes.

use clap::Args;
use serde::Serialize;
use shield::mechanism::best::{self, Aim};
use shield::privacy::Usage;
use shield::{Election, Epsilon, Histogram, Histograms, Labels, Mechanism};
use shield_bfv::{Plan, ReleaseMode};

use super::{Output, argmax};
use crate::console::{self, percent};
use crate::failure::Failure;
use crate::inputs::{FileUsageArgs, VotesArgs};

/// Every mechanism at its best setting for each epsilon, on given votes
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shield compare --votes examples/mnist/paper-votes.npy.gz \
    --labels examples/mnist/digits.npy.gz --classes 10 --queries 100 --epsilon 1,2,4\n\n\
    Right labels are those that equal the true ones; without --labels, those that equal the \
    majority's. Epsilon is proven for all votes there could be.")]
pub(super) struct CompareArgs {
    #[command(flatten)]
    votes: VotesArgs,

    /// Budgets to compare at
    #[arg(long, value_name = "E,...", value_delimiter = ',')]
    #[arg(default_values_t = [0.5, 1.0, 2.0, 4.0])]
    epsilon: Vec<f64>,

    /// The share of samples that mechanisms which answer only where they are sure must label
    #[arg(long, value_name = "SHARE", default_value_t = 0.8)]
    answered: f64,

    #[command(flatten)]
    usage: FileUsageArgs,
}

#[derive(Serialize)]
struct Comparison {
    queries: u64,
    delta: f64,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    mechanism: &'static str,
    /// Whether it labels every sample, or only where it is sure.
    answers: Answers,
    setting: String,
    budget: f64,
    epsilon: Epsilon,
    /// The share of right labels among all samples.
    right: f64,
    /// The share of samples that get a label.
    answered: f64,
    /// The share of right labels among those that are given.
    precision: f64,
    holds_against_server: bool,
    /// Of the encrypted engine, estimated for one core; null where nothing runs encrypted.
    seconds_per_sample: Option<f64>,
}

/// Which samples a mechanism labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Answers {
    All,
    WhereSure,
}

/// Seconds of one core for one product of ciphertexts in the ring of 8192 coefficients, everything
/// around it included: the default polynomial takes 0.52 ms a sample in a batch of 512, which has
/// 38 products.
const SECONDS_PER_PRODUCT: f64 = 7e-3;
/// How it grows with the ring: 64 rounds take 4.26 ms a sample in the ring of twice that size.
const GROWTH: f64 = 1.7;
/// Seconds of one core for a sample's noisy argmax with TFHE.
const SECONDS_NOISY_ARGMAX: f64 = 2.95;

/// Seconds of one core for the aggregation of some samples, estimated from the engine's plan.
pub(super) fn seconds(plan: &Plan) -> f64 {
    let ring = (plan.ring_degree() as f64 / 8192.0).powf(GROWTH);
    SECONDS_PER_PRODUCT * ring * (plan.products() * plan.batches()) as f64
}

pub(super) fn run(args: &CompareArgs, output: Output) -> Result<(), Failure> {
    let budgets = args.epsilon.iter().map(|&e| Epsilon::new(e)).collect::<Result<Vec<_>, _>>()?;
    if !(0.0..=1.0).contains(&args.answered) {
        return Err(Failure::bad_input(format!(
            "--answered is {}; it must be from 0 to 1",
            args.answered
        )));
    }
    let (votes, labels) = args.votes.load_histograms()?;
    let histograms = votes.as_slice();
    let usage = args.usage.usage(histograms.len())?;
    let teachers = u32::try_from(votes.teachers()).map_err(Failure::bad_input)?;
    let truth = labels.as_ref();
    let bar = console::progress(3 * budgets.len() as u64, "comparing");
    let mut rows = Vec::new();
    for budget in budgets {
        let proven = |mechanism: Mechanism| {
            let epsilon = mechanism.proven_for(histograms, usage).epsilon();
            (mechanism, epsilon)
        };
        let mut all = best_shield(Aim::Right, budget, histograms, truth, usage);
        bar.inc(1);
        let others = best::others_within(budget, histograms, teachers, usage);
        all.extend(others.into_iter().map(proven));
        bar.inc(1);
        let share = args.answered;
        let mut sure = best_shield(Aim::Precision(share), budget, histograms, truth, usage);
        let gnmax = best::confident_gnmax_for(share, budget, histograms, truth, usage);
        sure.extend(gnmax.map(proven));
        bar.inc(1);
        let all = all.into_iter().map(|found| (found, Answers::All));
        let sure = sure.into_iter().map(|found| (found, Answers::WhereSure));
        for ((mechanism, epsilon), answers) in all.chain(sure) {
            let (right, answered) = best::right_and_answered(&mechanism, histograms, truth);
            rows.push(Row {
                mechanism: mechanism.name(),
                answers,
                setting: mechanism.setting(),
                budget: budget.get(),
                epsilon,
                right,
                answered,
                precision: if answered > 0.0 { (right / answered).min(1.0) } else { 0.0 },
                holds_against_server: mechanism.against_server().holds(),
                seconds_per_sample: seconds_per_sample(&mechanism, &votes),
            });
        }
    }
    bar.finish_and_clear();
    let comparison = Comparison { queries: usage.queries.count(), delta: usage.delta.get(), rows };
    match output {
        Output::Json => console::print_json(&comparison),
        Output::Tables => console::print(&describe(&comparison)),
    }
}

/// SHIELD's best setting for an aim and its proven cost, if one is within the budget.
fn best_shield(
    aim: Aim,
    budget: Epsilon,
    histograms: &[Histogram],
    truth: Option<&Labels>,
    usage: Usage,
) -> Vec<(Mechanism, Epsilon)> {
    let found = best::shield_for(aim, budget, histograms, truth, usage).into_iter().next();
    let found = found.map(|best| (Mechanism::Shield(best.setting), best.epsilon));
    found.into_iter().collect()
}

fn seconds_per_sample(mechanism: &Mechanism, votes: &Histograms) -> Option<f64> {
    match mechanism {
        Mechanism::Shield(setting) => {
            let (teachers, samples) = (votes.teachers(), votes.as_slice().len());
            let election =
                Election::new(teachers, votes.classes(), samples, setting.clone()).ok()?;
            let plan = Plan::new(&election, ReleaseMode::Reveal).ok()?;
            Some(seconds(&plan) / samples as f64)
        }
        // Where the batched argmax has no room for the noise, TFHE's does.
        Mechanism::NoisyArgmax(noise) => {
            let estimated = argmax::seconds_per_sample(noise, votes);
            Some(estimated.unwrap_or(SECONDS_NOISY_ARGMAX))
        }
        _ => None,
    }
}

fn describe(comparison: &Comparison) -> String {
    let row = |row: &Row| {
        vec![
            row.mechanism.to_owned(),
            row.setting.clone(),
            format!("{:.3}", row.epsilon),
            percent(row.right),
            percent(row.answered),
            percent(row.precision),
            if row.holds_against_server { "yes" } else { "no" }.to_owned(),
            row.seconds_per_sample.map_or_else(|| "in the clear".to_owned(), console::duration),
        ]
    };
    let header = [
        "mechanism",
        "setting",
        "epsilon",
        "right",
        "answered",
        "right of those",
        "against the server?",
        "a sample takes",
    ];
    format!(
        "{}Costs of {} queries at delta {:e}, proven for all votes there could be. The last rows \
         of each budget answer only where they are sure.\n\
         The epsilons hold against everyone who sees the labels; against the server only where \
         the table says so.\n\
         Times are estimates for one core; mechanisms in the clear need someone who sees the \
         votes.\n",
        console::table(&header, comparison.rows.iter().map(row)),
        comparison.queries,
        comparison.delta
    )
}
