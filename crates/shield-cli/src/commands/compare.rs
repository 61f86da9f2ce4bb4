//! `compare`: every mechanism at its best setting for each epsilon, on the same votes.

use clap::Args;
use shield_bfv::advice::{ANSWERED, Aims, Comparison, Row};
use shield_core::Epsilon;

use super::Output;
use crate::console::{self, percent};
use crate::failure::Failure;
use crate::inputs::{FileUsageArgs, VotesArgs};

/// Compare all mechanisms at their best settings, on given votes
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
    #[arg(long, value_name = "SHARE", default_value_t = ANSWERED)]
    answered: f64,

    #[command(flatten)]
    usage: FileUsageArgs,
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
    let usage = args.usage.usage(votes.as_slice().len())?;
    let aims = Aims { budgets: &budgets, answered: args.answered };
    let comparison = console::watched("comparing", |watch| {
        Comparison::new(&votes, labels.as_ref(), aims, usage, watch)
    })?;
    console::show(output, &comparison, &describe(&comparison))
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
         of each budget answer only where they are sure. Their thresholds are chosen on these \
         votes, which an election's must not be.\n\
         The epsilons hold against everyone who sees the labels; against the server only where \
         the table says so.\n\
         Times are estimates for one core; mechanisms in the clear need someone who sees the \
         votes.\n",
        console::table(&header, comparison.rows.iter().map(row)),
        comparison.queries,
        comparison.delta
    )
}
