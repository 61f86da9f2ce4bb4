//! `label`: every role of SPEED in one process, from votes to labels.

use std::path::PathBuf;
use std::time::Instant;

use clap::{Args, ValueEnum};
use rand::rngs::OsRng;
use rand::{SeedableRng, TryRngCore, rngs::StdRng};
use rayon::prelude::*;
use serde::Serialize;
use shield::backend::noisy_argmax::ClearNoisyArgmax;
use shield::backend::{Backend, ClearBackend, MemoryBallotBox};
use shield::{ClassNames, Election, Label, Labels, Seed, Votes, files};
use shield_bfv::{BfvBackend, ReleaseMode};

use super::upload::Upload;
use super::{Output, tfhe};
use crate::console::{self, duration, percent};
use crate::failure::Failure;
use crate::inputs::{MechanismArgs, MechanismName, NoiseArgs, VotesArgs, on_threads};

/// Label samples: teachers, server and student in one process
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  shield label --votes examples/mnist/paper-votes.npy.gz \
    --labels examples/mnist/digits.npy.gz --classes 10 --backend bfv --out labels.csv\n\n\
    Without --out the labels go to stdout, one a line.")]
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

    /// SHIELD, or SPEED's exact argmax of counts with noise (engines clear and tfhe)
    #[arg(long = "mechanism", value_name = "NAME", value_enum, default_value_t)]
    name: MechanismName,

    #[command(flatten)]
    mechanism: MechanismArgs,

    #[command(flatten)]
    noise: NoiseArgs,

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
                "--upload is what teachers send to SHIELD on --backend tfhe; leave it out, or use that engine",
            ));
        }
        if self.release != ReleaseMode::default() && self.backend != EngineName::Bfv {
            return Err(Failure::bad_input(
                "--release is what the engine bfv hands out; leave it out, or add --backend bfv",
            ));
        }
        Ok(())
    }
}

/// The engines by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum EngineName {
    /// No encryption: the reference
    Clear,
    /// Votes stay encrypted, many samples a ciphertext
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

/// Seconds that each role took, over all teachers and batches.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Seconds {
    pub(super) keygen: f64,
    pub(super) encrypt: f64,
    /// What the server did with ballots when they arrived.
    pub(super) receive: f64,
    pub(super) aggregate: f64,
    pub(super) decrypt: f64,
}

/// What a run gave.
#[derive(Debug, Serialize)]
pub(super) struct Labelling {
    pub(super) labels: Vec<Label>,
    /// How many equal the true labels, where those are known.
    pub(super) correct: Option<usize>,
    pub(super) seconds: Seconds,
    /// Of the aggregation, which is what the paper reports.
    pub(super) seconds_per_sample: f64,
    pub(super) threads: usize,
    pub(super) backend: &'static str,
}

/// A run's JSON: labels are numbers, and the names they stand for come beside them.
#[derive(Serialize)]
struct Named<'a> {
    #[serde(flatten)]
    labelling: &'a Labelling,
    #[serde(skip_serializing_if = "Option::is_none")]
    class_names: Option<&'a ClassNames>,
}

pub(super) fn run(args: &LabelArgs, output: Output) -> Result<(), Failure> {
    args.check_options()?;
    args.out.as_deref().map(files::check_target).transpose()?;
    let (votes, truth) = args.votes.load()?;
    let mechanism = args.mechanism.mechanism();
    let election = Election::new(votes.teachers(), votes.classes(), votes.samples(), mechanism)?;
    let seed = seed(args.seed);
    let engine = match args.backend {
        EngineName::Clear => Engine::Clear,
        EngineName::Bfv => Engine::Bfv(args.release),
        EngineName::Tfhe => Engine::Tfhe(args.upload),
    };
    let ballots = args.seed.map_or(Ballots::Fresh, |_| Ballots::Seeded);
    let progress = console::progress(votes.samples() as u64, "labelling");
    let labelling = on_threads(args.threads, |threads| {
        let done = |samples| progress.inc(samples);
        let run = Run { ballots, ..Run::new(&votes, &seed, threads, &done) };
        let run = Run { truth: truth.as_ref(), ..run };
        match args.name {
            MechanismName::Shield => {
                label(engine, election, &Run { ballots: Ballots::Fresh, ..run })
            }
            MechanismName::NoisyArgmax => noisy_argmax(engine, election, &args.noise, &run),
        }
    })??;
    progress.finish_and_clear();
    let labels = Labels::new(labelling.labels.clone())?;
    if let Some(path) = &args.out {
        files::write_named_labels(path, &labels, votes.class_names()).map_err(Failure::failed)?;
    }
    match output {
        Output::Json => {
            let class_names = votes.class_names();
            console::print_json(&Named { labelling: &labelling, class_names })
        }
        Output::Tables if args.out.is_some() => console::print(&describe(&labelling)),
        Output::Tables => {
            console::note(&describe(&labelling));
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
            "--seed makes every draw predictable, so the labels have no privacy; use it for tests only",
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
    noise: &NoiseArgs,
    run: &Run,
) -> Result<Labelling, Failure> {
    let noise = noise.shared(election.teachers())?;
    match engine {
        Engine::Clear => label_with(&ClearNoisyArgmax::new(election, noise), run),
        Engine::Tfhe(_) => tfhe::noisy_argmax(election, noise, run),
        Engine::Bfv(_) => Err(Failure::bad_input(
            "the noisy argmax runs on one sample at once; use --backend tfhe, or clear for its reference",
        )),
    }
}

/// Where the randomness of ballots comes from. The draws of SHIELD are the server's; the noise of a
/// noisy argmax is the teachers'.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ballots {
    /// Every teacher's own generator.
    Fresh,
    /// The seed of the run: for tests.
    Seeded,
}

/// What is labelled, and how.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    pub(super) votes: &'a Votes,
    pub(super) truth: Option<&'a Labels>,
    pub(super) seed: &'a Seed,
    pub(super) threads: usize,
    pub(super) ballots: Ballots,
    /// Told how many more samples are labelled.
    pub(super) done: &'a (dyn Fn(u64) + Sync),
}

impl<'a> Run<'a> {
    /// A run whose labels are compared with nothing, with ballots of the teachers' own randomness.
    pub(super) fn new(
        votes: &'a Votes,
        seed: &'a Seed,
        threads: usize,
        done: &'a (dyn Fn(u64) + Sync),
    ) -> Self {
        Self { votes, truth: None, seed, threads, ballots: Ballots::Fresh, done }
    }
}

/// Every role, with this engine.
pub(super) fn label_with<B: Backend>(backend: &B, run: &Run) -> Result<Labelling, Failure> {
    let &Run { votes, truth, seed, threads, ballots: randomness, done } = run;
    let mut rng = StdRng::from_rng(&mut OsRng.unwrap_err());
    let mut seconds = Seconds::default();
    let mut labels = Vec::with_capacity(votes.samples());
    let start = Instant::now();
    let keys = backend.generate_keys(&mut rng).map_err(Failure::failed)?;
    seconds.keygen = start.elapsed().as_secs_f64();
    for batch in 0..backend.batches() {
        let samples = backend.batch(batch);
        let start = Instant::now();
        // Every teacher encrypts on its own machine, with a generator of its own.
        let ballots = (0..votes.teachers())
            .into_par_iter()
            .map(|teacher| {
                let mut rng = match randomness {
                    Ballots::Fresh => StdRng::from_rng(&mut OsRng.unwrap_err()),
                    Ballots::Seeded => {
                        let index = (batch * votes.teachers() + teacher) as u64;
                        StdRng::from_rng(
                            &mut seed.stream("shield 2026 ballots of a seeded run", index),
                        )
                    }
                };
                let own = votes.teacher(teacher, samples.clone());
                backend.encrypt(&keys.public, batch, &own, &mut rng).map(Some)
            })
            .collect::<Result<Vec<_>, _>>()
            .map_err(Failure::failed)?;
        seconds.encrypt += start.elapsed().as_secs_f64();

        let start = Instant::now();
        let key = &keys.evaluation;
        ballots.par_iter().flatten().for_each(|ballot| backend.receive(key, ballot));
        let ballots = MemoryBallotBox::new(samples.len(), ballots);
        seconds.receive += start.elapsed().as_secs_f64();

        let start = Instant::now();
        let release =
            backend.aggregate(&keys.evaluation, batch, &ballots, seed).map_err(Failure::failed)?;
        seconds.aggregate += start.elapsed().as_secs_f64();

        let start = Instant::now();
        labels.extend(backend.decrypt(&keys.secret, batch, &release).map_err(Failure::failed)?);
        seconds.decrypt += start.elapsed().as_secs_f64();
        done(samples.len() as u64);
    }
    let found = Labels::new(labels)?;
    Ok(Labelling {
        correct: truth.map(|truth| truth.agreement(&found)),
        seconds_per_sample: seconds.aggregate / votes.samples() as f64,
        labels: found.as_slice().to_vec(),
        seconds,
        threads,
        backend: backend.name(),
    })
}

/// The run in a few lines.
pub(super) fn describe(labelling: &Labelling) -> String {
    let samples = labelling.labels.len();
    let absent = labelling.labels.iter().filter(|label| label.is_none()).count();
    let seconds = labelling.seconds;
    let mut rows = vec![(
        "labelled",
        format!("{} of {samples} samples ({} backend)", samples - absent, labelling.backend),
    )];
    if let Some(correct) = labelling.correct {
        let share = percent(correct as f64 / samples as f64);
        rows.push(("correct", format!("{correct} of {samples} ({share})")));
    }
    rows.extend([
        ("keys", duration(seconds.keygen)),
        ("encryption", format!("{}, all teachers", duration(seconds.encrypt))),
    ]);
    // Only the TFHE engine does anything with a ballot when it arrives.
    if seconds.receive > 1e-3 {
        rows.push(("arrival", format!("{}, all ballots", duration(seconds.receive))));
    }
    rows.extend([
        (
            "aggregation",
            format!(
                "{} on {} thread{}, {} a sample",
                duration(seconds.aggregate),
                labelling.threads,
                if labelling.threads == 1 { "" } else { "s" },
                duration(labelling.seconds_per_sample)
            ),
        ),
        ("decryption", duration(seconds.decrypt)),
    ]);
    console::properties(&rows)
}
