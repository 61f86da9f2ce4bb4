//! `compare`: every mechanism at its best setting for each epsilon, on the same votes.

use clap::Args;
use shield_bfv::advice::{ANSWERED, Aims, Answers, Comparison, Row};
use shield_core::Epsilon;

use super::Output;
use crate::console;
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

/// How wide the table may be.
const WIDTH: u16 = 100;

fn describe(comparison: &Comparison) -> String {
    let three = |share: f64| format!("{:.1}%", 100.0 * share);
    let row = |row: &Row| {
        let mark = if row.best { "* " } else { "  " };
        let silent = if row.answers == Answers::WhereSure { " if sure" } else { "" };
        vec![
            format!("{mark}{}{silent}", row.mechanism),
            row.brief.clone(),
            format!("{:.2}", row.epsilon),
            three(row.right),
            three(row.answered),
            three(row.precision),
            if row.holds_against_server { "yes" } else { "no" }.to_owned(),
            row.seconds_per_sample.map_or_else(|| "-".to_owned(), console::duration),
        ]
    };
    let header =
        ["mechanism", "setting", "epsilon", "right", "answered", "of those", "server", "a sample"];
    let table = console::table_within(WIDTH, &header, comparison.rows.iter().map(row));
    let mut notes = comparison.verdicts();
    notes.push(format!(
        "* the best of its kind. Epsilons are those of {} labels at delta {:e}, proven; \
         \"server\": whether they hold against the server, too. \"if sure\": no label where \
         votes are not clear, by thresholds chosen on these votes, which an election's must not \
         be. A sample takes so long encrypted, on one core; - is for mechanisms that need someone \
         who sees the votes.",
        comparison.queries, comparison.delta
    ));
    table + &notes.iter().map(|note| wrapped(note)).collect::<String>()
}

/// A text in lines that are no wider than the table.
fn wrapped(text: &str) -> String {
    let mut lines = String::new();
    let mut width = 0;
    for word in text.split(' ') {
        let long = word.chars().count();
        if width > 0 && width + 1 + long > usize::from(WIDTH) {
            lines.push('\n');
            width = 0;
        } else if width > 0 {
            lines.push(' ');
            width += 1;
        }
        lines.push_str(word);
        width += long;
    }
    lines + "\n"
}
