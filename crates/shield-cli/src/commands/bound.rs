//! `bound`: what a mechanism costs in the worst case, proven, without any votes.

use clap::{Args, ValueEnum};
use serde_json::json;
use shield_core::shared_noise::NoiseFamily;
use shield_core::{Classes, Epsilon, Histogram, Noise, Queries, Setting, Voters};
use shield_privacy::Mechanism;
use shield_privacy::bound::{Allowance, Bound, Figure, LabelBound};
use shield_privacy::mechanism::AgainstServer;
use shield_privacy::server_view::{self, ServerView};
use shield_privacy::{Attendance, FromVotes, Usage, neighbours};

use super::Output;
use crate::console;
use crate::failure::Failure;
use crate::inputs::{MechanismArgs, NoiseArgs, UsageArgs};

/// Prove the most that labels can cost, whatever the votes are
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    shield bound --teachers 250 --classes 10 --offset 5\n  \
    shield bound --teachers 250 --classes 10 --offset 5 --budget 2\n  \
    shield bound --teachers 30 --classes 6 --queries 400 --voters 25\n  \
    shield bound --teachers 250 --classes 10 --mechanism noisy-argmax --noise 42.75\n  \
    shield bound --histogram 33,0,27,28 --from 0 --to 1\n\n\
    The first proves an epsilon, the second says how many queries a budget allows, the third holds \
    where up to five teachers abstain on a sample, the fourth proves what the labels of a noisy \
    argmax cost, the last costs one pair of neighbouring \
    histograms.")]
pub(super) struct BoundArgs {
    /// Number of teachers that vote on a sample
    #[arg(long, value_name = "N", required_unless_present = "histogram")]
    teachers: Option<Voters>,

    /// Number of classes
    #[arg(long, value_name = "K", required_unless_present = "histogram")]
    classes: Option<Classes>,

    /// How many teachers vote on a sample, if not all: the fewest, as 25, or samples x voters, as
    /// 391x30,8x29,1x4
    #[arg(long, value_name = "TURNOUT", conflicts_with_all = ["histogram", "budget"])]
    voters: Option<String>,

    #[command(flatten)]
    mechanism: MechanismArgs,

    /// The mechanism
    #[arg(long = "mechanism", value_name = "NAME", default_value = "shield")]
    name: Name,

    #[command(flatten)]
    noise: NoiseArgs,

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

/// The mechanisms with a bound of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Name {
    /// SHIELD
    Shield,
    /// SPEED's argmax, with noise that the teachers add in shares (--noise-law)
    NoisyArgmax,
    /// PATE's argmax with Laplace noise
    Lnmax,
    /// PATE's argmax with Gaussian noise
    Gnmax,
}

impl BoundArgs {
    /// A noisy argmax; `None` for SHIELD.
    fn noisy(&self, teachers: Voters) -> Result<Option<Mechanism>, Failure> {
        let noise = || Noise::new(self.noise.noise);
        Ok(match self.name {
            Name::Shield => None,
            Name::Lnmax => Some(Mechanism::Lnmax(noise()?)),
            Name::Gnmax => Some(Mechanism::Gnmax(noise()?)),
            Name::NoisyArgmax => {
                let argmax = self.noise.argmax(teachers.count(), NoiseFamily::Skellam)?;
                Some(Mechanism::NoisyArgmax(argmax))
            }
        })
    }
}

pub(super) fn run(args: &BoundArgs, output: Output) -> Result<(), Failure> {
    let mechanism = args.mechanism.mechanism();
    let usage = args.usage.usage();
    match (args.teachers, args.classes, args.from, args.to) {
        (Some(teachers), Some(classes), _, _) => match args.noisy(teachers)? {
            Some(noisy) => label_bound(args, &noisy, teachers, classes, usage, output),
            None => match &args.voters {
                None => bound(args, &mechanism, teachers, classes, usage, output),
                Some(voters) => {
                    let attendance = Attendance::parse(voters, teachers, usage.queries)?;
                    of_turnout(mechanism, &attendance, teachers, classes, usage, output)
                }
            },
        },
        (_, _, Some(from), Some(to)) => pair(&args.histogram, from, to, &mechanism, usage, output),
        _ => Err(Failure::bad_input(
            "give --teachers and --classes, or --histogram, --from and --to",
        )),
    }
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
    let bound = console::watched("proving", |watch| {
        Bound::new(mechanism, classes, teachers, usage, budget, watch)
    });
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
        [row("by moments", &bound.moments), row("tight", &bound.exact.figure)],
    );
    let strategy = bound.exact.strategy.map_or_else(String::new, |strategy| {
        format!(
            "Worst strategy found: {:.4}, by an adversary who chooses among {} pairs of \
             histograms, query by query.\n",
            strategy.epsilon, strategy.pairs
        )
    });
    console::print(&format!(
        "Epsilon {:.4}, proven for all votes of {teachers} teachers on every sample (--voters: \
         where some abstain).\n{}\n{table}{strategy}Both proven figures are safe to publish; the \
         smaller one counts.\n\
         In the worst histogram found, one vote moves from the first class to the second.\n{}\n{}",
        bound.moments.epsilon.smaller(bound.exact.figure.epsilon),
        console::properties(&rows),
        whole.holds_against(),
        server_view::sentence_of_splits(server_view),
    ))
}

/// The bound of SHIELD where not all teachers vote on every sample.
fn of_turnout(
    setting: Setting,
    attendance: &Attendance,
    teachers: Voters,
    classes: Classes,
    usage: Usage,
    output: Output,
) -> Result<(), Failure> {
    let mechanism = Mechanism::Shield(setting);
    let queries = Queries::new(attendance.samples())?;
    if queries != usage.queries && usage.queries != Queries::default() {
        return Err(Failure::bad_input(format!(
            "--queries is {} and --voters is about {queries} samples; leave --queries out",
            usage.queries
        )));
    }
    let usage = Usage { queries, ..usage };
    let proof = console::watched("proving", |watch| {
        mechanism.price(classes, attendance, usage.delta, watch)
    });
    let holds_for = attendance.holds_for(teachers.count() as usize);
    let tight = proof.tight.unwrap_or(proof.moments);
    if output == Output::Json {
        return console::print_json(&json!({
            "teachers": teachers,
            "classes": classes,
            "turnout": attendance.to_string(),
            "holds_for": holds_for,
            "mechanism": mechanism.description(),
            "queries": queries,
            "delta": usage.delta,
            "epsilon": proof.moments,
            "exact": { "epsilon": tight },
            "holds_against_server": mechanism.against_server().holds(),
        }));
    }
    let rows = [
        ("election", format!("{teachers} teachers, {classes} classes")),
        ("mechanism", mechanism.setting()),
        ("usage", format!("{queries} queries, delta {:e}", usage.delta.get())),
        ("holds for", holds_for),
        ("epsilon", format!("{:.4}, proven", proof.price())),
        ("by moments alone", format!("{:.4}", proof.moments)),
    ];
    console::print(&format!(
        "{}It is safe to publish, as who takes part is public.\n{}\n",
        console::properties(&rows),
        mechanism.holds_against()
    ))
}

/// The bound of a noisy argmax: of the labels, and of the noisy counts beside it.
fn label_bound(
    args: &BoundArgs,
    mechanism: &Mechanism,
    teachers: Voters,
    classes: Classes,
    usage: Usage,
    output: Output,
) -> Result<(), Failure> {
    let budget = args.budget.map(Epsilon::new).transpose()?;
    let bound = console::watched("proving", |watch| {
        LabelBound::new(mechanism, classes, teachers, usage, budget, watch)
    });
    let bound = bound.ok_or_else(|| Failure::failed("no bound of this mechanism is known"))?;
    print(&bound, &mechanism.setting(), mechanism.against_server(), output)
}

fn print(
    bound: &LabelBound,
    setting: &str,
    against_server: AgainstServer,
    output: Output,
) -> Result<(), Failure> {
    if output == Output::Json {
        let mut document = serde_json::to_value(bound).map_err(Failure::failed)?;
        document["holds_against_server"] = json!(against_server.holds());
        return console::print_json(&document);
    }
    let LabelBound { teachers, classes, queries, delta, .. } = bound;
    let mut rows = vec![
        ("election", format!("{teachers} teachers, {classes} classes")),
        ("mechanism", setting.to_owned()),
        ("usage", format!("{queries} queries, delta {:e}", delta.get())),
        ("epsilon of the labels", format!("{:.4}, proven", bound.epsilon)),
    ];
    if let (Some(strategy), Some(pairs)) = (bound.strategy, bound.pairs) {
        let what = format!(
            "{strategy:.4}, by an adversary who chooses among {pairs} pairs of neighbours, query \
             by query"
        );
        rows.push(("worst strategy found", what));
    }
    let noisy_counts = format!("{:.4}, were they all seen", bound.vector_epsilon);
    rows.push(("epsilon of the noisy counts", noisy_counts));
    if let Some(Allowance { budget, queries }) = &bound.allowance {
        let allowed = format!("{queries} cost at most {budget}, by moments");
        rows.push(("queries within the budget", allowed));
    }
    let server = match against_server {
        AgainstServer::Holds => "against the server, too: nobody knows all of the noise",
        AgainstServer::DoesNotHold => "but not against whoever adds the noise",
    };
    console::print(&format!(
        "{}The epsilon of the labels holds for all votes there could be, where nothing but the \
         labels is seen: {server}. It is safe to publish.\n",
        console::properties(&rows),
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
    let (renyi, exact) = (FromVotes::by_moments(&laws, usage), FromVotes::tight(&laws, usage));
    match output {
        Output::Json => console::print_json(&json!({
            "mechanism": Mechanism::Shield(mechanism.clone()).description(),
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
