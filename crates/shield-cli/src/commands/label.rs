//! `label`: every role of SPEED in one process, from votes to labels.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rand::TryRngCore;
use rand::rngs::OsRng;
use serde::Serialize;
use shield::backend::ClearBackend;
use shield::backend::noisy_argmax::ClearNoisyArgmax;
use shield::labelling::BallotRandomness;
use shield::privacy::Usage;
use shield::shared_noise::NoiseFamily;
use shield::shared_noise::SharedNoise;
use shield::{ClassNames, Election, Epsilon, Histogram, Label, Labels, Mechanism, Seed, files};
use shield_bfv::argmax::ArgmaxBackend;
use shield_bfv::{BfvBackend, ReleaseMode};

use super::roles::{Labelling, Run, describe, label_with};
use super::upload::Upload;
use super::{Output, tfhe};
use crate::console;
use crate::failure::Failure;
use crate::inputs::{
    FileUsageArgs, MechanismArgs, MechanismName, NoiseArgs, VotesArgs, on_threads,
};

/// Label samples: teachers, server and student in one process
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shield label --votes examples/mnist/paper-votes.npy.gz \
    --labels examples/mnist/digits.npy.gz --classes 10 --backend bfv --out labels.csv\n\n\
    Without --out the labels go to stdout, one per line.")]
pub(super) struct LabelArgs {
    #[command(flatten)]
    votes: VotesArgs,

    /// The engine
    #[arg(long, value_enum, default_value_t = EngineName::Clear)]
    backend: EngineName,

    /// What the server hands to the student, with the engine bfv: reveal (the label alone) or
    /// composable (an encrypted one-hot label, to add up)
    #[arg(long, value_name = "MODE", default_value_t = ReleaseMode::default())]
    release: ReleaseMode,

    /// What a teacher sends, with the engine tfhe
    #[arg(long, value_enum, default_value_t)]
    upload: Upload,

    /// SHIELD, or SPEED's exact argmax of counts with noise in shares
    #[arg(long = "mechanism", value_name = "NAME", value_enum, default_value_t)]
    name: MechanismName,

    #[command(flatten)]
    mechanism: MechanismArgs,

    #[command(flatten)]
    noise: NoiseArgs,

    #[command(flatten)]
    usage: FileUsageArgs,

    /// Makes the run repeatable. For tests only: whoever knows the number knows every draw
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,

    /// Number of threads [default: all cores]
    #[arg(long, value_name = "T")]
    threads: Option<usize>,

    /// Where to write the labels, .npy or .csv [default: stdout]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl LabelArgs {
    /// Refuses options that the engine or the mechanism would ignore.
    fn check_options(&self) -> Result<(), Failure> {
        let argmax = self.name == MechanismName::NoisyArgmax;
        if self.upload != Upload::default() && (self.backend != EngineName::Tfhe || argmax) {
            return Err(Failure::bad_input(
                "--upload is what teachers send to SHIELD on --backend tfhe; leave it out, or use \
                 that engine",
            ));
        }
        if self.release != ReleaseMode::default() && (self.backend != EngineName::Bfv || argmax) {
            return Err(Failure::bad_input(
                "--release is what SHIELD hands out on --backend bfv; leave it out otherwise",
            ));
        }
        Ok(())
    }

    /// The noise of the noisy argmax, with the law that suits the engine where none is named.
    fn shared_noise(&self, teachers: u32) -> Result<SharedNoise, Failure> {
        let law = match self.backend {
            EngineName::Bfv => NoiseFamily::Skellam,
            EngineName::Clear | EngineName::Tfhe => NoiseFamily::Laplace,
        };
        self.noise.shared(teachers, law)
    }
}

/// The engines by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum EngineName {
    /// No encryption: the reference
    Clear,
    /// Votes stay encrypted, many samples per ciphertext
    Bfv,
    /// Votes stay encrypted, one sample at once (built with --features tfhe)
    Tfhe,
}

/// The engines that can label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Engine {
    Clear,
    Bfv(ReleaseMode),
    Tfhe(Upload),
}

/// What the labels of a run cost, beside them.
#[derive(Serialize)]
struct Priced<'a> {
    #[serde(flatten)]
    labelling: &'a Labelling,
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
    queries: u64,
    delta: f64,
    epsilon: Epsilon,
    holds_against_server: bool,
    #[serde(skip)]
    holds_against: &'static str,
}

/// Epsilons above this protect little: one teacher's votes change the odds of what is seen by up
/// to e^10.
const LARGE: f64 = 10.0;

impl Price {
    fn new(mechanism: &Mechanism, histograms: &[Histogram], usage: Usage) -> Self {
        Self {
            mechanism: mechanism.name(),
            queries: usage.queries.count(),
            delta: usage.delta.get(),
            epsilon: mechanism.proven_for(histograms, usage).epsilon(),
            holds_against_server: mechanism.against_server().holds(),
            holds_against: mechanism.holds_against(),
        }
    }

    /// Says on stderr that the labels protect little, and what would help.
    fn warn(&self, mechanism: &Mechanism) {
        let epsilon = self.epsilon;
        if epsilon.is_finite() && epsilon.get() <= LARGE {
            return;
        }
        let says = if epsilon.is_finite() {
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
        format!(
            "epsilon {:.3} for {} labels at delta {:e}, proven for all votes there could be.\n{}\n",
            self.epsilon, self.queries, self.delta, self.holds_against
        )
    }
}

pub(super) fn run(args: &LabelArgs, output: Output) -> Result<(), Failure> {
    args.check_options()?;
    args.out.as_deref().map(files::check_target).transpose()?;
    let (votes, truth) = args.votes.load()?;
    let setting = args.mechanism.mechanism();
    let mechanism = match args.name {
        MechanismName::Shield => Mechanism::Shield(setting.clone()),
        MechanismName::NoisyArgmax => {
            let teachers = u32::try_from(votes.teachers()).map_err(Failure::bad_input)?;
            Mechanism::NoisyArgmax(args.shared_noise(teachers)?)
        }
    };
    let usage = args.usage.usage(votes.samples())?;
    let election = Election::new(votes.teachers(), votes.classes(), votes.samples(), setting)?;
    let seed = seed(args.seed);
    let engine = match args.backend {
        EngineName::Clear => Engine::Clear,
        EngineName::Bfv => Engine::Bfv(args.release),
        EngineName::Tfhe => Engine::Tfhe(args.upload),
    };
    let ballots = args.seed.map_or(BallotRandomness::Fresh, |_| BallotRandomness::Seeded);
    let progress = console::progress(votes.samples() as u64, "labelling");
    let labelling = on_threads(args.threads, |threads| {
        let done = |samples| progress.inc(samples);
        let run = Run { ballots, ..Run::new(&votes, &seed, threads, &done) };
        let run = Run { truth: truth.as_ref(), ..run };
        match args.name {
            MechanismName::Shield => {
                label(engine, election, &Run { ballots: BallotRandomness::Fresh, ..run })
            }
            MechanismName::NoisyArgmax => {
                let noise = args.shared_noise(election.teachers())?;
                noisy_argmax(engine, election, noise, &run)
            }
        }
    })??;
    progress.finish_and_clear();
    let labels = Labels::new(labelling.labels.clone())?;
    if let Some(path) = &args.out {
        files::write_named_labels(path, &labels, votes.class_names()).map_err(Failure::failed)?;
    }
    let spinner = console::spinner("proving the privacy");
    let histograms: Vec<Histogram> = votes.histograms().collect();
    let price = Price::new(&mechanism, &histograms, usage);
    spinner.finish_and_clear();
    price.warn(&mechanism);
    let description = describe(&labelling) + &price.describe();
    match output {
        Output::Json => {
            let class_names = votes.class_names();
            console::print_json(&Priced { labelling: &labelling, price: &price, class_names })
        }
        Output::Tables if args.out.is_some() => console::print(&description),
        Output::Tables => {
            console::note(&description);
            let names = votes.class_names();
            let line = |label: &Label| match label {
                None => "\n".to_owned(),
                Some(class) => match names.and_then(|names| names.name(*class)) {
                    Some(name) => format!("{name}\n"),
                    None => format!("{class}\n"),
                },
            };
            console::print(&labels.as_slice().iter().map(line).collect::<String>())
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

/// Every role, with the engine that was asked for.
pub(super) fn label(engine: Engine, election: Election, run: &Run) -> Result<Labelling, Failure> {
    match engine {
        Engine::Clear => label_with(&ClearBackend::new(election), run),
        Engine::Bfv(release) => {
            let backend = BfvBackend::new(election, release).map_err(Failure::bad_input)?;
            label_with(&backend, run)
        }
        Engine::Tfhe(upload) => tfhe::label(upload, election, run),
    }
}

/// The same for the noisy argmax.
fn noisy_argmax(
    engine: Engine,
    election: Election,
    noise: SharedNoise,
    run: &Run,
) -> Result<Labelling, Failure> {
    match engine {
        Engine::Clear => label_with(&ClearNoisyArgmax::new(election, noise), run),
        Engine::Tfhe(_) => tfhe::noisy_argmax(election, noise, run),
        Engine::Bfv(_) => {
            let backend = ArgmaxBackend::new(election, noise).map_err(Failure::bad_input)?;
            label_with(&backend, run)
        }
    }
}
