//! `compare`: every mechanism at its best setting for each epsilon, on the same votes.

use clap::Args;
use shield::Epsilon;
use shield_bfv::advice::{Comparison, Row};

use super::Output;
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

    #[command(flatten)]
    usage: FileUsageArgs,
}

pub(super) fn run(args: &CompareArgs, output: Output) -> Result<(), Failure> {
    let budgets = args.epsilon.iter().map(|&e| Epsilon::new(e)).collect::<Result<Vec<_>, _>>()?;
    let (votes, labels) = args.votes.load()?;
    let usage = args.usage.usage(votes.samples())?;
    let bar = console::progress(2 * budgets.len() as u64, "comparing");
    let comparison = Comparison::new(&votes, labels.as_ref(), &budgets, usage, &|| bar.inc(1))?;
    bar.finish_and_clear();
    match output {
        Output::Json => console::print_json(&comparison),
        Output::Tables => console::print(&describe(&comparison)),
    }
}

fn describe(comparison: &Comparison) -> String {
    let row = |row: &Row| {
        vec![
            row.mechanism.to_owned(),
            row.setting.clone(),
            format!("{:.3}", row.epsilon),
            percent(row.right),
            if row.holds_against_server { "yes" } else { "no" }.to_owned(),
            row.seconds_per_sample.map_or_else(|| "in the clear".to_owned(), console::duration),
        ]
    };
    let header =
        ["mechanism", "setting", "epsilon", "right", "against the server?", "a sample takes"];
    format!(
        "{}Costs of {} queries at delta {:e}, proven for all votes there could be.\n\
         Times are estimates for one core; mechanisms in the clear need someone who sees the \
         votes.\n",
        console::table(&header, comparison.rows.iter().map(row)),
        comparison.queries,
        comparison.delta
    )
}
