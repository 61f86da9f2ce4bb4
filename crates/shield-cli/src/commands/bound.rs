//! `bound`: what a mechanism costs in the worst case, proven, without any votes.

use clap::Args;
use serde_json::{Value, json};
use shield::privacy::bound::{Allowance, Bound, Figure};
use shield::privacy::conversion::Conversion;
use shield::privacy::server_view::{self, ServerView};
use shield::privacy::watch::Watch;
use shield::privacy::{Usage, exact_of_pair, neighbours};
use shield::{Classes, Epsilon, Histogram, Mechanism, Setting, Voters};

use super::Output;
use crate::console;
use crate::failure::Failure;
use crate::inputs::{MechanismArgs, UsageArgs};

/// Proven worst-case privacy of a mechanism: needs no votes, may be published
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    shield bound --teachers 250 --classes 10 --offset 5\n  \
    shield bound --teachers 250 --classes 10 --offset 5 --budget 2\n  \
    shield bound --histogram 33,0,27,28 --from 0 --to 1\n\n\
    The first proves an epsilon, the second says how many queries a budget allows, the third \
    costs one pair of neighbouring histograms.")]
pub(super) struct BoundArgs {
    /// Number of teachers that vote on a sample
    #[arg(long, value_name = "N", required_unless_present = "histogram")]
    teachers: Option<Voters>,

    /// Number of classes
    #[arg(long, value_name = "K", required_unless_present = "histogram")]
    classes: Option<Classes>,

    #[command(flatten)]
    mechanism: MechanismArgs,

    #[command(flatten)]
    usage: UsageArgs,

    /// Also say how many queries cost at most this epsilon
    #[arg(long, value_name = "EPSILON")]
    budget: Option<f64>,

    /// Cost this one histogram and a neighbour instead: votes for each class
    #[arg(long, value_name = "N1,N2,...", value_delimiter = ',', requires_all = ["from", "to"],
        conflicts_with_all = ["teachers", "classes", "budget"])]
    histogram: Vec<u32>,

    /// The class that loses a vote in the neighbour, counted from 0
    #[arg(long, value_name = "CLASS", requires = "histogram")]
    from: Option<usize>,

    /// The class that gains it
    #[arg(long, value_name = "CLASS", requires = "histogram")]
    to: Option<usize>,
}

pub(super) fn run(args: &BoundArgs, output: Output) -> Result<(), Failure> {
    let mechanism = args.mechanism.mechanism();
    let usage = args.usage.usage();
    match (args.teachers, args.classes, args.from, args.to) {
        (Some(teachers), Some(classes), _, _) => {
            bound(args, &mechanism, teachers, classes, usage, output)
        }
        (_, _, Some(from), Some(to)) => pair(&args.histogram, from, to, &mechanism, usage, output),
        _ => Err(Failure::bad_input(
            "give --teachers and --classes, or --histogram, --from and --to",
        )),
    }
}

fn named(mechanism: &Setting) -> Value {
    json!({
        "name": "shield",
        "polynomial": mechanism.polynomial,
        "offset": mechanism.offset,
        "sampling": mechanism.sampling,
    })
}

fn bound(
    args: &BoundArgs,
    mechanism: &Setting,
    teachers: Voters,
    classes: Classes,
    usage: Usage,
    output: Output,
) -> Result<(), Failure> {
    let budget = args.budget.map(Epsilon::new).transpose()?;
    let bar = console::progress(100, "proving");
    let watch = Watch::new({
        let bar = bar.clone();
        move |percent| bar.set_position(percent)
    });
    let bound = Bound::watched(mechanism, classes, teachers, usage, budget, watch);
    bar.finish_and_clear();
    let whole = Mechanism::Shield(mechanism.clone());
    let server_view = ServerView::of_splits(mechanism, classes, teachers, usage.queries);
    if output == Output::Json {
        let mut document = serde_json::to_value(&bound).map_err(Failure::failed)?;
        document["holds_against_server"] = json!(whole.against_server().holds());
        document["server_view"] =
            json!(server_view.map(|[least, most]| json!({"least": least, "most": most})));
        return console::print_json(&document);
    }
    let mut rows = vec![
        ("election", format!("{teachers} teachers, {classes} classes")),
        (
            "mechanism",
            format!(
                "{}, offset {}, {}",
                mechanism.polynomial, mechanism.offset, mechanism.sampling
            ),
        ),
        ("usage", format!("{} queries, delta {:e}", usage.queries, usage.delta.get())),
    ];
    if let Some(Allowance { budget, queries }) = bound.allowance {
        rows.push(("queries within the budget", format!("{queries} cost at most {budget}")));
    }
    let row = |name: &str, figure: &Figure| {
        let ratio = figure.ratio().map_or_else(String::new, |ratio| format!("{ratio:.4}"));
        vec![
            name.to_owned(),
            format!("{:.4}", figure.epsilon),
            format!("{:.4}", figure.found.epsilon),
            ratio,
            histogram(&figure.found.histogram),
        ]
    };
    let table = console::table(
        &["epsilon", "proven", "worst found", "ratio", "its histogram"],
        [row("by moments", &bound.moments), row("tight", &bound.exact)],
    );
    let strategy = bound.strategy.map_or_else(String::new, |strategy| {
        format!(
            "Worst strategy found: {:.4}, by an adversary who chooses among {} pairs of \
             histograms, query by query.\n",
            strategy.epsilon, strategy.pairs
        )
    });
    console::print(&format!(
        "{}\n{table}{strategy}Both proven figures hold for all votes there could be, and are safe \
         to publish; the smaller one counts.\n\
         In the worst histogram found, one vote moves from the first class to the second.\n{}\n{}",
        console::properties(&rows),
        whole.holds_against(),
        server_view::sentence_of_splits(server_view),
    ))
}

/// Votes for each class, runs of equal ones as `27 (x4)`.
fn histogram(votes: &[u32]) -> String {
    let runs = votes.chunk_by(|a, b| a == b).map(|run| match run.len() {
        1 => run[0].to_string(),
        times => format!("{} (x{times})", run[0]),
    });
    runs.collect::<Vec<_>>().join(" ")
}

fn pair(
    votes: &[u32],
    from: usize,
    to: usize,
    mechanism: &Setting,
    usage: Usage,
    output: Output,
) -> Result<(), Failure> {
    let histogram = Histogram::new(votes.to_vec())?;
    let count = |class: usize| {
        votes.get(class).copied().ok_or_else(|| {
            Failure::bad_input(format!(
                "there is no class {class}; classes are 0 to {}",
                votes.len() - 1
            ))
        })
    };
    let (losing, gaining) = (count(from)?, count(to)?);
    let laws = (from != to)
        .then(|| neighbours::laws_of_move(mechanism, &histogram, losing, gaining))
        .flatten()
        .ok_or_else(|| {
            Failure::bad_input(
                "no vote can move so: give two classes, and let the first have a vote",
            )
        })?;
    let back = laws.reversed();
    let queries = usage.queries.count() as f64;
    let moments = |order: f64| queries * laws.log_moment(order).max(back.log_moment(order));
    let renyi = Conversion::Renyi.minimise(usage.delta, moments).rounded_up();
    let exact = exact_of_pair(&laws, usage);
    match output {
        Output::Json => console::print_json(&json!({
            "mechanism": named(mechanism),
            "queries": usage.queries,
            "delta": usage.delta,
            "histogram": votes,
            "from": from,
            "to": to,
            "renyi": renyi,
            "exact": exact,
        })),
        Output::Tables => console::print(&console::properties(&[
            ("pair", format!("{votes:?}, one vote moves from class {from} to class {to}")),
            ("usage", format!("{} queries, delta {:e}", usage.queries, usage.delta.get())),
            ("epsilon by moments", format!("{renyi:.4}")),
            ("epsilon, tight", format!("{exact:.4}")),
        ])),
    }
}
