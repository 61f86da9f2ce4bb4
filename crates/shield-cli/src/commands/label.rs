//! `label`: every role of SPEED in one process, from votes to labels.

use std::path::PathBuf;

use clap::Args;
use rand::TryRngCore;
use rand::rngs::OsRng;
use serde::Serialize;
use shield_core::labelling::BallotRandomness;
use shield_core::{ClassNames, Election, Epsilon, Histogram, Labels, Seed, Votes, Watch};
use shield_privacy::mechanism::Quote;
use shield_privacy::{Mechanism, Usage};
use shield_protocol::engine::{EngineName, EngineSpec, Labelling};

use super::Output;
use super::roles::{self, Outcome};
use crate::console;
use crate::failure::Failure;
use crate::inputs::{FileUsageArgs, SpecArgs, VotesArgs, WishArgs};

/// Label samples: teachers, server and student in one process
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shield label --votes examples/mnist/paper-votes.npy.gz \
    --labels examples/mnist/digits.npy.gz --classes 10 --backend bfv --out labels.csv\n  \
    shield label --votes votes.csv --epsilon 8 --against server --answered 0.8\n\n\
    Without --out the labels go to stdout, one per line.")]
pub(super) struct LabelArgs {
    #[command(flatten)]
    votes: VotesArgs,

    /// The engine: clear (no encryption: the reference), bfv (votes stay encrypted, many samples
    /// per ciphertext) or tfhe (one sample at once; built with --features tfhe)
    #[arg(long, value_name = "ENGINE", default_value_t = EngineName::Clear)]
    backend: EngineName,

    #[command(flatten)]
    spec: SpecArgs,

    /// Choose mechanism and setting so that all labels together cost at most this: the more
    /// accurate one on made-up votes of this shape, with as little noise as the budget allows
    #[arg(long, value_name = "E", conflicts_with_all = ["noise", "polynomial", "offset"])]
    epsilon: Option<f64>,

    #[command(flatten)]
    wishes: WishArgs,

    #[command(flatten)]
    usage: FileUsageArgs,

    /// Makes the run repeatable. For tests only: whoever knows the number knows every draw
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,

    /// Where to write the labels, .npy or .csv [default: stdout]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// What the labels of a run cost, beside them.
#[derive(Serialize)]
struct Priced<'a> {
    #[serde(flatten)]
    outcome: &'a Outcome,
    #[serde(flatten)]
    price: &'a Price,
    /// The names that the numbers of the labels stand for.
    #[serde(skip_serializing_if = "Option::is_none")]
    class_names: Option<&'a ClassNames>,
}

/// The proven cost of some labels.
#[derive(Debug, Serialize)]
struct Price {
    mechanism: &'static str,
    /// Its setting, in a few words.
    setting: String,
    /// Of a noisy argmax.
    #[serde(skip_serializing_if = "Option::is_none")]
    noise: Option<f64>,
    queries: u64,
    delta: f64,
    #[serde(flatten)]
    quote: Quote,
    holds_against_server: bool,
    #[serde(skip)]
    usage: Usage,
    #[serde(skip)]
    holds_against: &'static str,
}

/// Epsilons above this protect little: one teacher's votes change the odds of what is seen by up
/// to e^10.
const LARGE: f64 = 10.0;

impl Price {
    fn new(
        spec: EngineSpec,
        mechanism: &Mechanism,
        votes: &Votes,
        usage: Usage,
        watch: &Watch,
    ) -> Self {
        let histograms: Vec<Histogram> = votes.histograms().collect();
        let quote = Quote::new(mechanism, &histograms, votes.teachers(), usage, watch);
        // Trustees recompute releases, so they and the student know the masks of the reveal.
        let quote = match (spec.trustees(), spec.argmax()) {
            (Some(_), Some(argmax)) => {
                let epsilon = argmax.accounting(votes.classes()).of_counts(usage);
                Quote { epsilon, by_moments: epsilon, ..quote }
            }
            _ => quote,
        };
        Self {
            usage,
            mechanism: mechanism.name(),
            setting: mechanism.brief(),
            noise: mechanism.description().noise,
            queries: usage.queries.count(),
            delta: usage.delta.get(),
            quote,
            holds_against_server: mechanism.against_server().holds(),
            holds_against: mechanism.holds_against(),
        }
    }

    /// Says on stderr that the labels protect little, and what would help.
    fn warn(&self, mechanism: &Mechanism) {
        if let Some(thin) = &self.quote.thin {
            console::warn(&thin.sentence());
        }
        let epsilon = self.quote.epsilon;
        if epsilon.get() <= LARGE {
            return;
        }
        let says = if epsilon.epsilon().is_finite() {
            format!("these {} labels cost epsilon {epsilon:.1}", self.queries)
        } else {
            "these labels have no proven privacy (epsilon is infinite)".to_owned()
        };
        let help = match mechanism {
            Mechanism::Shield(setting) if setting.offset.dummies() == 0 => {
                "give an --offset of 1 or more"
            }
            Mechanism::Shield(_) => "more teachers, fewer samples or a larger --offset would help",
            _ => "more --noise or fewer samples would help",
        };
        console::warn(&format!("{says}, which protects the votes hardly; {help}"));
    }

    fn describe(&self) -> String {
        format!("{}\n{}\n", self.quote.sentence(self.usage), self.holds_against)
    }
}

pub(super) fn run(args: &LabelArgs, output: Output) -> Result<(), Failure> {
    args.out.as_deref().map(shield_data::check_target).transpose()?;
    let (votes, truth) = args.votes.load()?;
    let usage = args.usage.usage(votes.samples())?;
    let wishes = args.wishes.wishes()?;
    let (spec, setting) = match args.epsilon {
        None => (args.spec.spec(args.backend, votes.teachers())?, args.spec.setting()),
        Some(epsilon) => {
            let budget = (Epsilon::new(epsilon)?, usage);
            let found = console::watched("looking for a setting", |_| {
                args.spec.spec_within(args.backend, &votes, budget, wishes)
            });
            let (spec, setting, why) = found?;
            if args.spec.is_open() {
                console::note(&format!("took {why}"));
            }
            (spec, setting)
        }
    };
    let mechanism = spec.mechanism(&setting);
    let election = Election::new(votes.teachers(), votes.classes(), votes.samples(), setting)?;
    let seed = seed(args.seed);
    // The draws of SHIELD are the server's: its ballots need no seed.
    let ballots = match (args.seed, spec.argmax()) {
        (Some(_), Some(_)) => BallotRandomness::Seeded,
        _ => BallotRandomness::Fresh,
    };
    let outcome = console::watched("labelling", |watch| {
        let votes = Labelling { votes: &votes, seed: &seed, ballots, watch };
        roles::label(spec, &election, votes, truth.as_ref())
    })?;
    let labels = Labels::new(outcome.labels.clone())?;
    if let Some(path) = &args.out {
        shield_data::write_named_labels(path, &labels, votes.class_names())
            .map_err(Failure::failed)?;
    }
    let price = console::watched("proving the privacy", |watch| {
        Price::new(spec, &mechanism, &votes, usage, watch)
    });
    price.warn(&mechanism);
    let description = roles::describe(&outcome) + &price.describe();
    let class_names = votes.class_names();
    match output {
        Output::Json => {
            console::print_json(&Priced { outcome: &outcome, price: &price, class_names })
        }
        Output::Tables if args.out.is_some() => console::print(&description),
        Output::Tables => {
            console::note(&description);
            console::print(&roles::lines(labels.as_slice(), class_names))
        }
    }
}

/// The seed of the run: fresh, or the caller's, with a warning.
fn seed(number: Option<u64>) -> Seed {
    if let Some(number) = number {
        console::warn(
            "--seed makes every draw predictable, so the labels have no privacy; use it for tests \
             only",
        );
        return Seed::from_number(number);
    }
    Seed::random(&mut OsRng.unwrap_err())
}
